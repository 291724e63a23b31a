"""What the code itself says: who may know whom, what a line carries."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable

from .form import ROOT, markdown


def arrows(name: str) -> dict[str, list[str]]:
    """A table of `tests/posewire/arrows.rs`: each name and those it may know."""
    text = (ROOT / "tests/posewire/arrows.rs").read_text()
    found = re.search(rf"const {name}: .*?= \[\n(.*?)\n\];", text, re.DOTALL)
    if found is None:
        raise ValueError(f"tests/posewire/arrows.rs has no table {name}")
    rows = re.findall(r'\(\s*"([\w-]+)",\s*&\[(.*?)\],?\s*\)', found[1], re.DOTALL)
    return {row: re.findall(r'"([\w-]+)"', may) for row, may in rows}


def may_know(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "nothing"


def modules() -> str:
    """The modules of `src/`: their first lines, and `tests/posewire/arrows.rs`."""
    rows = []
    for name, may in {**arrows("MODULES"), "cli": ["everything"]}.items():
        files = [f for f in (ROOT / f"src/{name}.rs", ROOT / f"src/{name}/mod.rs") if f.exists()]
        if not files or name in ("lib", "main"):
            continue
        doc = re.search(r"^//! (.*)$", files[0].read_text(), re.MULTILINE)
        knows = may_know(may) if name != "cli" else "everything"
        rows.append(
            [
                f"`src/{name}`" if (ROOT / f"src/{name}").is_dir() else f"`src/{name}.rs`",
                doc[1].rstrip(".") if doc else "",
                knows,
            ]
        )
    return markdown(["module", "what", "may name"], rows)


def crates() -> str:
    """The crates: their manifests' descriptions, and `tests/posewire/arrows.rs`."""
    known = arrows("CRATES")
    rows = []
    for path in sorted((ROOT / "crates").glob("*/Cargo.toml")):
        package = tomllib.loads(path.read_text())["package"]
        may = known.get(package["name"])
        rows.append(
            [f"`crates/{path.parent.name}`", package["description"], "" if may is None else may_know(may)]
        )
    return markdown(["crate", "what", "may depend on"], rows)


def line() -> str:
    """What a line carries: the lengths of `tests/golden/wire_v1.json`, nine tenths of the line, ten bits a byte."""
    vectors = {
        v["name"]: len(v["hex"]) // 2
        for v in json.loads((ROOT / "tests/golden/wire_v1.json").read_text())["streams"]
    }
    once_a_second = vectors["hello"] + vectors["status"]

    def rate_hz(baud: int, pose_bytes: int, persons: int) -> str:
        rate = (0.9 * baud / 10 - once_a_second) / (pose_bytes * persons)
        return str(int(rate)) if rate >= 10 else str(int(10 * rate) / 10)

    rows = [
        [
            str(baud),
            *(
                rate_hz(baud, vectors[name], persons)
                for name in ("pose_measured", "pose_3d")
                for persons in (1, 2, 4)
            ),
        ]
        for baud in (9600, 57600, 115200, 230400, 460800, 921600)
    ]
    heads = ["one person", "two", "four", "one, with 3D", "two", "four"]
    return markdown(["baud", *heads], rows, right=7)
