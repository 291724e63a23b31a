#!/usr/bin/env python3
"""Prints the licences of everything that is linked into a binary, for most of them ask to go with it. Each text once.

    packaging/notices.py [--target TRIPLE] [--features usable] > third-party-licences
    packaging/notices.py --manifest-path firmware/Cargo.toml --package pico --target thumbv6m-none-eabi ...

Several `--target` are one list, of binaries for each.

Reads `cargo metadata` and the crates' own sources, so it needs them (a build has fetched them) and nothing else. What is only
run while building (build scripts' helpers, procedural macros) is not in the binary and not here.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# In a crate's folder, and in those of C sources that it carries.
LICENCE_FILE = re.compile(
    r"^(licen[cs]e|copying|unlicense|notice|copyright)(?![a-z]).*(?<!\.rs)(?<!\.html)$", re.IGNORECASE
)
LICENCE_FOLDERS = 3
NOT_LINKED = {"benches", "doc", "docs", "examples", "fuzz", "fuzzer", "java", "target", "tests"}
# By licence, for crates that carry no text; whose copyright it is is put in.
STANDARD = {
    "MIT": "LICENSE-MIT",
    "Apache-2.0": "LICENSE-APACHE",
    "BSD-3-Clause": "packaging/licences/BSD-3-Clause",
}


def linked(package: str, choice: list[str]) -> set[tuple[str, str]]:
    """Names and versions of the crates whose code ends in the binary, by `cargo tree`: `cargo metadata` names what is off, too."""
    command = [
        "cargo",
        "tree",
        "--locked",
        "--package",
        package,
        "--edges",
        "normal,no-proc-macro",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ]
    lines = subprocess.run(
        [*command, *choice], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.splitlines()
    return {
        (name, version.removeprefix("v")) for name, version in (line.split()[:2] for line in lines if line)
    }


def texts(package: dict[str, Any]) -> list[str]:
    """The licence texts that a crate carries."""
    folder = Path(package["manifest_path"]).parent
    named = package.get("license_file")
    found = {folder / named} if named and (folder / named).is_file() else set()
    for path in folder.rglob("*"):
        inner = path.relative_to(folder).parts
        if (
            len(inner) <= LICENCE_FOLDERS
            and not NOT_LINKED & set(inner[:-1])
            and LICENCE_FILE.match(path.name)
            and path.is_file()
        ):
            found.add(path)
    read = (path.read_text(encoding="utf-8", errors="replace").strip() for path in sorted(found))
    return [text for text in read if text]


def standard_text(crate: str, licence: str, authors: list[str]) -> str:
    """For a crate that names its licence and carries no text of it."""
    for name, file in STANDARD.items():
        if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", licence):
            text = (ROOT / file).read_text().strip()
            who = ", ".join(re.sub(r"\s*<[^>]*>", "", a) for a in authors) or f"the authors of {crate}"
            return re.sub(r"^Copyright \(c\) .*$", f"Copyright (c) {who}", text, count=1, flags=re.MULTILINE)
    raise SystemExit(
        f"notices.py: {crate} carries no licence text, and none is at hand for {licence!r}: say in STANDARD where it is"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--manifest-path", default=str(ROOT / "Cargo.toml"))
    parser.add_argument("--package", default="posewire")
    parser.add_argument("--target", action="append", help="default: this machine's")
    parser.add_argument("--features")
    parser.add_argument("--no-default-features", action="store_true")
    arguments = parser.parse_args()
    host = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    targets = arguments.target or re.findall(r"^host: (.*)$", host, re.MULTILINE)
    choice = [
        "--manifest-path",
        arguments.manifest_path,
        *(["--features", arguments.features] if arguments.features else []),
        *(["--no-default-features"] if arguments.no_default_features else []),
    ]
    metadata = [
        "cargo",
        "metadata",
        "--format-version",
        "1",
        "--locked",
        *(word for target in targets for word in ("--filter-platform", target)),
        *choice,
    ]
    packages = json.loads(subprocess.run(metadata, stdout=subprocess.PIPE, check=True).stdout)["packages"]
    names_linked = linked(
        arguments.package, [*(word for target in targets for word in ("--target", target)), *choice]
    )
    # Those without a source are this workspace's own.
    crates = sorted(
        (p for p in packages if p["source"] and (p["name"], p["version"]) in names_linked),
        key=lambda p: (p["name"], p["version"]),
    )
    # Line breaks and blanks differ between copies of one text.
    spoken: dict[str, str] = {}
    names: dict[str, list[str]] = defaultdict(list)
    for crate in crates:
        said = texts(crate) or [standard_text(crate["name"], crate["license"] or "", crate["authors"])]
        for text in said:
            key = " ".join(text.split())
            spoken.setdefault(key, text)
            name = f"{crate['name']} {crate['version']}"
            if name not in names[key]:
                names[key].append(name)

    print(f"{arguments.package} contains the works of others. Their sources: https://crates.io/crates/NAME")
    print("It is built with Rust's standard library (MIT or Apache-2.0, The Rust Project Developers).\n")
    for crate in crates:
        print(f"  {crate['name']} {crate['version']}: {crate['license'] or 'see below'}")
    for key in sorted(names, key=lambda k: (-len(names[k]), names[k])):
        print(f"\n{'=' * 78}\n{', '.join(names[key])}\n{'-' * 78}\n{spoken[key]}")
    print(f"notices.py: {len(crates)} crates, {len(names)} texts", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
