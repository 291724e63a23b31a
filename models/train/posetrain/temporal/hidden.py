"""What a hidden joint's error is made of.

    python -m posetrain.temporal.hidden --models DIR --clips mocap-movenet-val.json --hidden mocap-movenet-val-hidden10.json

Both sets are the same lanes, with limbs, a face or everything hidden in the second. One line for each frame since a joint was hidden,
then one for joints hidden while others are seen and one for a whole person gone: the error where the last place is held, what the model
says, and what the model says of the same frames with nothing hidden.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch

from posetrain.temporal.frames import MIN_SCORE, frame
from posetrain.temporal.golden import read_pwt


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--models", type=Path, required=True)
    p.add_argument("--clips", type=Path, required=True)
    p.add_argument("--hidden", type=Path, required=True)
    p.add_argument("--smoothness", type=float, default=0.1, help="as shipped")
    args = p.parse_args()
    torch.set_num_threads(1)
    model, lead, _ = read_pwt(args.models / "temporal-xl.pwt")

    def answered(times: np.ndarray, seen: np.ndarray) -> np.ndarray:
        f = frame(times, seen[..., :2], seen[..., 2], np.array([args.smoothness]))
        with torch.no_grad():
            a, _ = model(
                torch.from_numpy(f.features),
                torch.from_numpy(f.bank),
                torch.from_numpy(times),
                model.empty(1),
            )
        place = a.place[0].numpy() * f.scale_px[0][:, None, None, None] + f.centre_px[0][:, None, None]
        return place[:, 0] + lead / 1.5 * (place[:, 1] - place[:, 0])

    rows: list[list[np.ndarray]] = []
    lanes, hidden = (json.loads(path.read_text())["clips"] for path in (args.clips, args.hidden))
    seen_lanes: dict[str, np.ndarray] = {}
    for i, covered in enumerate(hidden):
        whole = lanes[i % len(lanes)]
        truth, extent = np.array(whole["truth"]), np.array(whole["extent_px"])[:, None]
        times = np.array(whole["captured_at_us"])[None] / (1e6 / 30)
        all_seen, some_seen = (np.array(c["observed"], np.float32)[None] for c in (whole, covered))
        gone = (some_seen[0, ..., 2] < MIN_SCORE) & (all_seen[0, ..., 2] >= MIN_SCORE)
        held, age = some_seen[0, ..., :2].copy(), gone.astype(int)
        for t in range(1, len(held)):
            held[t] = np.where(some_seen[0, t, :, 2:] >= MIN_SCORE, held[t], held[t - 1])
            age[t] *= age[t - 1] + 1
        if whole["name"] not in seen_lanes:
            seen_lanes[whole["name"]] = answered(times, all_seen)
        places = [held, answered(times, some_seen), seen_lanes[whole["name"]]]
        everything = np.broadcast_to((some_seen[0, ..., 2] == 0).all(1)[:, None], gone.shape)
        off = [np.linalg.norm(place - truth, axis=-1) / extent for place in places]
        rows.append([age[gone], everything[gone], *(o[gone] for o in off)])
    age, everything, held, ours, seen = (np.concatenate(v) for v in zip(*rows, strict=True))
    print(
        "| frames hidden | joints | held % | model % | of held | were it seen % | of held |\n"
        + "|---" * 7
        + "|"
    )
    parts = [("others seen", ~everything), ("whole person", everything), ("all", age > 0)]
    for name, some in [*((str(k), age == k) for k in range(1, age.max() + 1)), *parts]:
        h, o, s = (100 * v[some].mean() for v in (held, ours, seen))
        print(f"| {name} | {some.sum()} | {h:.2f} | {o:.2f} | {o / h:.2f} | {s:.2f} | {s / h:.2f} |")


if __name__ == "__main__":
    main()
