"""The study's measures on tracks made by hand, whose figures are known."""

from __future__ import annotations

import math
import unittest
from dataclasses import replace

import numpy as np

from posetrain.data.packs import MIRROR
from posetrain.study.measure import (
    Reader,
    accel_at,
    figures,
    hidden_error,
    last_place,
    swapped,
)
from posetrain.temporal.clip_set import Clip, ClipSet
from posetrain.temporal.model import HORIZONS

EXTENT, FRAMES = 100.0, 24
# Left and right stand 40 px apart; joints of a side lie 5 px below each other, in the order of the skeleton.
BODY = np.array([[40.0 * (j % 2), 5.0 * j] for j in range(17)])


def clip(speed: float = 0.0) -> Clip:
    """Walks along y, seen without error."""
    truth = BODY + speed * np.arange(FRAMES)[:, None, None] * np.array([0.0, 1.0])
    seen = truth.astype(np.float32)
    return Clip(
        "a", np.arange(float(FRAMES)), np.full(FRAMES, EXTENT), seen, np.ones((FRAMES, 17)), truth, None
    )


def clips(*some: Clip) -> ClipSet:
    return ClipSet("made", "keypoints", 0.0, list(some))


def saying(place: np.ndarray, sigma: float | None = None) -> Reader:
    """[T,17,2] for every horizon, and the same sigma everywhere."""
    said = None if sigma is None else np.full(place.shape[:2], sigma)
    return lambda clip, smoothness: (np.repeat(place[:, None], HORIZONS, 1), said)


class Figures(unittest.TestCase):
    def test_an_answer_off_by_a_known_distance(self) -> None:
        c = clip()
        off = np.zeros((FRAMES, 17, 2))
        off[:, :8, 0] = 7.0  # of 17 joints eight are 7 % of the extent off, nine are right
        f = figures(saying(c.truth + off), clips(c), 0.3)
        self.assertEqual(f.smoothness, 0.3)
        self.assertAlmostEqual(f.mpjpe, 7.0 * 8 / 17)
        self.assertAlmostEqual(f.pck05, 9 / 17)
        self.assertAlmostEqual(f.pck10, 1.0)
        self.assertAlmostEqual(f.accel, 0.0)
        assert f.jitter is not None
        self.assertAlmostEqual(f.jitter, 0.0)

    def test_shaking_is_jitter_where_the_truth_stands_and_accel_everywhere(self) -> None:
        shake = np.where(np.arange(FRAMES) % 2, 1.0, -1.0)[:, None, None] * np.array([1.0, 0.0])
        for speed in (0.0, 2.0):
            c = clip(speed)
            f = figures(saying(c.truth + shake), clips(c), 0.0)
            self.assertAlmostEqual(f.accel, 4.0)  # 1, -1, 1: second difference 4 px of 100
            if speed:
                self.assertIsNone(f.jitter)  # nothing stands still
            else:
                assert f.jitter is not None
                self.assertAlmostEqual(f.jitter, 2.0)

    def test_an_answer_that_is_late_by_a_frame(self) -> None:
        c = clip(2.0)
        f = figures(saying(c.truth - np.array([0.0, 2.0])), clips(c), 0.0)
        self.assertAlmostEqual(f.lag_frames, 1.0, places=3)
        # Said of 100 ms, three frames, ahead: three frames and the one that it is late.
        self.assertAlmostEqual(f.ahead_100ms, 2.0 * 4)

    def test_an_interval_covers_what_lies_within_it(self) -> None:
        c = clip()
        off = np.zeros((FRAMES, 17, 2))
        off[: FRAMES // 4, :, 0] = 3.0  # of both coordinates an eighth is beyond
        self.assertEqual(figures(saying(c.truth + off, 2.0), clips(c), 0.0).covers, 1 - 1 / 8)
        self.assertIsNone(figures(saying(c.truth), clips(c), 0.0).covers)

    def test_joints_repaired_and_broken(self) -> None:
        c = clip()
        c.xy[:4, 9, 0] += 30  # wrong in four frames, of which the answer rights three
        place = c.truth.copy()
        place[0, 9, 0] += 30
        place[10:12, 3, 1] += 11  # and two that were right are wrong now
        f = figures(saying(place), clips(c), 0.0)
        self.assertEqual(f.repaired, 75.0)
        assert f.broken is not None
        self.assertAlmostEqual(f.broken, 100 * 2 / (17 * FRAMES - 4))

    def test_swapped_limbs_repaired_and_sound_ones_broken(self) -> None:
        c = clip()
        c.xy[:10] = c.xy[:10, MIRROR]  # ten frames in which left and right change places, all six pairs
        place = c.truth.copy()
        place[0] = place[0, MIRROR]  # one is left as it was
        place[20, [9, 10]] = place[20, [10, 9]]  # and the wrists, which were sound, are exchanged
        f = figures(saying(place), clips(c), 0.0)
        self.assertEqual(f.limbs_repaired, 90.0)
        assert f.limbs_broken is not None
        self.assertAlmostEqual(f.limbs_broken, 100 * 1 / (6 * (FRAMES - 10)))

    def test_limbs_that_lie_on_each_other_are_not_told_apart(self) -> None:
        c = clip()
        c.truth[:, 10] = c.truth[:, 9] + 1.0
        place = c.truth.copy()
        place[:, [9, 10]] = place[:, [10, 9]]
        self.assertEqual(figures(saying(place), clips(c), 0.0).limbs_broken, 0.0)
        self.assertTrue(swapped(place, c.truth)[:, 2].all())

    def test_what_is_not_known_is_not_counted(self) -> None:
        c = clip()
        c.truth[:, 9] = math.nan
        place = np.nan_to_num(c.truth, nan=1e4)
        f = figures(saying(place), clips(c), 0.0)
        self.assertEqual((f.mpjpe, f.broken, f.limbs_broken, f.limbs_repaired), (0.0, 0.0, 0.0, None))


class Hidden(unittest.TestCase):
    def test_the_error_of_joints_hidden_for_ten_frames(self) -> None:
        """Held where it was last seen, a wrist that walks on is off by 2 px more each frame: 11 px on the mean of ten."""
        c = clip(2.0)
        score = c.score.copy()
        score[8:18, 9] = 0
        self.assertAlmostEqual(hidden_error(last_place, clips(c), clips(replace(c, score=score))), 11.0)


class EqualLag(unittest.TestCase):
    def test_accel_is_read_between_the_points_of_a_curve_and_not_beyond(self) -> None:
        curve = [{"lag_frames": 0.0, "accel": 2.0}, {"lag_frames": 1.0, "accel": 1.0}]
        self.assertEqual(accel_at(curve, 0.25), 1.75)
        self.assertTrue(np.isnan(accel_at(curve, -0.1)))


if __name__ == "__main__":
    unittest.main()
