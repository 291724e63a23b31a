#!/usr/bin/env python3
"""The whole program on AArch64 under qemu-user, as a Cortex-A72 and as a Cortex-A76, against this machine's: the same poses?

    tests/arm64.py [--frames 6] [ARM64_BINARY [BINARY]]

Without ARM64_BINARY it is built by packaging/build.sh with the release profile; BINARY is target/release/posewire. Both run the
built-in clip through every stage (JPEG, finder, network, tracks, temporal model) on the int8 engine. Kernels, identities, states
and the number of persons must agree, coordinates and scores too up to what two libraries' exp and sin differ by. Needs
qemu-aarch64-static and an AArch64 glibc (libc6-arm64-cross).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
TARGET = "aarch64-unknown-linux-gnu"
LIBRARIES = Path("/usr/aarch64-linux-gnu")

KERNEL_OF_CPU = {"cortex-a72": "neon", "cortex-a76": "dotprod"}
"""Which kernel must have run: a Pi 4's core has no dot product, a Pi 5's has."""

MAX_APART = 1e-2
"""Pixels, or hundredths of a score. The networks' int8 parts agree to the bit; the temporal model calls exp and tanh, in f32."""


def run(command: list[str], frames: int) -> tuple[str, list[dict[str, object]]]:
    """The kernel that the log names, and a frame's poses a line."""
    command = [*command, "run", "--synthetic", "--no-drop", "--frames", str(frames)]
    command += ["--engine", "int8", "--jsonl", "-"]
    environment = {**os.environ, "RUST_LOG": "info"}
    ended = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    if ended.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {ended.returncode}:\n{ended.stderr}")
    named = re.search(r"on int8 (\S+?);", ended.stderr)
    if named is None:
        raise SystemExit(f"{command[0]} does not say which kernel it runs:\n{ended.stderr}")
    return named[1], [json.loads(line) for line in ended.stdout.splitlines()]


def apart(here: object, there: object, at: str = "") -> float:
    """The largest difference of two numbers at the same place; anything else must be equal."""
    if isinstance(here, dict) and isinstance(there, dict) and here.keys() == there.keys():
        return max((apart(here[k], there[k], f"{at}.{k}") for k in here), default=0.0)
    if isinstance(here, list) and isinstance(there, list) and len(here) == len(there):
        pairs = enumerate(zip(here, there, strict=True))
        return max((apart(a, b, f"{at}[{i}]") for i, (a, b) in pairs), default=0.0)
    if isinstance(here, float | int) and isinstance(there, float | int):
        return abs(here - there)
    if here != there:
        raise SystemExit(f"{at.removeprefix('.')}: {here!r} here, {there!r} there")
    return 0.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("arm64", nargs="?", type=Path)
    parser.add_argument("binary", nargs="?", type=Path, default=REPO / "target/release/posewire")
    parser.add_argument("--frames", type=int, default=6)
    args = parser.parse_args()
    if shutil.which("qemu-aarch64-static") is None or not LIBRARIES.is_dir():
        print("SKIPPED: the program on AArch64: apt-get install qemu-user-static libc6-arm64-cross")
        return
    if args.arm64 is None:
        build = subprocess.run(
            [REPO / "packaging/build.sh", TARGET],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            env={**os.environ, "PROFILE": "release"},
        )
        args.arm64 = REPO / build.stdout.splitlines()[-1]

    kernel, expected = run([str(args.binary)], args.frames)
    persons = sum(bool(frame["persons"]) for frame in expected)
    print(f"here: {kernel}, somebody in {persons} of {len(expected)} frames")
    if persons == 0:
        raise SystemExit("nobody is seen: nothing is compared")
    failed = False
    for cpu, kernel_of_cpu in KERNEL_OF_CPU.items():
        emulator = ["qemu-aarch64-static", "-cpu", cpu, "-L", str(LIBRARIES)]
        kernel, frames = run([*emulator, str(args.arm64)], args.frames)
        most = apart(expected, frames)
        same = sum(a == b for a, b in zip(expected, frames, strict=False))
        good = kernel == kernel_of_cpu and most <= MAX_APART
        failed |= not good
        print(
            f"{cpu}: {kernel}, {same} of {len(frames)} frames the same to the last digit, at most {most:.2g} apart: "
            + ("ok" if good else f"FAILED: {kernel_of_cpu} and at most {MAX_APART} were expected")
        )
    sys.exit(failed)


if __name__ == "__main__":
    main()
