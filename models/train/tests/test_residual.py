"""What goes on lying beside the answer shows through it, and nothing else does; the golden file holds it to Rust."""

from __future__ import annotations

import unittest

import numpy as np

from posetrain.temporal.residual import NEAR, show_through

SCALE = 200.0
LEFT_WRIST, RIGHT_WRIST = 9, 10


def told(seen_x: np.ndarray, score: np.ndarray, share: float = 1.0, other: float = 500.0) -> np.ndarray:
    """Where the left wrist is told that the network places at 0, the right one at `other`, and that is seen at `seen_x`, frame by frame."""
    count = len(seen_x)
    place, xy = np.zeros((1, count, 4, 17, 2)), np.zeros((1, count, 17, 2))
    xy[0, :, LEFT_WRIST, 0] = seen_x
    place[..., RIGHT_WRIST, 0] = other
    out = show_through(
        place,
        xy,
        np.tile(score[None, :, None], (1, 1, 17)),
        np.arange(float(count))[None],
        np.full((1, count), SCALE),
        share,
    )
    np.testing.assert_array_equal(out[:, :, 0], out[:, :, 3])
    return np.asarray(out[0, :, 0, LEFT_WRIST, 0])


class Residual(unittest.TestCase):
    def test_what_stays_beside_the_answer_shows_through(self) -> None:
        sure = np.full(40, 0.9)
        self.assertAlmostEqual(
            told(np.full(40, 4.0), sure)[-1], 4 / (1 + (4 / (NEAR * SCALE)) ** 2), places=2
        )
        self.assertAlmostEqual(
            told(np.full(40, 4.0), sure, 0.5)[-1], 2 / (1 + (4 / (NEAR * SCALE)) ** 2), places=2
        )
        self.assertLess(abs(told(np.where(np.arange(40) % 2, 4.0, -4.0), sure)[-1]), 0.7)

    def test_what_is_far_off_or_unsure_does_not(self) -> None:
        self.assertLess(told(np.full(40, 160.0), np.full(40, 0.9))[-1], 2)
        self.assertEqual(told(np.full(40, 4.0), np.full(40, 0.3))[-1], 0)
        np.testing.assert_array_equal(told(np.full(9, 4.0), np.full(9, 0.9), 0.0), np.zeros(9))

    def test_what_is_seen_where_the_other_side_is_told_does_not(self) -> None:
        self.assertEqual(told(np.full(40, 12.0), np.full(40, 0.9), other=20.0)[-1], 0)


if __name__ == "__main__":
    unittest.main()
