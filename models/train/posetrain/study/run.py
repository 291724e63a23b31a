r"""Trains and measures rows of the study: one result a row, budget and seed, work/study/NAME.json.

    python -m posetrain.study.run --data PACKS --errors ERRORS --clips CLIPS/jhmdb-movenet-val.json --steps 24000 --seeds 2
    python -m posetrain.study.run --data PACKS --rows gru transformer-xl --steps 50      # does it run?

Broken off and given again, it goes on where it was: a row that has its result is left alone, one that was in training goes on from
its last checkpoint. All rows see the same lanes in the same order: what is drawn depends on the seed and the step alone. Rows are
done seed by seed, so that the first seed of all is complete first.
"""

from __future__ import annotations

import argparse
import copy
import json
import time
import tomllib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from posetrain.paths import CONFIGS, TRAIN
from posetrain.study import classics
from posetrain.study.measure import drawn, figures, hidden_error, last_place, reader
from posetrain.study.row import Network, macs_per_frame, parameters
from posetrain.study.table import Entry, table
from posetrain.temporal.clip_set import ClipSet, read
from posetrain.temporal.compare import SMOOTHNESS
from posetrain.temporal.train import Lanes, follow, learning_rate, loss, save, segment

KEPT_EVERY = 200  # steps between checkpoints


def true_places(part: dict[str, Tensor]) -> Tensor:
    """[B,T,PLACES] in the person's frame, for rows that are taught with them; observed where the truth is not known."""
    true = (part["xy"][:, :, 0] - part["centre"][:, :, None]) / part["scale"][:, :, None, None]
    known = part["valid"][:, :, 0, :, None]
    return torch.where(known, true, part["bank"][:, :, 0]).float().flatten(2)


class Training:
    """One network in training, wherever it was broken off."""

    def __init__(self, entry: Entry, budget: str, seed: int, config: dict[str, Any], last: Path) -> None:
        t = config["train"]
        self.config, self.last, self.seed = config, last, seed
        self.network = Network(entry.make(budget, seed))
        self.mean = copy.deepcopy(self.network)
        self.optimiser = torch.optim.AdamW(
            self.network.parameters(), lr=t["rate"], weight_decay=t["weight_decay"], betas=(0.9, 0.98)
        )
        self.step = 0
        if last.exists():
            z = torch.load(last, weights_only=False)
            if z["config"] != config:
                raise SystemExit(
                    f"{last} was trained with other settings (steps, data or losses): remove it, or give another --work"
                )
            self.network.load_state_dict(z["model"])
            self.mean.load_state_dict(z["mean"])
            self.optimiser.load_state_dict(z["optimiser"])
            self.step = z["step"]

    def lane(self, lanes: Lanes, steps: int) -> None:
        """One set of lanes, segment by segment. A run ends at a lane's end, and is kept only there: memory is not."""
        d = self.config["data"]
        # Sampling rows draw by the step as well, so that a broken-off run ends as one that was not.
        torch.manual_seed(self.seed * 1_000_003 + self.step)
        _, x = lanes.draw(np.random.default_rng([self.seed, self.step]))
        memory = self.network.empty(d["lanes"])
        for number in range(d["segments"]):
            for group in self.optimiser.param_groups:
                group["lr"] = learning_rate(self.config["train"], self.step, min(self.step / steps, 1.0))
            part = segment(x, number, d["segment"])
            answer, memory = self.network(
                part["features"], part["bank"], part["times"], memory, true_places(part)
            )
            total, _ = loss(self.config, answer, part)
            total = total + self.network.row.extra_loss()
            if not torch.isfinite(total):
                raise FloatingPointError(f"the loss is {total.item()} at step {self.step}")
            self.optimiser.zero_grad(set_to_none=True)
            total.backward()
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
            self.optimiser.step()
            follow(self.mean, self.network, self.config["train"]["average"], self.step)
            self.step += 1

    def keep(self) -> None:
        save(self.last, self.network, self.mean, self.optimiser, self.step, self.config)


def measured(network: Network, sets: list[ClipSet], hidden: tuple[ClipSet, ClipSet]) -> dict[str, Any]:
    read = reader(network.eval())
    return {
        "curves": {clips.name: [asdict(figures(read, clips, s)) for s in SMOOTHNESS] for clips in sets},
        "hidden": hidden_error(read, *hidden),
        "hidden_held": hidden_error(last_place, *hidden),
    }


def write(result: Path, said: dict[str, Any]) -> None:
    new = result.with_suffix(".new")
    new.write_text(json.dumps(said, indent=1))
    new.rename(result)
    print(result, flush=True)


def train_and_measure(
    entry: Entry,
    budget: str,
    seed: int,
    config: dict[str, Any],
    lanes: Lanes,
    sets: list[ClipSet],
    hidden: tuple[ClipSet, ClipSet],
    result: Path,
) -> None:
    steps = config["train"]["steps"]
    training = Training(entry, budget, seed, config, result.with_suffix(".pt"))
    begun_at, began = training.step, time.monotonic()
    while training.step < steps:
        kept = training.step // KEPT_EVERY
        training.lane(lanes, steps)
        if training.step // KEPT_EVERY > kept or training.step >= steps:
            training.keep()
            print(
                f"{result.stem}: {training.step} of {steps} steps, {time.monotonic() - began:.0f} s",
                flush=True,
            )
    done = training.step - begun_at
    row = training.mean.row.eval()
    said = {
        "row": entry.name,
        "title": entry.title,
        "group": entry.group,
        "budget": budget,
        "seed": seed,
        "steps": training.step,
        "error_banks": lanes.bank is not None,
        "causal": row.causal,
        "parameters": parameters(row),
        "macs_per_frame": macs_per_frame(row),
        "steps_per_second": done / (time.monotonic() - began) if done else None,
    }
    said |= measured(training.mean, sets, hidden)
    write(result, said)


def main() -> None:
    rows = table()
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", type=Path, required=True)
    p.add_argument(
        "--errors", type=Path, help="where posetrain.temporal.detect wrote; without it errors are made up"
    )
    p.add_argument(
        "--clips", type=Path, nargs="*", default=[], help="measured beside the clips that are drawn"
    )
    p.add_argument("--work", type=Path, default=TRAIN / "work" / "study")
    names = [*classics.TITLES, *rows.rows]
    p.add_argument("--rows", nargs="+", choices=names, default=names, metavar="ROW")
    p.add_argument("--budgets", nargs="+", choices=list(rows.budgets), default=list(rows.budgets))
    p.add_argument("--seeds", type=int, default=1, help="how many")
    p.add_argument("--steps", type=int, help="the base configuration's, if not given")
    args = p.parse_args()
    config = tomllib.loads((CONFIGS / rows.base).read_text())
    config["train"]["steps"] = args.steps or config["train"]["steps"]
    args.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(config["train"]["threads"])
    # Banks that are not there are left out in silence by the trainer; here they would change what is compared.
    missing = [e for e in config["data"]["errors"] if not (args.errors and (args.errors / e).exists())]
    if args.errors and missing:
        raise SystemExit(f"{args.errors} lacks {', '.join(missing)}: posetrain.temporal.detect writes them")
    lanes = Lanes(config, args.data, args.errors or args.work)
    whole, hidden = drawn(args.data, "val")
    sets = [whole, *(read(path) for path in args.clips)]
    for name in (n for n in args.rows if n in classics.TITLES):
        result = args.work / f"{name}-none-1.json"
        if not result.exists():
            tune, _ = drawn(args.data, "train")
            write(result, classics.result(name, tune, sets, (whole, hidden)))
    for seed in range(1, args.seeds + 1):
        for name in (n for n in args.rows if n in rows.rows):
            entry = rows.rows[name]
            for budget in args.budgets:
                result = args.work / f"{name}-{budget}-{seed}.json"
                if budget not in entry.sizes:
                    continue
                if result.exists():
                    steps = json.loads(result.read_text())["steps"]
                    print(f"{result.name} is there, of {steps} steps", flush=True)
                    continue
                train_and_measure(entry, budget, seed, config, lanes, sets, (whole, hidden), result)


if __name__ == "__main__":
    main()
