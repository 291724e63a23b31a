"""The plots of the study's page: one panel a budget, labels moved apart, and the front of rows that none beats.

A causal row is a dot, an offline one a cross. The front joins causal rows alone: to be beaten by one that sees the future says nothing.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

LABEL_PX = (4.3, 9.0)  # of a letter, at the labels' size


@dataclass(frozen=True)
class Point:
    """One row in a panel; `half` of its interval, NaN where there is none."""

    row: str
    group: str
    causal: bool
    x: float
    y: float
    half: float = float("nan")
    curve: tuple[tuple[float, ...], tuple[float, ...]] | None = None  # drawn through, where there is one


def front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Which of (x, y) no other beats in both, by rising x: less is better."""
    best, kept = np.inf, []
    for i in sorted(range(len(points)), key=lambda i: points[i]):
        if points[i][1] < best:
            best = points[i][1]
            kept.append(i)
    return kept


def front_of(points: Sequence[Point]) -> list[Point]:
    able = [p for p in points if p.causal and np.isfinite([p.x, p.y]).all()]
    return [able[i] for i in front([(p.x, p.y) for p in able])]


def label(axis: Any, points: Sequence[Point]) -> None:
    """Names beside their points, none on another: each goes to the nearest free place above or below."""
    wide, high = LABEL_PX
    frame = axis.get_window_extent()
    taken: list[tuple[float, float, float, float]] = []
    for p in sorted(points, key=lambda p: -p.y):
        x, y = axis.transData.transform((p.x, p.y))
        size = wide * len(p.row)
        for away in sorted((high * n / 2 for n in range(-120, 121)), key=abs):
            for left in (x + 6, x - 6 - size):
                box = (left, y + away - high / 2, left + size, y + away + high / 2)
                inside = (
                    frame.x0 <= box[0] and box[2] <= frame.x1 and frame.y0 <= box[1] and box[3] <= frame.y1
                )
                if inside and all(
                    box[0] > t[2] or box[2] < t[0] or box[1] >= t[3] or box[3] <= t[1] for t in taken
                ):
                    break
            else:
                continue
            break
        else:
            continue
        taken.append(box)
        at = axis.transData.inverted().transform((box[0], y + away))
        line = {"arrowstyle": "-", "lw": 0.3, "color": "grey"} if abs(away) > high else None
        axis.annotate(p.row, (p.x, p.y), xytext=at, fontsize=6, va="center", arrowprops=line)


def panel(axis: Any, points: Sequence[Point], colour: dict[str, str], named: Container[str]) -> None:
    for p in points:
        shown, mark = p.row in named, "o" if p.causal else "x"
        look: dict[str, Any] = {"color": colour[p.group], "alpha": 0.9 if shown else 0.25, "ms": 4}
        if p.curve:
            axis.plot(*p.curve, marker=mark, lw=1.0 if shown else 0.5, **(look | {"ms": 3}))
        else:
            axis.errorbar(p.x, p.y, yerr=None if np.isnan(p.half) else p.half, marker=mark, lw=0.8, **look)


def spread(points: Sequence[Point]) -> tuple[float, float]:
    """Limits of an axis that shows all points; intervals of two seeds may go beyond it."""
    every = np.array([v for p in points for v in (p.curve[1] if p.curve else (p.y,))])
    low, high = float(every.min()), float(every.max())
    by = 0.08 * max(high - low, 0.05 * abs(high), 1e-6)
    return low - by, high + by


def colours(groups: Sequence[str]) -> dict[str, str]:
    return {group: f"C{i % 10}" for i, group in enumerate(groups)}


def legend(fig: Any, axis: Any, groups: Sequence[str]) -> None:
    """Below all panels."""
    for group in groups:
        axis.plot([], [], "o", color=colours(groups)[group], label=group)
    axis.plot([], [], "x", color="grey", label="offline")
    shown = axis.get_legend_handles_labels()
    fig.legend(*shown, fontsize=8, ncols=min(len(groups) + 1, 8), loc="lower center")


def plot(
    panels: dict[str, list[Point]],
    groups: Sequence[str],
    labels: tuple[str, str],
    out: Path,
    named: Container[str],
    ticks: Sequence[float] | None = None,
    with_front: bool = True,
) -> Path:
    """panels: by what the panel is of. Points with nothing to show are left out; those `named` and those of the front get a label. With
    `ticks`, x is on a logarithmic scale."""
    fig, axes = plt.subplots(1, len(panels), figsize=(max(7 * len(panels), 9), 6), squeeze=False, dpi=90)
    colour, labelled = colours(groups), []
    for axis, (title, every) in zip(axes.flat, panels.items(), strict=True):
        points = [p for p in every if np.isfinite([p.x, p.y]).all()]
        best = front_of(points) if with_front else []
        shown = {p.row for p in points if p.row in named} | {p.row for p in best}
        panel(axis, points, colour, shown)
        if len(best) > 1:
            axis.step([p.x for p in best], [p.y for p in best], where="post", color="black", lw=0.7, ls="--")
        axis.set(title=title, xlabel=labels[0], ylabel=labels[1])
        if ticks is not None:
            axis.set_xscale("log")
            axis.set_xticks(ticks, [f"{v:,.0f}" for v in ticks])
            axis.set_xticks([], minor=True)
        axis.margins(x=0.18)
        if points:
            axis.set_ylim(*spread(points))
        axis.grid(alpha=0.3)
        labelled.append([p for p in points if p.row in shown])
    fig.tight_layout(rect=(0, 0.1, 1, 1))
    legend(fig, axes[0, 0], groups)
    fig.canvas.draw()
    for axis, points in zip(axes.flat, labelled, strict=True):
        label(axis, points)
    fig.savefig(out, dpi=90)
    plt.close(fig)
    return out


def ranking(columns: dict[str, list[Point]], groups: Sequence[str], out: Path) -> Path:
    """Every row with its interval, ordered by the first column's figure; what has none stands last."""
    first = next(iter(columns.values()))
    order = sorted(first, key=lambda p: (not np.isfinite(p.y), p.y))
    place = {p.row: -i for i, p in enumerate(order)}
    tall = max(0.16 * len(order) + 1.2, 3)
    fig, axes = plt.subplots(
        1, len(columns), figsize=(4.5 * len(columns) + 1, tall), squeeze=False, sharey=True, dpi=90
    )
    colour = colours(groups)
    for axis, (title, points) in zip(axes.flat, columns.items(), strict=True):
        shown = [p for p in points if np.isfinite(p.y)]
        for p in shown:
            half = None if np.isnan(p.half) else p.half
            axis.errorbar(
                p.y,
                place[p.row],
                xerr=half,
                marker="o" if p.causal else "x",
                color=colour[p.group],
                ms=4,
                lw=0.8,
            )
        if shown:
            axis.set_xlim(*spread(shown))
        axis.set_title(title, fontsize=9)
        axis.grid(alpha=0.3)
    axes[0, 0].set_yticks([place[p.row] for p in order], [p.row for p in order], fontsize=6)
    axes[0, 0].set_ylim(-len(order), 1)
    fig.tight_layout(rect=(0, 0.6 / tall, 1, 1))
    legend(fig, axes[0, 0], groups)
    fig.savefig(out, dpi=90)
    plt.close(fig)
    return out
