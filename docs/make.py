#!/usr/bin/env python3
"""Writes the measured tables of the documents anew, from the results that are kept in `benches/results` and in the models' cards.

    docs/make.py              rewrites what lies between `<!-- table: NAME -->` and `<!-- end -->` in every document
    docs/make.py --check      changes nothing; exits with 1 and says where a table is not what its kept result says
    docs/make.py --list       the tables and what each is made from

A new measurement is put into `benches/results` (its README says by which command), then this is run. Standard library alone.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from tables import ROOT, TABLES

BLOCK = re.compile(r"(<!-- table: (?P<name>[\w -]+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def documents() -> list[Path]:
    """Every page that a reader opens; `docs/lab` is dated and stays as it was."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    return sorted(p for p in pages if "lab" not in p.relative_to(ROOT).parts)


def filled(text: str) -> str:
    """The page with its tables as the kept results have them. `KeyError` for a table that nobody makes."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{TABLES[found['name']]().strip()}\n\n{found[3]}", text)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit with 1 where a table has drifted"
    )
    parser.add_argument("--list", action="store_true", help="only say which tables there are")
    args = parser.parse_args()
    if args.list:
        for name, table in TABLES.items():
            print(f"{name:16} {(table.__doc__ or '').splitlines()[0]}")
        return 0
    drifted = False
    for page in documents():
        before = page.read_text()
        after = filled(before)
        if after == before:
            continue
        name = str(page.relative_to(ROOT))
        if args.check:
            drifted = True
            sys.stdout.writelines(
                difflib.unified_diff(before.splitlines(True), after.splitlines(True), name, "as kept")
            )
        else:
            page.write_text(after)
            print(f"{name}: written")
    if drifted:
        print("A table is not what its kept result says: run docs/make.py", file=sys.stderr)
    return int(drifted)


if __name__ == "__main__":
    sys.exit(main())
