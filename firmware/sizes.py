#!/usr/bin/env python3
"""Prints what firmware takes of flash and static RAM; with limits, fails above them.

python3 firmware/sizes.py ELF [--flash KIB] [--ram KIB]
"""

from __future__ import annotations

import argparse
import struct
import sys
from pathlib import Path
from typing import NamedTuple

PROGBITS, NOBITS, WRITE, ALLOC = 1, 8, 1, 2


class Sizes(NamedTuple):
    """Bytes: flash is what is written to the chip, ram what is taken before main() runs, without the stack."""

    flash: int
    ram: int


def sizes(elf: bytes) -> Sizes:
    """From the section table of a 32-bit little-endian ELF."""
    if elf[:6] != b"\x7fELF\x01\x01":
        raise ValueError("not a 32-bit little-endian ELF")
    (offset,) = struct.unpack_from("<I", elf, 32)
    entry, count = struct.unpack_from("<HH", elf, 46)
    flash = ram = 0
    for i in range(count):
        _, kind, flags, _, _, size = struct.unpack_from("<6I", elf, offset + i * entry)
        if not flags & ALLOC:
            continue
        if kind != NOBITS:
            flash += size
        if flags & WRITE:
            ram += size
    return Sizes(flash, ram)


def main() -> int:
    parser = argparse.ArgumentParser(description="Sizes of firmware.")
    parser.add_argument("elf", type=Path)
    parser.add_argument("--flash", type=float, help="most KiB of flash")
    parser.add_argument("--ram", type=float, help="most KiB of static RAM")
    args = parser.parse_args()
    found = sizes(args.elf.read_bytes())
    failed = False
    for name, size, limit in (("flash", found.flash, args.flash), ("static RAM", found.ram, args.ram)):
        over = limit is not None and size > limit * 1024
        failed |= over
        bound = "" if limit is None else f" of {limit:g} KiB at most{': TOO MUCH' if over else ''}"
        print(f"{args.elf.name}: {name} {size / 1024:.1f} KiB{bound}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
