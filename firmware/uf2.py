#!/usr/bin/env python3
"""Turns an ELF for a Pico into the .uf2 file that its boot loader takes as a USB drive.

    python3 firmware/uf2.py ELF OUT.uf2 [--chip rp2040|rp235x]

The format is Microsoft's UF2: blocks of 512 bytes, each with 256 bytes of flash and their address.
"""

from __future__ import annotations

import argparse
import struct
from pathlib import Path

FAMILIES = {"rp2040": 0xE48BFF56, "rp235x": 0xE48BFF59}
PAGE = 256
LOAD = 1


def pages(elf: bytes) -> dict[int, bytes]:
    """Flash pages by their address; gaps are 0xff, as erased flash is."""
    if elf[:6] != b"\x7fELF\x01\x01":
        raise ValueError("not a 32-bit little-endian ELF")
    (offset,) = struct.unpack_from("<I", elf, 28)
    entry, count = struct.unpack_from("<HH", elf, 42)
    found: dict[int, bytearray] = {}
    for i in range(count):
        kind, at, _, address, size = struct.unpack_from("<5I", elf, offset + i * entry)
        if kind != LOAD:
            continue
        for n in range(size):
            page = found.setdefault((address + n) // PAGE * PAGE, bytearray(b"\xff" * PAGE))
            page[(address + n) % PAGE] = elf[at + n]
    return {address: bytes(page) for address, page in sorted(found.items())}


def uf2(elf: bytes, family: int) -> bytes:
    """The whole file."""
    flash = pages(elf)
    blocks = []
    for number, (address, page) in enumerate(flash.items()):
        head = struct.pack("<8I", 0x0A324655, 0x9E5D5157, 0x2000, address, PAGE, number, len(flash), family)
        blocks.append(head + page + bytes(476 - PAGE) + struct.pack("<I", 0x0AB16F30))
    return b"".join(blocks)


def main() -> None:
    parser = argparse.ArgumentParser(description="ELF to UF2.")
    parser.add_argument("elf", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--chip", choices=FAMILIES, default="rp2040")
    args = parser.parse_args()
    args.out.write_bytes(uf2(args.elf.read_bytes(), FAMILIES[args.chip]))
    print(
        f"{args.out}: {args.out.stat().st_size // 1024} KiB; hold BOOTSEL, plug the Pico in, copy the file to its drive"
    )


if __name__ == "__main__":
    main()
