"""How rows of the training group are trained: warm-ups, optimisers, places of layer norms, and what the first steps show of them."""

from __future__ import annotations

import math
import tempfile
import tomllib
import unittest
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from posetrain.paths import CONFIGS
from posetrain.study.attention import Attention, Block, Span
from posetrain.study.first_steps import (
    Sizes,
    draw_distances,
    draw_sizes,
    first_sizes,
    gradient_by_distance,
    reach,
)
from posetrain.study.optimise import BETAS, WARM_UPS, merged, optimiser, rate
from posetrain.study.row import INPUTS, Row, State
from posetrain.study.run import Training
from posetrain.study.table import table
from posetrain.study.transformer import Encoder
from posetrain.temporal.model import OUTPUTS
from posetrain.temporal.train import learning_rate
from tests.test_study_commands import DrawnLanes

TRAIN: dict[str, Any] = tomllib.loads((CONFIGS / table().base).read_text())["train"]


class WarmUps(unittest.TestCase):
    def test_rows_that_say_nothing_are_trained_as_the_base_says(self) -> None:
        for name in table().main:
            self.assertEqual(table().rows[name].train, {}, name)
        config = {"train": TRAIN}
        self.assertIs(merged(config, {}), config)
        for step in (0, 150, 300, 5000, 6999):
            self.assertEqual(rate(TRAIN, step, step / 7000), learning_rate(TRAIN, step, step / 7000))

    def test_each_warm_up_is_its_formula(self) -> None:
        """At t = 1, where it ends or has its time constant, and late; Noam's beside the original's, d^-½ min(t^-½, t τ^-1.5)."""
        d, steps = 512, 4000
        scale = d**-0.5 * steps**-0.5
        for t in (1, 100, 4000, 40_000):
            original = d**-0.5 * min(t**-0.5, t * steps**-1.5)
            self.assertAlmostEqual(WARM_UPS["noam"](t, steps) * scale, original)
        self.assertAlmostEqual(WARM_UPS["linear"](30, 300), 0.1)
        self.assertAlmostEqual(WARM_UPS["linear-untuned"](1, 300), (1 - BETAS[1]) / 2)
        self.assertEqual(WARM_UPS["linear-untuned"](round(2 / (1 - BETAS[1])), 300), 1.0)
        self.assertAlmostEqual(
            WARM_UPS["exponential-untuned"](round(1 / (1 - BETAS[1])), 300), 1 - 1 / math.e
        )
        self.assertEqual(WARM_UPS["none"](1, 300), 1.0)

    def test_every_rate_of_the_table_can_be_had_and_falls_at_the_end(self) -> None:
        for entry in table().rows.values():
            if entry.train:
                train = TRAIN | entry.train
                self.assertGreater(rate(train, 3499, 0.5), 10 * rate(train, 6999, 0.999), entry.name)

    def test_rectified_adam_begins_without_its_second_moment(self) -> None:
        """While too few gradients are known its step is as long as they are, Adam's as long as the rate."""
        moved = {}
        for kind in ("adam", "radam"):
            layer = nn.Linear(1, 1, bias=False)
            before = layer.weight.item()
            o = optimiser(layer, {"rate": 0.1, "weight_decay": 0.0, "optimiser": kind})
            layer.weight.grad = torch.full((1, 1), 1e-3)
            o.step()
            moved[kind] = before - layer.weight.item()
        self.assertAlmostEqual(moved["adam"], 0.1, places=4)
        self.assertAlmostEqual(moved["radam"], 1e-4, places=6)


class Norms(unittest.TestCase):
    def test_a_block_after_its_sums_is_the_formula(self) -> None:
        torch.manual_seed(0)
        block = Block(Attention(8, 2), 8, "post")
        past, x = torch.randn(1, 3, 8), torch.randn(1, 5, 8)
        count = torch.arange(8)
        span = Span(count[3:], count, count[None, 3:].double(), count[None].double())
        bar = count[3:, None] < count[None]
        y = nn.functional.layer_norm(x + block.attention(x, torch.cat([past, x], 1), span, bar), (8,))
        wanted = nn.functional.layer_norm(y + block.feed(y), (8,))
        torch.testing.assert_close(block(x, past, span, bar), wanted)
        with self.assertRaisesRegex(ValueError, "pre, post, none"):
            Block(Attention(8, 2), 8, "behind")

    def test_t_fixup_has_no_norms_and_smaller_weights(self) -> None:
        torch.manual_seed(0)
        row = Encoder(64, 3, 4, 32, norm="none")
        self.assertFalse([m for m in row.modules() if isinstance(m, nn.LayerNorm)])
        xavier = math.sqrt(2 / (64 + 64))
        block = row.blocks[2]
        assert isinstance(block, Block)
        self.assertAlmostEqual(block.attention.query.weight.std().item() / xavier, 1.0, delta=0.05)
        smaller = 0.67 * 3**-0.25
        for part in (block.attention.value, block.attention.out):
            self.assertAlmostEqual(part.weight.std().item() / xavier, smaller, delta=0.05)


class Fading(Row):
    """What was seen fades by half a frame."""

    def step(self, state: State, x: Tensor, dt: Tensor) -> tuple[Tensor, State]:
        h = x.sum(-1, keepdim=True).expand(-1, OUTPUTS) + (0 if state is None else 0.5 * state)
        return h, h


class FirstSteps(unittest.TestCase):
    def setUp(self) -> None:
        torch.set_num_threads(1)
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_a_gradient_fades_as_the_recurrence_does(self) -> None:
        x, dt = torch.randn(2, 12, INPUTS), torch.ones(2, 12)
        by_distance = gradient_by_distance(Fading(), x, dt)
        np.testing.assert_allclose(by_distance, 0.5 ** np.arange(12), rtol=1e-5)
        self.assertEqual(reach(by_distance), "7")
        self.assertEqual(reach(np.ones(4)), "4 or more")

    def test_sizes_of_steps_are_seen_and_drawn(self) -> None:
        """Adam's first step is as long as the rate: without a warm-up the whole, with one a part of it."""
        config = tomllib.loads((CONFIGS / table().base).read_text())
        config["data"] |= {"lanes": 2, "segment": 6, "segments": 2}
        lanes: Any = DrawnLanes()
        found: dict[str, Sizes] = {}
        for name in ("train-none", "transformer-xl"):
            training = Training(table().rows[name], "small", 1, config, self.folder / "none.pt")
            found[name] = first_sizes(training, lanes, 3)
            self.assertEqual(training.step, 4, "whole lanes")
            self.assertEqual(len(found[name].updates), 4)
            self.assertAlmostEqual(found[name].updates[0].sum(), 1.0)
        self.assertAlmostEqual(
            found["train-none"].median_update[0], TRAIN["rate"], delta=0.02 * TRAIN["rate"]
        )
        self.assertLess(found["transformer-xl"].median_update[0], 0.01 * TRAIN["rate"])
        draw_sizes(found, {n: n for n in found}, "updates", self.folder / "updates.png")
        draw_distances({"untrained": {"gru": 0.5 ** np.arange(12)}}, self.folder / "distance.png")
        self.assertEqual(len(list(self.folder.glob("*.png"))), 2)


if __name__ == "__main__":
    unittest.main()
