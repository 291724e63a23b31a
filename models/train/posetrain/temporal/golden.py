"""Writes tests/golden/temporal_xl.json and temporal_xl_keypoints.json: what PyTorch answers with the shipped weights, as they are and as
they are told beside a keypoint network of the project, for the Rust step to meet.

`python -m posetrain.temporal.golden`. Motion, gaps and drop-outs are made here from a seed; the whole
sequence goes through the masked network at once, so the file also holds step == sequence.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from posetrain.data.packs import JOINTS
from posetrain.paths import REPOSITORY
from posetrain.temporal.answers import answers, is_measured, metres, places_px, sigma_px
from posetrain.temporal.frames import NOMINAL_US
from posetrain.temporal.peers import Causal
from posetrain.temporal.residual import show_through
from posetrain.temporal.scores import score
from posetrain.temporal.weights import read_pwt

STEPS = 72
KEEP = [0, 1, 2, 9, 31, 32, 33, 34, 50, 71]  # round the memory's length and beyond


def rounded(v: np.ndarray | list[float], digits: int) -> list[float]:
    return [round(float(x), digits) for x in np.ravel(v)]


def drawn() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Capture times [T] in microseconds, places [T,17,2] px and scores [T,17] of somebody who walks and sways, with gaps."""
    rng = np.random.default_rng(20)
    at_us = np.cumsum(rng.choice([16_667, 33_333, 33_333, 40_000, 100_000], STEPS))
    times = (at_us - at_us[0]) / NOMINAL_US
    pose = rng.uniform(-1, 1, (JOINTS, 2)) * [60, 120]
    swing = np.sin(0.15 * times[:, None, None] + rng.uniform(0, 6, (JOINTS, 2))) * 12
    walk = np.array([320, 240]) + np.stack([2.5 * times, 6 * np.sin(0.05 * times)], -1)
    xy = pose + swing + walk[:, None] + rng.normal(0, 2, (STEPS, JOINTS, 2))
    score = rng.uniform(0.3, 1, (STEPS, JOINTS))
    score[rng.random((STEPS, JOINTS)) < 0.1] = 0
    score[40:46] = 0
    score[:20, 16] = 0.12  # noise, for never before it was seen surely
    return at_us, xy.round(2).astype(np.float32), score.round(3).astype(np.float32)


def told(
    model: Causal,
    lead: float,
    widen: np.ndarray,
    smoothness: float,
    keep: list[int],
    shown: float = 0.0,
    curve: np.ndarray | None = None,
) -> dict[str, Any]:
    """What the model answers to `drawn` at the steps kept, as the device says it."""
    at_us, xy, seen = drawn()
    times = (at_us - at_us[0]) / NOMINAL_US
    f, a = answers(model, times[None], xy[None], seen[None], smoothness)
    place = show_through(places_px(f, a, lead), xy[None], seen[None], times[None], f.scale_px, shown)
    measured = is_measured(f, place[:, :, 0], xy[None], seen[None])
    sigma = (sigma_px(f, a) * np.where(measured, *widen)[:, :, None])[0]
    place, lift = place[0], metres(a)[0]
    scores = (
        {}
        if curve is None
        else {"score": [rounded(v, 4) for v in score(curve, a.log_sigma[0, keep, 0].numpy())]}
    )
    return scores | {
        "smoothness": smoothness,
        "captured_at_us": [int(t) for t in at_us],
        "observed": [
            [rounded([*p, s], 3) for p, s in zip(xy[t], seen[t], strict=True)] for t in range(STEPS)
        ],
        "steps": keep,
        "places_px": [rounded(place[t], 3) for t in keep],
        "sigma_px": [rounded(sigma[t], 4) for t in keep],
        "lift_m": [rounded(lift[t], 5) for t in keep],
    }


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--models", type=Path, default=REPOSITORY / "models")
    p.add_argument("--out", type=Path, default=REPOSITORY / "tests" / "golden", help="folder")
    p.add_argument("--smoothness", type=float, default=0.5)
    args = p.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for error_model, name in (("", "temporal_xl"), ("keypoints", "temporal_xl_keypoints")):
        shipped = read_pwt(args.models / "temporal-xl.pwt", error_model)
        golden: dict[str, Any] = {"made_by": "python -m posetrain.temporal.golden"}
        golden |= told(
            shipped.model, shipped.lead, shipped.widen, args.smoothness, KEEP, shipped.shown, shipped.curve
        )
        (args.out / f"{name}.json").write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main()
