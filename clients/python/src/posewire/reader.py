"""Poses from a serial port."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING

from .wire import (
    DEFAULT_BAUD,
    Command,
    Counters,
    Decoder,
    Fault,
    Hello,
    Packet,
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

    A named port that goes away is opened again when it is back. `hello` and `status` are the newest of their kind.
    """

    def __init__(self, port: str | serial.Serial, baud: int = DEFAULT_BAUD) -> None:
        self._name = port if isinstance(port, str) else None
        self._baud = baud
        self._decoder = Decoder()
        self._serial = self._open(port) if isinstance(port, str) else port
        self.hello: Hello | None = None
        self.status: Status | None = None
        self.request_hello()

    def _open(self, name: str) -> serial.Serial:
        import serial  # so that everything but this class works without pyserial

        # The time-out bounds a read, so that an idle line still lets Ctrl-C through.
        return serial.Serial(name, self._baud, timeout=0.1, write_timeout=0.5)

    @property
    def counters(self) -> Counters:
        """What was received and what was dropped."""
        return self._decoder.counters

    def packets(self) -> Iterator[Packet]:
        """Every packet of any type."""
        while True:
            for event in self._decoder.feed(self._read()):
                if isinstance(event, Fault):
                    continue
                if isinstance(event, Hello):
                    self.hello = event
                elif isinstance(event, Status):
                    self.status = event
                yield event

    def __iter__(self) -> Iterator[Pose]:
        for packet in self.packets():
            if isinstance(packet, PosePacket):
                pose = packet.pose()
                if pose is not None:
                    yield pose

    def moments(self) -> Iterator[list[Pose]]:
        """All persons of one moment of sending together; an empty list where nobody is there.

        A moment whose last packet was lost is given when the next one begins.
        """
        seq: int | None = None
        poses: list[Pose] = []
        for packet in self.packets():
            if not isinstance(packet, PosePacket):
                continue
            if packet.seq != seq and poses:
                yield poses
                poses = []
            seq = packet.seq
            pose = packet.pose()
            if pose is not None:
                poses.append(pose)
            if len(poses) == packet.persons:
                yield poses
                poses = []

    def request_hello(self) -> None:
        """Asks the host to send HELLO now."""
        self._write(encode_command(Command(1, 0)))

    def set_rate(self, hz: float) -> None:
        """Asks for `hz` poses a second of each person; 0: as frames come. HELLO says what was granted."""
        self._write(encode_command(Command(2, min(65535, max(0, round(hz * 100))))))

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

    def _read(self) -> bytes:
        try:
            # What is there already, or one byte when it comes: never waits for a full buffer.
            return bytes(self._serial.read(max(1, min(4096, self._serial.in_waiting))))
        except OSError:  # serial.SerialException is one
            if self._name is None:
                raise
            self._reopen(self._name)
            return b"\0"  # ends the frame that was cut off

    def _reopen(self, name: str) -> None:
        self._serial.close()
        while True:
            time.sleep(REOPEN_EVERY_S)
            try:
                self._serial = self._open(name)
            except OSError:
                continue
            self.request_hello()
            return

    def _write(self, frame: bytes) -> None:
        # A port that is gone is noticed, and reopened, by the next read.
        with contextlib.suppress(OSError):
            # The leading zero ends whatever noise the host has heard before.
            self._serial.write(b"\0" + frame)
