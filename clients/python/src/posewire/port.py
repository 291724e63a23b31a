"""A serial port that is read: bytes as they come, and a named port again when it is back."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import TYPE_CHECKING

from .moments import QUIET_S

if TYPE_CHECKING:
    import serial

#: Between two attempts to open a port that went away: long enough not to load the machine, short enough not to be noticed.
REOPEN_EVERY_S = 0.5


class Gap(Enum):
    """What comes in the place of bytes."""

    SILENT = auto()  #: nothing for `QUIET_S`
    LOST = auto()  #: the port went away
    BACK = auto()  #: it is open again


class Port:
    """`port`, a device's name or an open `serial.Serial`. A named one is locked against other programs.

    `is_over` is asked before each read and each attempt to open.
    """

    def __init__(self, port: str | serial.Serial, baud: int, is_over: Callable[[], bool]) -> None:
        self._is_over = is_over
        self._is_closed = False
        self._name = port if isinstance(port, str) else None
        self._baud = baud
        self._serial = self._open(port) if isinstance(port, str) else port

    def _open(self, name: str) -> serial.Serial:
        import serial  # so that everything but this class works without pyserial

        # The time-out bounds a read, so that an idle line still lets Ctrl-C through and ends a moment.
        return serial.Serial(name, self._baud, timeout=QUIET_S, write_timeout=0.5, exclusive=True)

    def reads(self) -> Iterator[bytes | Gap]:
        """What each read brings, until it is over or closed. One that has no name and goes away ends with `OSError`."""
        while self._goes_on():
            try:
                # What is there already, or one byte when it comes: never waits for a full buffer.
                data = bytes(self._serial.read(max(1, min(4096, self._serial.in_waiting))))
            except Exception as error:
                # Closed by another thread while it reads, pyserial fails with what it happens to come upon.
                if self._is_closed:
                    return
                if not isinstance(error, OSError):  # serial.SerialException is one
                    raise
                yield Gap.LOST
                if self._name is None:
                    raise
                if not self._reopen(self._name):
                    return
                yield Gap.BACK
                continue
            yield data or Gap.SILENT

    def write(self, data: bytes) -> None:
        # A port that is gone is noticed, and opened again, by the next read.
        with contextlib.suppress(OSError):
            self._serial.write(data)

    def close(self) -> None:
        """Ends `reads`, in whichever thread they are."""
        self._is_closed = True
        self._serial.close()

    def _goes_on(self) -> bool:
        return not (self._is_closed or self._is_over())

    def _reopen(self, name: str) -> bool:
        """Tries until it is open; False where it is over before."""
        self._serial.close()
        while self._goes_on():
            time.sleep(REOPEN_EVERY_S)
            try:
                self._serial = self._open(name)
            except OSError:
                continue
            if self._is_closed:
                # Meanwhile, when there was nothing to close.
                self._serial.close()
            return True
        return False
