"""Frames from wherever they come: a serial wire, JSON lines in a file or a pipe, datagrams of `--udp`.

for frame in frames_from("udp:9100"):
    print(frame.seq, [pose.track_id for pose in frame.poses])
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from .moments import Moment
from .wire import DEFAULT_BAUD, JOINTS, Joint, Place, Pose

#: No datagram is longer.
MAX_DATAGRAM = 65_535


class Spoken(Protocol):
    """What a `Frame` and a `Moment` have in common: all that arrays, lines and recordings need."""

    @property
    def seq(self) -> int: ...
    @property
    def captured_us(self) -> int: ...
    @property
    def sent_us(self) -> int: ...
    @property
    def poses(self) -> Sequence[Pose]: ...


@dataclass(frozen=True)
class Frame:
    """The persons of one moment. Times are microseconds of the tracker's monotonic clock."""

    seq: int
    captured_us: int
    sent_us: int
    poses: tuple[Pose, ...]
    #: `built-in clip` where nobody is there, else None.
    source: str | None = None

    @staticmethod
    def of(moment: Moment) -> Frame:
        """What a wire brought."""
        return Frame(moment.seq, moment.captured_us, moment.sent_us, tuple(moment.poses))

    @staticmethod
    def from_line(line: str | bytes) -> Frame:
        """A JSON line of the format `full` or `named`. `ValueError` where it is none."""
        try:
            said = json.loads(line)
            poses = tuple(_pose(said, person, index) for index, person in enumerate(said["persons"]))
            return Frame(said["seq"], said["captured_us"], said["emitted_us"], poses, said.get("source"))
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise ValueError(f"no JSON line of full or named poses: {error!r} in {line[:80]!r}") from error


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
        said["seq"],
        said["captured_us"],
        said["emitted_us"] - said["captured_us"],
        0,
        person["id"],
        float(person["score"]),
        index,
        len(said["persons"]),
        tuple(
            Joint(float(x), float(y), float(score), float(sigma), state)
            for x, y, score, sigma, state in joints
        ),
        None if places is None else tuple((float(x), float(y), float(z)) for x, y, z in places),
        _place(person),
    )


def _place(person: dict[str, Any]) -> Place | None:
    if person.get("place") is None:
        return None
    (x, y, z), (sx, sy, sz) = person["place"], person["place_sigma"]
    at, sigma = (float(x), float(y), float(z)), (float(sx), float(sy), float(sz))
    return Place(at, sigma, float(person["distance"]), float(person["distance_sigma"]))


def frames_from_lines(lines: Iterable[str | bytes]) -> Iterator[Frame]:
    """Frames of JSON lines; a last line that is cut off ends them."""
    for line in lines:
        if not line.strip():
            continue
        text = line.decode() if isinstance(line, bytes) else line
        try:
            frame = Frame.from_line(text)
        except ValueError:
            if text.endswith("\n"):
                raise
            return
        yield frame


def frames_from_udp(port: int, host: str = "0.0.0.0", timeout_s: float | None = None) -> Iterator[Frame]:
    """Frames of `posewire run --udp`, for ever, or until none comes for `timeout_s`. What is no frame is passed over."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as ear:
        ear.bind((host, port))
        ear.settimeout(timeout_s)
        while True:
            try:
                datagram = ear.recv(MAX_DATAGRAM)
            except TimeoutError:
                return
            try:
                yield Frame.from_line(datagram)
            except ValueError:
                continue


def frames_from(source: str, baud: int = DEFAULT_BAUD) -> Iterator[Frame]:
    """Frames of `udp:PORT`, of a file of JSON lines, of `-` (standard input), or of a serial port."""
    if source.startswith("udp:"):
        yield from frames_from_udp(int(source.removeprefix("udp:")))
    elif source == "-":
        yield from frames_from_lines(sys.stdin)
    elif Path(source).is_file():
        with Path(source).open(encoding="utf-8") as lines:
            yield from frames_from_lines(lines)
    else:
        from .reader import PoseReader

        with PoseReader(source, baud) as reader:
            for moment in reader.moments():
                yield Frame.of(moment)
