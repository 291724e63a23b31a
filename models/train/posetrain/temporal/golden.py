"""Writes tests/golden/temporal_xl.json: what PyTorch answers with the shipped weights, for the Rust step to meet.

`python -m posetrain.temporal.golden`. Motion, gaps and drop-outs are made here from a seed; the whole
sequence goes through the masked network at once, so the file also holds step == sequence.
"""

from __future__ import annotations

import argparse
import json
import struct
from pathlib import Path

import numpy as np
import torch

from posetrain.paths import REPOSITORY
from posetrain.temporal.frames import JOINTS, frame
from posetrain.temporal.model import Hyper, TemporalXl

STEPS = 72
MEASURED_SCORE, BELIEVED = 0.2, 0.1  # as in src/temporal: what makes an answer `measured`
KEEP = [0, 1, 2, 9, 31, 32, 33, 34, 50, 71]  # round the memory's length and beyond


def read_pwt(path: Path) -> tuple[TemporalXl, float, np.ndarray]:
    data = path.read_bytes()
    width, layers, heads, feed, memory, count = struct.unpack_from("<6I", data, 4)
    at, state = 28, {}
    for _ in range(count):
        n = data[at]
        name = data[at + 1 : at + 1 + n].decode()
        rank = data[at + 1 + n]
        shape = struct.unpack_from(f"<{rank}I", data, at + 2 + n)
        at += 2 + n + 4 * rank
        size = int(np.prod(shape))
        state[name] = torch.from_numpy(np.frombuffer(data, "<f4", size, at).reshape(shape).copy())
        at += 4 * size
    model = TemporalXl(Hyper(width, layers, heads, feed, memory))
    lead, widen = float(state.pop("lead_frames")), state.pop("sigma_scale").numpy()
    model.load_state_dict({k: v for k, v in state.items() if not k.startswith("error_model.")})
    return model.eval(), lead, widen


def rounded(v: np.ndarray | list[float], digits: int) -> list[float]:
    return [round(float(x), digits) for x in np.ravel(v)]


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--models", type=Path, default=REPOSITORY / "models")
    p.add_argument("--out", type=Path, default=REPOSITORY / "tests" / "golden" / "temporal_xl.json")
    p.add_argument("--smoothness", type=float, default=0.5)
    args = p.parse_args()
    rng = np.random.default_rng(20)
    at_us = np.cumsum(rng.choice([16_667, 33_333, 33_333, 40_000, 100_000], STEPS))
    times = (at_us - at_us[0]) / (1e6 / 30)
    pose = rng.uniform(-1, 1, (JOINTS, 2)) * [60, 120]
    swing = np.sin(0.15 * times[:, None, None] + rng.uniform(0, 6, (JOINTS, 2))) * 12
    walk = np.array([320, 240]) + np.stack([2.5 * times, 6 * np.sin(0.05 * times)], -1)
    xy = pose + swing + walk[:, None] + rng.normal(0, 2, (STEPS, JOINTS, 2))
    score = rng.uniform(0.3, 1, (STEPS, JOINTS))
    score[rng.random((STEPS, JOINTS)) < 0.1] = 0
    score[40:46] = 0
    xy, score = xy.round(2).astype(np.float32), score.round(3).astype(np.float32)
    f = frame(times[None], xy[None], score[None], np.array([args.smoothness]))
    model, lead, widen = read_pwt(args.models / "temporal-xl.pwt")
    with torch.no_grad():
        a, _ = model(
            torch.from_numpy(f.features),
            torch.from_numpy(f.bank),
            torch.from_numpy(times[None]),
            model.empty(1),
        )
    centre, scale = f.centre_px[0], f.scale_px[0]
    place = a.place[0].numpy() * scale[:, None, None, None] + centre[:, None, None]
    further = np.concatenate([np.diff(place, axis=1), place[:, 3:] - place[:, 2:3]], 1)
    place = place + lead / 1.5 * further
    off = np.linalg.norm(place[:, 0] - xy, axis=-1)
    measured = (score >= MEASURED_SCORE) & (off <= BELIEVED * scale[:, None])
    sigma = 1.139 * a.log_sigma[0].exp().numpy() * scale[:, None, None] * np.where(measured, *widen)[:, None]
    lift = a.unit[0].numpy() * a.log_metres[0].clamp(-3, 2).exp().numpy()[:, None, None]
    golden = {
        "made_by": "python -m posetrain.temporal.golden",
        "smoothness": args.smoothness,
        "captured_at_us": [int(t) for t in at_us],
        "observed": [
            [rounded([*p, s], 3) for p, s in zip(xy[t], score[t], strict=True)] for t in range(STEPS)
        ],
        "steps": KEEP,
        "places_px": [rounded(place[t], 3) for t in KEEP],
        "sigma_px": [rounded(sigma[t], 4) for t in KEEP],
        "lift_m": [rounded(lift[t], 5) for t in KEEP],
    }
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main()
