"""The figures that shipped weights are chosen by."""

from __future__ import annotations

import unittest

import numpy as np

from posetrain.data.packs import MIRROR
from posetrain.temporal.between import Clip, figures

FRAMES = 20


def clip(step: float = 1.0) -> Clip:
    """Joints on two columns, left ones apart from right ones; extent 100 px; joint 9 is hidden."""
    label = np.tile(np.random.default_rng(0).uniform(0, 100, (17, 2)), (FRAMES, 1, 1))
    known = np.ones((FRAMES, 17), bool)
    seen = known.copy()
    seen[:, 9] = False
    times = step * np.arange(FRAMES)
    score = np.ones((FRAMES, 17))
    return Clip(times, label, score, label, label, known, seen, np.full(FRAMES, 100.0))


class Figures(unittest.TestCase):
    def test_a_place_off_by_seven_parts_is_within_ten_and_not_five(self) -> None:
        c = clip()
        got = figures([c.label + np.array([7.0, 0.0])], [c])
        self.assertAlmostEqual(got["MPJPE"], 7)
        self.assertEqual((got["PCK.05"], got["PCK.1"], got["hidden PCK.1"], got["exchanged %"]), (0, 1, 1, 0))
        self.assertAlmostEqual(got["Accel"], 0)

    def test_hidden_joints_count_apart_and_the_farthest_for_half_the_extent(self) -> None:
        c = clip()
        place = c.label.copy()
        place[:, 9] += 30
        self.assertEqual(figures([place], [c])["MPJPE"], 0)
        self.assertEqual(figures([place], [c])["hidden PCK.1"], 0)
        place = c.label + np.array([900.0, 0.0])
        self.assertAlmostEqual(figures([place], [c])["MPJPE"], 50)

    def test_exchanged_sides_are_seen(self) -> None:
        c = clip()
        place = c.label.copy()
        place[:5] = place[:5, MIRROR]
        self.assertAlmostEqual(figures([place], [c])["exchanged %"], 25)

    def test_shaking_is_the_second_difference_and_counts_where_frames_lie_close(self) -> None:
        c = clip()
        shaken = c.label + np.array([1.0, 0.0]) * (np.arange(FRAMES) % 2)[:, None, None]
        self.assertAlmostEqual(figures([shaken], [c])["Accel"], 2)
        slow = clip(step=3.0)
        with np.errstate(invalid="ignore"), self.assertWarns(RuntimeWarning):
            self.assertTrue(np.isnan(figures([shaken], [slow])["Accel"]))


if __name__ == "__main__":
    unittest.main()
