"""Writes what the decoder makes of standard input: one line an event, numbers only; ends with the counters. With `moments`, one line
a moment; with a format's name, what `python -m posewire --jsonl-format` prints.

The Rust and C decoders write the same lines, so that all three can be compared on the same bytes.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from dataclasses import astuple
from functools import partial

from test_reader import Line, opened

from posewire.jsonl import FORMATS, as_lines, first_row
from posewire.moments import Assembly, Moment
from posewire.wire import (
    Command,
    Decoder,
    Event,
    Fault,
    Hello,
    Notice,
    PlacePacket,
    PosePacket,
    Receipt,
    Status,
)

NAMES = {Hello: "hello", Status: "status", PlacePacket: "place", Notice: "notice", Receipt: "receipt"}


def line(event: Event) -> str:
    if isinstance(event, PosePacket):
        head = f"pose {event.seq} {event.captured_us} {event.age_us} {event.horizon_us} {event.persons}"
        if not event.persons:
            return head
        head += f" {event.index} {event.track_id} {event.score} {event.scale}"
        lifted = event.joints_3d_mm
        return " ".join([head, *map(str, event.joints), *(["3d", *map(str, lifted)] if lifted else [])])
    if isinstance(event, Fault):
        return event.reason if event.detail is None else f"{event.reason} {event.detail}"
    if isinstance(event, Command):
        return f"command {event.code} {event.argument}"
    values = (v.hex() if isinstance(v, bytes) else str(v) for v in event)
    return " ".join([NAMES[type(event)], *values])


def transcript(data: bytes, portion: int = 4096) -> list[str]:
    decoder = Decoder()
    lines = [line(e) for at in range(0, len(data), portion) for e in decoder.feed(data[at : at + portion])]
    lines.append("counters " + " ".join(map(str, astuple(decoder.counters))))
    return lines


def assembled(data: bytes, assembly: Assembly) -> list[Moment]:
    given: list[Moment] = []
    for event in Decoder().feed(data):
        if isinstance(event, PosePacket):
            given += assembly.push(event)
    return given + assembly.flush()


def moments(data: bytes) -> list[str]:
    assembly = Assembly()
    lines = [moment_line(moment) for moment in assembled(data, assembly)]
    # The other clients' counters wrap.
    lines.append("counters " + " ".join(str(n % 2**32) for n in astuple(assembly.counters)))
    return lines


def jsonl(data: bytes, line_format: str) -> list[str]:
    names = first_row(line_format)
    lines: list[str] = []
    # As a port that is pulled out.
    with contextlib.suppress(OSError):
        for moment in opened(Line(data)).moments():
            lines += as_lines(moment, line_format)
    return lines if names is None else [names, *lines]


def moment_line(m: Moment) -> str:
    persons = (f"{p.index}:{p.track_id}" for p in m.packets)
    return " ".join(
        ["moment", *map(str, (m.seq, m.captured_us, m.sent_us, m.valid_us, m.expected)), *persons]
    )


if __name__ == "__main__":
    writers: dict[str, Callable[[bytes], list[str]]] = {"moments": moments}
    writers |= {name: partial(jsonl, line_format=name) for name in FORMATS}
    write = writers[sys.argv[1]] if sys.argv[1:] else transcript
    sys.stdout.write("\n".join(write(sys.stdin.buffer.read())) + "\n")
