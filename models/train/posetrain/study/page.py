"""Writes the study's page and its plots from kept results, however many there are.

    python -m posetrain.study.page --results study-results/STEPS study-results/classic --out PAGE.md --images DIR

Figures are means over seeds with 95 % intervals by Student's t, where there are two seeds or more. Results of different numbers of
steps, or with and without measured errors, are not put into one table: the command says which to remove. Plots of
`posetrain.study.first_steps` that lie in DIR are shown too.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from posetrain.paths import TRAIN
from posetrain.study import sizes, times
from posetrain.study.classics import TITLES
from posetrain.study.equations import rows_page
from posetrain.study.measure import DRAWN
from posetrain.study.plots import Point, front_of, plot, ranking
from posetrain.study.prose import wrapped
from posetrain.study.results import (
    FAR_OFF,
    WITHOUT_WEIGHTS,
    Results,
    budgets,
    equal_lag,
    interval,
    measures,
    memory,
    multiply_adds,
    on,
    points,
    read,
    sound,
)
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
DECADES = (10, 100, 1_000, 10_000, 100_000)  # of numbers kept
NOT_MEASURED = "the 3D pose"
NAMED_AT_MOST = 8  # rows; of more a list says their count alone
Row = tuple[str, str]  # its name and budget
FIRST_STEPS = {
    "updates": "What the optimiser adds to the weights in the first steps",
    "gradients": "The gradients that it gets",
    "gradient-distance": "How far back the gradient of the newest answer reaches",
}


def cell(values: list[float | None], form: str) -> str:
    said = [v for v in values if v is not None and not np.isnan(v)]
    if len(said) < len(values):
        return "–"
    mean, half = interval(said)
    return f"{mean:{form}}" + ("" if np.isnan(half) else f" ± {half:{form.replace('+', '')}}")


def rows_of(results: Results, clips: str, lag: float, bold: frozenset[tuple[Row, str]]) -> list[str]:
    """A table. `bold`: rows, and the measures in which their figures stand out."""
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
    compared = measures(clips, lag)
    for row, said in results.items():
        first = [r["curves"][clips][0] for r in said]
        cells = {name: cell([f[key] for f in first], form) for name, (key, form) in COLUMNS.items()}
        cells |= {name: cell([compared[name](r) for r in said], ".2f") for name in (head[-2], head[-1])}
        for name in compared:
            if (row, name) in bold:
                column = name if name in cells else f"{name} %"
                cells[column] = f"**{cells[column]}**"
        title = said[0]["title"] + ("" if said[0]["causal"] else " *(offline)*")
        facts = [title, str(len(said)), f"{said[0]['parameters']:,}", f"{said[0]['macs_per_frame']:,}"]
        lines.append("| " + " | ".join([*facts, *cells.values()]) + " |")
    return lines


def curves(results: Results, budget: str, clips: str) -> list[Point]:
    """Accel over lag of a row's first seed, and of classic filters."""
    out = []
    for (row, of), said in results.items():
        if of in (budget, WITHOUT_WEIGHTS):
            line = sorted((p["lag_frames"], p["accel"]) for p in said[0]["curves"][clips])
            lags, accel = zip(*line, strict=True)
            out.append(
                Point(row, said[0]["group"], said[0]["causal"], lags[0], accel[0], curve=(lags, accel))
            )
    return out


def ranked(results: Results, budget: str, clips: str, lag: float) -> dict[str, list[Point]]:
    """By measure, the rows of that budget and the classic filters."""
    return {
        name: [
            p for b in dict.fromkeys((budget, WITHOUT_WEIGHTS)) for p in points(results, b, multiply_adds, of)
        ]
        for name, of in measures(clips, lag).items()
        if name != "MPJPE"
    }


def plots(results: Results, clips: str, lag: float, out: Path) -> dict[str, Path]:
    """By what each shows."""
    out.mkdir(parents=True, exist_ok=True)
    groups = list(dict.fromkeys(said[0]["group"] for said in results.values()))
    main = {*table().main, *TITLES}
    here = budgets(results)
    made = {}
    for b in here or [WITHOUT_WEIGHTS]:
        columns = ranked(results, b, clips, lag)
        made[f"Every row of budget {b}, by Accel at lag {lag:+.2f} (%)"] = ranking(
            columns, groups, out / f"ranking-{b}.png"
        )
    panels = {f"budget {b}": curves(results, b, clips) for b in here or [WITHOUT_WEIGHTS]}
    axes = ("lag, frames of 30 Hz", f"Accel on {clips}, %")
    made["Accel against lag; the main rows and classic filters are named"] = plot(
        panels, groups, axes, out / "accel-lag.png", main, with_front=False
    )
    return (
        made | pareto({k: v for k, v in sound(results, clips).items() if k[1] in here}, clips, lag, out)
        if here
        else made
    )


def pareto(results: Results, clips: str, lag: float, out: Path) -> dict[str, Path]:
    """Of trained rows: what each is worth against what it costs, a panel a budget."""
    groups = list(dict.fromkeys(said[0]["group"] for said in results.values()))
    accel, hidden = (of for name, of in measures(clips, lag).items() if name != "MPJPE")
    here = budgets(results)
    adds = "multiply-adds a frame"
    made = {}
    for name, what, of, axes, ticks in (
        ("accel-cost", f"Accel at lag {lag:+.2f} against {adds}", (multiply_adds, accel), (adds, "Accel, %"), None),
        ("hidden-cost", f"Error of hidden joints against {adds}", (multiply_adds, hidden), (adds, "hidden / held"), None),
        ("hidden-memory", "Error of hidden joints against memory", (memory, hidden),
         ("numbers kept of a person", "hidden / held"), DECADES),
    ):  # fmt: skip
        panels = {f"budget {b}": points(results, b, *of, least_seeds=3) for b in here}
        made[
            f"{what}; the main rows and those that no other row beats are named; intervals are shown for three seeds and more"
        ] = plot(panels, groups, axes, out / f"{name}.png", table().main, ticks)
    return made


def fronts(results: Results, clips: str, lag: float) -> list[str]:
    """The causal rows that no other beats in both, as a table; nothing where no row has been trained."""
    compared = measures(clips, lag)
    accel, hidden = f"Accel at lag {lag:+.2f}", "hidden / held"
    lines = ["| compared by | row | cost | figure |", "|---|---|---:|---:|"]
    here = budgets(results)
    for name, cost, of in ((accel, multiply_adds, "multiply-adds"), (hidden, memory, "memory")):
        best = front_of([p for b in here for p in points(results, b, cost, compared[name])])
        said = [f"| {table().rows[p.row].title} | {p.x:,.0f} | {p.y:.2f} |" for p in best]
        lines += [f"| {name} and {of} {rest}" for rest in said or ["| no row can be read there | | |"]]
    return lines if here else []


@dataclass(frozen=True)
class Level:
    """The best causal row of a budget in a measure, and the others with several seeds: those that Welch's test does not tell from it, and
    those that it does."""

    best: str
    level: list[str]
    behind: list[str]
    single: int  # with one seed, of which nothing can be said


def level(results: Results, clips: str, lag: float) -> dict[tuple[str, str], Level | None]:
    """By budget and measure; `None`: fewer than two rows have two seeds."""
    found: dict[tuple[str, str], Level | None] = {}
    for budget in budgets(results):
        for name, of in measures(clips, lag).items():
            values = {
                row: [of(r) for r in said]
                for (row, b), said in results.items()
                if b == budget and said[0]["causal"]
            }
            able = {row: v for row, v in values.items() if not np.isnan(v).any()}
            several = {row: v for row, v in able.items() if len(v) > 1}
            found[budget, name] = None
            if len(several) < 2:
                continue
            best = min(several, key=lambda row: np.mean(several[row]))
            apart = {
                row: bool(stats.ttest_ind(v, several[best], equal_var=False).pvalue < 0.05)
                for row, v in several.items()
                if row != best
            }
            near, behind = ([row for row in apart if apart[row] is far] for far in (False, True))
            found[budget, name] = Level(best, near, behind, len(able) - len(several))
    return found


def bold_of(results: Results, clips: str, lag: float) -> frozenset[tuple[Row, str]]:
    """What stands out in the tables: the best rows and those that are level with them."""
    return frozenset(
        ((row, budget), name)
        for (budget, name), found in level(results, clips, lag).items()
        if found
        for row in (found.best, *found.level)
    )


def told_apart(results: Results, clips: str, lag: float) -> list[str]:
    """How many causal rows the intervals do not tell from the best of their budget; the table shows which."""
    lines = []
    for budget in budgets(results):
        found = {name: of for (b, name), of in level(results, clips, lag).items() if b == budget}
        if not any(found.values()):
            lines.append(
                f"- Budget {budget}: fewer than two rows have two seeds, so no row is told from another."
            )
            continue
        for name, of in found.items():
            if of is None:
                lines.append(f"- {name}, budget {budget}: fewer than two rows have two seeds.")
                continue
            title = table().rows[of.best].title
            alone = f" {of.single} with one seed cannot be compared." if of.single else ""
            others = len(of.level) + len(of.behind)
            lines.append(
                f"- {name}, budget {budget}: {title} is best; {len(of.level)} of {others} other rows are level with it.{alone}"
            )
    return lines


def shipped_stands(results: Results, clips: str, lag: float) -> str:
    """Whether the study supports the smoother that ships: where its row stands at the first budget that has results."""
    first = budgets(results)[:1]
    said: dict[str, list[str]] = {}
    for (budget, name), found in level(results, clips, lag).items():
        if found is None or budget not in first:
            continue
        if found.best == SHIPPED:
            said.setdefault("best in", []).append(name)
        elif SHIPPED in found.level:
            said.setdefault("level with the best in", []).append(name)
        elif SHIPPED in found.behind:
            said.setdefault(f"behind {table().rows[found.best].title} in", []).append(name)
    if not said:
        return ""
    stands = "; ".join(f"{how} {' and '.join(names)}" for how, names in said.items())
    return f"What ships, {table().rows[SHIPPED].title}, is among the rows with several seeds {stands}."


def missing(results: Results) -> list[str]:
    """By name, budget by budget."""
    wanted = {b: [(e.name, e.title) for e in table().rows.values() if b in e.sizes] for b in table().budgets}
    wanted[WITHOUT_WEIGHTS] = list(TITLES.items())
    lines = []
    for budget, rows in wanted.items():
        titles = [title for name, title in rows if (name, budget) not in results]
        what = "classic filters" if budget == WITHOUT_WEIGHTS else f"budget {budget}"
        which = (
            f": {'; '.join(titles)}" if len(titles) <= NAMED_AT_MOST else " rows: all that its table lacks"
        )
        if titles:
            lines.append(f"- {what}, {len(titles)} of {len(rows)}{which}.")
    return lines


SHIPPED = "transformer-xl"
FINDINGS = "lab/study.md#what-surprised-and-what-did-not-work-2026-11-25-every-row-one-seed"
#: Beside the page of results.
ROWS_PAGE = "study-rows.md"
CLIPS_PAGE = "study-clips.md"


def how(results: Results) -> str:
    trained = [r for said in results.values() for r in said if r["budget"] != WITHOUT_WEIGHTS]
    if not trained:
        return "No row has been trained yet. "
    some, errors = (
        trained[0],
        "with measured errors" if trained[0]["banks"] else "errors are the stated model alone",
    )
    return (
        f"{len({r['row'] for r in trained})} of {len(table().rows)} rows have results. Every row was trained for {some['steps']:,} "
        f"steps on the same lanes with the same losses ({errors}). "
    )


def whose_errors(results: Results) -> list[str]:
    """A paragraph where keypoint networks of different times observed what was learned from."""
    by_banks: dict[str | None, list[str]] = {}
    for said in results.values():
        for r in said:
            if r["budget"] != WITHOUT_WEIGHTS:
                by_banks.setdefault(r["banks"], []).append(f"{r['row']} {r['seed']}")
    if len(by_banks) < 2:
        return []
    most = max(by_banks, key=lambda banks: len(by_banks[banks]))
    others = [f"{banks} for {', '.join(seeds)}" for banks, seeds in by_banks.items() if banks != most]
    return [
        f"Rows and seeds learned from the errors of {len(by_banks)} states of the keypoint network: {'; '.join(others)}; {most} for the "
        "rest. On *stated* clips they can be compared apart from that. Clips that a network observed have a table for each state, named "
        "by six digits of it.",
        "",
    ]


def tables(
    results: Results, clips: str, lag: float, bold: frozenset[tuple[Row, str]] = frozenset()
) -> list[str]:
    """A table a budget."""
    here, lines = on(results, clips), []
    for budget in (*budgets(here), WITHOUT_WEIGHTS):
        rows = {k: v for k, v in here.items() if k[1] == budget}
        heading = "classic filters" if budget == WITHOUT_WEIGHTS else f"budget {budget}"
        if rows:
            lines += ["", f"## {clips}, {heading}", "", *rows_of(rows, clips, lag, bold)]
    return lines


def clips_page(results: Results, lag: float | None) -> str:
    """The tables of all clips but the first, which the page itself shows."""
    sets = list(dict.fromkeys(clips for said in results.values() for r in said for clips in r["curves"]))
    lines = [
        "# Sequence models on clips that a keypoint network observed",
        "",
        "Each set is named by its kind and by six digits of the network that observed it:",
        "",
        "- *mocap*: virtual motion, with errors replayed from films.",
        "- *jhmdb*: real films, with labels made by hand.",
        "",
        "What the columns mean and what the rows are: [study.md](study.md), [study-rows.md](study-rows.md). *Hidden / held* is that of "
        "the stated clips.",
    ]
    for clips in sets[1:]:
        lines += tables(results, clips, equal_lag(on(results, clips), clips) if lag is None else lag)
    return "\n".join(wrapped(lines)) + "\n"


def page(
    results: Results, folder: Path, images: Path, lag: float | None, timed: dict[str, Any] | None
) -> str:
    sets = list(dict.fromkeys(clips for said in results.values() for r in said for clips in r["curves"]))
    lags = {clips: equal_lag(on(results, clips), clips) if lag is None else lag for clips in sets}
    main = sets[0]
    compared = sound(on(results, main), main)
    accel = f"Accel at lag {lags[main]:+.2f}"
    allowed = ", ".join(f"{adds:,} for *{budget}*" for budget, adds in table().budgets.items())
    lines = [
        "# Sequence models side by side on poses",
        "",
        "The study trains every kind of sequence model on the same task as the [smoother](temporal.md), at equal size, and compares them.",
        "",
        f"- {how(results).strip()}",
        *(f"- {stands}" for stands in [shipped_stands(compared, main, lags[main])] if stands),
        f"- What surprised, and what did not work: [lab/study.md]({FINDINGS}).",
        f"- What each row computes, and whose it is: [{ROWS_PAGE}]({ROWS_PAGE}).",
        "",
        "How to read the tables (the words that are not here: [words.md](words.md#in-the-measurements)):",
        "",
        f"- A *budget* is about how many multiply-adds a row takes per frame: {allowed}.",
        *(
            [f"- *{DRAWN}* is motion capture of val under virtual cameras, with a stated model of errors."]
            if main == DRAWN
            else []
        ),
        "- Figures are read at smoothness 0. ± is half a 95 % interval over seeds, where there are several.",
        "- *Offline* rows see later frames and cannot run live.",
        "- *Hidden / held* is the error of joints hidden for ten frames, as a part of the error of holding their last place.",
        f"- *{accel}* is read off each row's curve over smoothness. – means that the curve does not reach that lag.",
        "- *Limbs repaired* is the share of the pairs of left and right that were exchanged as observed and no longer are. *Limbs broken* "
        "is the share of the other pairs that are exchanged afterwards.",
        f"- Not measured yet: {NOT_MEASURED}.",
        "",
        *whose_errors(results),
        "## Rows that no other row beats",
        "",
        f"These causal rows of {main} are beaten by no other causal row in both cost and figure. Here, below and in the plots against "
        f"cost, rows that err {FAR_OFF} times as much as the best are left out, because a row that hardly follows motion jitters little. "
        "*Memory* is how many numbers a row keeps of a person.",
        "",
        *(fronts(compared, main, lags[main]) or ["- No row has been trained yet."]),
        "",
        "## Rows that are level with the best",
        "",
        f"A row is *level* with the best if Welch's test at 5 % does not tell them apart on {main}. The test is not corrected for the "
        "number of rows. The tables below have the figures of the best and of the level rows in **bold**.",
        "",
        *(told_apart(compared, main, lags[main]) or ["- No row has been trained yet."]),
    ]
    if bought := sizes.lines(compared, main, lags[main]):
        lines += ["", *bought]
    lines += tables(results, main, lags[main], bold_of(compared, main, lags[main]))
    if sets[1:]:
        lines += ["", f"The same on clips that a keypoint network observed: [{CLIPS_PAGE}]({CLIPS_PAGE})."]
    if timed:
        lines += ["", "## Time of a frame on the device", "", *times.lines(timed)]
    lines += [
        "",
        "## Plots",
        "",
        f"All are of {main}. The broken line joins the causal rows that no other row beats in both.",
    ]
    made = plots(on(results, main), main, lags[main], images)
    if timed:
        made["Time of a frame in Rust against memory"] = times.plot(timed, images / "times.png")
    for name, what in FIRST_STEPS.items():
        if (images / f"{name}.png").exists():
            made[what] = images / f"{name}.png"
    for what, path in made.items():
        lines += ["", f"![{what}]({os.path.relpath(path, folder)})", "", f"*{what}.*"]
    if still := missing(results):
        lines += ["", "## Without a result yet", "", *still]
    return "\n".join(wrapped(lines)) + "\n"


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
    p.add_argument(
        "--lag",
        type=float,
        help="frames at which Accel is compared; if not given, where the most rows can be",
    )
    p.add_argument(
        "--times", type=Path, help="what Rust's steps take: temporal-step.json of the kept benchmarks"
    )
    args = p.parse_args()
    results = read(args.results)
    timed = times.read(args.times) if args.times else None
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(page(results, args.out.parent, args.images, args.lag, timed))
    args.out.with_name(ROWS_PAGE).write_text(rows_page())
    args.out.with_name(CLIPS_PAGE).write_text(clips_page(results, args.lag))
    print(args.out)


if __name__ == "__main__":
    main()
