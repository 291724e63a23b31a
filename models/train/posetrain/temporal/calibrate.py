"""Fits what sigma is multiplied by, apart for joints measured and predicted, on clips that training left out.

Half of the weight on real clips of J-HMDB, half on virtual ones with error tracks of the same films; the share of coordinates within
sigma shall be 0.68 over both. Detectors err differently: `configs/temporal/detectors.toml` names those
that are fitted apart.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from posetrain.data.packs import clip_split
from posetrain.temporal.answers import answers, is_measured, places_px, sigma_px
from posetrain.temporal.frames import MIN_SCORE
from posetrain.temporal.model import TemporalXl
from posetrain.temporal.motion import Mocap, Truth
from posetrain.temporal.noise import Bank

SHARE = 0.68


def ratios(
    model: TemporalXl, truth: Truth, xy: np.ndarray, score: np.ndarray, smooth: float, lead: float
) -> list[np.ndarray]:
    """|error| / sigma of every coordinate whose truth is known, of joints measured and of joints predicted."""
    f, a = answers(model, truth.times, xy, score, smooth)
    place = places_px(f, a, lead)[:, :, 0]
    sigma = sigma_px(f, a)[:, :, 0]
    seen = score >= MIN_SCORE
    measured = is_measured(f, place, xy, score)
    once = np.maximum.accumulate(seen, 1)
    off = np.abs(place - truth.xy[:, :, 0]) / sigma[..., None]
    return [off[k & truth.valid[:, :, 0]].ravel() for k in (measured, ~measured & once)]


def clips(data: Path) -> list[dict[str, Any]]:
    """What J-HMDB's labels say of each clip."""
    return json.loads((data / "jhmdb/labels.json").read_text())["clips"]


def kept_back(data: Path) -> Callable[[str], bool]:
    """Clips that the keypoint network's training left out: on the others it errs too little."""
    names = {clip["name"] for clip in clips(data) if clip_split(clip) == "calib"}
    return names.__contains__


def spread(values: list[np.ndarray]) -> np.ndarray:
    """Every part's quantiles, so that each counts alike, however much there is of it."""
    return np.concatenate([np.quantile(v, np.linspace(0, 1, 2001)) for v in values if len(v)])


def sigma_scale(
    model: TemporalXl,
    data: Path,
    banks: list[Path],
    chosen: Callable[[str], bool],
    smooth: float,
    lead: float,
    films_alike: bool,
) -> list[float]:
    """Factors for (measured, predicted), fitted on those clips of the banks and on as many virtual ones. Every film counts alike,
    which few films need lest the hardest decide, or else every coordinate."""
    film = {clip["name"]: clip["source_video"] for clip in clips(data)}
    real: defaultdict[tuple[Path, str], tuple[list[np.ndarray], list[np.ndarray]]] = defaultdict(
        lambda: ([], [])
    )
    for path in banks:
        z = np.load(path)
        for a, b, tier, name in zip(z["offset"][:-1], z["offset"][1:], z["tier"], z["name"], strict=True):
            if tier == 1 and chosen(str(name)) and b - a >= 14:
                truth = Truth(
                    np.arange(b - a, dtype=float)[None],
                    z["smoothed"][None, a:b, None],
                    z["known"][None, a:b, None],
                    np.zeros(0),
                    np.zeros(0),
                    z["extent"][None, a:b],
                )
                got = ratios(model, truth, z["xy"][None, a:b], z["score"][None, a:b], smooth, lead)
                for part, values in zip(real[path, film[str(name)]], got, strict=True):
                    part.append(values)
    rng = np.random.default_rng(11)
    truth = Mocap(data, "train").lanes(rng, np.tile(np.arange(120.0), (24, 1)))
    xy, score = Bank(banks, chosen).lanes(rng, truth)
    virtual = ratios(model, truth, xy, score, smooth, lead)
    out = []
    for kind, v in enumerate(virtual):
        films = [np.concatenate(parts[kind]) for parts in real.values()]
        r = spread(films) if films_alike else np.concatenate(films)
        out.append(float(np.quantile(spread([r, v]), SHARE)))
    return out
