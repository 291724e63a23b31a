"""Frames from wherever they come: a serial wire, JSON lines in a file or a pipe, datagrams of `--udp`.

for frame in frames_from("udp:9100"):
    print(frame.seq, [pose.track_id for pose in frame.poses])
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol

from .moments import Moment
from .pose import JOINTS, Joint, Place, Pose, State
from .wire import DEFAULT_BAUD

#: What a joint's state may be.
STATES: tuple[State, ...] = ("absent", "measured", "predicted")

#: What lines and arrays can hold.
_WHOLE_END = 2**63
_REAL_MAX = 3.4028234e38


def never() -> bool:
    """Whether reading is over, where nobody ends it."""
    return False


def quiet(_: str) -> None:
    """Where nobody is to hear what seems to be wrong with a source."""


@dataclass(frozen=True)
class Floor:
    """How the camera is above the floor, of a tracker with `--floor`. Each sigma is a standard deviation."""

    height: float  #: metres
    height_sigma: float
    pitch: float  #: degrees that the camera looks down
    pitch_sigma: float
    roll: float  #: degrees about its axis, positive where what is level falls to the right
    roll_sigma: float


class FrameLike(Protocol):
    """What a `Frame` and a `Moment` have in common: all that arrays, lines and recordings need."""

    @property
    def seq(self) -> int: ...
    @property
    def captured_us(self) -> int: ...
    @property
    def sent_us(self) -> int: ...
    @property
    def poses(self) -> Sequence[Pose]: ...
    @property
    def source(self) -> str | None: ...
    @property
    def frame(self) -> int | None: ...
    @property
    def floor(self) -> Floor | None: ...
    @property
    def size(self) -> tuple[int, int] | None: ...


@dataclass(frozen=True)
class Frame:
    """The persons of one moment. Times are microseconds of the tracker's monotonic clock."""

    seq: int
    captured_us: int
    sent_us: int
    poses: tuple[Pose, ...]
    #: `built-in clip` where nobody is there, else None.
    source: str | None = None
    #: The source's frame number; None where a wire brought it.
    frame: int | None = None
    #: Once it is known; None where a wire brought the frame.
    floor: Floor | None = None
    #: Width and height of the picture that places refer to; None of a tracker that does not say, and of a wire before its first HELLO.
    size: tuple[int, int] | None = None

    @staticmethod
    def of(moment: Moment) -> Frame:
        """What a wire brought."""
        poses = tuple(moment.poses)
        return Frame(moment.seq, moment.captured_us, moment.sent_us, poses, moment.source, size=moment.size)

    @staticmethod
    def from_line(line: str | bytes) -> Frame:
        """A JSON line of the format `full` or `named`. `ValueError` where it is none."""
        try:
            said = json.loads(line, parse_int=_int)
            poses = tuple(_pose(said, person, index) for index, person in enumerate(said["persons"]))
            seq, captured_us, emitted_us = (
                _whole(said[name]) for name in ("seq", "captured_us", "emitted_us")
            )
            source, frame = said.get("source"), said.get("frame")
            if not (source is None or isinstance(source, str)):
                raise TypeError(f"source {source!r}")
            frame = None if frame is None else _whole(frame)
            return Frame(seq, captured_us, emitted_us, poses, source, frame, _floor(said), _size(said))
        except json.JSONDecodeError as error:
            near = line[max(0, error.pos - 20) : error.pos + 40]
            raise ValueError(f"no JSON: {error.msg} at character {error.pos + 1}, near {near!r}") from error
        except (KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError) as error:
            why = f"{error} is missing" if isinstance(error, KeyError) else repr(error)
            raise ValueError(f"no JSON line of full or named poses: {why} in {line[:80]!r}") from error


def _int(text: str) -> int | float:
    # Whole numbers have no -0, and a coordinate may be one.
    return -0.0 if text == "-0" else int(text)


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not -_WHOLE_END <= value < _WHOLE_END:
        raise TypeError(f"{value!r:.20} is no 64-bit whole number")
    return value


def _real(value: str | float) -> float:
    real = float(value)
    # What is no number fails here too.
    if not math.fabs(real) <= _REAL_MAX:
        raise OverflowError(f"{real} is no 32-bit float")
    return real


def _state(value: object) -> State:
    for state in STATES:
        if value == state:
            return state
    raise ValueError(f"a joint's state is {', '.join(STATES)}, not {value!r:.20}")


def _pose(said: dict[str, Any], person: dict[str, Any], index: int) -> Pose:
    joints, places = person["keypoints"], person["keypoints3d"]
    if isinstance(joints, dict):
        joints = [
            [j["x"], j["y"], j["score"], j["sigma"], j["state"]] if j else [0.0, 0.0, 0.0, 0.0, "absent"]
            for j in (joints[name] for name in JOINTS)
        ]
        places = places and [[places[name][axis] for axis in "xyz"] for name in JOINTS]
    if len(joints) != len(JOINTS):
        raise ValueError(f"{len(joints)} joints, not {len(JOINTS)}")
    return Pose(
        _whole(said["seq"]),
        _whole(said["captured_us"]),
        _whole(said["emitted_us"]) - said["captured_us"],
        0,
        _whole(person["id"]),
        _real(person["score"]),
        index,
        len(said["persons"]),
        tuple(
            Joint(_real(x), _real(y), _real(score), _real(sigma), _state(state))
            for x, y, score, sigma, state in joints
        ),
        None if places is None else tuple((_real(x), _real(y), _real(z)) for x, y, z in places),
        _place(person),
        _ground(person),
    )


def _place(person: dict[str, Any]) -> Place | None:
    if person.get("place") is None:
        return None
    (x, y, z), (sx, sy, sz) = person["place"], person["place_sigma"]
    at, sigma = (_real(x), _real(y), _real(z)), (_real(sx), _real(sy), _real(sz))
    return Place(at, sigma, _real(person["distance"]), _real(person["distance_sigma"]))


def _ground(person: dict[str, Any]) -> tuple[float, float] | None:
    if person.get("ground") is None:
        return None
    right, ahead = person["ground"]
    return _real(right), _real(ahead)


def _floor(said: dict[str, Any]) -> Floor | None:
    floor = said.get("floor")
    return None if floor is None else Floor(*(_real(floor[part.name]) for part in fields(Floor)))


def _size(said: dict[str, Any]) -> tuple[int, int] | None:
    return None if said.get("width") is None else (_whole(said["width"]), _whole(said["height"]))


def frames_from_lines(lines: Iterable[str | bytes]) -> Iterator[Frame]:
    """Frames of JSON lines; a last line that is cut off ends them. Events among them (`--events -`) are passed over.

    `ValueError` names the line that is none, the first being 1.
    """
    is_begun = False
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            frame = Frame.from_line(_text(line, number == 1))
        except ValueError as error:
            if _is_event(line):
                continue
            if line[-1:] not in ("\n", b"\n"):
                return
            wanted = (
                "" if is_begun else "; what is read is posewire run --jsonl FILE, in the format full or named"
            )
            raise ValueError(f"line {number}: {error}{wanted}") from error
        is_begun = True
        yield frame


def _text(line: str | bytes, is_first: bool) -> str:
    if isinstance(line, bytes):
        try:
            line = line.decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"no text in UTF-8: {line[:40]!r}") from error
    # Some editors and shells mark a text's beginning.
    return line.removeprefix("\ufeff") if is_first else line


def _is_event(line: str | bytes) -> bool:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(said, dict) and isinstance(said.get("event"), str)


def can_wait(source: str) -> bool:
    """Whether `source` loses nothing while nobody reads: a file or a named pipe of JSON lines, or `-`."""
    return source == "-" or Path(source).is_file() or Path(source).is_fifo()


#: How systems call serial ports, whether or not one is there.
_PORT_NAME = re.compile(r"/dev/|COM\d+$|\\\\\.\\", re.IGNORECASE)


def is_port(source: str) -> bool:
    """Whether `source` names a serial port, whether or not one is there."""
    return not (source.startswith("udp:") or can_wait(source))


def check_port(source: str) -> None:
    """Refuses what can be no serial port: what a port would say of a mistyped name misleads."""
    if Path(source).is_dir():
        raise IsADirectoryError("a folder: name a file of JSON lines in it")
    if not (Path(source).exists() or _PORT_NAME.match(source)):
        said = "no such file; else a source is a serial port (/dev/ttyUSB0, COM3), udp:PORT, or - for standard input"
        raise FileNotFoundError(said)


def _udp_port(text: str) -> int:
    if not (text.isdecimal() and 1 <= int(text) <= 65_535):
        raise ValueError(f"a port is a whole number from 1 to 65535, not {text!r:.20}")
    return int(text)


def frames_from(
    source: str,
    baud: int = DEFAULT_BAUD,
    is_over: Callable[[], bool] = never,
    say: Callable[[str], None] = quiet,
) -> Iterator[Frame]:
    """Frames of `udp:PORT`, of a file or a named pipe of JSON lines, of `-` (standard input), or of a serial port.

    `is_over` ends those of a socket and of a port, of silent ones and of a port that is gone too. `say` is told what seems to be wrong with
    these where nothing, or nothing that is understood, comes.
    """
    if source.startswith("udp:"):
        from ._datagrams import frames_from_udp

        yield from frames_from_udp(_udp_port(source.removeprefix("udp:")), is_over=is_over, say=say)
    elif source == "-":
        yield from frames_from_lines(sys.stdin.buffer)
    elif can_wait(source):
        with Path(source).open("rb") as lines:
            yield from frames_from_lines(lines)
    else:
        check_port(source)
        from ._hints import watched
        from .reader import PoseReader

        with PoseReader(source, baud, is_over) as reader, watched(reader, source, baud, say):
            for moment in reader.moments():
                yield Frame.of(moment)
