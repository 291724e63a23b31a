"""Labels that trail their film are read later, whichever way a lane runs through it."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

import numpy as np
from posetrain.temporal.noise import Real, later


class Labels(unittest.TestCase):
    def test_later_moves_along_a_steady_motion_and_stays_at_its_end(self) -> None:
        xy = np.arange(6, dtype=np.float32)[:, None, None] * np.ones((6, 17, 2), np.float32)
        self.assertTrue(np.allclose(later(xy, 0.25)[:5, 3, 1], np.arange(5) + 0.25))
        self.assertEqual(later(xy, 0.25)[5, 0, 0], 5)

    def test_a_detector_without_error_is_behind_nothing_either_way(self) -> None:
        """A detector that is exact, labels 0.2 frame late: the truth that lanes are given lies `lag` behind what was seen."""
        tmp_path = Path(self.enterContext(tempfile.TemporaryDirectory()))
        frames, speed, late, lag = 40, 3.0, 0.2, 0.1
        at = np.arange(frames, dtype=np.float32)
        joints = np.random.default_rng(0).uniform(0, 80, (17, 2)).astype(np.float32)
        xy = joints + speed * at[:, None, None]
        known = np.ones((frames, 17), bool)
        np.savez(
            tmp_path / "z.npz",
            offset=[0, frames],
            tier=[1],
            name=["film_run_f_nm_x"],
            time=at,
            xy=xy,
            score=np.ones((frames, 17)),
            smoothed=xy - late * speed,
            known=known,
            extent=np.full(frames, 80.0),
        )
        real = Real([tmp_path / "z.npz"], late, lag)
        self.assertTrue(real.clips, "the film of this name is one that training learns from")
        truth, seen, _ = real.lanes(np.random.default_rng(1), 4, 60)
        for lane in range(4):
            step = np.diff(seen[lane, :, 0], axis=0)
            dt = np.diff(truth.times[lane])
            behind = (
                np.einsum("ti,ti->t", seen[lane, 1:, 0] - truth.xy[lane, 1:, 0, 0], step)
                / np.maximum((step**2).sum(-1), 1e-9)
                * dt
            )
            # In frames of the lane's own clock; where the film turns round or ends the motion is none.
            inner = behind[2:-2]
            self.assertAlmostEqual(float(np.median(inner)), lag, delta=0.03)


if __name__ == "__main__":
    unittest.main()
