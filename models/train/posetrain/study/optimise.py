"""How a row is trained: the optimiser, and the warm-up of its rate. A row may say so in its `train` table; all others are trained alike.

A warm-up is a factor w(t) of the rate at step t = 1, 2, …, as Ma and Yarats (2019) write it. Beside it every rate falls over the second
half of the run.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from posetrain.temporal.train import learning_rate

BETAS = (0.9, 0.98)
# w(t, steps of warm-up). The untuned ones take their length from Adam's second moment alone: 2 / (1 - beta_2) steps and 1 / (1 - beta_2).
# Noam's (Vaswani et al., 2017) falls as 1 / sqrt(t) after its warm-up; here it is scaled so that its peak is the rate of the others.
WARM_UPS: dict[str, Callable[[int, int], float]] = {
    "linear": lambda t, steps: min(1.0, t / steps),
    "noam": lambda t, steps: min(t / steps, math.sqrt(steps / t)),
    "linear-untuned": lambda t, _: min(1.0, (1 - BETAS[1]) / 2 * t),
    "exponential-untuned": lambda t, _: 1 - math.exp(-(1 - BETAS[1]) * t),
    "none": lambda *_: 1.0,
}
OPTIMISERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": torch.optim.AdamW,
    # Rectified (Liu et al., 2020), its weights decayed as AdamW decays them.
    "radam": functools.partial(torch.optim.RAdam, decoupled_weight_decay=True),
}


def merged(config: dict[str, Any], train: dict[str, Any]) -> dict[str, Any]:
    """The configuration with what a row says of its training. A row that says nothing leaves it as it is."""
    return {**config, "train": {**config["train"], **train}} if train else config


def optimiser(network: nn.Module, train: dict[str, Any]) -> torch.optim.Optimizer:
    make = OPTIMISERS[train.get("optimiser", "adam")]
    return make(network.parameters(), lr=train["rate"], weight_decay=train["weight_decay"], betas=BETAS)


def rate(train: dict[str, Any], step: int, done: float) -> float:
    """Of the step of that number, counted from 0, when `done` of the run is over."""
    by = train.get("warm_up_by", "linear")
    if by == "linear":
        return learning_rate(train, step, done)
    warm = WARM_UPS[by](step + 1, train["warm_up"])
    return float(train["rate"] * (warm * min(1.0, 2 * (1 - done)) + 0.003))
