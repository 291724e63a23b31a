"""The file of a clip set: what a detector said and what is true. `posewire eval clips` reads it too.

{"name", "error_model", "network": six digits or null, "smooth_truth": frames, "clips": [{"name", "source" (where it is one of several of a
film: which; intervals draw such clips together), "captured_at_us": [T], "extent_px": [T],
"observed": [T][17][x, y, score], "truth": [T][17][x, y] (null: not known), "truth_3d_m": [T][17][xyz] or null}]}
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from posetrain.temporal.frames import NOMINAL_US


@dataclass(frozen=True)
class Clip:
    """One stream. Places are NaN where the truth is not known."""

    name: str
    times: np.ndarray  # [T] nominal frames
    extent_px: np.ndarray  # [T]
    xy: np.ndarray  # [T,17,2] px, float32, as a detector said
    score: np.ndarray  # [T,17]
    truth: np.ndarray  # [T,17,2] px
    truth_m: np.ndarray | None  # [T,17,3] hip-centred
    source: str | None = None

    @property
    def known(self) -> np.ndarray:
        return np.isfinite(self.truth[..., 0])


@dataclass(frozen=True)
class ClipSet:
    """`smooth_truth`: frames of the Gaussian that labels made by hand are smoothed with before anything is compared with them.
    `network`: which state of the detector observed (`posetrain.temporal.detect.digest`), where one did."""

    name: str
    error_model: str
    smooth_truth: float
    clips: list[Clip]
    network: str | None = None


def write(path: Path, clips: ClipSet) -> None:
    said = {
        "name": clips.name,
        "error_model": clips.error_model,
        "network": clips.network,
        "smooth_truth": clips.smooth_truth,
    }
    path.write_text(json.dumps(said | {"clips": [_written(clip) for clip in clips.clips]}))


def read(path: Path) -> ClipSet:
    said = json.loads(path.read_text())
    clips = [_read(clip) for clip in said["clips"]]
    return ClipSet(said["name"], said["error_model"], said["smooth_truth"], clips, said.get("network"))


def _rows(v: np.ndarray) -> Any:
    return np.round(v.astype(float), 3).tolist()


def _written(clip: Clip) -> dict[str, Any]:
    places = zip(_rows(clip.truth), clip.known, strict=True)
    return {
        "name": clip.name,
        **({} if clip.source is None else {"source": clip.source}),
        "captured_at_us": [int(t) for t in clip.times * NOMINAL_US],
        "extent_px": _rows(clip.extent_px),
        "observed": _rows(np.concatenate([clip.xy, clip.score[..., None]], -1)),
        "truth": [[p if k else None for p, k in zip(t, o, strict=True)] for t, o in places],
        "truth_3d_m": None if clip.truth_m is None else _rows(clip.truth_m),
    }


def _read(clip: dict[str, Any]) -> Clip:
    observed = np.array(clip["observed"], np.float32)
    lift = clip["truth_3d_m"]
    return Clip(
        name=clip["name"],
        times=np.array(clip["captured_at_us"]) / NOMINAL_US,
        extent_px=np.array(clip["extent_px"]),
        xy=observed[..., :2],
        score=observed[..., 2],
        truth=np.array([[p or [np.nan, np.nan] for p in t] for t in clip["truth"]]),
        truth_m=None if lift is None else np.array(lift),
        source=clip.get("source"),
    )
