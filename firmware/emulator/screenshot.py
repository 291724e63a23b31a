#!/usr/bin/env python3
"""Draws docs/images/firmware.png: what the screens of two emulated boards show for the same packets.

    firmware/test.sh build && python3 firmware/emulator/screenshot.py

Left the LM3S6965's SSD0323 in QEMU, right the Pico's ST7789 in rp2040js.
"""

from __future__ import annotations

from pathlib import Path

import pico
import qemu
import scenes
from picture import enlarged, png
from places import ROOT

OUT = ROOT / "docs/images/firmware.png"
DATA = scenes.hello() + scenes.moment(1, scenes.walk(22, 4), 48_000)
FRAME = bytes((48, 48, 48))
GAP = 12


def framed(rows: list[bytes], height: int) -> list[bytes]:
    """`rows` in the middle of a picture of `height`, with room at the left."""
    above = (height - len(rows)) // 2
    blank = FRAME * (len(rows[0]) // 3 + GAP)
    padded = [blank] * above + [FRAME * GAP + row for row in rows]
    return padded + [blank] * (height - len(padded))


def main(out: Path = OUT) -> None:
    board = qemu.Board()
    try:
        board.hello_request()
        board.receipt(DATA, 1)
        oled = enlarged("ssd0323", board.screen(), 4)
    finally:
        board.close()
    seen = pico.run(pico.LCD, [pico.send(DATA), pico.settle(100), pico.PICTURE_NOW])
    lcd = enlarged("st7789", seen.pictures[0], 2)
    height = len(lcd) + 2 * GAP
    rows = [a + b + FRAME * GAP for a, b in zip(framed(oled, height), framed(lcd, height), strict=True)]
    out.write_bytes(png(rows))
    print(f"{out}: {len(rows[0]) // 3} × {len(rows)}")


if __name__ == "__main__":
    main()
