"""Kept results of the study, read together, and what rows are compared by."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from posetrain.study.classics import TITLES
from posetrain.study.measure import accel_at
from posetrain.study.plots import Point
from posetrain.study.row import kept_numbers
from posetrain.study.table import table

Result = dict[str, Any]
Results = dict[tuple[str, str], list[Result]]
WITHOUT_WEIGHTS = "none"  # the budget of classic filters
FAR_OFF = 1.2
LAGS = np.arange(-2, 4.01, 0.05)  # frames
Measure = Callable[[Result], float]


def read(folders: list[Path]) -> Results:
    """Results a row and budget, in the table's order."""
    found: Results = defaultdict(list)
    paths = [path for folder in folders for path in sorted(folder.glob("*.json"))]
    if not paths:
        raise SystemExit(
            f"{folders[0]} holds no result: python -m posetrain.study.run --data PACKS makes them"
        )
    order = [*TITLES, *table().rows]
    kinds: dict[tuple[int, bool], Path] = {}
    for path in paths:
        said = json.loads(path.read_text())
        if said["row"] not in order:
            raise SystemExit(
                f"{path} is of {said['row']}, which the table of rows has not (any more): remove it"
            )
        if said["budget"] != WITHOUT_WEIGHTS:
            kinds.setdefault((said["steps"], said["banks"] is not None), path)
        found[said["row"], said["budget"]].append(said)
    if len(kinds) > 1:
        places = ", ".join(
            f"{path.name} ({steps} steps, banks: {banks})" for (steps, banks), path in kinds.items()
        )
        raise SystemExit(f"results that do not compare with each other: {places}")
    return dict(sorted(found.items(), key=lambda item: (item[0][1], order.index(item[0][0]))))


def budgets(results: Results) -> list[str]:
    """Those that have a result, the smaller first."""
    return [b for b in table().budgets if any(budget == b for _, budget in results)]


def on(results: Results, clips: str) -> Results:
    """Those that were measured on these clips."""
    some = {key: [r for r in said if clips in r["curves"]] for key, said in results.items()}
    return {key: said for key, said in some.items() if said}


def interval(values: list[float]) -> tuple[float, float]:
    """Mean and half of the 95 % interval; NaN of a single value."""
    if len(values) < 2:
        return values[0], float("nan")
    half = stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5
    return float(np.mean(values)), float(half)


def equal_lag(results: Results, clips: str) -> float:
    """The lag at which the most rows can be read, the nearest to none among such."""
    curves = [said[0]["curves"][clips] for said in results.values()]

    def fit(lag: float) -> tuple[int, float]:
        return sum(not np.isnan(accel_at(curve, lag)) for curve in curves), -abs(lag)

    return round(float(max(LAGS, key=fit)), 2) + 0.0


def measures(clips: str, lag: float) -> dict[str, Measure]:
    """What rows are compared by, less being better."""
    return {
        "MPJPE": lambda r: r["curves"][clips][0]["mpjpe"],
        f"Accel at lag {lag:+.2f}": lambda r: accel_at(r["curves"][clips], lag),
        "hidden / held": lambda r: r["hidden"] / r["hidden_held"],
    }


def sound(results: Results, clips: str) -> Results:
    """Without trained rows whose MPJPE is over FAR_OFF times the best causal one's: who answers little of what moves shakes little."""
    error = {
        key: float(np.mean([r["curves"][clips][0]["mpjpe"] for r in said])) for key, said in results.items()
    }
    causal = [e for key, e in error.items() if results[key][0]["causal"] and key[1] != WITHOUT_WEIGHTS]
    most = FAR_OFF * min(causal, default=float("inf"))
    return {key: said for key, said in results.items() if key[1] == WITHOUT_WEIGHTS or error[key] <= most}


def points(
    results: Results, budget: str, x: Callable[[Result], float], y: Measure, least_seeds: int = 2
) -> list[Point]:
    """Of the rows of that budget; with an interval those of so many seeds."""
    out = []
    for (row, of), said in results.items():
        if of == budget:
            mean, half = interval([y(r) for r in said])
            half = half if len(said) >= least_seeds else float("nan")
            out.append(Point(row, said[0]["group"], said[0]["causal"], x(said[0]), mean, half))
    return out


def memory(result: Result) -> float:
    """Numbers that the row keeps of a person from frame to frame; NaN of an offline row."""
    if not result["causal"]:
        return float("nan")
    return float(kept_numbers(table().rows[result["row"]].make(result["budget"], 0).eval()))


def multiply_adds(result: Result) -> float:
    return float(result["macs_per_frame"])
