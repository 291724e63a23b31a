"""Fits the model's head to measured errors, the layers below as they are.

    python -m posetrain.temporal.adapt --config configs/temporal/adapt.toml --start CHECKPOINT --data PACKS --errors ERRORS --work DIR

What the layers see of a lane does not change while only the head learns, so it is worked out once and learned from many times:
a few CPU minutes where training everything takes hours. For a new detector, or new weights of the loss.
"""

from __future__ import annotations

import argparse
import copy
import time
import tomllib
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from posetrain.loop import Trend, average, descend, set_rate
from posetrain.temporal.inertia import with_inertia
from posetrain.temporal.learned import learned
from posetrain.temporal.model import Hyper, TemporalXl, read
from posetrain.temporal.train import LONGEST, Lanes, begin, checkpoint, loss, read_start, save


def seen_by_head(model: TemporalXl, x: dict[str, Tensor], segment: int) -> Tensor:
    """What the head reads of whole lanes, [B,T,width]."""
    got: list[Tensor] = []
    hook = model.head.register_forward_pre_hook(lambda _, inputs: got.append(inputs[0]))
    memory = model.empty(len(x["times"]))
    with torch.no_grad():
        for a in range(0, x["times"].shape[1], segment):
            cut = slice(a, a + segment)
            _, memory = model(x["features"][:, cut], x["bank"][:, cut], x["times"][:, cut], memory)
    hook.remove()
    return torch.cat(got, 1)


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--config", type=Path, required=True)
    p.add_argument(
        "--start",
        type=Path,
        nargs="+",
        required=True,
        help="checkpoints of one run, or a .pwt file as shipped; of several the mean of the weights",
    )
    p.add_argument("--data", type=Path, required=True)
    p.add_argument("--errors", type=Path, required=True, help="where posetrain.temporal.detect wrote")
    p.add_argument("--work", type=Path, required=True)
    args = p.parse_args()
    config = tomllib.loads(args.config.read_text())
    config["kind"] = "xl"
    of = learned(config, args.start)
    t, d = config["train"], config["data"]
    torch.set_num_threads(t["threads"])
    torch.manual_seed(t["seed"])
    args.work.mkdir(parents=True, exist_ok=True)
    begun = [read_start(path) for path in args.start]
    model = TemporalXl(Hyper(**config["model"]))
    begin(model, {name: torch.stack([b[name] for b in begun]).mean(0) for name in begun[0]})
    last = args.start[-1]
    steps = torch.load(last, weights_only=False)["step"] if last.suffix != ".pwt" else 0
    lanes, rng = Lanes(config, args.data, args.errors), np.random.default_rng(t["seed"])
    pool = []
    for i in range(t["pool"]):
        _, x = lanes.draw(rng)
        x["seen"] = seen_by_head(model, x, d["segment"])
        del x["features"]
        pool.append(x)
        print(f"draw {i} {time.process_time():.0f}s", flush=True)
    weights = list(model.head.parameters())
    mean, trend = copy.deepcopy(model.head), Trend()
    optimiser = torch.optim.AdamW(weights, lr=t["rate"], weight_decay=t["weight_decay"], betas=(0.9, 0.98))
    for step in range(t["steps"]):
        x = pool[rng.integers(len(pool))]
        a = rng.integers(0, x["times"].shape[1] - d["segment"] + 1)
        some = torch.from_numpy(rng.permutation(d["lanes"])[: t["batch"]])
        part = {k: v[some] if v.dim() == 1 else v[some, a : a + d["segment"]] for k, v in x.items()}
        rate = min(1.0, (step + 1) / t["warm_up"]) * (1 - step / t["steps"]) + 0.003
        set_rate(optimiser, t["rate"] * rate)
        answer = read(model.head(part["seen"]), part["bank"])
        answer, _ = with_inertia(answer, part["centre"], part["scale"], part["times"], None)
        total, parts = loss(config, answer, part)
        descend(total, optimiser, weights, LONGEST)
        average(mean, model.head, t["average"], step)
        trend.add(parts)
        if (step + 1) % 50 == 0:
            print(step + 1, f"{time.process_time():.0f}s", trend, flush=True)
    model.head.load_state_dict(mean.state_dict())
    kept = checkpoint(args.work / "last.pt", model, model, optimiser)
    save(kept, steps, config | {"adapted": t["steps"]}, of)


if __name__ == "__main__":
    main()
