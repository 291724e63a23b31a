"""Pictures: what the host draws, whether a screen shows just that, and PNG files of both.

A picture is its pixels row by row, each as the panel takes it: on or off (SSD1306), one of 16 greys (SSD0323), RGB 5-6-5 (ST7789).
"""

from __future__ import annotations

import array
import subprocess
import sys
import zlib
from collections.abc import Iterable, Sequence

from places import PICTURE

SIZES = {"ssd1306": (128, 64), "ssd0323": (128, 64), "st7789": (240, 240)}
#: How much later than it was received a moment may be drawn: a loaded machine's emulator takes its time.
LATEST_MS = 2048
WINDOW_MS = 64


def host(panel: str, data: bytes, *view: str | int) -> list[array.array[int]]:
    """What the host draws for `data`: one picture a view, or one an age (see app/examples/picture.rs)."""
    done = subprocess.run(
        [PICTURE, panel, *map(str, view)], input=data, stdout=subprocess.PIPE, check=True, timeout=60
    )
    pixels = array.array("H")
    pixels.frombytes(done.stdout)
    if sys.byteorder == "big":
        pixels.byteswap()
    width, height = SIZES[panel]
    step = width * height
    return [pixels[at : at + step] for at in range(0, len(pixels), step)]


def differing(a: Sequence[int], b: Sequence[int]) -> int:
    """Pixels that are not the same."""
    assert len(a) == len(b)
    return 0 if a == b else sum(x != y for x, y in zip(a, b, strict=True))


def best_match(panel: str, data: bytes, shown: Sequence[int], age_ms: int) -> tuple[int, int]:
    """Fewest pixels by which `shown` differs from the host's picture of `data`, and the age for which it does.

    A board adds to the age that was sent how long the moment waited there, which only its own clock knows.
    """
    shown = array.array("H", shown)
    best = (len(shown), age_ms)
    for first in range(age_ms, age_ms + LATEST_MS, WINDOW_MS):
        pictures = host(panel, data, "poses", first, first + WINDOW_MS - 1)
        best = min(best, *((differing(drawn, shown), first + n) for n, drawn in enumerate(pictures)))
        if best[0] == 0:
            break
    return best


def colours(panel: str, pixels: Iterable[int]) -> list[tuple[int, int, int]]:
    """RGB, 8 bits each, as the panel would look."""
    if panel == "ssd1306":
        return [(255, 255, 255) if p else (0, 0, 0) for p in pixels]
    if panel == "ssd0323":
        return [(p * 17,) * 3 for p in pixels]
    return [((p >> 11) * 255 // 31, (p >> 5 & 63) * 255 // 63, (p & 31) * 255 // 31) for p in pixels]


def enlarged(panel: str, pixels: Sequence[int], zoom: int) -> list[bytes]:
    """Rows of RGB in which every pixel of the panel is `zoom` × `zoom`."""
    width, _ = SIZES[panel]
    rgb = colours(panel, pixels)
    rows = []
    for at in range(0, len(rgb), width):
        rows += [b"".join(bytes(c) * zoom for c in rgb[at : at + width])] * zoom
    return rows


def png(rows: Sequence[bytes]) -> bytes:
    """A PNG file of rows of RGB."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    size = (len(rows[0]) // 3).to_bytes(4, "big") + len(rows).to_bytes(4, "big")
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    parts = chunk(b"IHDR", size + bytes([8, 2, 0, 0, 0])), chunk(b"IDAT", pixels), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)
