"""How steady poses are."""

from __future__ import annotations

from typing import Any

from .form import kept, markdown, share, with_interval


def smoother() -> str:
    """The smoother beside the classic filters at 0.2 frame of added lag: `benches/results/clips`."""
    sets = {
        "jhmdb-own-val": "real, `small`",
        "jhmdb-movenet-val": "real, MoveNet",
        "mocap-movenet-val": "virtual, MoveNet",
    }
    families = ("none", "one-euro", "exponential", "kalman", "xl, as shipped")
    rows = []
    for name, title in sets.items():
        for row in kept(f"clips/{name}.json"):
            if row["family"] in families and row["budget"] in (None, 0.2):
                r = row["report"]
                bold = "**" if row["family"].startswith("xl") else ""
                rows.append(
                    [
                        title,
                        f"{bold}{row['family']}{bold}",
                        f"{r['mpjpe']['value']:.2f}",
                        share(r["pck_10"]["value"]),
                        share(r["pck_05"]),
                        f"{r['acceleration']['value']:.2f}",
                        f"{r['still_jitter']:.2f}",
                        f"{r['added_lag']:+.2f}",
                        f"{r['ahead']:.2f}",
                    ]
                )
    heads = ["MPJPE %", "PCK.1", "PCK.05", "Accel %", "jitter %", "added lag", "100 ms ahead %"]
    return markdown(["clips, detector", "filter", *heads], rows, right=7)


def held_out_clips() -> str:
    """Filters after networks on clips nobody here trained on: `benches/results/held-out.json`."""
    rows = [
        [
            row["system"],
            f"{row['mpjpe']:.2f}",
            share(row["pck_1"]),
            f"{row['acceleration']:.2f}",
            f"{row['lag']:+.2f}",
        ]
        for row in kept("held-out.json")["smoothed_on_given_crops"]
    ]
    return markdown(["crops given", "MPJPE %", "PCK.1", "Accel %", "lag, frames"], rows, right=4)


def identities() -> str:
    """Who is who in crowds, beside other trackers: `benches/results/identities.json`."""
    rows = [
        [
            name,
            with_interval([r["HOTA"], r["HOTA_low"], r["HOTA_high"]]),
            *(share(r[measure]) for measure in ("DetA", "AssA", "IDF1", "MOTA")),
            f"{r['IDSW']:.0f}",
        ]
        for name, r in kept("identities.json")["figures"].items()
    ]
    return markdown(["tracker", "HOTA", "DetA", "AssA", "IDF1", "MOTA", "switches"], rows, right=6)


def telling(goal: dict[str, Any], least: int) -> int:
    """So many digits, and as many more as show on which side of its bar the figure is."""
    value, bar = goal["figure"]["value"], goal["bar"]
    for digits in range(least, least + 6):
        shown = float(f"{value:.{digits}f}")
        if (shown >= bar) == (value >= bar) if goal["at_least"] else (shown <= bar) == (value <= bar):
            return digits
    return least


def goals() -> str:
    """What the program is held to, met or missed: `benches/results/goals.json`."""

    def said(goal: dict[str, Any]) -> str:
        value, bar = goal["figure"]["value"], goal["bar"]
        if value is None:
            return "–"
        low, high = goal["figure"]["low"], goal["figure"]["high"]
        digits = telling(goal, 1 if goal["wish"].endswith("%") or goal["wish"].endswith(", frames") else 3)
        interval = "" if low == high else f" ({low:.{digits}f} to {high:.{digits}f})"
        is_met = value >= bar if goal["at_least"] else value <= bar
        floor = f", floor {goal['floor']:.{digits}f}" if goal.get("floor") is not None and not is_met else ""
        return f"{value:.{digits}f}{interval} " + ("met" if is_met else f"**missed**{floor}")

    sets = {"rendered": "rendered, 12", "crossing": "people who cross, 8", "jhmdb-val": "J-HMDB val, 30"}
    by_set = {name: goals for name, _, goals in kept("goals.json")["goals"]}
    rows = []
    for goal in by_set["rendered"]:
        here = [next(g for g in by_set[name] if g["wish"] == goal["wish"]) for name in sets]
        bar = f"{'≥' if goal['at_least'] else '≤'} {goal['bar']:.3g}"
        rows.append([goal["wish"], bar, *map(said, here)])
    return markdown(["goal", "bar", *sets.values()], rows)
