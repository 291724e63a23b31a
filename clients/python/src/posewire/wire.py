"""Posewire's wire protocol, version 1: packets and a decoder that finds its way back after any damage.

docs/wire.md of the project is the specification. Packets hold wire units as they came; `PosePacket.pose()` turns them into
pixels, metres and scores of 0..1. Standard library only.
"""

from __future__ import annotations

import binascii
import struct
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

# Whoever decodes packets finds the words for what is in them here, too.
from .pose import JOINTS as JOINTS
from .pose import Joint as Joint
from .pose import Place as Place
from .pose import Pose as Pose
from .pose import State as State

VERSION = 1
#: Bits a second of the line, 8N1, where nobody says another.
DEFAULT_BAUD = 115200
#: Longest frame of version 1, its 0x00 included.
MAX_FRAME = 512

_STATES: tuple[State, State, State, State] = ("absent", "measured", "predicted", "absent")

HELLO, POSE, STATUS, PLACE, NOTICE, COMMAND, RECEIPT = 0x01, 0x02, 0x03, 0x04, 0x05, 0x81, 0x82

#: What a `Notice` tells of, by its code: the words of the host's events.
NOTICES = (
    "",
    "appear",
    "leave",
    "enter",
    "exit",
    "left_hand_raised",
    "left_hand_lowered",
    "right_hand_raised",
    "right_hand_lowered",
    "arms_crossed",
    "arms_uncrossed",
    "fall",
    "got_up",
    "count",
)

_HEADER = struct.Struct("<BBH")
_HELLO = struct.Struct("<4B8s16s4HBBH4I")
_STATUS = struct.Struct("<IhH5IBBH")
_PLACE = struct.Struct("<IqIHH3h3H")
_NOTICE = struct.Struct("<IqI3Bx12s")
_COMMAND = struct.Struct("<B3xI")
_RECEIPT = struct.Struct("<9I")
_POSE_HEAD = struct.Struct("<IqiiI4B")
_JOINTS = struct.Struct("<" + "hhBB" * 17)
_JOINTS_3D = struct.Struct("<51h")


class PosePacket(NamedTuple):
    """POSE in wire units. `joints` is 17 × (x, y, sigma, mark), flat; empty where `persons` is 0."""

    seq: int
    captured_us: int
    age_us: int
    horizon_us: int
    persons: int
    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs here
    track_id: int
    score: int
    scale: int
    joints: tuple[int, ...]
    joints_3d_mm: tuple[int, ...] | None

    def pose(self) -> Pose | None:
        """The person in pixels and metres; None where nobody is there."""
        if not self.persons:
            return None
        unit = (1 << self.scale) / 8.0
        flat = self.joints
        joints = tuple(_joint(*flat[i : i + 4], unit) for i in range(0, 68, 4))  # type: ignore[call-arg]
        lifted = None
        if self.joints_3d_mm is not None:
            mm = self.joints_3d_mm
            lifted = tuple((mm[i] / 1000.0, mm[i + 1] / 1000.0, mm[i + 2] / 1000.0) for i in range(0, 51, 3))
        return Pose(
            self.seq,
            self.captured_us,
            self.age_us,
            self.horizon_us,
            self.track_id,
            self.score / 255.0,
            self.index,
            self.persons,
            joints,
            lifted,
        )


def _joint(x: int, y: int, sigma: int, mark: int, unit: float) -> Joint:
    state = _STATES[mark & 3]
    if state == "absent":
        return Joint(0.0, 0.0, 0.0, 0.0, state)
    return Joint(x * unit, y * unit, (mark >> 2) / 63.0, sigma_steps(sigma) * unit / 2.0, state)


def sigma_steps(code: int) -> int:
    """What a sigma's byte means, in steps of 2^scale/16 px."""
    exponent, mantissa = code >> 5, code & 31
    return (32 + mantissa) << (exponent - 1) if exponent else mantissa


class Hello(NamedTuple):
    """Who speaks and in what units. Rates are 1/100 Hz, `load` 1/1000 of the line."""

    minor: int
    skeleton: int
    joints: int
    max_persons: int
    model_hash: bytes
    backend: bytes
    width: int
    height: int
    frame_rate: int
    pose_rate: int
    scale: int
    flags: int
    load: int
    uptime_ms: int
    frames_dropped: int
    poses_dropped: int
    packets_sent: int


#: `Status.source` of a host that shows the built-in clip.
SOURCE_BUILT_IN = 4


class Status(NamedTuple):
    """How the host is. `temperature` is 1/100 °C, -32768 where there is no sensor; `frame_rate` 1/100 Hz."""

    uptime_ms: int
    temperature: int
    frame_rate: int
    frames_dropped: int
    poses_dropped: int
    camera_losses: int
    camera_errors: int
    wire_errors: int
    source: int
    persons: int
    flags: int


class PlacePacket(NamedTuple):
    """Where one person stands before the camera, in mm: beside the POSE of the same `seq` and `track_id`.

    x is right in the picture, y down, z along the lens's axis; the place is the middle of the hips.
    """

    seq: int
    captured_us: int
    track_id: int
    distance_mm: int
    distance_sigma_mm: int
    x_mm: int
    y_mm: int
    z_mm: int
    x_sigma_mm: int
    y_sigma_mm: int
    z_sigma_mm: int

    def place(self) -> Place:
        """The same in metres."""
        return Place(
            (self.x_mm / 1000.0, self.y_mm / 1000.0, self.z_mm / 1000.0),
            (self.x_sigma_mm / 1000.0, self.y_sigma_mm / 1000.0, self.z_sigma_mm / 1000.0),
            self.distance_mm / 1000.0,
            self.distance_sigma_mm / 1000.0,
        )


class Notice(NamedTuple):
    """Something that happened. `number` counts them: a gap is a loss; `zone` is 0 for none, else its place in the file."""

    number: int
    captured_us: int
    track_id: int
    code: int
    persons: int
    zone: int
    zone_name: bytes

    @property
    def event(self) -> str:
        """The word for it; empty for one of a later version."""
        return NOTICES[self.code] if self.code < len(NOTICES) else ""

    @property
    def zone_text(self) -> str:
        """The zone's name, of which the wire carries twelve bytes; what is no UTF-8 is cut off."""
        text = self.zone_name.split(b"\0")[0]
        try:
            return text.decode()
        except UnicodeDecodeError as error:
            return text[: error.start].decode()


class Command(NamedTuple):
    """What a consumer asks for: 1 send HELLO, 2 set the rate to `argument`/100 Hz, 3 reset."""

    code: int
    argument: int


class Receipt(NamedTuple):
    """How a consumer is."""

    seq: int
    packets: int
    crc_errors: int
    framing_errors: int
    overfull: int
    skipped: int
    overruns: int
    superseded: int
    busy_us: int


class Fault(NamedTuple):
    """A frame that gave no packet. `detail` is the version or type, where the fault has one."""

    reason: Literal["overfull", "framing", "crc", "version", "unknown_type", "malformed"]
    detail: int | None = None


Packet = Hello | PosePacket | Status | PlacePacket | Notice | Command | Receipt
Event = Packet | Fault


@dataclass
class Counters:
    """How often each kind of event happened."""

    packets: int = 0
    overfull: int = 0
    framing: int = 0
    crc: int = 0
    version: int = 0
    unknown_type: int = 0
    malformed: int = 0


@dataclass
class Decoder:
    """Takes bytes in any portions, gives packets and faults; never holds more than one frame."""

    counters: Counters = field(default_factory=Counters)
    _pending: bytearray = field(default_factory=bytearray)
    _discarding: bool = False

    def feed(self, data: bytes) -> list[Event]:
        """What `data` completed, in order."""
        events: list[Event] = []
        *ended, rest = data.split(b"\0")
        for segment in ended:
            self._take(segment, events)
            if self._discarding:
                self._discarding = False
            elif self._pending:
                self._note(parse(self._pending), events)
            self._pending.clear()
        self._take(rest, events)
        return events

    def _take(self, segment: bytes, events: list[Event]) -> None:
        if self._discarding:
            return
        # More than a frame's bytes are not needed to know that there are too many.
        self._pending += segment[:MAX_FRAME]
        if len(self._pending) >= MAX_FRAME:
            self._pending.clear()
            self._discarding = True
            self._note(Fault("overfull"), events)

    def _note(self, event: Event, events: list[Event]) -> None:
        name = event.reason if isinstance(event, Fault) else "packets"
        setattr(self.counters, name, getattr(self.counters, name) + 1)
        events.append(event)


def unstuff(frame: bytes | bytearray) -> bytes | None:
    """COBS decoding of a frame without its 0x00; None where the codes run past the end."""
    out = bytearray()
    at, end = 0, len(frame)
    while at < end:
        code = frame[at]
        after = at + code
        if after > end:
            return None
        out += frame[at + 1 : after]
        if code != 0xFF and after < end:
            out.append(0)
        at = after
    return bytes(out)


def stuff(payload: bytes) -> bytes:
    """COBS encoding of a payload of at most 254 bytes, with the ending 0x00."""
    if len(payload) > 254:
        raise ValueError(f"a payload of {len(payload)} bytes; this encoder takes 254 at most")
    return b"".join(bytes([len(block) + 1]) + block for block in payload.split(b"\0")) + b"\0"


def parse(frame: bytes | bytearray) -> Event:
    """One frame without its 0x00."""
    payload = unstuff(frame)
    if payload is None or len(payload) < 8:
        return Fault("framing")
    if binascii.crc32(payload[:-4]) != int.from_bytes(payload[-4:], "little"):
        return Fault("crc")
    version, kind, length = _HEADER.unpack_from(payload)
    if version != VERSION:
        return Fault("version", version)
    body = payload[4:-4]
    if length != len(body):
        return Fault("framing")
    try:
        if kind == POSE:
            return _parse_pose(body)
        if kind == HELLO:
            return Hello._make(_HELLO.unpack_from(body))
        if kind == STATUS:
            return Status._make(_STATUS.unpack_from(body))
        if kind == PLACE:
            return PlacePacket._make(_PLACE.unpack_from(body))
        if kind == NOTICE:
            return Notice._make(_NOTICE.unpack_from(body))
        if kind == RECEIPT:
            return Receipt._make(_RECEIPT.unpack_from(body))
        if kind == COMMAND:
            code, argument = _COMMAND.unpack_from(body)
            if not 1 <= code <= 3:
                return Fault("unknown_type", kind)
            return Command(code, min(argument, 0xFFFF) if code == 2 else 0)
    except struct.error:
        return Fault("malformed", kind)
    return Fault("unknown_type", kind)


def _parse_pose(body: bytes) -> Event:
    head = _POSE_HEAD.unpack_from(body)
    seq, captured_us, age_us, horizon_us, track_id, score, index, persons, layout = head
    if persons == 0:
        return PosePacket(seq, captured_us, age_us, horizon_us, 0, 0, 0, 0, 0, (), None)
    scale = layout & 15
    if index >= persons or scale > 8:
        return Fault("malformed", POSE)
    joints = _JOINTS.unpack_from(body, 28)
    lifted = _JOINTS_3D.unpack_from(body, 130) if layout & 16 else None
    return PosePacket(
        seq, captured_us, age_us, horizon_us, persons, index, track_id, score, scale, joints, lifted
    )


def _frame(kind: int, body: bytes) -> bytes:
    covered = _HEADER.pack(VERSION, kind, len(body)) + body
    return stuff(covered + binascii.crc32(covered).to_bytes(4, "little"))


def encode_command(command: Command) -> bytes:
    """The bytes that ask the host for something."""
    return _frame(COMMAND, _COMMAND.pack(*command))


def encode_receipt(receipt: Receipt) -> bytes:
    """The bytes that tell the host how its consumer is."""
    return _frame(RECEIPT, _RECEIPT.pack(*receipt))
