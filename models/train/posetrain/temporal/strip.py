"""Draws a clip's skeletons as a strip: above what the detector said, below what the model says, the truth behind both.

`python -m posetrain.temporal.strip --models DIR --clips mocap-movenet-val.json --clip 3 --out strip.png`. Skeletons alone, no film.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import torch

from posetrain.temporal.frames import MIN_SCORE, frame
from posetrain.temporal.golden import read_pwt

BONES = [
    (5, 7),
    (7, 9),
    (6, 8),
    (8, 10),
    (5, 11),
    (6, 12),
    (11, 13),
    (13, 15),
    (12, 14),
    (14, 16),
    (5, 6),
    (11, 12),
    (0, 5),
    (0, 6),
]
HORIZON_FRAMES = 1.5


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--models", type=Path, required=True)
    p.add_argument("--clips", type=Path, required=True)
    p.add_argument("--clip", type=int, default=0)
    p.add_argument("--first", type=int, default=40)
    p.add_argument("--step", type=int, default=2)
    p.add_argument("--pictures", type=int, default=12)
    p.add_argument("--smoothness", type=float, default=0.1)
    p.add_argument("--out", type=Path, required=True)
    args = p.parse_args()
    clip = json.loads(args.clips.read_text())["clips"][args.clip]
    seen = np.array(clip["observed"], np.float32)
    truth = np.array([[q or [np.nan, np.nan] for q in t] for t in clip["truth"]])
    times = np.array(clip["captured_at_us"]) / (1e6 / 30)
    xy, score = seen[..., :2], seen[..., 2]
    f = frame(times[None], xy[None], score[None], np.array([args.smoothness]))
    model, lead, _ = read_pwt(args.models / "temporal-xl.pwt")
    with torch.no_grad():
        a, _ = model(
            torch.from_numpy(f.features),
            torch.from_numpy(f.bank),
            torch.from_numpy(times[None]),
            model.empty(1),
        )
    place = a.place[0].numpy() * f.scale_px[0][:, None, None, None] + f.centre_px[0][:, None, None]
    place = place[:, 0] + lead / HORIZON_FRAMES * (place[:, 1] - place[:, 0])
    figure, axes = plt.subplots(2, args.pictures, figsize=(1.1 * args.pictures, 4.6), dpi=80)
    for i in range(args.pictures):
        t = args.first + i * args.step
        middle, half = (np.nanmin(truth[t], 0) + np.nanmax(truth[t], 0)) / 2, 0.62 * clip["extent_px"][t]
        for row, (points, known) in enumerate(
            ((xy[t], score[t] >= MIN_SCORE), (place[t], np.ones(17, bool)))
        ):
            axis = axes[row, i]
            for j, k in BONES:
                axis.plot(truth[t, [j, k], 0], truth[t, [j, k], 1], color="0.8", lw=4, solid_capstyle="round")
                if known[j] and known[k]:
                    axis.plot(
                        points[[j, k], 0], points[[j, k], 1], color=("tab:red", "tab:blue")[row], lw=1.6
                    )
            axis.set(
                xlim=(middle[0] - half / 2, middle[0] + half / 2),
                ylim=(middle[1] + half, middle[1] - half),
                aspect="equal",
            )
            axis.set_axis_off()
            if row == 0:
                axis.set_title(f"{(times[t] - times[args.first]) / 30:.2f} s", fontsize=8)
    figure.subplots_adjust(0.005, 0.005, 0.995, 0.94, 0.02, 0.02)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(args.out)


if __name__ == "__main__":
    main()
