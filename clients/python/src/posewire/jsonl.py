"""A moment as text: the same bytes as `posewire read --jsonl-format FORMAT` prints, which docs/output.md of the project describes."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, fields
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache

from .frames import Floor, FrameLike
from .moments import Moment
from .pose import JOINTS, Joint, Pose

#: COCO names a pixel by its index; Posewire counts from the picture's corner.
_CENTRE_PX = 0.5

_Cell = int | float | str | None


def as_line(moment: FrameLike) -> str:
    """The moment's line in the format `full`, without its end."""
    return _frame(moment, _joints)


def first_row(line_format: str) -> str | None:
    """What stands before the first line: the names of a table's columns."""
    if line_format != "csv":
        return None
    return ",".join(row(None, None))


def row(moment: FrameLike | None, pose: Pose | None) -> dict[str, int | float | str | None]:
    """A person's row of a table by the names of its columns, None where it is empty; without a person, one to take the names from."""
    nobody = Pose(0, 0, 0, 0, 0, 0.0, 0, 0, tuple(Joint(0.0, 0.0, 0.0, 0.0, "absent") for _ in JOINTS), None)
    return dict(_cells(moment or Moment(0, 0, 0, 0, 0, ()), pose or nobody))


def as_lines(moment: FrameLike, line_format: str = "full") -> list[str]:
    """The moment's lines, without their ends: one in `full` and `named`, else one a person. `line_format` is one of `FORMATS`."""
    return FORMATS[line_format](moment)


def _frame(moment: FrameLike, joints: Callable[[Pose], str]) -> str:
    persons = ",".join(
        f'{{"id":{pose.track_id},"score":{_number(pose.score)},"box":[{_numbers(_box(pose) or (0.0,) * 4)}]'
        f",{joints(pose)}{_place(pose)}{_ground(pose)}}}"
        for pose in moment.poses
    )
    frame = "null" if moment.frame is None else moment.frame
    return (
        f'{{"seq":{moment.seq},"frame":{frame},"captured_us":{moment.captured_us},"emitted_us":{moment.sent_us}'
        f'{_size(moment)}{_source(moment)}{_floor(moment)},"persons":[{persons}]}}'
    )


def _size(moment: FrameLike) -> str:
    """Nothing where it is not known."""
    return "" if moment.size is None else f',"width":{moment.size[0]},"height":{moment.size[1]}'


def _source(moment: FrameLike) -> str:
    """Nothing of a camera or a file."""
    return "" if moment.source is None else f',"source":{json.dumps(moment.source, ensure_ascii=False)}'


def _floor(moment: FrameLike) -> str:
    """Nothing where it is not known."""
    if moment.floor is None:
        return ""
    return ',"floor":{' + ",".join(f'"{name}":{_number(v)}' for name, v in asdict(moment.floor).items()) + "}"


def _ground(pose: Pose) -> str:
    """Nothing where it is not known."""
    return "" if pose.ground is None else f',"ground":[{_numbers(pose.ground)}]'


def _box(pose: Pose) -> tuple[float, float, float, float] | None:
    """Left, top, width, height of the joints that are not absent."""
    seen = [joint for joint in pose.joints if joint.state != "absent"]
    if not seen:
        return None
    # The tracker subtracts 32-bit floats; the same of their decimals differs in the last digit.
    left, top = _single(min(j.x for j in seen)), _single(min(j.y for j in seen))
    right, bottom = _single(max(j.x for j in seen)), _single(max(j.y for j in seen))
    return (left, top, right - left, bottom - top)


def _place(pose: Pose) -> str:
    """Nothing where it is not known."""
    place = pose.place
    if place is None:
        return ""
    return (
        f',"place":[{_numbers(place.at)}],"place_sigma":[{_numbers(place.sigma)}],'
        f'"distance":{_number(place.distance)},"distance_sigma":{_number(place.distance_sigma)}'
    )


def _joints(pose: Pose) -> str:
    joints = ",".join(f'[{_numbers((j.x, j.y, j.score, j.sigma))},"{j.state}"]' for j in pose.joints)
    lifted = "null"
    if pose.joints_3d is not None:
        lifted = "[" + ",".join(f"[{_numbers(place)}]" for place in pose.joints_3d) + "]"
    return f'"keypoints":[{joints}],"keypoints3d":{lifted}'


def _named_joints(pose: Pose) -> str:
    def joint(j: Joint) -> str:
        if j.state == "absent":
            return "null"
        places = (
            f'"x":{_number(j.x)},"y":{_number(j.y)},"score":{_number(j.score)},"sigma":{_number(j.sigma)}'
        )
        return f'{{{places},"state":"{j.state}"}}'

    joints = ",".join(f'"{name}":{joint(j)}' for name, j in zip(JOINTS, pose.joints, strict=True))
    lifted = "null"
    if pose.joints_3d is not None:
        places = zip(JOINTS, pose.joints_3d, strict=True)
        lifted = ",".join(
            f'"{name}":{{"x":{_number(x)},"y":{_number(y)},"z":{_number(z)}}}' for name, (x, y, z) in places
        )
        lifted = f"{{{lifted}}}"
    return f'"keypoints":{{{joints}}},"keypoints3d":{lifted}'


def _coco(moment: FrameLike, pose: Pose) -> str:
    def joint(j: Joint) -> tuple[float, float, float]:
        if j.state == "absent":
            return (0.0, 0.0, 0.0)
        return (_single(j.x) - _CENTRE_PX, _single(j.y) - _CENTRE_PX, j.score)

    joints = ",".join(_numbers(joint(j)) for j in pose.joints)
    image = moment.seq if moment.frame is None else moment.frame
    return (
        f'{{"image_id":{image},"category_id":1,"keypoints":[{joints}],"score":{_number(pose.score)},'
        f'"bbox":[{_numbers(_box(pose) or (0.0,) * 4)}],"track_id":{pose.track_id},'
        f'"captured_us":{moment.captured_us},"emitted_us":{moment.sent_us}{_source(moment)}}}'
    )


def _cells(moment: FrameLike, pose: Pose) -> Iterator[tuple[str, _Cell]]:
    """Names and contents of a person's row; None where it is empty."""
    yield from (("seq", moment.seq), ("frame", moment.frame), ("captured_us", moment.captured_us))
    yield "emitted_us", moment.sent_us
    yield from zip(("width", "height"), moment.size or (None,) * 2, strict=True)
    yield "source", moment.source
    for part in fields(Floor):
        yield f"floor_{part.name}", getattr(moment.floor, part.name) if moment.floor else None
    yield from (("id", pose.track_id), ("score", pose.score))
    yield from zip(("box_x", "box_y", "box_w", "box_h"), _box(pose) or (None,) * 4, strict=True)
    for name, j in zip(JOINTS, pose.joints, strict=True):
        is_there = j.state != "absent"
        yield f"{name}_x", j.x if is_there else None
        yield f"{name}_y", j.y if is_there else None
        yield f"{name}_score", j.score
        yield f"{name}_sigma", j.sigma if is_there else None
        yield f"{name}_state", j.state
    for i, name in enumerate(JOINTS):
        place = (None,) * 3 if pose.joints_3d is None else pose.joints_3d[i]
        yield from zip((f"{name}_x3d", f"{name}_y3d", f"{name}_z3d"), place, strict=True)
    stands = pose.place
    for i, axis in enumerate("xyz"):
        yield f"place_{axis}", stands.at[i] if stands else None
        yield f"place_{axis}_sigma", stands.sigma[i] if stands else None
    yield "distance", stands.distance if stands else None
    yield "distance_sigma", stands.distance_sigma if stands else None
    yield from zip(("ground_x", "ground_z"), pose.ground or (None,) * 2, strict=True)


def _flat(moment: FrameLike, pose: Pose) -> str:
    def cell(value: _Cell) -> str:
        if value is None:
            return "null"
        return f'"{value}"' if isinstance(value, str) else _whole_or_real(value)

    return "{" + ",".join(f'"{name}":{cell(value)}' for name, value in _cells(moment, pose)) + "}"


def _row(moment: FrameLike, pose: Pose) -> str:
    def cell(value: _Cell) -> str:
        if value is None:
            return ""
        return value if isinstance(value, str) else _whole_or_real(value)

    return ",".join(cell(value) for _, value in _cells(moment, pose))


def _each(write: Callable[[FrameLike, Pose], str]) -> Callable[[FrameLike], list[str]]:
    return lambda moment: [write(moment, pose) for pose in moment.poses]


#: What a line is: a frame, or a person.
FORMATS: dict[str, Callable[[FrameLike], list[str]]] = {
    "full": lambda moment: [_frame(moment, _joints)],
    "named": lambda moment: [_frame(moment, _named_joints)],
    "coco": _each(_coco),
    "flat": _each(_flat),
    "csv": _each(_row),
}


def _whole_or_real(value: float) -> str:
    return str(value) if isinstance(value, int) else _number(value)


def _numbers(values: Iterable[float]) -> str:
    return ",".join(map(_number, values))


def _single(value: float) -> float:
    """The nearest 32-bit float."""
    (single,) = struct.unpack("<f", struct.pack("<f", value))
    return float(single)


def _number(value: float) -> str:
    """The shortest decimal that reads back as the same 32-bit float, without an exponent."""
    return _shortest(struct.pack("<f", value))


#: To so many digits. Of two decimals that are as near Rust takes the one further from 0.
_ROUNDED = [Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal for digits in range(1, 10)]


# By the bits: 0 and -0 are equal, and are written differently.
@lru_cache(maxsize=1 << 16)
def _shortest(packed: bytes) -> str:
    (single,) = struct.unpack("<f", packed)
    exact = Decimal(single)
    return next(f"{t:f}" for rounded in _ROUNDED if struct.pack("<f", float(t := rounded(exact))) == packed)
