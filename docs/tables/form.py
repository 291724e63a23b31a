"""How a table is written, and where what it is made from lies."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "benches/results"


def kept(name: str) -> Any:
    return json.loads((RESULTS / name).read_text())


def manifest(name: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / "models" / f"{name}.toml").read_text())


def markdown(heads: Iterable[str], rows: Iterable[Iterable[str]], right: int = 0) -> str:
    """A table whose last `right` columns stand to the right."""
    titles = list(heads)
    rule = ["---"] * (len(titles) - right) + ["---:"] * right
    lines = ["| " + " | ".join(titles) + " |", "|" + "|".join(rule) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def share(value: float | None) -> str:
    """.668, as the field writes shares."""
    return "" if value is None else f"{value:.3f}".removeprefix("0")


def two_digits(value: float) -> str:
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def with_interval(value: list[float]) -> str:
    middle, low, high = map(share, value)
    return f"{middle} ({low}–{high})"


def printed(*command: str) -> str:
    """What a program of this repository prints, as a block."""
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=True)
    return f"```text\n{done.stdout.rstrip()}\n```"
