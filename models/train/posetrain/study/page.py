"""Writes the study's page and its plots from kept results.

    python -m posetrain.study.page --results study-results/STEPS study-results/classic --out PAGE.md --images DIR

Figures are means over seeds with 95 % intervals by Student's t, where there are two seeds or more. Results of different numbers of
steps, or with and without measured errors, are not put into one table: the command says which to remove.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

from posetrain.paths import TRAIN
from posetrain.study.classics import TITLES
from posetrain.study.measure import accel_at
from posetrain.study.table import table

COLUMNS = {
    "MPJPE %": ("mpjpe", ".2f"),
    "PCK.1": ("pck10", ".3f"),
    "PCK.05": ("pck05", ".3f"),
    "Accel %": ("accel", ".2f"),
    "jitter %": ("jitter", ".2f"),
    "lag": ("lag_frames", "+.2f"),
    "100 ms ahead %": ("ahead_100ms", ".2f"),
    "covers": ("covers", ".2f"),
    "repaired %": ("repaired", ".1f"),
    "broken %": ("broken", ".2f"),
    "limbs repaired %": ("limbs_repaired", ".1f"),
    "limbs broken %": ("limbs_broken", ".2f"),
}
Result = dict[str, Any]
WITHOUT_WEIGHTS = "none"  # the budget of classic filters


def read(folders: list[Path]) -> dict[tuple[str, str], list[Result]]:
    """Results a row and budget, in the table's order."""
    found: dict[tuple[str, str], list[Result]] = defaultdict(list)
    paths = [path for folder in folders for path in sorted(folder.glob("*.json"))]
    if not paths:
        raise SystemExit(
            f"{folders[0]} holds no result: python -m posetrain.study.run --data PACKS makes them"
        )
    kinds: dict[tuple[int, bool], Path] = {}
    for path in paths:
        said = json.loads(path.read_text())
        if said["budget"] != WITHOUT_WEIGHTS:
            kinds.setdefault((said["steps"], said["error_banks"]), path)
        found[said["row"], said["budget"]].append(said)
    if len(kinds) > 1:
        places = ", ".join(
            f"{path.name} ({steps} steps, banks: {banks})" for (steps, banks), path in kinds.items()
        )
        raise SystemExit(f"results that do not compare with each other: {places}")
    order = [*TITLES, *table().rows]
    return dict(sorted(found.items(), key=lambda item: (item[0][1], order.index(item[0][0]))))


def interval(values: list[float]) -> tuple[float, float]:
    """Mean and half of the 95 % interval; NaN of a single value."""
    if len(values) < 2:
        return values[0], float("nan")
    half = stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5
    return float(np.mean(values)), float(half)


def cell(values: list[float | None], form: str) -> str:
    said = [v for v in values if v is not None and not np.isnan(v)]
    if len(said) < len(values):
        return "–"
    mean, half = interval(said)
    return f"{mean:{form}}" + ("" if np.isnan(half) else f" ± {half:{form.replace('+', '')}}")


def rows_of(results: dict[tuple[str, str], list[Result]], clips: str, lag: float) -> list[str]:
    head = [
        "row",
        "seeds",
        "parameters",
        "multiply-adds",
        *COLUMNS,
        f"Accel at lag {lag:+.2f}",
        "hidden / held",
    ]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    for said in results.values():
        first = [r["curves"][clips][0] for r in said]
        cells = [cell([f[key] for f in first], form) for key, form in COLUMNS.values()]
        equal: list[float | None] = [accel_at(r["curves"][clips], lag) for r in said]
        hidden: list[float | None] = [r["hidden"] / r["hidden_held"] for r in said]
        title = said[0]["title"] + ("" if said[0]["causal"] else " *(offline)*")
        facts = [title, str(len(said)), f"{said[0]['parameters']:,}", f"{said[0]['macs_per_frame']:,}"]
        lines.append("| " + " | ".join([*facts, *cells, cell(equal, ".2f"), cell(hidden, ".2f")]) + " |")
    return lines


def plots(results: dict[tuple[str, str], list[Result]], clips: str, lag: float, out: Path) -> list[Path]:
    """Accel against lag; Accel at one lag, and the error of hidden joints, against multiply-adds."""
    out.mkdir(parents=True, exist_ok=True)
    groups = list(dict.fromkeys(said[0]["group"] for said in results.values()))
    colour = {group: f"C{i}" for i, group in enumerate(groups)}
    paths = []
    for name, label in (
        ("accel-lag", f"Accel on {clips}, % of extent"),
        ("accel-cost", f"Accel at lag {lag:+.2f}, %"),
        ("hidden-cost", "error of hidden joints, of holding the last place"),
    ):
        fig, axis = plt.subplots(figsize=(9, 6))
        for (row, _), said in results.items():
            of: dict[str, Any] = {"color": colour[said[0]["group"]], "alpha": 0.8}
            mark = "o" if said[0]["causal"] else "x"
            if name == "accel-lag":
                for r in said[:1]:
                    curve = r["curves"][clips]
                    lags, accel = [p["lag_frames"] for p in curve], [p["accel"] for p in curve]
                    axis.plot(lags, accel, marker=mark, ms=3, **of)
                    at = (lags[0], accel[0])
            else:
                y = [
                    accel_at(r["curves"][clips], lag)
                    if name == "accel-cost"
                    else r["hidden"] / r["hidden_held"]
                    for r in said
                ]
                mean, half = interval(y)
                at = (said[0]["macs_per_frame"], mean)
                axis.errorbar(*at, yerr=None if np.isnan(half) else half, marker=mark, **of)
            axis.annotate(row, at, fontsize=6)
        axis.set(
            xlabel="lag, frames of 30 Hz" if name == "accel-lag" else "multiply-adds a frame", ylabel=label
        )
        axis.grid(alpha=0.3)
        for group in groups:
            axis.plot([], [], "o", color=colour[group], label=group)
        axis.legend(fontsize=8)
        fig.tight_layout()
        paths.append(out / f"{name}.png")
        fig.savefig(paths[-1], dpi=90)
        plt.close(fig)
    return paths


def page(results: dict[tuple[str, str], list[Result]], images: list[Path], folder: Path, lag: float) -> str:
    trained = [said[0] for said in results.values() if said[0]["budget"] != WITHOUT_WEIGHTS]
    some = (trained or [said[0] for said in results.values()])[0]
    how = (
        f"Every row was trained for {some['steps']:,} steps on the same lanes with the same losses "
        f"({'with measured errors' if some['error_banks'] else 'errors are the stated model alone'}). "
        if trained
        else ""
    )
    missing = [
        f"{entry.title} ({budget})"
        for entry in table().rows.values()
        for budget in entry.sizes
        if (entry.name, budget) not in results
    ]
    lines = [
        "# Sequence models side by side on poses",
        "",
        f"{how}Figures are read at "
        "smoothness 0; ± is half a 95 % interval over seeds, where there are several. "
        "*Hidden / held*: error of joints hidden for ten frames, as a part of what holding their last place has.",
    ]
    for clips in some["curves"]:
        for budget in dict.fromkeys(budget for _, budget in results):
            heading = "classic filters" if budget == WITHOUT_WEIGHTS else f"budget {budget}"
            lines += ["", f"## {clips}, {heading}", ""]
            lines += rows_of({k: v for k, v in results.items() if k[1] == budget}, clips, lag)
    lines += ["", "## Plots", ""]
    lines += [f"![{path.stem.replace('-', ' against ')}]({os.path.relpath(path, folder)})" for path in images]
    if missing:
        lines += ["", "## Without a result yet", "", ", ".join(missing) + "."]
    return "\n".join(lines) + "\n"


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument(
        "--results",
        type=Path,
        nargs="+",
        required=True,
        help="study-results/STEPS, and study-results/classic",
    )
    p.add_argument("--out", type=Path, default=TRAIN / "work" / "study" / "study.md")
    p.add_argument("--images", type=Path, default=TRAIN / "work" / "study" / "images")
    p.add_argument("--lag", type=float, default=0.0, help="frames at which Accel is compared")
    args = p.parse_args()
    results = read(args.results)
    clips = next(iter(next(iter(results.values()))[0]["curves"]))
    images = plots(results, clips, args.lag, args.images)
    args.out.write_text(page(results, images, args.out.parent, args.lag))
    print(args.out)


if __name__ == "__main__":
    main()
