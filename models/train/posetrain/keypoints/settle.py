"""Teaches an int8 network to answer as its floats do.

    python -m posetrain.keypoints.settle work/ship/keypoints-large-f32.onnx ../keypoints-large.onnx --config configs/steady/large.toml \
        --caches DIR --out large.onnx

Post-training quantisation rounds each weight by itself and cuts each activation where most pictures end. Here both move, rounded as they
are (`posetrain.keypoints.rounded`), towards the maps that the floats give for the same crops. No label is read: the weights learn nothing
but to round, and their sources stay as they were. `posetrain.keypoints.ship --settle CROPS` does it as part of making a network.
Minutes on free cores, so it has no checkpoint: whoever stops it begins anew.
"""

from __future__ import annotations

import argparse
import copy
import math
import time
from collections.abc import Iterable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR

from posetrain.keypoints.mixture import Mixture
from posetrain.keypoints.rounded import Rounded
from posetrain.keypoints.steady_config import SteadyConfig, load_config
from posetrain.keypoints.train import annealed, to_input

BATCH, WARMUP_STEPS, SAY_EVERY_S = 32, 20, 60.0
# The first batch of crops: far from those of any run on the same configuration and seed.
FIRST = 10_000_000
# Highest rate of Adam: of a weight in its own steps, of a bias in parts of its layer's largest, of a scale in parts of itself.
WEIGHT_RATE, BIAS_RATE, SCALE_RATE = 0.02, 1e-3, 1e-3
OUTPUT = "heatmaps"


def unlabelled(config: SteadyConfig, size: int) -> SteadyConfig:
    """The configuration's crops of people, of `size` pixels, without a teacher's maps."""
    return replace(config.untaught(), empty="", empty_chance=0.0, sizes=((0, size),), batch=BATCH)


def apart(maps: Tensor, asked: Tensor) -> Tensor:
    """Kullback-Leibler divergence of maps [N, J, H, W] from those asked for, both logits: mean over joints, in nats."""
    said, target = maps.flatten(2).log_softmax(2), asked.flatten(2).log_softmax(2)
    return (target.exp() * (target - said)).sum(2).mean()


def groups_of(net: Rounded) -> list[dict[str, Any]]:
    """An optimiser's groups, each tensor with a rate in its own unit."""
    rates: list[tuple[torch.nn.Parameter, float]] = []
    for key, weight in net.weights.items():
        rates.append((weight, WEIGHT_RATE * float(net.steps[key].median())))
        rates.append((net.biases[key], BIAS_RATE * float(net.biases[key].detach().abs().max())))
    rates += [(scale, SCALE_RATE * float(scale.detach())) for scale in net.scales.values()]
    return [{"params": [parameter], "lr": rate} for parameter, rate in rates]


def settle(net: Rounded, batches: Iterable[Tensor], steps: int) -> float:
    """Moves `net`, which begins with the floats' weights, over `steps` batches of images [N, 3, H, W]; returns how far it is apart at the
    end, as a running mean."""
    teacher = copy.deepcopy(net).requires_grad_(False)
    optimiser = torch.optim.Adam(groups_of(net), betas=(0.9, 0.99))
    rate = LambdaLR(optimiser, lambda step: annealed(step, step / steps, WARMUP_STEPS))
    began, said_at, mean = time.monotonic(), -math.inf, math.nan
    for step, images in zip(range(steps), batches, strict=False):
        with torch.no_grad():
            asked = teacher(images, real=True)[OUTPUT]
        loss = apart(net(images)[OUTPUT], asked)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        rate.step()
        now = float(loss.detach())
        mean = now if step == 0 else mean + (now - mean) * max(0.05, 1 / (step + 1))
        if time.monotonic() - said_at > SAY_EVERY_S or step == steps - 1:
            said_at = time.monotonic()
            print(f"{step + 1} of {steps} steps, {said_at - began:.0f} s: {mean:.5f} nats apart", flush=True)
    return mean


def settled(floats: Path, int8: Path, out: Path, config: SteadyConfig, caches: Path, crops: int) -> float:
    """Writes `out`, the int8 file brought nearer to `floats` over so many crops of the configuration's train persons."""
    net = Rounded(int8, floats)
    # in this process: one that is forked off after others' threads have run may never begin
    drawn = Mixture(unlabelled(config, net.size), caches, FIRST)
    images = (to_input(drawn.batch(k, net.size).images) for k in count(FIRST))
    end = settle(net, images, max(1, crops // BATCH))
    net.write(out)
    return end


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("floats", type=Path, help="the network before it was quantised")
    parser.add_argument("int8", type=Path, help="the quantised one")
    parser.add_argument("--config", type=Path, required=True, help="whose train persons are looked at")
    parser.add_argument("--caches", type=Path, required=True)
    parser.add_argument("--crops", type=int, default=12_000)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    settled(args.floats, args.int8, args.out, load_config(args.config), args.caches, args.crops)
    print(args.out)


if __name__ == "__main__":
    main()
