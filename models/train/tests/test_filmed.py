"""Frames of free films: the person is found upright and lying, frames that show nothing new are left out."""

from __future__ import annotations

import tempfile
import unittest
from collections import Counter
from pathlib import Path

import cv2
import numpy as np

from posetrain.data import gather, packs
from posetrain.data.augment import plain_crop
from posetrain.data.licences import Licence, licence_of
from posetrain.keypoints import filmed, relabel
from posetrain.keypoints.taught import CELLS, SIDE, STRIDE
from tests.test_sources import repository

# A figure of dots: each joint has a colour of its own, which the teacher below looks for.
PLACES = np.array([[60 + 9 * (j % 3), 30 + 8 * j] for j in range(packs.JOINTS)], float)
COLOURS = [(255, 12 * j, 255 - 12 * j) for j in range(packs.JOINTS)]


def figure(shift: float = 0, width: int = 200, height: int = 240) -> packs.Pixels:
    out = np.zeros((height, width, 3), np.uint8)
    for (x, y), colour in zip(PLACES + np.array([shift, 0]), COLOURS, strict=True):
        cv2.circle(out, (round(x), round(y)), 3, colour, -1)
    return out


class Colours:
    """A teacher that knows each joint by its colour, and like Thunder is unsure of people who do not stand."""

    names: tuple[str, ...] = ("movenet_thunder",)

    def maps(self, pixels: packs.Pixels, box: packs.Floats) -> packs.Floats:
        crop = plain_crop(pixels, box, CELLS * STRIDE, SIDE)[0].astype(float)
        out = np.full((packs.JOINTS, CELLS, CELLS), 1e-6, np.float32)
        places = []
        for j, colour in enumerate(COLOURS):
            far = np.abs(crop - colour).sum(axis=2)
            at = np.array(np.unravel_index(int(far.argmin()), far.shape)) if far.min() < 30 else None
            places.append(at)
            if at is not None:
                out[j, at[0] // STRIDE, at[1] // STRIDE] = 1
        if places[0] is None or places[-1] is None or places[-1][0] - places[0][0] < 20:
            out[:] = 1
        return out / out.sum(axis=(1, 2), keepdims=True)


class Filmed(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_a_person_is_found_standing_and_lying_on_either_side(self) -> None:
        for quarters in filmed.QUARTERS:
            picture = np.ascontiguousarray(np.rot90(figure(), quarters))
            found = filmed.person(Colours(), picture)
            back = {0: lambda x, y: (x, y), 1: lambda x, y: (y, 199 - x), 3: lambda x, y: (239 - y, x)}
            expected = [back[quarters](x, y) for x, y in PLACES]
            self.assertGreater(found.sure, filmed.KNOWN, f"{quarters} quarters")
            apart = np.linalg.norm(found.joints[:, :2] - expected, axis=1)
            self.assertLess(apart.max(), 5.0, f"{quarters} quarters")

    def test_places_of_a_turned_picture_go_back_where_they_were(self) -> None:
        picture = np.zeros((30, 40), np.uint8)
        picture[7, 11] = 1
        for quarters in range(4):
            y, x = np.argwhere(np.rot90(picture, quarters))[0]
            back = filmed.turned(np.array([[x, y]], np.float32), quarters, picture.shape)
            self.assertEqual([int(v) for v in back[0]], [11, 7])

    def test_a_frame_is_new_by_its_pose_or_its_place(self) -> None:
        joints = np.concatenate([PLACES, np.full((packs.JOINTS, 1), 2)], axis=1).astype(np.float32)
        self.assertTrue(filmed.changed(joints, None))
        self.assertFalse(filmed.changed(joints + np.array([1, 1, 0], np.float32), joints))
        self.assertTrue(filmed.changed(joints + np.array([120, 0, 0], np.float32), joints))
        bent = joints.copy()
        bent[packs.BODY, 0] += np.linspace(0, 60, 12)
        self.assertTrue(filmed.changed(bent, joints))

    def test_who_is_seen_from_behind_is_known_standing_and_lying(self) -> None:
        joints = np.zeros((packs.JOINTS, 3), np.float32)
        joints[[5, 6, 11, 12]] = [(60, 20, 2), (20, 20, 2), (50, 80, 2), (30, 80, 2)]
        self.assertFalse(relabel.from_behind(joints))
        turned = joints.copy()
        turned[:, :2] = np.stack([joints[:, 1], 100 - joints[:, 0]], axis=1)
        self.assertFalse(relabel.from_behind(turned), "lying, face to the camera")
        self.assertTrue(relabel.from_behind(joints * (-1, 1, 1) + (100, 0, 0)))
        profile = joints.copy()
        profile[[5, 6, 11, 12], 0] = [50, 51, 50, 51]
        self.assertFalse(relabel.from_behind(profile), "from the side, a pixel decides nothing")

    def test_a_film_becomes_a_pack_of_what_changes_in_it(self) -> None:
        film = self.folder / "film.avi"
        writer = cv2.VideoWriter(str(film), cv2.VideoWriter.fourcc(*"MJPG"), 10, (200, 240))
        # three seconds: stands still for one, walks to the right, leaves
        for k in range(30):
            shown = figure(0 if k < 10 else (k - 10) * 6) if k < 24 else np.zeros((240, 200, 3), np.uint8)
            writer.write(shown[:, :, ::-1])
        writer.release()
        name = "intel-iot-devkit+sample-videos"
        git = repository(
            self.folder / name, {"asl_gestures/a.mkv": film.read_bytes(), "asl_gestures/b.mkv": b""}
        )
        counts: Counter[str] = Counter()
        entries = list(filmed.free_films(Colours(), [git], counts))
        self.assertGreaterEqual(len(entries), 1)
        self.assertGreaterEqual(counts["frame like the one before"], 1)
        self.assertGreaterEqual(counts["frame with nobody to be sure of"], 1)
        self.assertEqual(counts["film that the copy of its repository lacks"], 1)
        self.assertIn("CC BY 4.0, labelled by movenet_thunder", entries[0].source)
        gather.write(iter(entries), self.folder / filmed.PACK, filmed.PACK, counts)
        read = list(packs.read_pack(self.folder, filmed.PACK, packs.ReadReport()))
        self.assertEqual(len(read), len(entries))
        apart = np.linalg.norm(read[0].persons[0].joints[:, :2] - PLACES, axis=1)
        self.assertLess(float(apart.max()), 6.0)

    def test_terms_that_nobody_looked_up_are_refused(self) -> None:
        git = repository(self.folder / "somebody+films", {"a.mp4": b"x"})
        with self.assertRaises(KeyError):
            list(filmed.free_films(Colours(), [git], Counter()))
        self.assertEqual(licence_of([filmed.PACK]), Licence.COCO, "as free as the teacher of its labels")


if __name__ == "__main__":
    unittest.main()
