"""Draws a clip's skeletons as a strip: above what the detector said, below what the model says, the truth behind both.

`python -m posetrain.temporal.strip --models DIR --clips mocap-movenet-val.json --clip 3 --out strip.png`. Skeletons alone, no film.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from posetrain.data.packs import LIMBS
from posetrain.temporal.answers import SHIPPED_SMOOTHNESS, told_px
from posetrain.temporal.clip_set import read
from posetrain.temporal.frames import MIN_SCORE
from posetrain.temporal.weights import read_pwt

BONES = [*LIMBS, (0, 5), (0, 6)]


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--models", type=Path, required=True)
    p.add_argument("--clips", type=Path, required=True)
    p.add_argument("--clip", type=int, default=0)
    p.add_argument("--first", type=int, default=40)
    p.add_argument("--step", type=int, default=2)
    p.add_argument("--pictures", type=int, default=12)
    p.add_argument("--smoothness", type=float, default=SHIPPED_SMOOTHNESS)
    p.add_argument("--out", type=Path, required=True)
    args = p.parse_args()
    clips = read(args.clips)
    clip, shipped = clips.clips[args.clip], read_pwt(args.models / "temporal-xl.pwt", clips.error_model)
    place = told_px(
        shipped.model, clip.times, clip.xy, clip.score, args.smoothness, shipped.lead, shipped.shown
    )
    truth, times = clip.truth, clip.times
    figure, axes = plt.subplots(2, args.pictures, figsize=(1.1 * args.pictures, 4.6), dpi=80)
    for i in range(args.pictures):
        t = args.first + i * args.step
        middle, half = (np.nanmin(truth[t], 0) + np.nanmax(truth[t], 0)) / 2, 0.62 * clip.extent_px[t]
        for row, (points, known) in enumerate(
            ((clip.xy[t], clip.score[t] >= MIN_SCORE), (place[t], np.ones(17, bool)))
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
