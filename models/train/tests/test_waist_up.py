"""People whom the picture's lower edge cuts off: labels stay where the pictures show them."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

import numpy as np

from posetrain.data.packs import JOINTS
from posetrain.temporal.waist_up import RENDERED, cut, frames_of, window


def person(frames: int = 3) -> np.ndarray:
    """Eyes at 200 px, hips at 480, ankles at 880; from the corner."""
    joints = np.zeros((frames, JOINTS, 3), np.float32)
    heights = [200] * 5 + [290, 290, 380, 380, 460, 460, 480, 480, 680, 680, 880, 880]
    joints[..., 0] = 640 + 40 * np.array([(-1) ** j for j in range(JOINTS)])
    joints[..., 1], joints[..., 2] = heights, 2
    return joints


class WaistUp(unittest.TestCase):
    def test_what_is_shown_is_where_its_label_says_and_what_is_cut_off_has_none(self) -> None:
        joints = person()
        for seed in range(8):
            size = (640, 480)
            matrix = window(np.random.default_rng(seed), joints, size)
            assert matrix is not None
            pictures = [np.zeros((RENDERED[1], RENDERED[0], 3), np.uint8) for _ in joints]
            for picture in pictures:
                picture[280:300, 670:690] = 255  # round the right shoulder, (680, 290) from the corner
            shown, labels = cut(iter(pictures), joints, matrix, size)
            self.assertEqual(shown[0].shape, (480, 640, 3))
            self.assertTrue((labels[:, 15:, 2] == 0).all(), "nobody's ankles are seen")
            self.assertTrue((labels[:, :7, 2] == 2).all(), "everybody's shoulders are")
            rows, columns = np.nonzero(shown[0][:, :, 0] > 127)
            self.assertAlmostEqual(float(columns.mean()) + 0.5, float(labels[0, 6, 0]), delta=0.6)
            self.assertAlmostEqual(float(rows.mean()) + 0.5, float(labels[0, 6, 1]), delta=0.6)

    def test_somebody_far_away_is_not_enlarged_to_a_blur(self) -> None:
        far = person()
        far[..., :2] *= 0.2
        self.assertIsNone(window(np.random.default_rng(1), far, (640, 480)))
        self.assertIsNotNone(window(np.random.default_rng(1), far * [2.5, 2.5, 1], (320, 240)))

    def test_a_film_is_read_as_it_was_drawn(self) -> None:
        width, height = RENDERED
        planes = [np.full(width * height, 76, np.uint8)]  # full range: red
        planes += [np.full(width * height // 4, value, np.uint8) for value in (85, 255)]
        frame = b"FRAME\n" + b"".join(p.tobytes() for p in planes)
        with tempfile.TemporaryDirectory() as folder:
            film = Path(folder) / "film.y4m"
            film.write_bytes(f"YUV4MPEG2 W{width} H{height} F30:1 C420jpeg\n".encode() + 2 * frame)
            pictures = list(frames_of(film))
        self.assertEqual(len(pictures), 2)
        np.testing.assert_allclose(pictures[1][5, 7], [254, 0, 0], atol=2)


if __name__ == "__main__":
    unittest.main()
