"""What a larger budget brings: rows that have results at two of them, each held against itself."""

from __future__ import annotations

import numpy as np

from posetrain.study.results import Results, budgets, interval, measures


def lines(results: Results, clips: str, lag: float) -> list[str]:
    """A list and a table of causal rows; nothing where no two budgets have a row in common."""
    here = budgets(results)
    if len(here) < 2:
        return []
    small, large = here[0], here[-1]
    rows = [
        row
        for row, budget in results
        if budget == large and (row, small) in results and results[row, large][0]["causal"]
    ]
    if len(rows) < 2:
        return []
    compared = measures(clips, lag)
    of = {
        (row, budget, name): float(np.mean([measure(r) for r in results[row, budget]]))
        for row in rows
        for budget in (small, large)
        for name, measure in compared.items()
    }
    gains = []
    for name in compared:
        ratios = [of[row, large, name] / of[row, small, name] for row in rows]
        able = [r for r in ratios if not np.isnan(r)]
        mean, half = interval(able)
        fewer = "" if len(able) == len(rows) else f" ({len(able)} rows, the others do not reach that lag)"
        gains.append(f"- {name} {mean:.3f} ± {half:.3f} of the small budget's{fewer}")
    head = ["row", "seeds", *(f"{name}, {budget}" for name in compared for budget in (small, large))]
    out = [
        f"## Is budget {large} worth it?",
        "",
        f"{len(rows)} causal rows at both budgets have results. Each is compared with itself on {clips}. Means and 95 % intervals over "
        "rows:",
        "",
        *gains,
        "",
        "| " + " | ".join(head) + " |",
        "|---|" + "---:|" * (len(head) - 1),
    ]
    for row in rows:
        seeds = f"{len(results[row, small])}, {len(results[row, large])}"
        figures = [of[row, budget, name] for name in compared for budget in (small, large)]
        cells = ["–" if np.isnan(f) else f"{f:.2f}" for f in figures]
        out.append("| " + " | ".join([results[row, large][0]["title"], seeds, *cells]) + " |")
    return out
