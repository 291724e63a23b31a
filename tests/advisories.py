#!/usr/bin/env python3
"""Holds every Cargo.lock against RustSec's advisories, without a network.

    tests/advisories.py                        against tests/advisories.jsonl
    tests/advisories.py --update DATABASE      writes that file from a checkout (or bare clone) of RustSec's advisory-db

An equal of `cargo deny check advisories` for machines that reach no database: ids, packages and version ranges of all of its
advisories are kept here, one a line, without their texts. A vulnerability or unsoundness in any package fails, an
unmaintained package only where one of ours names it; deny.toml's `ignore` holds, and names what is not needed any more.
"""

from __future__ import annotations

import argparse
import datetime
import io
import json
import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
KEPT = Path(__file__).with_suffix(".jsonl")
# Older than this, the kept list says so: new advisories come every week.
OLD_DAYS = 90

Version = tuple[tuple[int, int, int], int, tuple[tuple[int, int, str], ...]]


def version(text: str) -> Version:
    """Ordered as semver orders: a pre-release before its release, its parts numbers before words."""
    core, _, pre = text.strip().partition("+")[0].partition("-")
    numbers = [int(n) for n in core.split(".")]
    major, minor, patch = numbers + [0] * (3 - len(numbers))
    parts = tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in pre.split(".") if p)
    return (major, minor, patch), 0 if parts else 1, parts


def above_caret(text: str) -> Version:
    """The first version that `^text` does not allow: the leftmost number that is not 0 changes."""
    major, minor, patch = version(text)[0]
    core = (major + 1, 0, 0) if major else (0, minor + 1, 0) if minor else (0, 0, patch + 1)
    # Its pre-releases are not allowed either.
    return core, -1, ()


def within(range_: str, found: str) -> bool:
    """Whether a version lies in `>= 1.2, < 2`; a bare version means `^`."""
    have = version(found)
    for part in range_.split(","):
        match = re.fullmatch(r"\s*(>=|<=|>|<|=|\^|)\s*([0-9][0-9A-Za-z.+-]*)\s*", part)
        if not match:
            raise ValueError(f"the range {range_!r} is not understood")
        sign, limit = match[1], version(match[2])
        met = {
            ">=": have >= limit,
            "<=": have <= limit,
            ">": have > limit,
            "<": have < limit,
            "=": have == limit,
        }
        if not met.get(sign, limit <= have < above_caret(match[2])):
            return False
    return True


def concerns(advisory: dict[str, Any], found: str) -> bool:
    return not any(within(r, found) for r in advisory["patched"] + advisory.get("unaffected", []))


def read_database(path: Path) -> dict[str, str]:
    """The texts of a checkout, or of a bare clone's newest commit."""
    if (path / "crates").is_dir():
        return {str(p): p.read_text() for p in sorted((path / "crates").glob("*/*.md"))}
    archive = subprocess.run(
        ["git", "-C", path, "archive", "HEAD", "crates"], capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        files = ((m.name, tar.extractfile(m)) for m in tar.getmembers() if m.name.endswith(".md"))
        return {name: f.read().decode() for name, f in files if f}


def parse(text: str) -> dict[str, Any] | None:
    """What is kept of an advisory; None where it was withdrawn or says nothing of Linux."""
    match = re.match(r"```toml\n(.*?)```", text, re.DOTALL)
    if not match:
        raise ValueError("no advisory: it does not begin with ```toml")
    data = tomllib.loads(match[1])
    head, versions = data["advisory"], data["versions"]
    systems = data.get("affected", {}).get("os", ["linux"])
    if "withdrawn" in head or "linux" not in systems:
        return None
    kept = {"id": head["id"], "package": head["package"], "patched": versions["patched"]}
    if versions.get("unaffected"):
        kept["unaffected"] = versions["unaffected"]
    if "informational" in head:
        kept["kind"] = head["informational"]
    return kept


def update(database: Path) -> None:
    texts = read_database(database)
    kept = [a for a in map(parse, texts.values()) if a]
    dated = subprocess.run(
        ["git", "-C", database, "log", "-1", "--format=%cs"], capture_output=True, text=True, check=False
    )
    dates = [m[1] for t in texts.values() if (m := re.search(r'^date = "(.*?)"', t, re.MULTILINE))]
    lines = [json.dumps({"as_of": dated.stdout.strip() or max(dates), "advisories": len(kept)})]
    lines += [json.dumps(a) for a in sorted(kept, key=lambda a: (a["package"], a["id"]))]
    KEPT.write_text("\n".join(lines) + "\n")
    print(f"{KEPT.name}: {len(kept)} advisories")


def check(
    locks: dict[str, dict[str, Any]], advisories: list[dict[str, Any]], ignored: set[str]
) -> tuple[list[str], list[str], set[str]]:
    """What is wrong in the lock files, what is only to be told, and which of the ignored ids were needed."""
    by_package: dict[str, list[dict[str, Any]]] = {}
    for advisory in advisories:
        by_package.setdefault(advisory["package"], []).append(advisory)
    wrong, told, needed = [], [], set()
    for name, lock in locks.items():
        ours = [p for p in lock["package"] if "source" not in p]
        named = {d.split()[0] for p in ours for d in p.get("dependencies", [])}
        for package in (p for p in lock["package"] if "source" in p):
            for advisory in by_package.get(package["name"], []):
                if not concerns(advisory, package["version"]):
                    continue
                kind = advisory.get("kind", "vulnerability")
                cure = " or ".join(advisory["patched"]) or "none"
                line = f"{name}: {package['name']} {package['version']}: {advisory['id']}, {kind}; mended in: {cure}"
                if advisory["id"] in ignored:
                    needed.add(advisory["id"])
                    told.append(f"{line} (ignored by deny.toml)")
                elif kind in ("vulnerability", "unsound") or package["name"] in named:
                    wrong.append(line)
                else:
                    told.append(line)
    return wrong, told, needed


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--update", type=Path, metavar="DATABASE", help="write the kept list from this database"
    )
    args = parser.parse_args()
    if args.update:
        update(args.update)
    head, *advisories = (json.loads(line) for line in KEPT.read_text().splitlines())
    names = subprocess.run(
        ["git", "ls-files", "*Cargo.lock"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    locks = {name: tomllib.loads((ROOT / name).read_text()) for name in names}
    ignore = tomllib.loads((ROOT / "deny.toml").read_text())["advisories"].get("ignore", [])
    ignored = {i if isinstance(i, str) else i["id"] for i in ignore}
    wrong, told, needed = check(locks, advisories, ignored)
    wrong += [f"deny.toml ignores {i}, which nothing needs any more" for i in sorted(ignored - needed)]
    packages = {(p["name"], p["version"]) for lock in locks.values() for p in lock["package"]}
    print(
        f"{len(packages)} packages in {len(locks)} lock files, {len(advisories)} advisories as of {head['as_of']}"
    )
    age_days = (datetime.date.today() - datetime.date.fromisoformat(head["as_of"])).days
    if age_days > OLD_DAYS:
        print(f"OLD: the kept advisories are {age_days} days old; --update takes newer ones")
    for line in told:
        print(f"to know: {line}")
    for line in wrong:
        print(line)
    print(f"{len(wrong)} against deny.toml" if wrong else "no advisory stands against the lock files")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
