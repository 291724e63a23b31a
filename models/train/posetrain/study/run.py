r"""Trains and measures rows of the study: one result a row, budget and seed, RESULTS/STEPS/NAME.json.

    python -m posetrain.study.run --data PACKS --errors ERRORS --clips CLIPS/mocap-own-val.json CLIPS/jhmdb-own-val.json
    python -m posetrain.study.run --data PACKS --rows gru transformer-xl --steps 52      # does it run?
    python -m posetrain.study.run --data PACKS --rows gru smoothnet --steps 1000 2000 --seeds 1   # the pilot: lengths of training

Broken off and given again, it goes on where it was: a row that has its result is left alone, one that was in training goes on from
its last checkpoint. All rows see the same lanes in the same order: what is drawn depends on the seed and the step alone, so that
several rows are trained side by side on lanes that are drawn once. The small budget comes before the large, and in each the main
rows, seed by seed, before the others.
"""

from __future__ import annotations

import argparse
import copy
import json
import time
import tomllib
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from posetrain.loop import average, descend, set_rate
from posetrain.paths import CONFIGS, TRAIN
from posetrain.study import classics
from posetrain.study.measure import Framings, drawn, figures, hidden_error, last_place, reader
from posetrain.study.optimise import merged, optimiser, rate
from posetrain.study.row import Network, macs_per_frame, parameters
from posetrain.study.table import Entry, table
from posetrain.temporal.clip_set import ClipSet, read
from posetrain.temporal.compare import SMOOTHNESS
from posetrain.temporal.learned import learned
from posetrain.temporal.train import LONGEST, Lanes, checkpoint, loss, save, segment

RESULTS = TRAIN / "study-results"
KEPT_EVERY = 200  # steps between checkpoints


def true_places(part: dict[str, Tensor]) -> Tensor:
    """[B,T,PLACES] in the person's frame, for rows that are taught with them; observed where the truth is not known."""
    true = (part["xy"][:, :, 0] - part["centre"][:, :, None]) / part["scale"][:, :, None, None]
    known = part["valid"][:, :, 0, :, None]
    return torch.where(known, true, part["bank"][:, :, 0]).float().flatten(2)


class Training:
    """One network in training, wherever it was broken off."""

    def __init__(self, entry: Entry, budget: str, seed: int, config: dict[str, Any], last: Path) -> None:
        self.config, self.seed = merged(config, entry.train), seed
        self.network = Network(entry.make(budget, seed))
        self.mean = copy.deepcopy(self.network)
        self.optimiser = optimiser(self.network, self.config["train"])
        self.kept = checkpoint(last, self.network, self.mean, self.optimiser)
        self.step = 0
        if (state := self.kept.read()) is not None:
            if state["config"] != self.config:
                raise SystemExit(
                    f"{last} was trained with other settings (steps, data or losses): remove it, or give another --work"
                )
            self.kept.take_over(state)
            self.step = state["step"]

    @property
    def steps(self) -> int:
        return int(self.config["train"]["steps"])

    @property
    def over(self) -> bool:
        return self.step >= self.steps

    def lane(self, x: dict[str, Tensor]) -> None:
        """One set of lanes, segment by segment. A run ends at a lane's end, and is kept only there: memory is not."""
        d, steps = self.config["data"], self.steps
        # Sampling rows draw by the step as well, so that a broken-off run ends as one that was not.
        torch.manual_seed(self.seed * 1_000_003 + self.step)
        memory = self.network.empty(d["lanes"])
        for number in range(d["segments"]):
            set_rate(self.optimiser, rate(self.config["train"], self.step, min(self.step / steps, 1.0)))
            part = segment(x, number, d["segment"])
            answer, memory = self.network(
                part["features"], part["bank"], part["times"], memory, true_places(part)
            )
            total, _ = loss(self.config, answer, part)
            total = total + self.network.row.extra_loss()
            if not torch.isfinite(total):
                raise FloatingPointError(f"the loss is {total.item()} at step {self.step}")
            descend(total, self.optimiser, self.network.parameters(), LONGEST)
            average(self.mean, self.network, self.config["train"]["average"], self.step)
            self.step += 1

    def keep(self) -> None:
        save(self.kept, self.step, self.config, learned(self.config))


def draw(lanes: Lanes, seed: int, step: int) -> dict[str, Tensor]:
    """The lanes of that step, the same for every row."""
    return lanes.draw(np.random.default_rng([seed, step]))[1]


@dataclass
class Clips:
    """What is measured: curves on `sets`, and the error of joints that are hidden in the second of `hidden` and not in the first."""

    sets: list[ClipSet]
    hidden: tuple[ClipSet, ClipSet]
    framings: Framings = field(default_factory=Framings)


def whose(banks: list[Path]) -> str:
    """Which networks made the errors, six digits each."""
    made_by = [np.load(bank).get("network") for bank in banks]
    for bank, network in zip(banks, made_by, strict=True):
        if network is None:
            raise SystemExit(
                f"{bank} does not say which network it is of: posetrain.temporal.detect writes it anew"
            )
    return " ".join(str(network) for network in made_by)


def observed(path: Path) -> ClipSet:
    """Named by the network too: clips that another keypoint network observed are other clips, and have tables of their own."""
    clips = read(path)
    if clips.network is None:
        raise SystemExit(
            f"{path} does not say which network observed: posetrain.temporal.clips writes it anew"
        )
    return replace(clips, name=f"{clips.name} {clips.network}")


def measured(network: Network, clips: Clips) -> dict[str, Any]:
    read, sets, hidden = reader(network.eval(), clips.framings), clips.sets, clips.hidden
    return {
        "curves": {clips.name: [asdict(figures(read, clips, s)) for s in SMOOTHNESS] for clips in sets},
        "hidden": hidden_error(read, *hidden),
        "hidden_held": hidden_error(last_place, *hidden),
    }


def rounded(said: Any) -> Any:
    """Five digits: what is kept is read by people too."""
    if isinstance(said, float):
        return float(f"{said:.5g}")
    if isinstance(said, dict):
        return {k: rounded(v) for k, v in said.items()}
    return [rounded(v) for v in said] if isinstance(said, list) else said


def write(result: Path, said: dict[str, Any]) -> None:
    """A line a key."""
    result.parent.mkdir(parents=True, exist_ok=True)
    lines = (f"{json.dumps(k)}: {json.dumps(rounded(v))}" for k, v in said.items())
    new = result.with_suffix(".new")
    new.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    new.rename(result)
    print(result, flush=True)


@dataclass
class Member:
    """One row in training, and where its result goes."""

    entry: Entry
    budget: str
    training: Training
    result: Path
    seconds: float = 0.0  # of the processor, without drawing
    begun_at: int = 0

    def said(self, clips: Clips, banks: str | None) -> dict[str, Any]:
        row, done = self.training.mean.row.eval(), self.training.step - self.begun_at
        facts = {
            "row": self.entry.name,
            "title": self.entry.title,
            "group": self.entry.group,
            "budget": self.budget,
            "seed": self.training.seed,
            "steps": self.training.step,
            "banks": banks,
            "causal": row.causal,
            "parameters": parameters(row),
            "macs_per_frame": macs_per_frame(row),
            "seconds_a_step": self.seconds / done if done else None,
        }
        return facts | measured(self.training.mean, clips)


def train_together(members: list[Member], lanes: Lanes, clips: Clips, banks: str | None) -> None:
    """Rows of one seed, on lanes drawn once for all of them. Those that are behind catch up first."""
    for m in members:
        m.begun_at = m.training.step
    waiting = list(members)
    while waiting:
        step = min(m.training.step for m in waiting)
        now = [m for m in waiting if m.training.step == step]
        x = {} if all(m.training.over for m in now) else draw(lanes, now[0].training.seed, step)
        for m in now:
            t = m.training
            kept, began = t.step // KEPT_EVERY, time.process_time()
            if not t.over:
                t.lane(x)
            m.seconds += time.process_time() - began
            if t.step // KEPT_EVERY > kept or t.over:
                t.keep()
                last = t.kept.path
                print(f"{last.parent.name}/{last.stem}: {t.step} of {t.steps} steps", flush=True)
            if t.over:
                write(m.result, m.said(clips, banks))
                waiting.remove(m)


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
    p.add_argument("--work", type=Path, default=TRAIN / "work" / "study", help="checkpoints")
    p.add_argument("--results", type=Path, default=RESULTS)
    names = [*classics.TITLES, *rows.main, *(n for n in rows.rows if n not in rows.main)]
    sets = {"main": rows.main} | {g: [n for n in rows.rows if rows.rows[n].group == g] for g in rows.groups}
    p.add_argument(
        "--rows", nargs="+", choices=[*names, *sets], default=names, metavar="ROW", help="or main, or a group"
    )
    p.add_argument("--budgets", nargs="+", choices=list(rows.budgets), default=list(rows.budgets))
    p.add_argument("--seeds", type=int, default=5, help="how many of the main rows")
    p.add_argument("--other-seeds", type=int, default=2, help="how many of the others")
    p.add_argument("--steps", type=int, nargs="+", help="the base configuration's, if not given")
    p.add_argument("--together", type=int, default=4, help="rows that are trained side by side")
    args = p.parse_args()
    config = tomllib.loads((CONFIGS / rows.base).read_text())
    lengths = args.steps or [config["train"]["steps"]]
    wanted = list(dict.fromkeys(n for row in args.rows for n in sets.get(row, [row])))
    torch.set_num_threads(config["train"]["threads"])
    lanes = Lanes(config, args.data, args.errors)
    banks = whose([args.errors / e for e in config["data"]["errors"]]) if lanes.bank is not None else None
    whole, hidden = drawn(args.data, "val")
    clips = Clips([whole, *(observed(path) for path in args.clips)], (whole, hidden))
    for name in (n for n in wanted if n in classics.TITLES):
        result = args.results / "classic" / f"{name}-none-1.json"
        if not result.exists():
            tune, _ = drawn(args.data, "train")
            write(result, classics.result(name, tune, clips.sets, clips.hidden))
    main_rows = [n for n in wanted if n in rows.main]
    others = [n for n in wanted if n in rows.rows and n not in rows.main]
    for budget, (names, seeds) in product(
        args.budgets, ((main_rows, args.seeds), (others, args.other_seeds))
    ):
        for seed in range(1, seeds + 1):
            missing = []
            for name, steps in product(names, lengths):
                result = args.results / str(steps) / f"{name}-{budget}-{seed}.json"
                if budget in rows.rows[name].sizes and not result.exists():
                    missing.append((rows.rows[name], steps, result))
            for a in range(0, len(missing), args.together):
                members = []
                for entry, steps, result in missing[a : a + args.together]:
                    here = copy.deepcopy(config)
                    here["train"]["steps"] = steps
                    last = args.work / str(steps) / f"{result.stem}.pt"
                    last.parent.mkdir(parents=True, exist_ok=True)
                    members.append(Member(entry, budget, Training(entry, budget, seed, here, last), result))
                train_together(members, lanes, clips, banks)


if __name__ == "__main__":
    main()
