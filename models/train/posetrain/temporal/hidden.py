"""What a hidden joint's error is made of.

    python -m posetrain.temporal.hidden --models DIR --clips mocap-movenet-val.json --hidden mocap-movenet-val-hidden10.json

Both sets are the same lanes, with limbs, a face or everything hidden in the second. One line for each frame since a joint was hidden,
then one for joints hidden while others are seen and one for a whole person gone: the error where the last place is held, what the model
says, and what the model says of the same frames with nothing hidden.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

from posetrain.temporal.answers import SHIPPED_SMOOTHNESS, held, told_px
from posetrain.temporal.clip_set import Clip, read
from posetrain.temporal.frames import MIN_SCORE
from posetrain.temporal.weights import read_pwt


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--models", type=Path, required=True)
    p.add_argument("--clips", type=Path, required=True)
    p.add_argument("--hidden", type=Path, required=True)
    p.add_argument("--smoothness", type=float, default=SHIPPED_SMOOTHNESS, help="as shipped")
    args = p.parse_args()
    torch.set_num_threads(1)
    whole_set, hidden_set = read(args.clips), read(args.hidden)
    if whole_set.error_model != hidden_set.error_model:
        raise SystemExit(f"{args.clips} and {args.hidden} are of different detectors")
    shipped = read_pwt(args.models / "temporal-xl.pwt", whole_set.error_model)

    def answered(clip: Clip) -> np.ndarray:
        return told_px(
            shipped.model, clip.times, clip.xy, clip.score, args.smoothness, shipped.lead, shipped.shown
        )

    rows: list[list[np.ndarray]] = []
    lanes, hidden = whole_set.clips, hidden_set.clips
    answered_lanes: dict[str, np.ndarray] = {}
    for i, covered in enumerate(hidden):
        whole = lanes[i % len(lanes)]
        seen = covered.score >= MIN_SCORE
        gone = ~seen & (whole.score >= MIN_SCORE)
        age = gone.astype(int)
        for t in range(1, len(age)):
            age[t] *= age[t - 1] + 1
        if whole.name not in answered_lanes:
            answered_lanes[whole.name] = answered(whole)
        places = [held(covered.xy, seen), answered(covered), answered_lanes[whole.name]]
        everything = np.broadcast_to((covered.score == 0).all(1)[:, None], gone.shape)
        off = [np.linalg.norm(place - whole.truth, axis=-1) / whole.extent_px[:, None] for place in places]
        rows.append([age[gone], everything[gone], *(o[gone] for o in off)])
    age, everything, last, ours, known = (np.concatenate(v) for v in zip(*rows, strict=True))
    print(
        "| frames hidden | joints | held % | model % | of held | were it seen % | of held |\n"
        + "|---" * 7
        + "|"
    )
    parts = [("others seen", ~everything), ("whole person", everything), ("all", age > 0)]
    for name, some in [*((str(k), age == k) for k in range(1, age.max() + 1)), *parts]:
        h, o, s = (100 * v[some].mean() for v in (last, ours, known))
        print(f"| {name} | {some.sum()} | {h:.2f} | {o:.2f} | {o / h:.2f} | {s:.2f} | {s / h:.2f} |")


if __name__ == "__main__":
    main()
