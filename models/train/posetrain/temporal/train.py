"""Trains the temporal model. `python -m posetrain.temporal.train --data PACKS --work DIR [--steps N]`; resumes DIR/last.pt, where that is
of the same configuration."""

from __future__ import annotations

import argparse
import copy
import math
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from posetrain.data.packs import LIMBS
from posetrain.loop import Checkpoint, Trend, average, descend, set_rate
from posetrain.paths import CONFIGS
from posetrain.resumed import require_same
from posetrain.temporal.frames import frame
from posetrain.temporal.inertia import Before, with_inertia
from posetrain.temporal.learned import LEARNED, learned
from posetrain.temporal.model import Answer, Hyper
from posetrain.temporal.motion import Mocap, Penn, Truth, join, sample_times
from posetrain.temporal.noise import Bank, Real, begin_exchanged, cut_off, hide, made_up, tuning
from posetrain.temporal.peers import KINDS
from posetrain.temporal.warp import warp
from posetrain.temporal.weights import read_pwt

BONES = torch.tensor(LIMBS)
# Norm of a step's gradient.
LONGEST = 1.0


def soft(x: Tensor, eps: float) -> Tensor:
    """Length of the last axis, smooth at zero."""
    return (x.square().sum(-1) + eps * eps).sqrt() - eps


def bone_lengths(p: Tensor) -> Tensor:
    """[...,17,3] -> [...,bones]."""
    return (p[..., BONES[:, 0], :] - p[..., BONES[:, 1], :]).square().sum(-1).add(1e-6).sqrt()


class Lanes:
    """Makes whole lanes: truth, observations, framed features. `errors` is the folder of the banks that the configuration names; without
    one all errors are made up."""

    def __init__(self, config: dict[str, Any], data: Path, errors: Path | None) -> None:
        self.config = config
        self.mocap = Mocap(data, "train")
        self.penn = Penn(data) if config["data"]["penn_share"] else None
        d = config["data"]
        banks, exact, acted = (
            [errors / name for name in d.get(kind, [])] if errors else []
            for kind in ("errors", "exact", "acted")
        )
        measured = [*banks, *exact, *acted]
        if missing := [path.name for path in measured if not path.exists()]:
            raise SystemExit(
                f"{errors} lacks {', '.join(missing)}: models/train/README.md says how they are made"
            )
        self.bank = Bank(measured, lambda clip: not tuning(clip)) if measured else None
        self.real = Real(banks, d["labels_late"], d["real_lag"]) if banks else None
        self.exact = Real(exact, 0.0, 0.0, forward=True) if exact else None
        self.acted = Real(acted, 0.0, 0.0, hurried=d.get("acted_hurried", 0.0)) if acted else None

    def replay(
        self, rng: np.random.Generator, share: float, truth: Truth, xy: np.ndarray, score: np.ndarray
    ) -> None:
        """Gives a share of the lanes the errors of other clips, so that none is known by heart; in place."""
        assert self.bank is not None
        xy_bank, score_bank = self.bank.lanes(rng, truth)
        score_bank[~truth.valid[:, :, 0]] = 0  # hidden there: nothing says where
        use = rng.random(len(xy)) < share
        xy[use], score[use] = xy_bank[use], score_bank[use]

    def draw(self, rng: np.random.Generator) -> tuple[Truth, dict[str, Tensor]]:
        d = self.config["data"]
        b, t = d["lanes"], d["segment"] * d["segments"]
        n_real = round(d["real_share"] * b) if self.real else 0
        n_penn = round(d["penn_share"] * b) if self.penn else 0
        n_exact = round(d["exact_share"] * b) if self.exact else 0
        n_acted = round(d["acted_share"] * b) if self.acted else 0
        times = sample_times(rng, b - n_real - n_exact - n_acted, t)
        truth = self.mocap.lanes(rng, times[n_penn:])
        if self.penn and n_penn:
            truth = join([self.penn.lanes(rng, times[:n_penn]), truth])
        xy, score = made_up(rng, truth)
        if self.bank:
            xy_bank, score_bank = self.bank.lanes(rng, truth)
            use = rng.random(len(xy)) < d["bank_share"]
            xy[use], score[use] = xy_bank[use], score_bank[use]
        score[:n_penn][~truth.valid[:n_penn, :, 0]] = 0  # hidden there: nothing says where
        for followed, lanes, replayed in (
            (self.exact, n_exact, 0.0),
            (self.acted, n_acted, d.get("acted_replayed", 0.0)),
        ):
            if followed and lanes:
                drawn, xy_drawn, score_drawn = followed.lanes(rng, lanes, t)
                if replayed:
                    self.replay(rng, replayed, drawn, xy_drawn, score_drawn)
                truth = join([truth, drawn])
                xy, score = np.concatenate([xy, xy_drawn]), np.concatenate([score, score_drawn])
        if self.real and n_real:
            seen, xy_real, score_real = self.real.lanes(rng, n_real, t)
            self.replay(rng, d["real_replayed"], seen, xy_real, score_real)
            truth = join([truth, seen])
            xy, score = np.concatenate([xy, xy_real]), np.concatenate([score, score_real])
        if d.get("warped"):
            warp(rng, d["warped"], truth, xy)
        hide(rng, truth, xy, score)
        if d.get("cut_off"):
            cut_off(rng, d["cut_off"], truth, score)
        if d.get("begin_exchanged"):
            begin_exchanged(rng, d["begin_exchanged"], xy, score)
        smooth = np.maximum(rng.uniform(-0.5, 1, b), 0)  # a third of the lanes as shipped
        f = frame(truth.times, xy, score, smooth)

        def pick(a: np.ndarray) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(a))

        return truth, {
            "features": pick(f.features),
            "bank": pick(f.bank),
            "centre": pick(f.centre_px),
            "scale": pick(f.scale_px),
            "times": pick(truth.times),
            "xy": pick(truth.xy),
            "valid": pick(truth.valid),
            "xyz": pick(truth.xyz),
            "lifted": pick(truth.lifted),
            "real": torch.arange(b) >= b - n_real,
            "smooth": pick(smooth.astype(np.float32)),
        }


def loss(config: dict[str, Any], a: Answer, x: dict[str, Tensor]) -> tuple[Tensor, dict[str, float]]:
    c = config["loss"]
    scale = x["scale"][:, :, None, None, None]
    target = (x["xy"] - x["centre"][:, :, None, None]) / scale
    ok = x["valid"].float()
    weight = ok * torch.tensor(c["horizons"])[:, None]
    e = a.place - target
    off = soft(e, 0.004)
    # Distance, and beside it nearly the share of joints beyond 0.05: what the frame had right shall not be moved.
    wrong = off.square() / (off.square() + 0.05**2)
    position = ((off + c["wrong"] * wrong) * weight).sum() / weight.sum()
    # Errors of motion, in pixels of one frame of reference and then in parts of the person's scale.
    world = e * scale
    u = x["smooth"][:, None, None, None]

    def strength(k: str) -> Tensor:
        at: Tensor = c[k][0] * (c[k][1] / c[k][0]) ** u
        return at

    two = weight[:, 1:] * ok[:, :-1]
    v = soft((world[:, 1:] - world[:, :-1]) / scale[:, 1:], 0.002)
    velocity = (strength("velocity") * v * two).sum() / two.sum()
    three = two[:, 1:] * ok[:, :-2]
    w = soft((world[:, 2:] - 2 * world[:, 1:-1] + world[:, :-2]) / scale[:, 2:], 0.002)
    acceleration = (strength("acceleration") * w * three).sum() / three.sum()
    # Lag in frames is the error along the motion, of joints that are about right: an outlier says nothing of timing. Lanes that
    # shall be prompt are asked for little, now and 50 ms ahead, between which the lead reads; labels trail the film and virtual
    # motion does not, so the two are asked apart.
    dt = (x["times"][:, 1:] - x["times"][:, :-1]).float().clamp_min(0.25)[:, :, None, None]
    moved = (x["xy"][:, 1:, 0] - x["xy"][:, :-1, 0]) / scale[:, 1:, 0] / dt
    asked = ((off[:, 1:] < 0.1).float() * two * (1 - x["smooth"])[:, None, None, None])[:, :, :2, :, None]
    moved = moved[:, :, None]
    along = -(asked * moved * e[:, 1:, :2]).sum((1, 2, 3, 4))
    square = (asked * moved * moved).sum((1, 2, 3, 4))
    lags = [along[k].sum() / (square[k].sum() + 1e-3) for k in (~x["real"], x["real"])]
    # Laplace likelihood a coordinate, of the error as it is: sigma learns, the place does not trade on it.
    b = a.log_sigma.exp()[..., None]
    nll = ((e.detach().abs() / b + a.log_sigma[..., None]).sum(-1) * ok).sum() / ok.sum()
    lifted = x["lifted"].float()[:, None]
    size = x["xyz"].abs().amax((2, 3)).clamp_min(1e-3)
    unit = x["xyz"] / size[..., None, None]
    per = soft(a.unit - unit, 0.01).mean(-1) + (a.log_metres - size.log()).abs() * 0.3
    n = lifted.sum().clamp_min(1) * per.shape[1]
    lift = (per * lifted).sum() / n
    bones = ((bone_lengths(a.unit) - bone_lengths(unit)).abs().mean(-1) * lifted).sum() / n
    total = position + velocity + acceleration + c["likelihood"] * nll + c["lift"] * lift + c["bones"] * bones
    for lag, wanted in zip(lags, c["lag_wanted"], strict=True):
        total = total + c["lag"] * (lag - wanted).square()
    return total, {
        "pos": position.item(),
        "now": ((off * weight)[:, :, 0].sum() / ok[:, :, 0].sum()).item(),
        "acc": ((w * three)[:, :, 0].sum() / three[:, :, 0].sum()).item(),
        "nll": nll.item(),
        "lag": lags[0].item(),
        "lag_real": lags[1].item(),
        "lift": lift.item(),
    }


def begin(model: nn.Module, old: dict[str, Tensor]) -> None:
    """Takes the weights of an earlier model; outputs that it had not stand last and begin at zero."""
    for name, value in model.state_dict().items():
        if name in old and old[name].shape[1:] == value.shape[1:]:
            value.zero_()
            value[: len(old[name])] = old[name]
        else:
            raise SystemExit(f"the weights to begin from do not fit: {name}")


def read_start(path: Path) -> dict[str, Tensor]:
    """The weights to begin from: the mean of a run, or those of a .pwt file."""
    if path.suffix == ".pwt":
        return read_pwt(path).model.state_dict()
    mean: dict[str, Tensor] = torch.load(path, weights_only=False)["mean"]
    return mean


def learning_rate(train: dict[str, Any], step: int, done: float) -> float:
    """Warms up by steps; falls to almost nothing over the second half of the run, of which `done` is over."""
    rate = min(1.0, (step + 1) / train["warm_up"]) * min(1.0, 2 * (1 - done)) + 0.003
    return float(train["rate"] * rate)


def segment(x: dict[str, Tensor], number: int, frames: int) -> dict[str, Tensor]:
    """The segment of that number of whole lanes."""
    cut = slice(number * frames, (number + 1) * frames)
    return {k: v if v.dim() == 1 else v[:, cut] for k, v in x.items()}


def checkpoint(path: Path, model: nn.Module, mean: nn.Module, optimiser: torch.optim.Optimizer) -> Checkpoint:
    return Checkpoint(path, model, mean, optimiser, mean_as="mean")


def save(kept: Checkpoint, step: int, config: dict[str, Any], sources: list[str], spent: float = 0.0) -> None:
    """`sources`: what the weights learned from. `spent`: seconds of training, this run's and those that it went on from."""
    kept.save({"step": step, "config": config, LEARNED: sources, "spent": spent})


def gone_on(kept: Checkpoint, config: dict[str, Any], start: Path | None) -> tuple[int, float]:
    """Takes over the run's checkpoint, or else the weights in `start`, if given; returns how far the run was, steps and seconds."""
    state = kept.read()
    if state is not None:
        require_same(kept.path, state["config"], config)
        kept.take_over(state)
        unused = f"; {start} is not read again" if start else ""
        print(f"goes on from {kept.path} at step {state['step']}{unused}", flush=True)
        return state["step"], state.get("spent", 0.0)
    if start:
        old = read_start(start)
        begin(kept.model, old)
        begin(kept.mean, old)
    return 0, 0.0


def arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser()
    p.add_argument("--config", type=Path, default=CONFIGS / "temporal" / "base.toml")
    p.add_argument("--data", type=Path, required=True)
    p.add_argument("--work", type=Path, required=True)
    p.add_argument("--errors", type=Path, help="where posetrain.temporal.detect wrote; --work if not given")
    p.add_argument("--steps", type=int)
    p.add_argument(
        "--minutes",
        type=float,
        default=math.inf,
        help="the learning rate also falls with the clock, to end by then",
    )
    p.add_argument(
        "--kind", choices=sorted(KINDS), default="xl", help="the model, or one that it is compared with"
    )
    p.add_argument("--norm", choices=["pre", "post", "none"], help="instead of the configuration's")
    p.add_argument(
        "--start",
        type=Path,
        help="begin from these weights, with a fresh optimiser: a checkpoint, or a .pwt file as shipped",
    )
    return p.parse_args()


def configured(args: argparse.Namespace) -> dict[str, Any]:
    """The configuration's file with what the command line says instead."""
    config = tomllib.loads(args.config.read_text())
    config["kind"] = args.kind
    if args.kind == "window":
        config["model"]["carry"] = False
    if args.norm:
        config["model"]["norm"] = args.norm
    return config


def main() -> None:
    args = arguments()
    config = configured(args)
    t, d = config["train"], config["data"]
    steps = args.steps or t["steps"]
    torch.set_num_threads(t["threads"])
    torch.manual_seed(t["seed"])
    args.work.mkdir(parents=True, exist_ok=True)
    model = KINDS[args.kind](Hyper(**config["model"]))
    mean = copy.deepcopy(model)
    optimiser = torch.optim.AdamW(
        model.parameters(), lr=t["rate"], weight_decay=t["weight_decay"], betas=(0.9, 0.98)
    )
    kept = checkpoint(args.work / "last.pt", model, mean, optimiser)
    begun = kept.path if kept.path.exists() else args.start
    of = learned(config, [begun] if begun else [])
    step, spent = gone_on(kept, config, args.start)
    lanes = Lanes(config, args.data, args.errors or args.work)
    rng, trend = np.random.default_rng(t["seed"] + step), Trend()
    began = time.monotonic() - spent
    while step < steps and spent < 60 * args.minutes:
        _, x = lanes.draw(rng)
        memory = model.empty(d["lanes"])
        before: Before | None = None
        for s in range(d["segments"]):
            spent = time.monotonic() - began
            done = min(max(step / steps, spent / (60 * args.minutes)), 1.0)
            set_rate(optimiser, learning_rate(t, step, done))
            part = segment(x, s, d["segment"])
            answer, memory = model(part["features"], part["bank"], part["times"], memory)
            answer, before = with_inertia(answer, part["centre"], part["scale"], part["times"], before)
            total, parts = loss(config, answer, part)
            descend(total, optimiser, model.parameters(), LONGEST)
            average(mean, model, t["average"], step)
            trend.add(parts)
            step += 1
            if step % 50 == 0:
                print(step, f"{spent:.0f}s", trend, flush=True)
            if step % 200 == 0:
                save(kept, step, config, of, spent)
    save(kept, step, config, of, spent)


if __name__ == "__main__":
    main()
