#!/usr/bin/env python3
"""Records a program that draws on a terminal, as a moving picture.

    docs/images/record_terminal.py --out docs/images/terminal.gif -- posewire run --synthetic --display terminal

The program runs on a pseudo-terminal that answers no question, so the picture is made of characters. Only what `posewire`'s
display writes is understood: places, 24-bit colours, clearing. Needs Pillow and the font DejaVu Sans Mono.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

Rgb = tuple[int, int, int]
CELL_PX = (7, 14)
FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf"
FRAME_ENDS = b"\x1b[?2026l"
TOKEN = re.compile(
    r"\x1b\[(?P<parameters>[\d;?]*)(?P<kind>[A-Za-z])|\x1b_[^\x1b]*\x1b\\|(?P<glyph>[^\x1b\r\n])"
)


class Screen:
    """The cells of a window."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.front: Rgb = (229, 229, 229)
        self.back: Rgb = (0, 0, 0)
        self.column = self.row = 0
        self.clear()

    def clear(self) -> None:
        self.cells = {
            (x, y): (" ", self.front, self.back) for y in range(self.rows) for x in range(self.columns)
        }

    def write(self, text: str) -> None:
        """Takes what a program wrote."""
        for token in TOKEN.finditer(text):
            kind, parameters = token["kind"], token["parameters"]
            if token["glyph"] is not None:
                self.cells[self.column, self.row] = (token["glyph"], self.front, self.back)
                self.column += 1
            elif kind == "H":
                row, column = (parameters or "1;1").split(";")
                self.column, self.row = int(column) - 1, int(row) - 1
            elif kind == "J":
                self.clear()
            elif kind == "m":
                self.colour([int(n or 0) for n in parameters.split(";")])

    def colour(self, numbers: list[int]) -> None:
        if numbers[:2] == [38, 2]:
            self.front = (numbers[2], numbers[3], numbers[4])
        elif numbers[:2] == [48, 2]:
            self.back = (numbers[2], numbers[3], numbers[4])
        else:
            self.front, self.back = (229, 229, 229), (0, 0, 0)

    def picture(self, font: ImageFont.FreeTypeFont) -> Image.Image:
        """What a user sees."""
        width, height = CELL_PX
        image = Image.new("RGB", (width * self.columns, height * self.rows))
        draw = ImageDraw.Draw(image)
        for (x, y), (glyph, front, back) in self.cells.items():
            left, top = x * width, y * height
            draw.rectangle((left, top, left + width - 1, top + height - 1), fill=back)
            if glyph == "▀":
                draw.rectangle((left, top, left + width - 1, top + height // 2 - 1), fill=front)
            elif glyph != " ":
                draw.text((left, top - 1), glyph, fill=front, font=font)
        return image


def record(command: list[str], screen: Screen, seconds: float, fps: float, skip: float) -> list[Image.Image]:
    """What stands on the screen `fps` times a second, from `skip` seconds after the first whole frame on."""
    hand, port = pty.openpty()
    fcntl.ioctl(port, termios.TIOCSWINSZ, struct.pack("4H", screen.rows, screen.columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    font = ImageFont.truetype(FONT, 11)
    child = subprocess.Popen(
        command, stdin=port, stdout=port, stderr=port, env=environment, start_new_session=True
    )
    waiting, pictures, next_at, end_at = b"", [], float("inf"), float("inf")
    while time.monotonic() < end_at and child.poll() is None:
        if select.select([hand], [], [], 0.02)[0]:
            waiting += os.read(hand, 1 << 16)
        whole = waiting.rfind(FRAME_ENDS) + 1
        if whole > 0:
            screen.write(waiting[: whole + len(FRAME_ENDS) - 1].decode(errors="replace"))
            waiting = waiting[whole + len(FRAME_ENDS) - 1 :]
            if next_at == float("inf"):
                next_at = time.monotonic() + skip
                end_at = next_at + seconds
        if time.monotonic() >= next_at:
            pictures.append(screen.picture(font))
            next_at += 1 / fps
    child.send_signal(signal.SIGTERM)
    # What it still writes has to be taken, or it waits for that.
    while child.poll() is None:
        if select.select([hand], [], [], 0.02)[0]:
            os.read(hand, 1 << 16)
    return pictures


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="a GIF, or a PNG of the last picture")
    parser.add_argument("--size", default="96x28", help="columns and rows of the window")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--fps", type=float, default=5)
    parser.add_argument("--skip", type=float, default=2, help="seconds left out at the beginning")
    parser.add_argument("--colours", type=int, default=64)
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()
    columns, rows = map(int, args.size.split("x"))
    pictures = record(args.command, Screen(columns, rows), args.seconds, args.fps, args.skip)
    if not pictures:
        print("nothing was drawn", file=sys.stderr)
        return 1
    if args.out.suffix == ".png":
        pictures[-1].save(args.out)
    else:
        palette = pictures[len(pictures) // 2].quantize(args.colours)
        first, *others = (p.quantize(palette=palette, dither=Image.Dither.NONE) for p in pictures)
        first.save(
            args.out,
            save_all=True,
            append_images=others,
            duration=round(1000 / args.fps),
            loop=0,
            optimize=True,
        )
    print(f"{args.out}: {len(pictures)} pictures, {args.out.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
