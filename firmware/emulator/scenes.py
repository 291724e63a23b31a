"""What is sent to the boards: packets, and scenes that make the drawing work.

The clients do not send POSE, HELLO or STATUS, so their encoders are here. docs/wire.md is the specification.
"""

from __future__ import annotations

import binascii
import math
import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from posewire.wire import HELLO, POSE, STATUS, VERSION, Decoder, Receipt, stuff

ABSENT, MEASURED, PREDICTED = 0, 1, 2
WIDTH_PX, HEIGHT_PX = 640, 480
#: A standing figure, COCO's joints, in units of its height; the origin lies between the hips.
FIGURE = (
    *((0.0, -0.42), (0.02, -0.44), (-0.02, -0.44), (0.04, -0.43), (-0.04, -0.43)),
    *((0.11, -0.3), (-0.11, -0.3), (0.16, -0.14), (-0.16, -0.14), (0.2, 0.0), (-0.2, 0.0)),
    *((0.07, 0.0), (-0.07, 0.0), (0.08, 0.24), (-0.08, 0.24), (0.09, 0.48), (-0.09, 0.48)),
)
#: How far arms and legs swing, the left ones against the right ones, in units of its height.
SWING = {7: 0.05, 9: 0.12, 8: -0.05, 10: -0.12, 13: -0.05, 15: -0.11, 14: 0.05, 16: 0.11}


def frame(kind: int, body: bytes, *, version: int = VERSION, spoil_crc: bool = False) -> bytes:
    """Any packet as it goes over the line."""
    covered = struct.pack("<BBH", version, kind, len(body)) + body
    crc = binascii.crc32(covered) ^ (0x10 if spoil_crc else 0)
    return stuff(covered + crc.to_bytes(4, "little"))


def hello(width: int = WIDTH_PX, height: int = HEIGHT_PX) -> bytes:
    body = struct.pack(
        "<4B8s16s4HBBH4I", 0, 1, 17, 4, b"", b"test", width, height, 3000, 0, 0, 0, 0, 0, 0, 0, 0
    )
    return frame(HELLO, body)


def status(source: int = 1) -> bytes:
    """`source`: 1 running, 2 lost."""
    return frame(STATUS, struct.pack("<IhH5IBBH", 0, -32768, 3000, 0, 0, 0, 0, 0, source, 0, 0))


@dataclass(frozen=True)
class Person:
    """Joints as 17 × (x px, y px, state)."""

    track_id: int
    joints: tuple[tuple[float, float, int], ...]


def pose_body(seq: int, person: Person, index: int, persons: int, age_us: int, *, lifted: bool) -> bytes:
    layout = 0x10 if lifted else 0
    body = struct.pack(
        "<IqiiI4B", seq, 1_000_000 + seq, age_us, 0, person.track_id, 200, index, persons, layout
    )
    for x, y, state in person.joints:
        known = state != ABSENT
        body += struct.pack(
            "<hhBB", round(x * 8) * known, round(y * 8) * known, 20 * known, (50 << 2 | state) * known
        )
    return body + (struct.pack("<51h", *range(51)) if lifted else b"")


def moment(seq: int, persons: Sequence[Person], age_us: int = 20_000, *, lifted: bool = False) -> bytes:
    """All of one moment's packets."""
    if not persons:
        return frame(POSE, struct.pack("<IqiiI4B", seq, 1_000_000 + seq, age_us, 0, 0, 0, 0, 0, 0))
    bodies = (pose_body(seq, p, i, len(persons), age_us, lifted=lifted) for i, p in enumerate(persons))
    return b"".join(frame(POSE, body) for body in bodies)


def person(
    track_id: int, at: tuple[float, float], height: float, phase: float, states: Iterator[int]
) -> Person:
    """The figure with its arms and legs swung by `phase`, radians."""
    joints = []
    for number, (x, y) in enumerate(FIGURE):
        swing = SWING.get(number, 0.0) * math.sin(phase)
        joints.append((at[0] + (x + swing) * height, at[1] + (y - abs(swing) / 3) * height, next(states)))
    return Person(track_id, tuple(joints))


def random_moment(rng: random.Random, persons: int) -> list[Person]:
    """Persons of every size, some partly outside, some joints predicted or absent."""

    def states() -> Iterator[int]:
        while True:
            yield rng.choices((MEASURED, PREDICTED, ABSENT), (6, 3, 1))[0]

    return [
        person(
            rng.choice((rng.randrange(1, 10), rng.randrange(1, 2000))),
            (rng.uniform(-50, WIDTH_PX + 50), rng.uniform(0, HEIGHT_PX)),
            rng.uniform(60, 700),
            rng.uniform(0, 2 * math.pi),
            states(),
        )
        for _ in range(persons)
    ]


def walk(number: int, persons: int) -> list[Person]:
    """Moment `number` of people who walk through the picture; the far hand and foot are predicted."""
    return [
        person(
            i + 1,
            (100 + 150 * i + 40 * math.sin(number / 9 + i), 250 + 12 * i),
            330 - 25 * i,
            number / 4 + i,
            iter(PREDICTED if joint in (9, 15) else MEASURED for joint in range(17)),
        )
        for i in range(persons)
    ]


def counted(data: bytes) -> Receipt:
    """What the Python decoder counts in `data`, as a board would report it."""
    decoder = Decoder()
    decoder.feed(data)
    c = decoder.counters
    framing, skipped = c.framing + c.malformed, c.version + c.unknown_type
    return Receipt(0, c.packets, c.crc, framing, c.overfull, skipped, 0, 0, 0)
