"""The figures that shipped weights are chosen by."""

from __future__ import annotations

import contextlib
import io
import tempfile
import tomllib
import unittest
from pathlib import Path
from unittest import mock

import numpy as np
import torch

from posetrain.data.packs import MIRROR
from posetrain.paths import CONFIGS
from posetrain.temporal import between, clip_set, hidden, strip
from posetrain.temporal.answers import SHIPPED_SMOOTHNESS, answers, places_px, told_px
from posetrain.temporal.between import Clip, figures
from posetrain.temporal.export import between as line
from posetrain.temporal.model import Hyper, TemporalXl
from posetrain.temporal.residual import show_through
from posetrain.temporal.train import read_start
from posetrain.temporal.weights import pwt

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


TINY = Hyper(width=16, layers=1, heads=2, feed_forward=16, memory=4, exchange=True, inertia=True)


def weights(path: Path, seed: int) -> None:
    """A file whose model tells two kinds of detectors apart."""
    torch.manual_seed(seed)
    knobs = {
        "lead_frames": torch.tensor([0.5]),
        "sigma_scale": torch.ones(2),
        "error_model.keypoints": torch.tensor([0.2, 1.0, 1.0]),
        "shows_through.keypoints": torch.tensor([0.8]),
    }
    path.write_bytes(pwt(TINY, TemporalXl(TINY).state_dict() | knobs))


def walk() -> Clip:
    c = clip()
    xy = (c.label + 2.0 * np.arange(FRAMES)[:, None, None]).astype(np.float32)
    return Clip(c.times, xy, 0.9 * c.score, xy, xy, c.known, c.known, c.extent)


class AsTold(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name, seed in (("temporal-xl", 1), ("new", 2)):
            weights(self.folder / f"{name}.pwt", seed)

    def said(self, module: object, *words: str) -> str:
        out = io.StringIO()
        with mock.patch("sys.argv", ["", *words]), contextlib.redirect_stdout(out):
            module.main()  # type: ignore[attr-defined]
        return out.getvalue()

    def test_weights_between_are_measured_as_the_device_runs_them(self) -> None:
        c = walk()
        np.savez(
            self.folder / "set.npz",
            time=c.times,
            xy=c.xy,
            score=c.score,
            label=c.label,
            smoothed=c.course,
            known=c.known,
            extent=c.extent,
            offset=np.array([0, FRAMES]),
            tier=np.array([1]),
            name=np.array(["walk"]),
        )
        old, new = self.folder / "temporal-xl.pwt", self.folder / "new.pwt"
        words = ("--old", str(old), "--new", str(new), "--errors", str(self.folder), "--all", "set.npz")
        said = self.said(between, *words, "--shares", "0", "0.5")
        model = TemporalXl(TINY).eval()
        detector = tomllib.loads((CONFIGS / "temporal" / "detectors.toml").read_text())["keypoints"]
        for share in (0, 0.5):
            model.load_state_dict(line(read_start(old), read_start(new), share))
            f, a = answers(model, c.times[None], c.xy[None], c.score[None], SHIPPED_SMOOTHNESS)
            places, shown = places_px(f, a, detector["lead"]), detector["shows_through"]
            place = show_through(places, c.xy[None], c.score[None], c.times[None], f.scale_px, shown)
            wanted = figures([place[0, :, 0]], [c])
            self.assertIn(f"| {share:g} | {wanted['MPJPE']:.2f} | {wanted['PCK.05']:.3f} |", said)

    def test_clips_are_shown_with_what_was_fitted_for_their_detector(self) -> None:
        c = walk()
        one = clip_set.Clip("walk", c.times, c.extent, c.xy, c.score, c.label.astype(float), None)
        gone = c.score.copy()
        gone[8:12] = 0
        covered = clip_set.Clip("walk", c.times, c.extent, c.xy, gone, c.label.astype(float), None)
        for name, lane in (("whole", one), ("covered", covered)):
            path = self.folder / f"{name}.json"
            clip_set.write(path, clip_set.ClipSet(name, "keypoints", 0.0, [lane]))
        models, whole = ("--models", str(self.folder)), ("--clips", str(self.folder / "whole.json"))
        picture = self.folder / "strip.png"
        drawn = ("--first", "4", "--pictures", "2", "--out", str(picture))
        runs = (
            (hidden, (*models, *whole, "--hidden", str(self.folder / "covered.json"))),
            (strip, (*models, *whole, *drawn)),
        )
        for module, words in runs:
            with mock.patch.object(module, "told_px", wraps=told_px) as told:
                self.said(module, *words)
            np.testing.assert_allclose(told.call_args.args[-2:], (0.2, 0.8))
        self.assertTrue(picture.exists())


if __name__ == "__main__":
    unittest.main()
