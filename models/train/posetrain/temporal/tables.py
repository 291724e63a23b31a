"""Puts what `posewire eval clips --out FIGURES` wrote into a document: `python -m posetrain.temporal.tables --figures FIGURES --document docs/temporal.md`.

Between `<!-- table NAME BUDGETS -->` and `<!-- end -->` come NAME.json's rows with these budgets of added lag (and those without
one); between `<!-- sets NAME ... -->` and `<!-- end -->` one line a set: the best classic row, the model's and their ratio.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

CLASSICS = ("one-euro", "exponential", "kalman")
BOUNDS = ("gaussian (sees the future)",)
LINE = "| {} | {} | {} | {:+.2f} | {} | {:.3f} | {:.3f} | {} | {} | {} | {} | {} / {} | {} / {} | {} |"


def interval(v: dict) -> str:
    return f"{v['value']:.2f} [{v['low']:.2f}, {v['high']:.2f}]"


def number(v: float | None, digits: int = 2) -> str:
    return "–" if v is None else f"{v:.{digits}f}"


def table(rows: list[dict], budgets: list[float]) -> list[str]:
    out = [("| filter | setting | lag allowed | lag | MPJPE | PCK.1 | PCK.05 | Accel | jitter | 100 ms ahead | unseen "
           "| covers: measured / predicted | repaired / broken % | 3D mm |"), "|---" * 14 + "|"]
    for row in rows:
        r, budget = row["report"], row["budget"]
        if budget is not None and budget not in budgets:
            continue
        out.append(LINE.format(row["family"], row["setting"], number(budget), r["added_lag"], interval(r["mpjpe"]),
                               r["pck_10"]["value"], r["pck_05"], interval(r["acceleration"]), number(r["still_jitter"]),
                               number(r["ahead"]), number(r["unseen"]), number(r["covered_measured"]),
                               number(r["covered_predicted"]), number(r["repaired"], 1), number(r["broken"], 1),
                               number(r["lift_mm"], 0)))
    return out


def sets(figures: Path, names: list[str]) -> list[str]:
    """Each figure of the model at a budget of 0.2 frame beside the best that any classic reaches at any budget."""
    out = ["| set | MPJPE | Accel | 100 ms ahead | unseen, held | unseen, constant velocity | covers | 3D mm |", "|---" * 8 + "|"]
    for name in names:
        rows = json.loads((figures / f"{name}.json").read_text())
        classics = [r["report"] for r in rows if r["family"] in CLASSICS]
        kalman = [r["report"] for r in rows if r["family"] == "kalman"]
        held = next(r["report"] for r in rows if r["family"] == "none")
        xl = [r for r in rows if r["family"] == "xl" and r["budget"] <= 0.2][-1]["report"]
        best = lambda of, rows: min(of(r) for r in rows)
        against = lambda ours, theirs: f"{ours:.2f} / {theirs:.2f} = {ours / theirs:.2f}"
        out.append(" | ".join([
            f"| {name}", against(xl["mpjpe"]["value"], best(lambda r: r["mpjpe"]["value"], classics)),
            against(xl["acceleration"]["value"], best(lambda r: r["acceleration"]["value"], classics)),
            against(xl["ahead"], best(lambda r: r["ahead"], kalman)), against(xl["unseen"], held["unseen"]),
            against(xl["unseen"], best(lambda r: r["unseen"], kalman)),
            f"{number(xl['covered_measured'])} / {number(xl['covered_predicted'])}", f"{number(xl['lift_mm'], 0)} |",
        ]))
    return out


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--figures", type=Path, required=True)
    p.add_argument("--document", type=Path, required=True)
    args = p.parse_args()

    def filled(found: re.Match[str]) -> str:
        kind, words = found[2], found[3].split()
        if kind == "table":
            rows = json.loads((args.figures / f"{words[0]}.json").read_text())
            lines = table(rows, [float(w) for w in words[1:]])
        else:
            lines = sets(args.figures, words)
        return "\n".join([found[1], *lines, "<!-- end -->"])

    text = args.document.read_text()
    text = re.sub(r"(<!-- (table|sets) (.*?) -->)\n.*?<!-- end -->", filled, text, flags=re.DOTALL)
    args.document.write_text(text)


if __name__ == "__main__":
    main()
