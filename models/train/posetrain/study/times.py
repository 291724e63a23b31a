"""What a frame costs on the device, against memory: the times that Rust's own steps took, as a table and a plot.

Read from what `cargo run --release -p temporal --example step -- --json FILE` kept.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

TITLES = {"gru": "GRU", "s4d": "diagonal state space (S4D)", "shipped": "Transformer-XL as shipped"}


def read(path: Path) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(path.read_text())
    return said


def lines(said: dict[str, Any]) -> list[str]:
    """The section of the page, without its plot."""
    windows = [r for r in said["rows"] if "memory" in r]
    others = [r for r in said["rows"] if "memory" not in r]
    first, last = windows[0], windows[-1]
    return [
        f"Times are processor microseconds per person and frame in Rust, one thread, on {said['processor']}. They are of the steps that "
        "the device runs (`cargo run --release -p temporal --example step`).",
        "",
        "- *Without the cache*: the same network, its whole window run each frame.",
        f"- From {first['memory']} to {last['memory']} observations the cached step grows {last['step_us'] / first['step_us']:.1f} times, "
        f"the window {last['window_us'] / first['window_us']:.0f} times.",
        "- Steps of the first table are timed between such windows, so the processor's caches hold what these used. Steps of the second "
        "table are timed by turns.",
        "",
        "| Transformer-XL, observations kept | " + " | ".join(str(r["memory"]) for r in windows) + " |",
        "|---|" + "---:|" * len(windows),
        "| cached | " + " | ".join(f"{r['step_us']:.1f}" for r in windows) + " |",
        "| without the cache | " + " | ".join(f"{r['window_us']:,.0f}" for r in windows) + " |",
        "",
        "| in its place, however long the memory | a step | of the shipped |",
        "|---|---:|---:|",
        *(f"| {TITLES[r['row']]} | {r['step_us']:.1f} | {r['of_shipped']:.2f} |" for r in others),
    ]


def plot(said: dict[str, Any], out: Path) -> Path:
    """Both on logarithmic scales: what grows with memory is a rising line, what does not is a level one."""
    windows = [r for r in said["rows"] if "memory" in r]
    kept = [r["memory"] for r in windows]
    figure, axis = plt.subplots(figsize=(9, 5), dpi=90)
    axis.plot(kept, [r["window_us"] for r in windows], "x--", label="Transformer-XL, window run anew")
    axis.plot(kept, [r["step_us"] for r in windows], "o-", label="Transformer-XL, cached")
    for row in said["rows"]:
        if row["row"] in ("gru", "s4d"):
            axis.plot(kept, [row["step_us"]] * len(kept), "-", label=TITLES[row["row"]])
    axis.set(xlabel="observations kept", ylabel="processor µs a person and frame, in Rust")
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_xticks(kept, [str(k) for k in kept])
    axis.grid(alpha=0.3, which="both")
    axis.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(out)
    plt.close(figure)
    return out
