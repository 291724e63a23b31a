"""Writes what the decoder makes of standard input: one line an event, numbers only; ends with the counters.

The Rust and C decoders write the same lines, so that all three can be compared on the same bytes.
"""

from __future__ import annotations

import sys
from dataclasses import astuple

from posewire.wire import Command, Decoder, Event, Fault, Hello, PosePacket, Receipt, Status

NAMES = {Hello: "hello", Status: "status", Receipt: "receipt"}


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


if __name__ == "__main__":
    sys.stdout.write("\n".join(transcript(sys.stdin.buffer.read())) + "\n")
