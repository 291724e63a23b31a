r"""Trains the model and what it is compared with for equally many steps, prints one table and draws lag against jitter.

    python -m posetrain.temporal.compare --config configs/temporal/base.toml --data PACKS --errors ERRORS \
        --clips mocap-movenet-val.json jhmdb-movenet-val.json --work WORK --steps 3000 --plot networks.png

A network that WORK already holds is taken as it is, so the command may be broken off and given again. In the table places are
read as answered for the moment of capture, at smoothness 0: no lead, no choice of settings. A curve goes from smoothness 0 to 1.
`--classics` takes the classic filters' curves from what `posewire eval clips --out FIGURES` wrote.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import torch

from posetrain.temporal.answers import answers, held, metres, places_px
from posetrain.temporal.clip_set import Clip, ClipSet, read
from posetrain.temporal.frames import MIN_SCORE
from posetrain.temporal.model import Answer, Hyper
from posetrain.temporal.motion import smooth
from posetrain.temporal.peers import KINDS, Network

NETWORKS = {
    "Transformer-XL, norm before": ["--kind", "xl"],
    "Transformer-XL, norm after": ["--kind", "xl", "--norm", "post"],
    "Transformer-XL, T-Fixup": ["--kind", "xl", "--norm", "none"],
    "transformer, no memory": ["--kind", "window"],
    "GRU": ["--kind", "gru"],
    "one frame alone": ["--kind", "lifter"],
}
SHIFTS = np.arange(-2, 3.01, 0.25)  # frames, for the lag
SMOOTHNESS = [0, 0.1, 0.25, 0.5, 0.75, 1]
CLASSICS = ["one-euro", "exponential", "kalman"]


def trained(args: argparse.Namespace, name: str, options: list[str]) -> Path:
    work = args.work / name.replace(",", "").replace(" ", "-").lower()
    last = work / "last.pt"
    if not last.exists() or torch.load(last, weights_only=False)["step"] < args.steps:
        subprocess.run(
            [
                sys.executable,
                "-m",
                "posetrain.temporal.train",
                "--config",
                args.config,
                "--data",
                args.data,
                "--errors",
                args.errors,
                "--work",
                work,
                "--steps",
                str(args.steps),
                *options,
            ],
            check=True,
            stdout=sys.stderr,
        )
    return last


def lag(cost: np.ndarray) -> float:
    """Where the summed squares are least, between the shifts tried."""
    i = int(np.clip(np.argmin(cost), 1, len(SHIFTS) - 2))
    bend = cost[i - 1] - 2 * cost[i] + cost[i + 1]
    return float(SHIFTS[i] + 0.125 * (cost[i - 1] - cost[i + 1]) / bend)


def load(checkpoint: Path) -> Network:
    z = torch.load(checkpoint, weights_only=False)
    model = KINDS[z["config"]["kind"]](Hyper(**z["config"]["model"]))
    model.load_state_dict(z["mean"])
    return model.eval()


def answered(model: Network | None, clip: Clip, smoothness: float) -> tuple[np.ndarray, Answer | None]:
    """Places [T,4,17,2] px of one stream; without a model the last seen ones, for every horizon."""
    if model is None:
        return np.repeat(held(clip.xy, clip.score >= MIN_SCORE)[:, None], 4, 1), None
    f, a = answers(model, clip.times[None], clip.xy[None], clip.score[None], smoothness)
    return places_px(f, a)[0], a


def figures(model: Network | None, clips: ClipSet, smoothness: float = 0.0) -> list[float]:
    """What `measured` measures of a network, or of the last seen places."""
    return measured(lambda clip: answered(model, clip, smoothness), clips)


def measured(answer: Callable[[Clip], tuple[np.ndarray, Answer | None]], clips: ClipSet) -> list[float]:
    """MPJPE %, PCK.1, Accel %, lag in frames, error 100 ms ahead %, 3D mm (NaN where there is no 3D truth) of places
    [T,4,17,2] px a clip."""
    off, shake, ahead, lift, cost = [], [], [], [], np.zeros(len(SHIFTS))
    for clip in clips.clips:
        extent, known = clip.extent_px[:, None], clip.known
        truth = np.nan_to_num(clip.truth)
        if clips.smooth_truth:
            truth = np.stack([smooth(truth[:, j], known[:, j], clips.smooth_truth) for j in range(17)], 1)
        place, a = answer(clip)
        error = place[:, 0] - truth
        off.append((np.linalg.norm(error, axis=-1) / extent)[known])
        second = np.linalg.norm(error[2:] - 2 * error[1:-1] + error[:-2], axis=-1) / extent[2:]
        shake.append(second[known[2:] & known[1:-1] & known[:-2]])
        ahead.append((np.linalg.norm(place[:-3, 2] - truth[3:], axis=-1) / extent[3:])[known[3:]])
        inner = np.arange(4, len(place) - 4)
        for i, shift in enumerate(SHIFTS):
            low = np.floor(inner - shift).astype(int)
            w = (inner - shift - low)[:, None, None]
            then = truth[low] * (1 - w) + truth[low + 1] * w
            far = np.linalg.norm(place[inner, 0] - then, axis=-1) / extent[inner]
            cost[i] += (np.minimum(far, 0.1) ** 2)[known[inner]].sum()
        if a is not None and clip.truth_m is not None:
            lift.append(1000 * np.linalg.norm(metres(a)[0] - clip.truth_m, axis=-1).ravel())
    far = np.concatenate(off)

    def mean(rows: list[np.ndarray]) -> float:
        return float(np.concatenate(rows).mean()) if rows else float("nan")

    return [
        100 * far.mean(),
        float((far < 0.1).mean()),
        100 * mean(shake),
        lag(cost),
        100 * mean(ahead),
        mean(lift),
    ]


def draw(models: dict[str, Network], sets: list[ClipSet], classics: Path | None, out: Path) -> None:
    """Accel against added lag, one panel a set."""
    fig, panels = plt.subplots(1, len(sets), figsize=(5.5 * len(sets), 4), squeeze=False)
    for panel, clips in zip(panels[0], sets, strict=True):
        raw = figures(None, clips)[3]
        for name, model in models.items():
            rows = [figures(model, clips, s) for s in SMOOTHNESS]
            panel.plot([r[3] - raw for r in rows], [r[2] for r in rows], "o-", ms=4, label=name)
        measured = json.loads((classics / f"{clips.name}.json").read_text()) if classics else []
        for family in CLASSICS if classics else []:
            reports = [r["report"] for r in measured if r["family"] == family]
            points = sorted({(r["added_lag"], r["acceleration"]["value"]) for r in reports})
            panel.plot(*zip(*points, strict=True), "s--", ms=3, lw=1, label=family)
        panel.set(
            title=clips.name,
            xlabel="added lag, frames of 30 Hz",
            ylabel="Accel, % of the person's extent",
            ylim=(0, None),
        )
        panel.grid(alpha=0.3)
    panels[0][0].legend(fontsize=8)
    fig.tight_layout()
    fig.savefig(out, dpi=90)


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--config", type=Path, required=True)
    p.add_argument("--data", type=Path, required=True)
    p.add_argument("--errors", type=Path, required=True)
    p.add_argument("--clips", type=Path, nargs="+", required=True, help="evenly spaced at 30 frames a second")
    p.add_argument("--work", type=Path, required=True)
    p.add_argument("--steps", type=int, default=3000)
    p.add_argument("--only", nargs="+", choices=sorted(NETWORKS), default=list(NETWORKS))
    p.add_argument("--plot", type=Path)
    p.add_argument(
        "--shipped", type=Path, help="checkpoint of the shipped model, for a curve beside the others"
    )
    p.add_argument("--classics", type=Path)
    args = p.parse_args()
    torch.set_num_threads(1)
    models = {name: load(trained(args, name, NETWORKS[name])) for name in args.only}
    sets = [read(path) for path in args.clips]
    for clips in sets:
        print(f"\n{clips.name}, after {args.steps} steps\n")
        print("| network | MPJPE % | PCK.1 | Accel % | lag | 100 ms ahead % | 3D mm |\n" + "|---" * 7 + "|")
        for name, model in models.items():
            v = figures(model, clips)
            print(
                f"| {name} | {v[0]:.2f} | {v[1]:.3f} | {v[2]:.2f} | {v[3]:+.2f} | {v[4]:.2f} | {v[5]:.0f} |"
            )
    if args.plot:
        if args.shipped:
            models["Transformer-XL, as shipped"] = load(args.shipped)
        draw(models, sets, args.classics, args.plot)


if __name__ == "__main__":
    main()
