"""Classic filters beside the study's rows: what they do to a steady motion, what they see, and how their settings are chosen."""

from __future__ import annotations

import unittest

import numpy as np

from posetrain.study.classics import (
    TITLES,
    Exponential,
    HampelGaussian,
    Kalman,
    OneEuro,
    grids,
    reader,
    tuned,
)
from posetrain.study.measure import figures
from posetrain.temporal.clip_set import Clip, ClipSet


def clip(frames: int = 60, noise: float = 0.0, speed: float = 2.0) -> Clip:
    """A person who walks along x at `speed` px a frame and is swaying, 100 px tall."""
    rng = np.random.default_rng(0)
    body = rng.uniform(0, 100, (17, 2))
    at = np.arange(float(frames))
    sway = 6 * np.sin(at / 5)[:, None, None] * np.array([0.0, 1.0])
    truth = body + at[:, None, None] * np.array([speed, 0.0]) + sway
    seen = (truth + rng.normal(0, noise, truth.shape)).astype(np.float32)
    return Clip("walk", at, np.full(frames, 100.0), seen, np.ones((frames, 17)), truth, None)


class Filters(unittest.TestCase):
    def test_every_filter_of_the_page_has_settings(self) -> None:
        self.assertEqual(set(TITLES), set(grids()))

    def test_none_sees_further_than_it_says(self) -> None:
        whole = clip(noise=3)
        other = clip(noise=3)
        other.xy[40:] += 50
        for name, settings in grids().items():
            ahead = settings[0].ahead if isinstance(settings[0], HampelGaussian) else 0
            for f in settings:
                a, b = (reader(f)(c, 0.0)[0] for c in (whole, other))
                np.testing.assert_allclose(a[: 40 - ahead], b[: 40 - ahead], err_msg=name)

    def test_a_steady_motion_is_known_to_the_kalman_filter_and_lags_in_a_mean(self) -> None:
        c = clip()
        kalman = reader(Kalman(0.01, 0.01))(c, 0.0)[0][:, :, :, 0] - c.truth[:, None, :, 0]
        np.testing.assert_allclose(kalman[-1, 0], 0, atol=0.1)
        np.testing.assert_allclose(kalman[-1, 2], 2.0 * 3, atol=0.3)  # three frames ahead
        mean = reader(Exponential(2.0))(c, 0.0)[0][-1, 0, :, 0] - c.truth[-1, :, 0]
        np.testing.assert_allclose(mean, -2 / (np.exp(0.5) - 1), atol=0.05)

    def test_one_euro_lets_a_fast_motion_pass(self) -> None:
        c = clip(speed=5)
        slow, quick = (reader(OneEuro(0.03, beta))(c, 0.0)[0][-1, 0, 0, 0] for beta in (0.0, 30.0))
        self.assertLess(c.truth[-1, 0, 0] - quick, 0.3 * (c.truth[-1, 0, 0] - slow))

    def test_hampel_rejects_a_jump(self) -> None:
        c = clip(speed=0, noise=0.5)
        c.xy[30, 4] += 80
        place = reader(HampelGaussian(2.0, 2))(c, 0.0)[0][:, 0, 4]
        self.assertLess(np.abs(place - c.truth[:, 4]).max(), 8)

    def test_settings_keep_within_their_lag(self) -> None:
        clips = ClipSet("walk", "keypoints", 0.0, [clip(noise=3)])
        settings = grids()["exponential"]
        chosen = tuned(settings, clips)
        shakes = [figures(reader(f), clips, 0.0).accel for f in chosen]
        self.assertLessEqual(shakes[-1], shakes[0], "more lag, less shaking")


if __name__ == "__main__":
    unittest.main()
