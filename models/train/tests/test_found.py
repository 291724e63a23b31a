"""Persons found in photos and films of unclear terms: each once, none that the project is judged by, files of earlier commits too."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from unittest import mock

import cv2
import numpy as np

from posetrain.data import gather, packs
from posetrain.data.licences import Licence, licence_of
from posetrain.finder import found
from posetrain.keypoints import likeness
from tests.test_filmed import COLOURS, PLACES, figure
from tests.test_sources import repository

BOX = np.array([*PLACES.min(axis=0), *PLACES.max(axis=0)], np.float32)


class Boxes:
    """A finder that says what it is told to."""

    def __init__(self, *boxes: packs.Floats) -> None:
        self.boxes = np.array(boxes, np.float32).reshape(-1, 4)

    def find(self, pixels: packs.Pixels, threshold: float) -> tuple[packs.Floats, packs.Floats]:
        return self.boxes, np.full(len(self.boxes), 0.9, np.float32)


class Colours:
    """A network that knows each joint of `figure` by its colour."""

    def __init__(self) -> None:
        self.features = np.zeros(packs.JOINTS, np.float32)

    def joints(self, pixels: packs.Pixels, centre: tuple[float, float], side: float) -> packs.Floats:
        out = np.zeros((packs.JOINTS, 2), np.float32)
        for j, colour in enumerate(COLOURS):
            far = np.abs(pixels.astype(float) - colour).sum(axis=2)
            y, x = np.unravel_index(int(far.argmin()), far.shape)
            within = max(abs(x - centre[0]), abs(y - centre[1])) <= side / 2
            out[j], self.features[j] = (x, y), 3.0 if far.min() < 40 and within else -3.0
        return out


def png(pixels: packs.Pixels) -> bytes:
    return cv2.imencode(".png", pixels[:, :, ::-1])[1].tobytes()


def gatherer(*boxes: packs.Floats, judged: packs.Floats | None = None) -> found.Gatherer:
    nobody = np.zeros((0, likeness.SIGNATURE_PX**2), np.float32)
    known = likeness.Judged(nobody if judged is None else judged)
    return found.Gatherer(Boxes(*boxes), Colours(), known)  # type: ignore[arg-type]


class Found(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_somebody_found_twice_is_written_once_where_the_joints_are(self) -> None:
        gather_ = gatherer(BOX, BOX + np.array([4, 0, 4, 0], np.float32))
        persons = gather_.persons(figure())
        assert persons is not None
        [person] = persons
        self.assertLess(float(np.linalg.norm(person[:, :2] - PLACES, axis=1).max()), 4.0)
        self.assertEqual(gather_.counts["person found twice"], 1)

    def test_a_find_of_nobody_and_a_small_one_are_not_written(self) -> None:
        black = gatherer(BOX)
        self.assertEqual(black.persons(np.zeros((240, 200, 3), np.uint8)), [])
        self.assertEqual(black.counts["find of whom the network is not sure"], 1)
        self.assertEqual(gatherer(BOX * 0.3).persons(figure()), [])

    def test_whom_the_project_is_judged_by_is_known_in_another_crop_and_size(self) -> None:
        rng = np.random.default_rng(1)

        def shown() -> packs.Pixels:
            """The figure before a background of its own."""
            patches = rng.integers(0, 255, (6, 5, 3), np.uint8)
            behind = cv2.resize(patches, (200, 240), interpolation=cv2.INTER_NEAREST)
            drawn = figure()
            return np.where(drawn.any(axis=2, keepdims=True), drawn, behind).astype(np.uint8)

        scene, other = shown(), shown()
        small = cv2.resize(scene, (150, 180), interpolation=cv2.INTER_AREA)[:, :-10].astype(np.uint8)
        moved = (BOX + 0.5) * 0.75 - 0.5
        judged = likeness.signature(np.ascontiguousarray(small), moved)[None]
        self.assertIsNone(gatherer(BOX, judged=judged).persons(scene))
        self.assertEqual(len(gatherer(BOX, judged=judged).persons(other) or []), 1)
        # beside somebody else, larger, and surer or not to be sure of: nothing of the picture is written
        beside = np.array([200, 0, 200, 0], np.float32)
        both = np.concatenate([other, scene], axis=1)
        two = gatherer(BOX * 1.05, BOX + beside, judged=judged)
        self.assertEqual(list(two.photo(png(both), "both", "")), [])
        self.assertEqual(two.counts["photo of somebody like one that the project is judged by"], 1)
        self.assertEqual(len(list(gatherer(BOX * 1.05, judged=judged).photo(png(other), "other", ""))), 1)

    def test_a_film_of_one_frame_of_somebody_judged_is_left_out_whole(self) -> None:
        film = self.folder / "film.avi"
        writer = cv2.VideoWriter(str(film), cv2.VideoWriter.fourcc(*"MJPG"), 10, (200, 240))
        for k in range(8):
            writer.write(figure(0 if k < 4 else 100)[:, :, ::-1])
        writer.release()
        wide = gatherer(np.array([0, 0, 199, 239], np.float32))
        data = film.read_bytes()
        written = wide.film(data, ".avi", "a", "")
        self.assertEqual(len(written), 2)
        with mock.patch.object(likeness.Judged, "has", side_effect=[False, True]):
            self.assertEqual(wide.film(data, ".avi", "a", ""), [])
        self.assertEqual(wide.counts["film of somebody like one that the project is judged by"], 1)

    def test_photos_of_every_commit_and_frames_that_differ_become_a_pack(self) -> None:
        film = self.folder / "film.avi"
        writer = cv2.VideoWriter(str(film), cv2.VideoWriter.fourcc(*"MJPG"), 10, (200, 240))
        for k in range(60):
            writer.write(figure(0 if k < 30 else 100)[:, :, ::-1])
        writer.release()
        name = "somebody+films"
        first = repository(self.folder / name, {"a.png": png(figure()), "b.avi": film.read_bytes()})
        (self.folder / name / "a.png").unlink()
        repository(self.folder / name, {"c.png": png(figure(40)), "d.png": b"no picture"})
        git = gather.Everything(first.folder)
        wide = np.array([0, 0, 199, 239], np.float32)
        made = gatherer(wide)
        entries = list(made.of(git, gather.Held(r"\.(png|avi)$")))
        films = [e for e in entries if e.name.count("-") > 2]
        self.assertEqual((len(entries) - len(films), len(films)), (2, 2), [e.name for e in entries])
        self.assertEqual(made.counts["file that is no picture"], 1)
        gather.write(iter(entries), self.folder / found.PACK, found.PACK, made.counts)
        read = list(packs.read_pack(self.folder, found.PACK, packs.ReadReport()))
        self.assertEqual({p.split for p in read}, {"train"})

    def test_weights_that_learn_from_them_are_for_research(self) -> None:
        self.assertEqual(licence_of([found.PACK]), Licence.RESEARCH)


if __name__ == "__main__":
    unittest.main()
