"""The study's commands on little: results that survive being broken off, and the page that is made of them."""

from __future__ import annotations

import json
import re
import tempfile
import tomllib
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch

from posetrain.paths import CONFIGS, REPOSITORY
from posetrain.study import equations, page, times
from posetrain.study.classics import TITLES
from posetrain.study.plots import front
from posetrain.study.results import Result, equal_lag, read, sound
from posetrain.study.row import Network
from posetrain.study.run import (
    RESULTS,
    Clips,
    Member,
    Training,
    draw,
    measured,
    observed,
    train_together,
    whose,
)
from posetrain.study.table import table
from posetrain.temporal.clip_set import Clip, ClipSet
from posetrain.temporal.clip_set import write as write_clips
from posetrain.temporal.frames import frame
from posetrain.temporal.motion import sample_times


class DrawnLanes:
    """Lanes of a person who sways, instead of motion capture."""

    def draw(self, rng: np.random.Generator) -> tuple[None, dict[str, torch.Tensor]]:
        b, t = 2, 12
        times = sample_times(rng, b, t)
        ahead = times[:, :, None] + np.array([0.0, 1.5, 3.0, 4.5])
        body = rng.uniform(100, 200, (b, 1, 1, 17, 2))
        xy = (body + 20 * np.sin(ahead / 9)[..., None, None]).astype(np.float32)
        seen = xy[:, :, 0] + rng.normal(0, 2, (b, t, 17, 2)).astype(np.float32)
        f = frame(times, seen, np.ones((b, t, 17)), np.zeros(b))
        lanes: dict[str, Any] = {
            "features": f.features, "bank": f.bank, "centre": f.centre_px, "scale": f.scale_px, "times": times,
            "xy": xy, "valid": np.ones((b, t, 4, 17), bool), "xyz": np.zeros((b, t, 17, 3), np.float32),
            "lifted": np.zeros(b, bool), "real": np.array([False, True]), "smooth": np.zeros(b, np.float32),
        }  # fmt: skip
        return None, {name: torch.from_numpy(v) for name, v in lanes.items()}


class Run(unittest.TestCase):
    def setUp(self) -> None:
        torch.set_num_threads(1)
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.config = tomllib.loads((CONFIGS / table().base).read_text())
        self.config["data"] |= {"lanes": 2, "segment": 6, "segments": 2}
        self.config["train"]["steps"] = 8

    def training(self, name: str, row: str) -> Training:
        return Training(table().rows[row], "small", 1, self.config, self.folder / f"{name}.pt")

    def test_a_run_that_was_broken_off_ends_as_one_that_was_not(self) -> None:
        lanes: Any = DrawnLanes()
        for row in ("gru", "distribute-hard", "elman-output-forced"):
            with self.subTest(row):
                whole = self.training(f"{row}-whole", row)
                while whole.step < 8:
                    whole.lane(draw(lanes, 1, whole.step))
                broken = self.training(row, row)
                broken.lane(draw(lanes, 1, 0))
                broken.lane(draw(lanes, 1, 2))
                broken.keep()
                again = self.training(row, row)
                self.assertEqual(again.step, 4)
                while again.step < 8:
                    again.lane(draw(lanes, 1, again.step))
                for name, value in whole.mean.state_dict().items():
                    torch.testing.assert_close(again.mean.state_dict()[name], value, msg=name)

    def test_a_checkpoint_of_other_settings_is_refused(self) -> None:
        self.training("a", "gru").keep()
        self.config["train"]["steps"] = 9
        with self.assertRaisesRegex(SystemExit, "other settings"):
            self.training("a", "gru")

    def test_rows_trained_together_end_as_those_trained_alone(self) -> None:
        """One of them was broken off before, and catches up."""
        lanes: Any = DrawnLanes()
        alone = self.training("alone", "gru")
        while not alone.over:
            alone.lane(draw(lanes, 1, alone.step))
        begun = self.training("begun", "lstm")
        begun.lane(draw(lanes, 1, 0))
        members = [
            Member(table().rows[row], "small", training, self.folder / f"{row}.json")
            for row, training in (("gru", self.training("gru", "gru")), ("lstm", begun))
        ]
        lanes.bank = None
        whole, hidden = swaying()
        train_together(members, lanes, Clips([whole], (whole, hidden)), None)
        for name, value in alone.mean.state_dict().items():
            torch.testing.assert_close(members[0].training.mean.state_dict()[name], value, msg=name)
        said = json.loads((self.folder / "gru.json").read_text())
        self.assertEqual((said["row"], said["steps"], said["banks"]), ("gru", 8, None))
        self.assertEqual(begun.step, 8)

    def test_clips_and_errors_are_named_by_the_network_that_observed(self) -> None:
        whole, _ = swaying()
        path, bank = self.folder / "clips.json", self.folder / "bank.npz"
        write_clips(path, replace(whole, network="abcdef"))
        self.assertEqual(observed(path).name, "swaying abcdef")
        np.savez(bank, network=np.array("abcdef"))
        self.assertEqual(whose([bank, bank]), "abcdef abcdef")
        write_clips(path, whole)
        np.savez(bank, xy=np.zeros(1))
        for of_nobody in (lambda: observed(path), lambda: whose([bank])):
            with self.assertRaisesRegex(SystemExit, "does not say which network"):
                of_nobody()

    def test_the_page_says_whether_what_ships_is_supported_and_leaves_out_who_hardly_answers(self) -> None:
        def row(name: str, *mpjpe: float, hidden: float = 0.8) -> tuple[tuple[str, str], list[Any]]:
            curve = [{"mpjpe": 0.0, "accel": 1.0, "lag_frames": 0.0}]
            return (name, "small"), [
                {"row": name, "budget": "small", "causal": True, "hidden": hidden + m / 1000, "hidden_held": 1.0,
                 "curves": {"set": [{**curve[0], "mpjpe": m}]}}
                for m in mpjpe
            ]  # fmt: skip

        xl, gru, still = (
            row("transformer-xl", 2.50, 2.51),
            row("gru", 2.60, 2.61),
            row("elman-output-forced", 7.0, 7.1),
        )
        results = dict([xl, gru, still])
        self.assertEqual(list(sound(results, "set")), [xl[0], gru[0]])
        self.assertIn("best in MPJPE", page.shipped_stands(dict([xl, gru]), "set", 0.2))
        ahead = row("gru", 2.30, 2.31, hidden=0.7)
        said = page.shipped_stands(dict([xl, ahead]), "set", 0.2)
        self.assertIn("behind GRU in MPJPE and hidden / held", said)
        level = page.shipped_stands(dict([xl, row("gru", 2.3, 2.6)]), "set", 0.2)
        self.assertIn("level with the best in MPJPE", level)
        self.assertEqual(page.shipped_stands(dict([row("transformer-xl", 2.5), gru]), "set", 0.2), "")

    def test_the_page_says_whose_errors_were_learned_from_where_they_are_of_several(self) -> None:
        def banks(*of: str | None) -> dict[tuple[str, str], list[Any]]:
            said = [{"row": "gru", "budget": "small", "seed": i, "banks": b} for i, b in enumerate(of)]
            return {("gru", "small"): said}

        self.assertEqual(page.whose_errors(banks("abc", "abc")), [])
        self.assertIn("abc for gru 2; def for the rest", page.whose_errors(banks("def", "def", "abc"))[0])


def swaying() -> tuple[ClipSet, ClipSet]:
    """A person who sways and is seen as they are, and the same with one frame not seen."""
    body = np.random.default_rng(0).uniform(100, 200, (17, 2))
    places = body + 5 * np.sin(np.arange(20) / 3)[:, None, None]
    clip = Clip(
        "a", np.arange(20.0), np.full(20, 100.0), places.astype(np.float32), np.ones((20, 17)), places, None
    )
    unseen = replace(clip, score=np.where(np.arange(20)[:, None] == 10, 0.0, clip.score))
    return ClipSet("swaying", "keypoints", 0.0, [clip]), ClipSet("swaying", "keypoints", 0.0, [unseen])


class Table(unittest.TestCase):
    def test_no_group_is_called_as_a_row(self) -> None:
        """The command takes either by its name."""
        self.assertFalse({"main", *table().groups} & {*table().rows, *TITLES})
        self.assertIn("training", table().groups)


class Measures(unittest.TestCase):
    def test_figures_can_be_written_down(self) -> None:
        """Of a person who sways and is seen as they are: little is wrong."""
        torch.set_num_threads(1)
        whole, hidden = swaying()
        network = Network(table().rows["s4d"].make("small", 0))
        said = json.loads(json.dumps(measured(network, Clips([whole], (whole, hidden)))))
        self.assertLess(said["curves"]["swaying"][0]["mpjpe"], 5)
        self.assertGreater(said["curves"]["swaying"][0]["pck10"], 0.9)
        self.assertGreater(said["hidden_held"], 0)


class Page(unittest.TestCase):
    def result(self, row: str, seed: int, accel: float, steps: int = 8) -> dict[str, Any]:
        point = {
            "mpjpe": 7.0, "pck10": 0.8, "pck05": 0.5, "ahead_100ms": 9.0, "covers": 0.6, "jitter": None,
            "repaired": 50.0, "broken": 1.0, "limbs_repaired": 10.0, "limbs_broken": 0.1,
        }  # fmt: skip
        curve = [point | {"smoothness": s, "lag_frames": s - 0.5, "accel": accel - s} for s in (0.0, 1.0)]
        return {
            "row": row, "title": table().rows[row].title, "group": "recurrent", "budget": "small", "seed": seed, "steps": steps,
            "banks": None, "causal": True, "parameters": 9, "macs_per_frame": 10, "seconds_a_step": 1.0,
            "curves": {"clips": curve}, "hidden": 1.0, "hidden_held": 2.0,
        }  # fmt: skip

    def make(self, results: list[dict[str, Any]]) -> str:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for r in results:
            (folder / f"{r['row']}-{r['seed']}.json").write_text(json.dumps(r))
        out = folder / "study.md"
        with mock.patch(
            "sys.argv",
            ["page", "--results", str(folder), "--out", str(out), "--images", str(folder / "images")],
        ):
            page.main()
        said = out.read_text()
        drawn = {path.name for path in (folder / "images").glob("*.png")}
        self.assertEqual(drawn, set(re.findall(r"images/([\w-]+\.png)", said)))
        self.assertGreaterEqual(len(drawn), 2)
        return said

    def test_the_documents_are_what_the_kept_results_make(self) -> None:
        """Their words; the plots are not drawn."""
        docs = REPOSITORY / "docs"
        results = read([RESULTS / "7000", RESULTS / "classic"])
        timed = times.read(REPOSITORY / "benches" / "results" / "temporal-step.json")
        with mock.patch("matplotlib.figure.Figure.savefig"):
            said = page.page(results, docs, docs / "images" / "study", None, timed)
        for name, text in (
            ("study.md", said),
            (page.ROWS_PAGE, equations.rows_page()),
            (page.CLIPS_PAGE, page.clips_page(results, None)),
        ):
            self.assertEqual((docs / name).read_text(), text, name)

    def test_a_row_is_its_seeds_mean_with_an_interval(self) -> None:
        said = self.make([self.result("gru", 1, 3.0), self.result("gru", 2, 4.0)])
        # Student's t of one degree of freedom: 12.706 * 0.7071 / sqrt(2).
        self.assertIn("| 3.50 ± 6.35 |", said)
        self.assertIn("| 3.00 ± 6.35 | 0.50 ± 0.00 |", said)
        missing = said.split("Without a result yet")[1]
        wanted = {b: sum(b in e.sizes for e in table().rows.values()) for b in ("small", "large")}
        self.assertIn(f"- budget small, {wanted['small'] - 1} of {wanted['small']} rows", missing)
        self.assertIn(f"- budget large, {wanted['large']} of {wanted['large']} rows", missing)
        self.assertIn("- classic filters, 7 of 7: One-Euro;", missing, "few are named")

    def test_rows_that_the_seeds_do_not_tell_apart_are_named(self) -> None:
        """Two are level within their seeds, one is not, one has a single seed."""
        accel = {
            "gru": (3.0, 3.1, 3.2),
            "lstm": (3.1, 3.2, 3.0),
            "elman-hidden": (5.0, 5.1, 5.2),
            "s4d": (9.0,),
        }
        results = [self.result(row, i, a) for row, values in accel.items() for i, a in enumerate(values, 1)]
        said = self.make(results)
        found = re.search("- Accel at lag .*, budget small: (GRU|LSTM) is best; ([^-]*)", said)
        assert found
        self.assertEqual(
            " ".join(found[2].split("\n\n")[0].split()),
            "1 of 2 other rows are level with it. 1 with one seed cannot be compared.",
        )
        rows = [line.split(" | ") for line in said.splitlines() if line.startswith("| ") and " ± " in line]
        bold = {title for title, *_, accel, _ in rows if accel.startswith("**")}
        self.assertEqual(bold, {"| GRU", "| LSTM"})

    def test_what_a_larger_budget_brings_is_each_row_against_itself(self) -> None:
        small = [self.result(row, 1, 3.0) for row in ("gru", "lstm", "s4d")]
        large = [
            self.result(row, 11, 3.0) | {"budget": "large", "hidden": hidden}
            for row, hidden in (("gru", 0.8), ("lstm", 0.6))
        ]
        said = self.make([*small, *large]).split("## Is budget large worth it?")[1].split("\n## ")[0]
        # Student's t of one degree of freedom: 12.706 * 0.1414 / sqrt(2).
        self.assertIn("2 causal rows at both budgets", said)
        self.assertIn("hidden / held 0.700 ± 1.271 of the small budget's", said)
        self.assertIn("MPJPE 1.000 ± 0.000 of", said)
        self.assertRegex(said, r"\| GRU \| 1, 1 \| 7.00 \| 7.00 \| .* \| 0.50 \| 0.40 \|")
        self.assertNotIn("state space", said, "it has one budget alone")
        self.assertNotIn("worth it", self.make(small))

    def test_an_offline_row_is_marked_and_beats_nobody(self) -> None:
        offline = self.result("bidirectional-lstm", 1, 1.0) | {"causal": False}
        said = self.make([self.result("gru", 1, 3.0), offline])
        self.assertIn("LSTM, both directions *(offline)*", said)
        none_beats = said.split("## Rows that no other row beats")[1].split("##")[0]
        self.assertIn("| GRU | 10 | 2.50 |", none_beats)
        self.assertIn("| GRU | 200 | 0.50 |", none_beats, "two layers of 100 are what it keeps")
        self.assertNotIn("both directions", none_beats)

    def test_a_page_of_classic_filters_alone_can_be_made(self) -> None:
        classic = self.result("gru", 1, 3.0) | {"row": "one-euro", "title": "One-Euro", "budget": "none"}
        said = self.make([classic])
        self.assertIn("No row has been trained yet", said)
        self.assertIn("classic filters, 6 of 7", said)

    def test_a_result_of_no_row_is_refused(self) -> None:
        with self.assertRaisesRegex(SystemExit, "not \\(any more\\)"):
            self.make([self.result("gru", 1, 3.0) | {"row": "gone"}])

    def test_every_row_has_an_equation_and_a_source(self) -> None:
        said = equations.read()
        self.assertEqual(set(said.rows), {*table().rows, *TITLES})
        self.assertEqual(set(said.groups), {"classic", *(e.group for e in table().rows.values())})
        for name, (formula, source) in said.rows.items():
            with self.subTest(name):
                self.assertNotRegex(formula, r"[|$`]", "it would end the cell, or the formula")
                self.assertEqual(formula.count("{"), formula.count("}"))
                self.assertRegex(source, r"(18|19|20)\d\d$")

    def test_the_front_is_whom_none_beats(self) -> None:
        points = [(3.0, 1.0), (1.0, 4.0), (2.0, 2.0), (2.5, 2.0), (2.0, 3.0), (4.0, 1.5)]
        self.assertEqual([points[i] for i in front(points)], [(1.0, 4.0), (2.0, 2.0), (3.0, 1.0)])

    def test_accel_is_compared_where_the_most_rows_can_be_read(self) -> None:
        def reaching(low: float, high: float) -> list[Result]:
            return [
                {"curves": {"clips": [{"lag_frames": low, "accel": 1.0}, {"lag_frames": high, "accel": 0.5}]}}
            ]

        results = {
            ("a", "small"): reaching(0.3, 1.0),
            ("b", "small"): reaching(0.5, 2.0),
            ("c", "small"): reaching(3.0, 4.0),
        }
        self.assertEqual(equal_lag(results, "clips"), 0.5)

    def test_what_does_not_compare_is_not_put_side_by_side(self) -> None:
        with self.assertRaisesRegex(SystemExit, "do not compare"):
            self.make([self.result("gru", 1, 3.0), self.result("lstm", 1, 3.0, steps=9)])


if __name__ == "__main__":
    unittest.main()
