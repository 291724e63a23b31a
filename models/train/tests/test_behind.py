"""People painted out of pictures: what they covered is gone, nothing else is, and who stands behind them is still to be found."""

from __future__ import annotations

import re
import unittest
from typing import cast

import numpy as np

from posetrain.data.packs import Floats, Person, Picture, Pixels, joints_box
from posetrain.data.scenes import FastestDet
from posetrain.finder import behind
from posetrain.finder.behind import HIDDEN_BEHIND, chosen, inpaint, painted, silhouette
from posetrain.paths import REPOSITORY

STANDING = np.array(
    [
        [0, 30], [3, 27], [-3, 27], [7, 28], [-7, 28], [20, 55], [-20, 55], [26, 85], [-26, 85], [28, 112], [-28, 112],
        [12, 110], [-12, 110], [13, 155], [-13, 155], [13, 198], [-13, 198],
    ],
    np.float32,
)  # fmt: skip


def standing(x: float, seen: int = 17) -> Person:
    """200 px tall, upright, the first joints hidden but for `seen`."""
    joints = np.column_stack([STANDING + np.array([x, 20]), np.full(17, 2)]).astype(np.float32)
    joints[: 17 - seen, 2] = 1
    x0, y0, x1, y1 = joints_box(joints)
    return Person(1, joints, (x0, y0, x1 - x0, y1 - y0))


class Teacher:
    """Finds what it is told to."""

    def __init__(self, *boxes: list[float]) -> None:
        self.boxes = np.array(boxes, np.float32).reshape(-1, 4)

    def find(self, pixels: Pixels, threshold: float) -> tuple[Floats, Floats]:
        return self.boxes, np.full(len(self.boxes), 0.9, np.float32)


def picture(*persons: Person) -> Picture:
    pixels = np.full((240, 320, 3), 90, np.uint8)
    for person in persons:
        pixels[silhouette(person.joints, (240, 320))] = (255, 40, 10)
    return Picture("rendered", "train", "0", pixels, list(persons))


class Painting(unittest.TestCase):
    def test_a_spot_on_a_slope_is_gone_and_the_rest_is_as_it_was(self) -> None:
        y, x = np.mgrid[:21, :37]
        slope = np.stack([5 * x, 4 * y, np.full_like(x, 90)], axis=2).astype(np.uint8)
        mask = np.hypot(x - 18, y - 10) < 5
        spotted = slope.copy()
        spotted[mask] = 255
        filled = inpaint(spotted, mask)
        np.testing.assert_array_equal(filled[~mask], slope[~mask])
        self.assertLessEqual(int(np.abs(filled.astype(int) - slope).max()), 12)
        self.assertEqual(int(inpaint(spotted, np.ones_like(mask)).max()), 0)

    def test_bodies_are_as_the_program_has_them(self) -> None:
        program = (REPOSITORY / "src" / "keypoints" / "silhouette.rs").read_text().split("#[cfg(test)]")[0]
        joints = (REPOSITORY / "crates" / "pose" / "src" / "joint.rs").read_text()
        order = re.findall(
            r"^    (\w+)(?: = 0)?,$", joints.split("pub enum Joint {")[1].split("}")[0], re.MULTILINE
        )
        rows = re.findall(r"\(([A-Z]\w+), ([A-Z]\w+), ([\d.]+)\)", program)
        numbered = [(order.index(a), order.index(b), float(v)) for a, b, v in rows]
        self.assertEqual(numbered, [*behind.PARTS, *behind.ENDS])
        numbers = re.findall(r"const (\w+): (?:f32|u32) = ([\d.]+);", program)
        self.assertEqual(len(numbers), 8)
        for name, value in numbers:
            self.assertEqual(getattr(behind, name), float(value), name)

    def test_a_body_is_about_as_wide_as_bodies_are(self) -> None:
        joints = standing(160).joints
        mask = silhouette(joints, (240, 320))
        rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
        self.assertTrue(mask[joints[:, 1].astype(int), joints[:, 0].astype(int)].all())
        self.assertTrue(rows[0] < 40 and 225 <= rows[-1] <= 239, rows)
        self.assertTrue(115 <= columns[0] <= 125 and 195 <= columns[-1] <= 205, columns)
        joints[:, 2] = 0
        self.assertFalse(silhouette(joints, (240, 320)).any())


class Scenes(unittest.TestCase):
    def paint(
        self, *persons: Person, boxes: list[list[float]] | None = None, seed: int = 1
    ) -> tuple[Floats, Floats]:
        teacher = cast(FastestDet, Teacher(*(boxes or [])))
        before = picture(*persons)
        made = painted(before, teacher, np.random.default_rng(seed))
        assert made is not None
        left, was = (int((pixels[:, :, 0] > 200).sum()) for pixels in (made.pixels, before.pixels))
        self.assertLess(left, 0.9 * was)
        return made.persons, made.doubtful

    def test_whoever_is_alone_is_background(self) -> None:
        around, elsewhere = [110.0, 20.0, 210.0, 235.0], [10.0, 20.0, 60.0, 200.0]
        persons, doubtful = self.paint(standing(160), boxes=[around, elsewhere])
        np.testing.assert_allclose(persons, np.zeros((0, 4)))
        np.testing.assert_allclose(
            doubtful, [elsewhere], err_msg="in a rendered picture the teacher adds doubts alone"
        )

    def test_whoever_shows_beside_somebody_painted_out_is_to_be_found(self) -> None:
        found = [len(self.paint(standing(100), standing(220, seen=6), seed=seed)[0]) for seed in range(12)]
        self.assertIn(1, found)
        hidden = [
            self.paint(standing(160), standing(161, seen=HIDDEN_BEHIND), seed=seed) for seed in range(12)
        ]
        self.assertEqual([len(persons) for persons, _ in hidden], [0] * 12)

    def test_of_whom_too_little_is_labelled_nobody_is_painted_out(self) -> None:
        few = standing(160)
        few.joints[:8, 2] = 0
        self.assertEqual(chosen([few], np.random.default_rng(0)), [])
        self.assertEqual(chosen([few, standing(60)], np.random.default_rng(0)), [1])


if __name__ == "__main__":
    unittest.main()
