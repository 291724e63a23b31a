"""What each row of the study computes, configs/study/equations.toml, as a page beside that of its results."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass

from posetrain.paths import CONFIGS
from posetrain.study.classics import TITLES
from posetrain.study.prose import wrapped
from posetrain.study.table import table

EQUATIONS = CONFIGS / "study" / "equations.toml"


@dataclass(frozen=True)
class Equations:
    notation: list[str]  # a bullet each
    groups: dict[str, str]  # what the rows of a group have in common
    rows: dict[str, tuple[str, str]]  # LaTeX, and the paper


def read() -> Equations:
    said = tomllib.loads(EQUATIONS.read_text())
    return Equations(
        said["notation"], said["groups"], {name: (row[0], row[1]) for name, row in said["rows"].items()}
    )


def guarded(text: str) -> str:
    """Formulas as GitHub keeps them from Markdown's own marks."""
    return re.sub(r"\$([^$`]+)\$", r"$`\1`$", text)


def rows_page() -> str:
    """Markdown: a table a group."""
    said = read()
    titles: dict[str, dict[str, str]] = {}
    for entry in table().rows.values():
        titles.setdefault(entry.group, {})[entry.name] = entry.title
    titles["classic"] = TITLES
    lines = [
        "# What each row of the study computes",
        "",
        "One table per group of rows, with an equation and a source for each. The results are in [study.md](study.md). The notation:",
        "",
        *(f"- {guarded(' '.join(bullet.split()))}" for bullet in said.notation),
    ]
    for group, rows in titles.items():
        lines += [
            "",
            f"**{group}**: {guarded(said.groups[group])}.",
            "",
            "| row | | source |",
            "|---|---|---|",
        ]
        lines += [
            f"| {title} | $`{said.rows[name][0]}`$ | {said.rows[name][1]} |" for name, title in rows.items()
        ]
    return "\n".join(wrapped(lines)) + "\n"
