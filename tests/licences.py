#!/usr/bin/env python3
"""Checks what the dependencies bring, offline, by the rules of deny.toml: licences, sources, wildcards; names what is doubled.

    tests/licences.py

An equal of `cargo deny check licenses bans sources` for machines without it; `tests/advisories.py` is that of `check advisories`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def allowed(expression: str, rules: set[str]) -> bool:
    """Whether an SPDX expression can be met: one of the sides of an OR, both of an AND."""
    expression = re.sub(r"\s*/\s*", " OR ", expression.strip())
    words = re.findall(r"\(|\)|[^\s()]+", expression)
    at = 0

    def either() -> bool:
        nonlocal at
        met = both()
        while at < len(words) and words[at] == "OR":
            at += 1
            met = both() or met
        return met

    def both() -> bool:
        nonlocal at
        met = one()
        while at < len(words) and words[at] == "AND":
            at += 1
            met = one() and met
        return met

    def one() -> bool:
        nonlocal at
        if words[at] == "(":
            at += 1
            met = either()
            at += 1
            return met
        name = words[at]
        at += 1
        if at + 1 < len(words) and words[at] == "WITH":
            name = f"{name} WITH {words[at + 1]}"
            at += 2
        return name in rules

    return either() and at == len(words)


def main() -> int:
    deny = tomllib.loads((ROOT / "deny.toml").read_text())
    rules = set(deny["licenses"]["allow"])
    packages: dict[str, dict[str, Any]] = {}
    used = set()
    for target in deny["graph"]["targets"]:
        command = [
            "cargo",
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--all-features",
            "--filter-platform",
            target,
        ]
        data = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)
        packages |= {p["id"]: p for p in data["packages"]}
        used |= {node["id"] for node in data["resolve"]["nodes"]}
    wrong, versions = [], defaultdict(set)
    for package in (packages[i] for i in sorted(used)):
        name = f"{package['name']} {package['version']}"
        versions[package["name"]].add(package["version"])
        if not package["license"]:
            wrong.append(f"{name}: no licence stated")
        elif not allowed(package["license"], rules):
            wrong.append(f"{name}: {package['license']} is not among the licences of deny.toml")
        if package["source"] not in (None, "registry+https://github.com/rust-lang/crates.io-index"):
            wrong.append(f"{name}: from {package['source']}")
        if package["source"] is None:
            wild = [d["name"] for d in package["dependencies"] if d["req"] == "*" and not d.get("path")]
            wrong += [f"{name}: any version of {d}" for d in wild]
    doubled = {name: sorted(v) for name, v in versions.items() if len(v) > 1}
    print(f"{len(used)} packages, {len(doubled)} in several versions: " + ", ".join(sorted(doubled)))
    for line in wrong:
        print(line)
    print("licences and sources as deny.toml asks" if not wrong else f"{len(wrong)} against deny.toml")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
