r"""The 3D pose from one frame alone, by a network of the model's size: what looking back is worth.

    python -m posetrain.temporal.lifter --config configs/temporal/lifter.toml --data PACKS --errors ERRORS --models DIR \
        --clips mocap-movenet-val.json --work WORK

trains the lifter (or takes the one in WORK), and prints the mean 3D distance of both on the clips, in millimetres, hip-centred.
"""

from __future__ import annotations

import argparse
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from posetrain.loop import set_rate
from posetrain.temporal.answers import answers, metres
from posetrain.temporal.clip_set import read
from posetrain.temporal.model import Hyper
from posetrain.temporal.peers import Lifter, Network
from posetrain.temporal.train import Lanes, bone_lengths, soft
from posetrain.temporal.weights import read_pwt


def lift_loss(config: dict[str, Any], unit: Tensor, log_metres: Tensor, xyz: Tensor) -> Tensor:
    """As in `train.loss`; unit, xyz [N,17,3], log_metres [N]."""
    size = xyz.abs().amax((1, 2)).clamp_min(1e-3)
    true = xyz / size[:, None, None]
    lift = (soft(unit - true, 0.01).mean(-1) + (log_metres - size.log()).abs() * 0.3).mean()
    bones = (bone_lengths(unit) - bone_lengths(true)).abs().mean()
    loss: Tensor = config["loss"]["lift"] * lift + config["loss"]["bones"] * bones
    return loss


def train(config: dict[str, Any], data: Path, errors: Path) -> Lifter:
    t, d = config["train"], config["data"]
    torch.manual_seed(t["seed"])
    rng = np.random.default_rng(t["seed"])
    lanes = Lanes(config, data, errors)
    model = Lifter(Hyper(**config["model"]))
    drawn = [lanes.draw(rng)[1] for _ in range(t["pool"])]
    features = torch.cat([x["features"].flatten(0, 1) for x in drawn])
    bank = torch.cat([x["bank"].flatten(0, 1) for x in drawn])
    xyz = torch.cat([x["xyz"].flatten(0, 1) for x in drawn])
    optimiser = torch.optim.AdamW(model.parameters(), lr=t["rate"], weight_decay=t["weight_decay"])
    for step in range(t["steps"]):
        rate = min(1.0, (step + 1) / t["warm_up"]) * (1 - step / t["steps"])
        set_rate(optimiser, t["rate"] * rate)
        some = torch.from_numpy(rng.integers(0, len(xyz), t["batch"]))
        a, _ = model(features[some, None], bank[some, None], torch.zeros(0), None)
        total = lift_loss(config, a.unit[:, 0], a.log_metres[:, 0], xyz[some])
        optimiser.zero_grad(set_to_none=True)
        total.backward()
        optimiser.step()
        if (step + 1) % 200 == 0:
            print(step + 1, f"{time.process_time():.0f}s", f"{total.item():.4f}", d["lanes"], flush=True)
    return model


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--config", type=Path, required=True)
    p.add_argument("--data", type=Path, required=True)
    p.add_argument("--errors", type=Path, required=True)
    p.add_argument("--models", type=Path, required=True)
    p.add_argument("--clips", type=Path, nargs="+", required=True)
    p.add_argument("--work", type=Path, required=True)
    args = p.parse_args()
    config = tomllib.loads(args.config.read_text())
    torch.set_num_threads(config["train"]["threads"])
    args.work.mkdir(parents=True, exist_ok=True)
    last = args.work / "lifter.pt"
    lifter = Lifter(Hyper(**config["model"]))
    if not last.exists():
        torch.save(train(config, args.data, args.errors).state_dict(), last)
    lifter.load_state_dict(torch.load(last, weights_only=True))
    shipped = read_pwt(args.models / "temporal-xl.pwt")
    networks: tuple[Network, ...] = (lifter, shipped.model)
    print("| clips | lifter, one frame | temporal model |\n|---|---|---|")
    for path in args.clips:
        off: tuple[list[np.ndarray], ...] = ([], [])
        for clip in read(path).clips:
            for o, network in zip(off, networks, strict=True):
                _, a = answers(network, clip.times[None], clip.xy[None], clip.score[None], 0.0)
                o.append(1000 * np.linalg.norm(metres(a)[0] - clip.truth_m, axis=-1).ravel())
        one, both = (np.concatenate(o).mean() for o in off)
        print(f"| {path.stem} | {one:.0f} mm | {both:.0f} mm |")


if __name__ == "__main__":
    main()
