"""One JSON line for a moment: the same bytes as `posewire read` prints, which docs/output.md of the project describes."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache

from .moments import Moment
from .wire import Pose


def as_line(moment: Moment) -> str:
    """The line, without its end."""
    persons = ",".join(map(_person, moment.poses))
    return (
        f'{{"seq":{moment.seq},"frame":null,"captured_us":{moment.captured_us},"emitted_us":{moment.sent_us},'
        f'"persons":[{persons}]}}'
    )


def _person(pose: Pose) -> str:
    seen = [joint for joint in pose.joints if joint.state != "absent"]
    box: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    if seen:
        left, top = min(j.x for j in seen), min(j.y for j in seen)
        box = (left, top, max(j.x for j in seen) - left, max(j.y for j in seen) - top)
    joints = ",".join(f'[{_numbers((j.x, j.y, j.score, j.sigma))},"{j.state}"]' for j in pose.joints)
    lifted = "null"
    if pose.joints_3d is not None:
        lifted = "[" + ",".join(f"[{_numbers(place)}]" for place in pose.joints_3d) + "]"
    return (
        f'{{"id":{pose.track_id},"score":{_number(pose.score)},"box":[{_numbers(box)}],'
        f'"keypoints":[{joints}],"keypoints3d":{lifted}}}'
    )


def _numbers(values: Iterable[float]) -> str:
    return ",".join(map(_number, values))


@lru_cache(maxsize=1 << 16)
def _number(value: float) -> str:
    """The shortest decimal that reads back as the same 32-bit float, without an exponent."""
    packed = struct.pack("<f", value)
    (rounded,) = struct.unpack("<f", packed)
    text = next(t for d in range(1, 10) if struct.pack("<f", float(t := f"{rounded:.{d}g}")) == packed)
    return format(Decimal(text), "f")
