r"""What the first steps of training do, as plots: the sizes of gradients and of updates in the training group, and how far back the
gradient of recurrent rows reaches.

    python -m posetrain.study.first_steps --data PACKS --images DIR
    python -m posetrain.study.first_steps --data PACKS --images DIR --checkpoints work/study/7000   # trained rows beside untrained ones

It writes gradients.png, updates.png (by step, after Huang et al., 2020) and gradient-distance.png (after Bengio et al., 1994), and
prints what they show in figures. Gradients are as the optimiser gets them, their norm at most 1; updates are what it adds to the weights,
the rate included.
"""

from __future__ import annotations

import argparse
import tempfile
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import Tensor

from posetrain.paths import CONFIGS, TRAIN
from posetrain.study.row import Network, Row, observation
from posetrain.study.run import Training, draw
from posetrain.study.table import Table, table
from posetrain.temporal.train import Lanes

BINS = np.linspace(-9.0, 0.0, 91)  # of log10
BUDGET, SEED = "small", 1
FAR_ROWS = ("elman-hidden", "elman-output", "lstm", "gru", "seq2seq-bahdanau", "s4d", "transformer-xl")
FRAMES, DIRECTIONS = 96, 4
GONE = 0.01


@dataclass
class Sizes:
    """Of one row a histogram a step, [steps,bins] each, of log10 of what is not zero; and the medians."""

    gradients: list[np.ndarray] = field(default_factory=list)
    updates: list[np.ndarray] = field(default_factory=list)
    median_gradient: list[float] = field(default_factory=list)
    median_update: list[float] = field(default_factory=list)


def histogram(parts: list[Tensor]) -> tuple[np.ndarray, float]:
    size = torch.cat([p.flatten() for p in parts]).abs()
    size = size[size > 0].log10()
    counts, _ = np.histogram(size.clamp(float(BINS[0]), float(BINS[-1])).numpy(), BINS)
    return counts / max(counts.sum(), 1), float(10 ** size.median())


def first_sizes(training: Training, lanes: Lanes, steps: int) -> Sizes:
    """Trains for so many steps, in whole lanes."""
    sizes, parameters = Sizes(), list(training.network.parameters())
    before: list[Tensor] = []

    def as_it_goes_in(*_: object) -> None:
        before[:] = [p.detach().clone() for p in parameters]
        counts, median = histogram([p.grad for p in parameters if p.grad is not None])
        sizes.gradients.append(counts)
        sizes.median_gradient.append(median)

    def as_it_came_out(*_: object) -> None:
        counts, median = histogram([p.detach() - b for p, b in zip(parameters, before, strict=True)])
        sizes.updates.append(counts)
        sizes.median_update.append(median)

    training.optimiser.register_step_pre_hook(as_it_goes_in)
    training.optimiser.register_step_post_hook(as_it_came_out)
    while training.step < steps:
        training.lane(draw(lanes, training.seed, training.step))
    return sizes


def gradient_by_distance(row: Row, x: Tensor, dt: Tensor) -> np.ndarray:
    """[T]: the length of the gradient of the last frame's answer, along random directions, by the observation so many frames before it;
    the mean over lanes, as a part of what the last observation's own is. x [B,T,INPUTS], dt [B,T]."""
    x = x.clone().requires_grad_()
    y, _ = row.sequence(x, dt)
    drawn = torch.Generator().manual_seed(0)
    total = torch.zeros(x.shape[1])
    for _ in range(DIRECTIONS):
        along = torch.randn(y.shape[-1], generator=drawn)
        (by_frame,) = torch.autograd.grad((y[:, -1] @ along).sum(), x, retain_graph=True)
        total += by_frame.norm(dim=-1).mean(0)
    back = total.flip(0)
    return np.asarray(back / back[0])


def reach(by_distance: np.ndarray) -> str:
    """The distance from which on all is less than GONE."""
    first = int(np.flatnonzero(by_distance >= GONE)[-1]) + 1
    return str(first) if first < len(by_distance) else f"{first} or more"


def draw_sizes(found: dict[str, Sizes], titles: dict[str, str], of: str, out: Path) -> None:
    columns = 5
    lines = -(-len(found) // columns)
    fig, axes = plt.subplots(
        lines, columns, figsize=(12, 2.7 * lines), sharex=True, sharey=True, squeeze=False
    )
    for axis in axes.flat[len(found) :]:
        axis.set_visible(False)
    for axis, (name, sizes) in zip(axes.flat, found.items(), strict=False):
        share = np.array(getattr(sizes, of)).T
        axis.imshow(
            share, origin="lower", aspect="auto", cmap="magma_r", vmax=0.15,
            extent=(0.5, share.shape[1] + 0.5, BINS[0], BINS[-1]),
        )  # fmt: skip
        median = np.log10(getattr(sizes, f"median_{of[:-1]}"))
        axis.plot(np.arange(1, len(median) + 1), median, color="C0", lw=1.2)
        axis.set_title(
            titles[name].removeprefix("Transformer-XL, ").replace(", no warm-up", ",\nno warm-up"), fontsize=9
        )
    for axis in axes[:, 0]:
        axis.set_ylabel(f"log10 |{of[:-1]}|", fontsize=8)
    for axis in axes[-1]:
        axis.set_xlabel("step", fontsize=8)
    fig.tight_layout()
    fig.savefig(out, dpi=80)
    plt.close(fig)


def draw_distances(curves: dict[str, dict[str, np.ndarray]], out: Path) -> None:
    """curves: by what the rows are (untrained, trained), by row."""
    fig, axes = plt.subplots(
        1, len(curves), figsize=(max(6 * len(curves), 9), 4.2), sharey=True, squeeze=False
    )
    for axis, (what, rows) in zip(axes.flat, curves.items(), strict=True):
        for name, curve in rows.items():
            shown = np.where(curve > 0, curve, np.nan)
            axis.semilogy(np.arange(len(curve)), shown, lw=1.3, label=name, color=f"C{FAR_ROWS.index(name)}")
        axis.axhline(GONE, color="grey", lw=0.7, ls=":")
        axis.set(title=what, xlabel="frames back", ylim=(1e-8, 30))
        axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("gradient, of the newest frame's own")
    fig.tight_layout(rect=(0, 0.09, 1, 1))
    fig.legend(*axes[0, 0].get_legend_handles_labels(), fontsize=8, ncols=7, loc="lower center")
    fig.savefig(out, dpi=80)
    plt.close(fig)


def distances(rows: Table, lanes: Lanes, checkpoints: Path | None) -> dict[str, dict[str, np.ndarray]]:
    drawn = draw(lanes, SEED, 0)
    x = observation(drawn["features"], drawn["bank"])[:4, :FRAMES]
    dt = torch.diff(drawn["times"][:4, :FRAMES], dim=1, prepend=drawn["times"][:4, :1] - 1).float()
    curves: dict[str, dict[str, np.ndarray]] = {"untrained": {}, "trained": {}}
    for name in FAR_ROWS:
        network = Network(rows.rows[name].make(BUDGET, SEED)).eval()
        curves["untrained"][name] = gradient_by_distance(network.row, x, dt)
        last = checkpoints / f"{name}-{BUDGET}-{SEED}.pt" if checkpoints else None
        if last and last.exists():
            z = torch.load(last, weights_only=False)
            if z["step"] >= z["config"]["train"]["steps"]:  # not one that is still in training
                network.load_state_dict(z["mean"])
                curves["trained"][name] = gradient_by_distance(network.row, x, dt)
    return {what: found for what, found in curves.items() if found}


def main() -> None:
    rows = table()
    group = [n for n, e in rows.rows.items() if e.group == "training"]
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", type=Path, required=True)
    p.add_argument("--images", type=Path, default=TRAIN / "work" / "study" / "images")
    p.add_argument("--steps", type=int, default=80, help="rounded up to whole lanes")
    p.add_argument(
        "--checkpoints", type=Path, help="where posetrain.study.run keeps those of one number of steps"
    )
    args = p.parse_args()
    if args.checkpoints and not args.checkpoints.is_dir():
        raise SystemExit(f"{args.checkpoints} is no folder: posetrain.study.run writes work/study/STEPS")
    config = tomllib.loads((CONFIGS / rows.base).read_text())
    torch.set_num_threads(1)
    args.images.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as nowhere:
        lanes = Lanes(config, args.data, None)
        found = {}
        print(
            "| row | median gradient, step 1 | last step | median update, step 1 | largest | last step |\n|---|"
            + "---:|" * 5
        )
        for name in ["transformer-xl", *group]:
            training = Training(rows.rows[name], BUDGET, SEED, config, Path(nowhere) / "none.pt")
            s = found[name] = first_sizes(training, lanes, args.steps)
            g, u = s.median_gradient, s.median_update
            print(
                f"| {name} | {g[0]:.1e} | {g[-1]:.1e} | {u[0]:.1e} | {max(u):.1e} | {u[-1]:.1e} |", flush=True
            )
        curves = distances(rows, lanes, args.checkpoints)
    titles = {name: rows.rows[name].title for name in found}
    titles["transformer-xl"] = "Pre-LN, Adam, linear"
    for of in ("gradients", "updates"):
        draw_sizes(found, titles, of, args.images / f"{of}.png")
    draw_distances(curves, args.images / "gradient-distance.png")
    print(
        "\n| row | "
        + " | ".join(f"frames until the gradient is under {GONE:.0%}, {what}" for what in curves)
        + " |"
    )
    print("|---|" + "---:|" * len(curves))
    for name in FAR_ROWS:
        cells = [reach(curve[name]) if name in curve else "–" for curve in curves.values()]
        print(f"| {name} | " + " | ".join(cells) + " |")
    print(f"\n{args.images}")


if __name__ == "__main__":
    main()
