"""Datagrams of `posewire run --udp`: the frames of one tracker, whoever else sends to the port."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing

from ._hints import HINT_AFTER_S, of_datagrams
from .frames import Frame, never, quiet

#: No datagram is longer.
MAX_DATAGRAM = 65_535
#: Where nothing comes, so often is asked whether anybody still listens.
_ASKED_EVERY_S = 0.1
#: Whoever sent nothing for so long has ended: another may be heard.
_GONE_AFTER_S = 1.0


class OneTracker:
    """Tells the frames of the tracker that is heard from all else. Times are seconds of one monotonic clock."""

    def __init__(self, port: int, say: Callable[[str], None] = quiet) -> None:
        self._port = port
        self._say = say
        self._said: set[str] = set()
        self._begun_s: float | None = None
        self._others = 0
        self._heard: object = None
        self._heard_s = 0.0
        self._second: object = None

    def frame(self, datagram: bytes, sender: object, now_s: float) -> Frame | None:
        """The frame that it is; None where it is none, or another tracker's: two in turn would be nobody's movement."""
        try:
            frame = Frame.from_line(datagram)
        except ValueError:
            self._others += 1
            return None
        if sender != self._heard:
            if self._heard is not None and now_s - self._heard_s < _GONE_AFTER_S:
                self._second = sender
                return None
            self._heard, self._second = sender, None
        self._heard_s = now_s
        if self._second is not None:
            # Both speak: it is none that has started anew.
            self._tell(
                f"udp:{self._port}: two trackers send here, {_named(self._heard)} and {_named(self._second)}: "
                "the first is heard alone; give each a port of its own"
            )
        return frame

    def wonder(self, now_s: float) -> None:
        """Says what may be wrong where no frame came for a while."""
        if self._begun_s is None:
            self._begun_s = now_s
        if self._heard is None and now_s - self._begun_s >= HINT_AFTER_S:
            self._tell(of_datagrams(self._port, self._others))

    def _tell(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._say(text)


def _named(address: object) -> str:
    return f"{address[0]}:{address[1]}" if isinstance(address, tuple) else f"{address}"


def frames_from_udp(
    port: int,
    host: str = "0.0.0.0",
    timeout_s: float | None = None,
    is_over: Callable[[], bool] = never,
    say: Callable[[str], None] = quiet,
) -> Iterator[Frame]:
    """Frames of `posewire run --udp`, for ever, until none comes for `timeout_s`, or until `is_over`.

    What is no frame is passed over, and so is a second tracker while the first one sends. `say` is told, each once, what seems to be wrong.
    """
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as ear:
        ear.bind((host, port))
        ear.settimeout(_ASKED_EVERY_S if timeout_s is None else min(timeout_s, _ASKED_EVERY_S))
        tracker = OneTracker(port, say)
        heard_at_s = time.monotonic()
        while not is_over():
            now_s = time.monotonic()
            tracker.wonder(now_s)
            try:
                datagram, sender = ear.recvfrom(MAX_DATAGRAM)
            except (TimeoutError, BlockingIOError):
                if timeout_s is not None and now_s - heard_at_s >= timeout_s:
                    return
                continue
            heard_at_s = time.monotonic()
            frame = tracker.frame(datagram, sender, heard_at_s)
            if frame is not None:
                yield frame
