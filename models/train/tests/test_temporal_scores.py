"""A joint's score: how likely it lies near enough, by what the network says of its error."""

from __future__ import annotations

import hashlib
import tempfile
import unittest
from dataclasses import asdict, fields, replace
from pathlib import Path
from unittest import mock

import numpy as np
import torch

from posetrain.temporal import export, scores, train
from posetrain.temporal.answers import is_predicted
from posetrain.temporal.calibrate import Fitting
from posetrain.temporal.frames import Framed
from posetrain.temporal.model import Hyper, TemporalXl
from posetrain.temporal.scores import fit, in_card, score
from posetrain.temporal.weights import CURVE


class Scores(unittest.TestCase):
    def test_a_curve_is_found_again_and_says_how_often_joints_are_right(self) -> None:
        rng = np.random.default_rng(1)
        curve = np.array([1.7, 0.07])
        parts: list[list[np.ndarray]] = []
        for middle in (-4.0, -2.0):  # of somebody seen well, and badly
            log_sigma = rng.normal(middle, 0.8, 20_000)
            parts.append([log_sigma, rng.random(20_000) < score(curve, log_sigma)])
        found = fit(parts)
        np.testing.assert_allclose(found, curve, rtol=0.05)
        for log_sigma, near in parts:
            self.assertAlmostEqual(float(score(found, log_sigma).mean()), float(near.mean()), delta=0.01)

    def test_every_part_counts_alike_however_long_it_is(self) -> None:
        rng = np.random.default_rng(2)
        log_sigma = rng.normal(-3, 0.5, 20_000)
        sure, unsure = rng.random(20_000) < 0.9, rng.random(20_000) < 0.5
        told = [
            score(fit([[log_sigma[:n], sure[:n]], [log_sigma, unsure]]), np.array(-3.0))
            for n in (2_000, 20_000)
        ]
        np.testing.assert_allclose(told, 0.7, atol=0.03)

    def test_half_at_the_middle_and_less_from_there(self) -> None:
        said = score(np.array([2.0, 0.1]), np.log(np.array([0.01, 0.1, 1.0])))
        np.testing.assert_allclose(said, [100 / 101, 0.5, 1 / 101])

    def test_a_card_holds_the_new_curve_in_the_place_of_the_old(self) -> None:
        card = f'name = "a"\nsha256 = "old"\n\n[card]\nsigma_scale = [1.0, 2.0]\n{CURVE}_keypoints = [9.0, 9.0]\nparameters = 3\n'
        curves = {
            f"{CURVE}.keypoints": torch.tensor([1.5, 0.0714]),
            f"{CURVE}.movenet": torch.tensor([2.0, 0.08]),
        }
        text = in_card(card, "new", curves)
        self.assertEqual(
            text,
            f'name = "a"\nsha256 = "new"\n\n[card]\nsigma_scale = [1.0, 2.0]\n{CURVE}_keypoints = [1.5, 0.071]\n'
            f"{CURVE}_movenet = [2.0, 0.08]\nparameters = 3\n",
        )
        self.assertEqual(in_card(text, "new", curves), text)

    def test_the_curve_for_unknown_detectors_is_fitted_on_what_export_fits_it_on(self) -> None:
        hyper = Hyper(width=16, layers=1, heads=2, feed_forward=16, memory=4, exchange=True, inertia=True)
        of_run = ["jhmdb-movenet-train.npz", "jhmdb-small-train.npz"]
        data = {"errors": of_run, "exact": [], "penn_share": 0.0}
        asked: list[Fitting] = []

        def curve(model: object, fitting: Fitting, widen: float) -> torch.Tensor:
            asked.append(fitting)
            return torch.tensor([2.0, 0.1])

        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            torch.manual_seed(1)
            model = TemporalXl(hyper)
            config = {"licence": "c", "model": asdict(hyper), "data": data}
            last = train.checkpoint(folder / "last.pt", model, model, torch.optim.AdamW(model.parameters()))
            train.save(last, 1, config, ["jhmdb"])
            (folder / "run.toml").write_text(f"[data]\nerrors = {of_run}\nexact = []\n")
            places = ("--data", name, "--errors", name)
            weights = folder / "temporal-xl.pwt"
            for module, words in (
                (export, ("--checkpoint", str(last.path), "--models", name)),
                (scores, ("--weights", str(weights), "--config", str(folder / "run.toml"))),
            ):
                with (
                    mock.patch("sys.argv", ["", *words, *places]),
                    mock.patch.object(module, "score_curve", curve),
                    mock.patch.object(export, "sigma_scale", return_value=[1.0, 1.5]),
                ):
                    module.main()
            self.assertIn(
                'sha256 = "' + hashlib.sha256(weights.read_bytes()).hexdigest(),
                weights.with_suffix(".toml").read_text(),
            )
        half = len(asked) // 2
        self.assertEqual(asked[:half], asked[half:])
        self.assertEqual([bank.name for bank in asked[0].banks], of_run)


class Told(unittest.TestCase):
    def test_a_joint_that_the_device_calls_absent_is_in_no_fit(self) -> None:
        frames = 4
        f = Framed(*(np.zeros(0) for _ in fields(Framed)))
        f = replace(f, scale_px=np.full((1, frames), 100.0))
        seen, measured = np.zeros((1, frames, 17), bool), np.zeros((1, frames, 17), bool)
        seen[:, 1:, 0], seen[:, 1, 1], measured[:, 1, 2] = True, True, True
        seen[:, 1, 2] = True
        sigma = np.full((1, frames, 17), 10.0)  # a tenth of the scale
        for widen, told in ((1.0, [3, 3, 2]), (2.0, [3, 1, 0]), (5.0, [0, 0, 0])):
            predicted = is_predicted(f, sigma, measured, seen, widen)
            self.assertEqual(predicted[0].sum(0)[:4].tolist(), [*told, 0], f"sigma {widen / 10} of the scale")


if __name__ == "__main__":
    unittest.main()
