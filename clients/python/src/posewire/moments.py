"""Packets to moments: all persons of one moment of sending, put together by the rules of docs/wire.md. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from .pose import Place, Pose
from .wire import Notice, PlacePacket, PosePacket

#: Persons of a higher index are not kept.
MAX_PERSONS = 8
#: Of what happened while no moment came the newest are kept.
MAX_NOTICES = 64
#: The source of moments that show nobody who is there.
BUILT_IN = "built-in clip"
#: Silence after which the rest of a moment is not coming: whoever reads calls `Assembly.flush` then.
QUIET_S = 0.05
#: A packet that is so many moments old, or older, is no straggler: its sender has started anew.
_STRAGGLERS = 16


@dataclass(frozen=True)
class Moment:
    """The persons that were sent with one `seq`. Times are microseconds of the host's monotonic clock."""

    seq: int
    captured_us: int  #: capture time
    age_us: int  #: how old that was when the newest of the moment's packets here was sent
    horizon_us: int  #: what the poses describe: this long after the capture
    expected: int  #: how many persons it was sent with: more than `packets` where some were lost
    packets: tuple[PosePacket, ...]  #: by their index
    places: dict[int, Place] = field(
        default_factory=dict
    )  #: where they stand, by `track_id`, if that is sent
    notices: tuple[Notice, ...] = ()  #: what was said to have happened since the moment before
    source: str | None = None  #: "built-in clip" where the newest STATUS says so
    size: tuple[int, int] | None = None  #: width and height of the picture, by the newest HELLO

    @property
    def poses(self) -> list[Pose]:
        """The persons that arrived, in pixels and metres."""
        poses = [pose for packet in self.packets if (pose := packet.pose()) is not None]
        return [replace(pose, place=self.places.get(pose.track_id)) for pose in poses]

    @property
    def sent_us(self) -> int:
        """When it was handed to the sender's serial driver."""
        return _clamped(self.captured_us + self.age_us)

    @property
    def valid_us(self) -> int:
        """The moment that the poses speak of."""
        return _clamped(self.captured_us + self.horizon_us)

    @property
    def frame(self) -> None:
        """The source's frame number, which a wire does not carry."""

    @property
    def floor(self) -> None:
        """How the camera is above the floor, which a wire does not carry."""

    @property
    def is_whole(self) -> bool:
        """Whether every person that was sent, and is kept, is there."""
        return len(self.packets) == min(self.expected, MAX_PERSONS)


@dataclass
class MomentCounters:
    """What became of the packets."""

    given: int = 0
    incomplete: int = 0  #: of these, with a person's packet missing
    missed: int = 0  #: moments that the sender counted and of which no packet arrived
    refused: int = 0  #: packets that were doubled, late, or contradicted their own moment


@dataclass
class Assembly:
    """Puts packets together into moments; holds one moment at most, whatever arrives."""

    counters: MomentCounters = field(default_factory=MomentCounters)
    #: The moment's first packet, its newest, and its persons by index.
    _first: PosePacket | None = None
    _newest: PosePacket | None = None
    _places: dict[int, PosePacket] = field(default_factory=dict)
    #: `seq` and capture of the moment that was begun last.
    _begun: tuple[int, int] | None = None
    #: PLACEs that may belong to a moment to come, the newest last; and what happened since the last one.
    _stands: list[PlacePacket] = field(default_factory=list)
    _notices: list[Notice] = field(default_factory=list)

    def push_place(self, packet: PlacePacket) -> None:
        """Takes where somebody stands, which is said before their POSE."""
        self._stands = [*self._stands[1 - MAX_PERSONS :], packet]

    def push_notice(self, notice: Notice) -> None:
        """Takes what happened; the next moment tells of it."""
        self._notices = [*self._notices[1 - MAX_NOTICES :], notice]

    def push(self, packet: PosePacket) -> list[Moment]:
        """The moments that `packet` ends: none, one, or the one before and its own."""
        ended: list[Moment] = []
        key = (packet.seq, packet.captured_us)
        if self._first is None or self._begun != key:
            if self._is_late(packet):
                self.counters.refused += 1
                return ended
            ended += self.flush()
            self._begin(packet)
        if not self._insert(packet):
            self.counters.refused += 1
        elif len(self._places) == min(packet.persons, MAX_PERSONS):
            ended += self.flush()
        return ended

    def flush(self) -> list[Moment]:
        """What is there of a moment whose last packet is not coming; empty where there is none."""
        first, newest = self._first, self._newest
        if first is None or newest is None:
            return []
        packets = tuple(self._places[index] for index in sorted(self._places))
        key = (first.seq, first.captured_us)
        places = {p.track_id: p.place() for p in self._stands if (p.seq, p.captured_us) == key}
        said = (first.seq, first.captured_us, newest.age_us, first.horizon_us, first.persons, packets)
        moment = Moment(*said, places, tuple(self._notices))
        self._notices = []
        self.counters.given += 1
        self.counters.incomplete += not moment.is_whole
        self._first = self._newest = None
        self._places = {}
        return [moment]

    def _is_late(self, packet: PosePacket) -> bool:
        if self._begun is None:
            return False
        seq, captured_us = self._begun
        return (seq - packet.seq) % 2**32 < _STRAGGLERS and packet.captured_us <= captured_us

    def _begin(self, packet: PosePacket) -> None:
        if self._begun is not None:
            step = (packet.seq - self._begun[0]) % 2**32
            # Only a step forward of less than half the range is a gap.
            if 2 <= step < 2**31:
                self.counters.missed += step - 1
        self._begun = (packet.seq, packet.captured_us)
        self._first = packet

    def _insert(self, packet: PosePacket) -> bool:
        first = self._first
        assert first is not None
        if (packet.persons, packet.horizon_us) != (first.persons, first.horizon_us):
            return False
        if packet.persons and packet.index < MAX_PERSONS:
            if packet.index in self._places:
                return False
            self._places[packet.index] = packet
        self._newest = packet
        return True


def _clamped(us: int) -> int:
    """An i64's value, as every client says it."""
    return min(2**63 - 1, max(-(2**63), us))
