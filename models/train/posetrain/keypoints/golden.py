"""Golden vectors of the heat-map codec: `python -m posetrain.keypoints.golden` writes tests/golden/heatmap_codec.json.

Maps are made by formula, none comes from a picture: noise, peaks on and between cells, at edges and
corners, twins, plateaus, flat and saturated maps. The runtime decodes the same numbers and must agree.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from posetrain.data.packs import JOINTS, Floats
from posetrain.keypoints.calibrate import Calibration
from posetrain.keypoints.codec import HeatmapCodec
from posetrain.paths import REPOSITORY

ROWS, COLUMNS = 12, 16


def peak(row: float, column: float, height: float, width: float) -> Floats:
    """A bump of logits over a floor of -8."""
    y, x = np.mgrid[0:ROWS, 0:COLUMNS]
    bump = height * np.exp(-((y - row) ** 2 + (x - column) ** 2) / (2 * width**2)) - 8
    return np.asarray(bump, np.float32)


def maps(rng: np.random.Generator) -> dict[str, Floats]:
    noise = rng.normal(0, 1, (4, ROWS, COLUMNS)).astype(np.float32)
    return {
        "on_a_cell": peak(5, 7, 16, 1.5),
        "between_cells": peak(5.37, 7.81, 16, 1.5),
        "corner": peak(0, 0, 14, 1.5),
        "far_corner": peak(ROWS - 1, COLUMNS - 1, 14, 1.5),
        "edge": peak(6.4, 0.2, 14, 1.5),
        "between_near_twins": np.maximum(peak(5, 6, 9, 1.0), peak(5, 9, 8.9, 1.0)),
        "twins": np.maximum(peak(3, 3, 12, 1.2), peak(8, 12, 11.9, 1.2)),
        "plateau_first_wins": np.where(peak(5, 7, 12, 2.0) > 0, np.float32(2), np.float32(-6)).astype(
            np.float32
        ),
        "flat": np.zeros((ROWS, COLUMNS), np.float32),
        "saturated": peak(4, 9, 90, 0.8),
        "very_negative": peak(4, 9, 8, 1.5) - 200,
        "noise": noise[0],
        "strong_noise": noise[1] * 6,
        "peak_in_noise": peak(7.6, 4.2, 13, 1.6) + noise[2],
        "wide_peak_in_noise": peak(2.2, 11.7, 10, 3.0) + noise[3] * 0.5,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=REPOSITORY / "tests" / "golden" / "heatmap_codec.json")
    out = parser.parse_args().out
    rng = np.random.default_rng(20)
    codec = HeatmapCodec()
    fitted = Calibration(
        a=rng.uniform(-1, 1, JOINTS),
        b=rng.uniform(0.5, 1.5, JOINTS),
        c=rng.uniform(0.5, 2.5, JOINTS),
        d=rng.uniform(-0.4, 0.0, JOINTS),
    )
    a, b, c, d = (np.round(v, 4) for v in (fitted.a, fitted.b, fitted.c, fitted.d))
    cases = []
    for j, (name, logits) in enumerate(maps(rng).items()):
        logits = np.round(logits, 3).astype(np.float32)
        xy, feature = codec.decode(logits[None])
        f = float(feature[0])
        cases.append(
            {
                "name": name,
                "rows": ROWS,
                "columns": COLUMNS,
                "logits": [round(float(v), 3) for v in logits.ravel()],
                "a": float(a[j]),
                "b": float(b[j]),
                "c": float(c[j]),
                "d": float(d[j]),
                "x": round(float(xy[0, 0]), 5),
                "y": round(float(xy[0, 1]), 5),
                "feature": round(f, 5),
                "score": round(float(1 / (1 + np.exp(-(a[j] + b[j] * f)))), 6),
                "sigma_net_px": round(float(np.exp(c[j] + d[j] * f)), 5),
            }
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(
        json.dumps(
            {"stride": codec.stride, "windows": codec.windows(max(ROWS, COLUMNS)), "cases": cases},
            indent=None,
        )
        + "\n"
    )
    print(f"{len(cases)} cases in {out}")


if __name__ == "__main__":
    main()
