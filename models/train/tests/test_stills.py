"""Films of a window that moves over a still: labels stay on what they label, and the window moves as a camera in a hand does."""

from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import cv2
import numpy as np

from posetrain.data.packs import Person, Picture
from posetrain.temporal import stills
from posetrain.temporal.noise import tuning


def person() -> np.ndarray:
    """A figure of 17 joints in a picture of 640 x 480, all labelled."""
    rng = np.random.default_rng(3)
    xy = rng.uniform((220, 100), (420, 380), (17, 2))
    return np.concatenate([xy, np.full((17, 1), 2.0)], 1).astype(np.float32)


class Films(unittest.TestCase):
    def test_labels_stay_on_what_they_label(self) -> None:
        joints, pixels = person(), np.zeros((480, 640, 3), np.uint8)
        x, y = joints[9, :2].round().astype(int)
        joints[9, :2] = x, y
        pixels[y - 10 : y + 11, x - 10 : x + 11] = 255
        seen = 0
        for seed in range(6):
            frames, places = stills.film(
                np.random.default_rng(seed), Picture("coco_more", "train", "1", pixels, []), joints
            )
            self.assertEqual((len(frames), places.shape), (stills.FRAMES, (stills.FRAMES, 17, 3)))
            for frame, place in zip(frames, places, strict=True):
                height, width = frame.shape[:2]
                inside = 0 <= place[9, 0] <= width - 1 and 0 <= place[9, 1] <= height - 1
                self.assertEqual(place[9, 2], 2.0 if inside else 0.0)
                if not (8 < place[9, 0] < width - 8 and 8 < place[9, 1] < height - 8):
                    continue
                light = cv2.GaussianBlur(frame.sum(2).astype(np.float32), (0, 0), 6)
                row, column = np.unravel_index(light.argmax(), light.shape)
                self.assertLess(
                    np.linalg.norm(np.array([column, row]) - place[9, :2]), 5, (seed, row, column, place[9])
                )
                seen += 1
        self.assertGreater(seen, 100)

    def test_the_window_moves_and_does_not_jump(self) -> None:
        for seed in range(20):
            moved = stills.windows(np.random.default_rng(seed), person(), (320, 240), 36)
            at = moved @ np.array([320.0, 240.0, 1.0])
            steps = np.linalg.norm(np.diff(at, axis=0), axis=1)
            self.assertLess(steps.max(), 25)
            self.assertGreater(np.ptp(at, axis=0).max(), 2)

    def test_persons_of_one_picture_are_on_one_side_of_the_split(self) -> None:
        pixels = np.zeros((480, 640, 3), np.uint8)
        persons = [Person(k, person(), (0, 0, 1, 1)) for k in range(8)]
        picture = Picture("coco_more", "train", "000000000692.jpg", pixels, persons)
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.object(stills, "read_pack", lambda *_: [picture]),
            mock.patch.object(stills, "FRAMES", 2),
            mock.patch("sys.argv", ["stills", "--data", folder, "--out", folder]),
        ):
            stills.main()
            heads = [json.loads(p.read_text().splitlines()[0]) for p in Path(folder).glob("*.jsonl")]
        self.assertEqual(len(heads), 8)
        self.assertEqual({head["source"] for head in heads}, {"still-000000000692"})
        self.assertEqual(len({tuning(head["film"]) for head in heads}), 1)


if __name__ == "__main__":
    unittest.main()
