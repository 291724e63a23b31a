"""Fits what sigma is multiplied by, apart for joints measured and predicted, on errors that training left out.

Real clips of J-HMDB, virtual ones with error tracks of the same films and, for a detector that was run on them, rendered films
count alike. Real clips and every error track are of films that training left out; what virtual and rendered people do is of the motion
that it had. The share of coordinates within sigma shall be 0.68 over all. Detectors err differently: `configs/temporal/detectors.toml`
names those that are fitted apart.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from posetrain.data.source import source_of
from posetrain.temporal.answers import answers, is_measured, is_predicted, places_px, sigma_px
from posetrain.temporal.motion import Mocap, Truth
from posetrain.temporal.noise import Bank, times_of, tuning
from posetrain.temporal.peers import Causal
from posetrain.temporal.residual import show_through

SHARE = 0.68
# Who is told of hangs on the factor that is fitted on those who are told of.
ROUNDS = 3
# What is said of one clip: arrays of equal kinds, that are put together clip by clip.
Of = Callable[[Truth, np.ndarray, np.ndarray], list[np.ndarray]]


def ratios(
    model: Causal,
    truth: Truth,
    xy: np.ndarray,
    score: np.ndarray,
    smooth: float,
    lead: float,
    shown: float,
    widen: float,
) -> list[np.ndarray]:
    """|error| / sigma of every coordinate whose truth is known, of joints measured and of joints predicted with sigma `widen` times as
    wide: what is less sure than that is absent and tells of no sigma."""
    f, a = answers(model, truth.times, xy, score, smooth)
    place = show_through(places_px(f, a, lead), xy, score, truth.times, f.scale_px, shown)[:, :, 0]
    sigma = sigma_px(f, a)[:, :, 0]
    seen = f.present
    measured = is_measured(f, place, xy, score)
    predicted = is_predicted(f, sigma, measured, seen, widen)
    off = np.abs(place - truth.xy[:, :, 0]) / sigma[..., None]
    return [off[k & truth.valid[:, :, 0]].ravel() for k in (measured, predicted)]


def spread(values: list[np.ndarray]) -> np.ndarray:
    """Every part's quantiles, so that each counts alike, however much there is of it."""
    return np.concatenate([np.quantile(v, np.linspace(0, 1, 2001)) for v in values if len(v)])


def of_bank(
    path: Path,
    chosen: Callable[[str], bool],
    film: Callable[[str], str],
    of: Of,
) -> dict[str, list[np.ndarray]]:
    """By film what `of` says of those clips of a bank."""
    z = dict(np.load(path))
    by_film: defaultdict[str, list[list[np.ndarray]]] = defaultdict(list)
    for a, b, tier, name in zip(z["offset"][:-1], z["offset"][1:], z["tier"], z["name"], strict=True):
        if tier == 1 and chosen(str(name)) and b - a >= 14:
            truth = Truth(
                times_of(z, a, b)[None],
                z["smoothed"][None, a:b, None],
                z["known"][None, a:b, None],
                np.zeros(0),
                np.zeros(0),
                z["extent"][None, a:b],
            )
            by_film[film(str(name))].append(of(truth, z["xy"][None, a:b], z["score"][None, a:b]))
    return {name: [np.concatenate(kind) for kind in zip(*got, strict=True)] for name, got in by_film.items()}


@dataclass(frozen=True)
class Fitting:
    """What is fitted for one kind of detector, on errors that training left out: those clips of the `banks` that are `chosen`, virtual
    lanes of the train part's motion with their errors, and rendered films of `exact`. Answers are read at `smooth`, `lead` frames ahead,
    `shown` of what is seen showing through."""

    data: Path
    banks: list[Path]
    chosen: Callable[[str], bool]
    smooth: float
    lead: float
    exact: Path | None = None
    shown: float = 0.0

    @classmethod
    def of_run(cls, config: dict[str, Any], data: Path, errors: Path, smooth: float, lead: float) -> Fitting:
        """For a detector of which nothing is known: on the errors of films that a run by that configuration learns from."""
        d = config["data"]
        return cls(data, [errors / name for name in d["errors"] or d["exact"]], tuning, smooth, lead)

    @classmethod
    def of_detectors(cls, file: Path, data: Path, errors: Path, smooth: float) -> dict[str, Fitting]:
        """By the name of the kind, as `configs/temporal/detectors.toml` describes them."""
        return {
            name: cls(
                data,
                [errors / kind["bank"]],
                tuning,
                smooth,
                kind["lead"],
                errors / kind["exact"] if "exact" in kind else None,
                kind.get("shows_through", 0.0),
            )
            for name, kind in tomllib.loads(file.read_text()).items()
        }

    def said(self, of: Of) -> tuple[list[list[np.ndarray]], list[np.ndarray], list[list[np.ndarray]]]:
        """What `of` says of the real films, of the virtual lanes and of the rendered films."""
        real: list[list[np.ndarray]] = []
        for path in self.banks:
            real += of_bank(path, self.chosen, source_of, of).values()
        rendered = list(of_bank(self.exact, tuning, str, of).values()) if self.exact else []
        rng = np.random.default_rng(11)
        truth = Mocap(self.data, "train").lanes(rng, np.tile(np.arange(120.0), (24, 1)))
        xy, score = Bank(self.banks, self.chosen).lanes(rng, truth)
        return real, of(truth, xy, score), rendered


def sigma_scale(model: Causal, fitting: Fitting) -> list[float]:
    """Factors for (measured, predicted)."""
    scale = [1.0, 1.0]
    for _ in range(ROUNDS):
        widen = scale[1]

        def of(truth: Truth, xy: np.ndarray, score: np.ndarray, widen: float = widen) -> list[np.ndarray]:
            return ratios(model, truth, xy, score, fitting.smooth, fitting.lead, fitting.shown, widen)

        scale = _fitted(*fitting.said(of))
    return scale


def _fitted(
    real: list[list[np.ndarray]], virtual: list[np.ndarray], rendered: list[list[np.ndarray]]
) -> list[float]:
    out = []
    for kind, v in enumerate(virtual):
        films = [parts[kind] for parts in real]
        alike = [np.concatenate(films), v]
        if rendered:
            alike.append(np.concatenate([parts[kind] for parts in rendered]))
        out.append(float(np.quantile(spread(alike), SHARE)))
    return out
