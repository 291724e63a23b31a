"""Poses from a serial port."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING

from .frames import never
from .moments import BUILT_IN, Assembly, Moment, MomentCounters
from .port import Gap, Port
from .pose import Pose
from .wire import (
    DEFAULT_BAUD,
    SOURCE_BUILT_IN,
    Command,
    Counters,
    Decoder,
    Fault,
    Hello,
    Notice,
    Packet,
    PlacePacket,
    PosePacket,
    Status,
    encode_command,
)

if TYPE_CHECKING:
    import serial


class PoseReader:
    """Iterates over the poses that arrive at `port`, a device's name or an open `serial.Serial`.

    A named port is locked against other programs; one that goes away is opened again when it is back. `hello` and `status` are the
    newest of their kind, `received` counts bytes. Another thread ends the iteration with `close`, or with `is_over`, which is asked
    before each read and each attempt to open.
    """

    def __init__(
        self, port: str | serial.Serial, baud: int = DEFAULT_BAUD, is_over: Callable[[], bool] = never
    ) -> None:
        self._port = Port(port, baud, is_over)
        self._decoder = Decoder()
        self._assembly = Assembly()
        self._rate: Command | None = None
        self.hello: Hello | None = None
        self.status: Status | None = None
        self.received = 0
        # As of the packets that `moments` has come to, which one read may have brought with an older moment.
        self._source = 0
        self._size: tuple[int, int] | None = None
        self.request_hello()

    @property
    def counters(self) -> Counters:
        """What was received and what was dropped."""
        return self._decoder.counters

    @property
    def moment_counters(self) -> MomentCounters:
        """What `moments` gave, and what it missed."""
        return self._assembly.counters

    def packets(self) -> Iterator[Packet]:
        """Every packet of any type."""
        for packets in self._reads():
            yield from packets or []

    def __iter__(self) -> Iterator[Pose]:
        for packet in self.packets():
            if isinstance(packet, PosePacket):
                pose = packet.pose()
                if pose is not None:
                    yield pose

    def moments(self) -> Iterator[Moment]:
        """All persons of one moment of sending together, nobody's too; with where they stand and what happened, where that is sent.

        A moment whose last packet was lost is given when the next one begins, when the line falls silent or when the port ends.
        """
        for packets in self._reads():
            if packets is None:
                yield from self._of_its_source(self._assembly.flush())
                continue
            for packet in packets:
                if isinstance(packet, PosePacket):
                    yield from self._of_its_source(self._assembly.push(packet))
                elif isinstance(packet, Status):
                    self._source = packet.source
                elif isinstance(packet, Hello):
                    # Before its first picture a tracker says 0.
                    if packet.width and packet.height:
                        self._size = (packet.width, packet.height)
                elif isinstance(packet, PlacePacket):
                    self._assembly.push_place(packet)
                elif isinstance(packet, Notice):
                    self._assembly.push_notice(packet)

    def _of_its_source(self, moments: Iterable[Moment]) -> Iterator[Moment]:
        source = BUILT_IN if self._source == SOURCE_BUILT_IN else None
        return (replace(moment, source=source, size=self._size) for moment in moments)

    def request_hello(self) -> None:
        """Asks the host to send HELLO now."""
        self._ask(Command(1, 0))

    def set_rate(self, hz: float) -> None:
        """Asks for `hz` poses a second of each person; 0: as frames come. HELLO says what was granted, 1 Hz at least.

        Asked again where the host has forgotten it: its port went away, at this end or at its own, or it started anew.
        """
        # Next to nothing is not 0, which asks for all.
        self._rate = Command(2, max(1, round(100 * min(655.35, hz))) if hz > 0 else 0)
        self._ask(self._rate)

    def reset(self) -> None:
        """Asks the host to forget identities and memories."""
        self._ask(Command(3, 0))

    def close(self) -> None:
        self._port.close()

    def __enter__(self) -> PoseReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _reads(self) -> Iterator[list[Packet] | None]:
        """What each read completed; None where the rest of a moment is not coming."""
        for data in self._port.reads():
            if isinstance(data, bytes):
                self.received += len(data)
                yield self._take(data)
            elif data is Gap.BACK:
                self.request_hello()
                self._ask_rate()
            else:
                if data is Gap.LOST:
                    # Ends the frame that was cut off.
                    yield self._take(b"\0")
                yield None

    def _take(self, data: bytes) -> list[Packet]:
        packets: list[Packet] = []
        for event in self._decoder.feed(data):
            if isinstance(event, Fault):
                continue
            if isinstance(event, Hello):
                self._greet(event)
            elif isinstance(event, Status):
                self.status = event
            packets.append(event)
        return packets

    def _greet(self, hello: Hello) -> None:
        """Asks a host that has forgotten the rate for it: once for each change, so that one that grants another is left in peace."""
        before, self.hello = self.hello, hello
        has_begun = before is not None and hello.uptime_ms < before.uptime_ms
        known = before and before.pose_rate, self._rate and self._rate.argument
        if has_begun or hello.pose_rate not in known:
            self._ask_rate()

    def _ask_rate(self) -> None:
        if self._rate is not None:
            self._ask(self._rate)

    def _ask(self, command: Command) -> None:
        # The leading zero ends whatever noise the host has heard before.
        self._port.write(b"\0" + encode_command(command))
