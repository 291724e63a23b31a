"""Poses from a serial port."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING

from .frames import never
from .moments import QUIET_S, Assembly, Moment, MomentCounters
from .wire import (
    DEFAULT_BAUD,
    Command,
    Counters,
    Decoder,
    Fault,
    Hello,
    Notice,
    Packet,
    PlacePacket,
    Pose,
    PosePacket,
    Status,
    encode_command,
)

if TYPE_CHECKING:
    import serial

#: Between two attempts to open a port that went away: long enough not to load the machine, short enough not to be noticed.
REOPEN_EVERY_S = 0.5


class PoseReader:
    """Iterates over the poses that arrive at `port`, a device's name or an open `serial.Serial`.

    A named port is locked against other programs; one that goes away is opened again when it is back. `hello` and `status` are the
    newest of their kind, `received` counts bytes. `is_over` is asked before each read and each attempt to open: it lets another thread
    end the iteration.
    """

    def __init__(
        self, port: str | serial.Serial, baud: int = DEFAULT_BAUD, is_over: Callable[[], bool] = never
    ) -> None:
        self._is_over = is_over
        self._name = port if isinstance(port, str) else None
        self._baud = baud
        self._decoder = Decoder()
        self._assembly = Assembly()
        self._rate: Command | None = None
        self._serial = self._open(port) if isinstance(port, str) else port
        self.hello: Hello | None = None
        self.status: Status | None = None
        self.received = 0
        self.request_hello()

    def _open(self, name: str) -> serial.Serial:
        import serial  # so that everything but this class works without pyserial

        # The time-out bounds a read, so that an idle line still lets Ctrl-C through and ends a moment.
        return serial.Serial(name, self._baud, timeout=QUIET_S, write_timeout=0.5, exclusive=True)

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
        try:
            for packets in self._reads():
                if packets is None:
                    yield from self._assembly.flush()
                    continue
                for packet in packets:
                    if isinstance(packet, PosePacket):
                        yield from self._assembly.push(packet)
                    elif isinstance(packet, PlacePacket):
                        self._assembly.push_place(packet)
                    elif isinstance(packet, Notice):
                        self._assembly.push_notice(packet)
        except OSError:
            yield from self._assembly.flush()
            raise

    def request_hello(self) -> None:
        """Asks the host to send HELLO now."""
        self._write(encode_command(Command(1, 0)))

    def set_rate(self, hz: float) -> None:
        """Asks for `hz` poses a second of each person; 0: as frames come. HELLO says what was granted, 1 Hz at least.

        Asked again of a port that went away, as the host forgets it then.
        """
        self._rate = Command(2, min(65535, max(0, round(hz * 100))))
        self._write(encode_command(self._rate))

    def reset(self) -> None:
        """Asks the host to forget identities and memories."""
        self._write(encode_command(Command(3, 0)))

    def close(self) -> None:
        self._serial.close()

    def __enter__(self) -> PoseReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _reads(self) -> Iterator[list[Packet] | None]:
        """What each read completed; None where the line was silent."""
        while not self._is_over():
            data = self._read()
            if not data:
                yield None
                continue
            packets: list[Packet] = []
            for event in self._decoder.feed(data):
                if isinstance(event, Fault):
                    continue
                if isinstance(event, Hello):
                    self.hello = event
                elif isinstance(event, Status):
                    self.status = event
                packets.append(event)
            yield packets

    def _read(self) -> bytes:
        try:
            # What is there already, or one byte when it comes: never waits for a full buffer.
            data = bytes(self._serial.read(max(1, min(4096, self._serial.in_waiting))))
        except OSError:  # serial.SerialException is one
            if self._name is None:
                raise
            self._reopen(self._name)
            return b"\0"  # ends the frame that was cut off
        self.received += len(data)
        return data

    def _reopen(self, name: str) -> None:
        self._serial.close()
        while not self._is_over():
            time.sleep(REOPEN_EVERY_S)
            try:
                self._serial = self._open(name)
            except OSError:
                continue
            self.request_hello()
            if self._rate is not None:
                self._write(encode_command(self._rate))
            return

    def _write(self, frame: bytes) -> None:
        # A port that is gone is noticed, and reopened, by the next read.
        with contextlib.suppress(OSError):
            # The leading zero ends whatever noise the host has heard before.
            self._serial.write(b"\0" + frame)
