"""Draws what detectors get wrong on J-HMDB train clips: `python -m posetrain.temporal.error_plots --work DIR --out PNG`."""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

BODY = slice(5, 17)
LONGEST = 12  # frames of lag in the correlation


def correlation(z: dict[str, np.ndarray]) -> np.ndarray:
    """Of each joint's error with itself some frames later, errors beyond 0.2 of the extent left out."""
    top, bottom = np.zeros(LONGEST), np.zeros(LONGEST)
    for a, b in zip(z["offset"][:-1], z["offset"][1:], strict=True):
        e = z["error"][a:b, BODY]
        ok = z["known"][a:b, BODY] & (np.linalg.norm(e, axis=-1) < 0.2)
        for k in range(min(LONGEST, b - a - 1)):
            both = ok[: b - a - k] & ok[k:]
            top[k] += (e[: b - a - k] * e[k:]).sum(-1)[both].sum()
            bottom[k] += 0.5 * ((e[: b - a - k] ** 2).sum(-1) + (e[k:] ** 2).sum(-1))[both].sum()
    return top / np.maximum(bottom, 1e-9)


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--work", type=Path, required=True)
    p.add_argument("--out", type=Path, required=True)
    args = p.parse_args()
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(10, 3), dpi=80)
    for path in sorted(args.work.glob("jhmdb-*-train.npz")):
        name = path.stem.split("-")[1]
        z = dict(np.load(path))
        off = np.linalg.norm(z["error"], axis=-1)
        known = z["known"].copy()
        known[:, :5] = False
        left.plot(100 * np.sort(off[known]), np.linspace(0, 1, known.sum()), label=name)
        middle.plot(np.arange(LONGEST), correlation(z), ".-", label=name)
        bins = np.linspace(0, 1, 11)
        which = np.digitize(z["score"][known], bins) - 1
        full = [i for i in range(10) if (which == i).sum() > 50]
        right.plot(
            [z["score"][known][which == i].mean() for i in full],
            [(off[known][which == i] < 0.1).mean() for i in full],
            ".-",
            label=name,
        )
    left.set(xlim=(0, 40), xlabel="error, % of the person's extent", ylabel="share of joints")
    middle.set(xlabel="frames between", ylabel="correlation of the error", ylim=(0, 1))
    right.plot([0, 1], [0, 1], "k:", lw=0.8)
    right.set(xlabel="score", ylabel="share within 0.1 of the extent")
    for axis in (left, middle, right):
        axis.grid(alpha=0.3)
    left.legend()
    figure.tight_layout()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(args.out)


if __name__ == "__main__":
    main()
