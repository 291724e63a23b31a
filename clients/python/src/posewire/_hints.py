"""What may be wrong with a source from which no frame comes, in words for whoever waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .wire import DEFAULT_BAUD

if TYPE_CHECKING:
    from .reader import PoseReader

#: The host answers the request for HELLO at once and says STATUS every second.
HINT_AFTER_S = 1.5


def of_line(port: str, baud: int, received: int, packets: int) -> str | None:
    """Of a serial line on which nothing was understood."""
    if packets:
        return None
    if received == 0:
        return f"{port}: nothing received yet: does posewire run with --serial at the other end, and is its TX wired to this RX?"
    other = 921600 if baud == DEFAULT_BAUD else DEFAULT_BAUD
    return (
        f"{port}: {received} bytes received, nothing understood at {baud} baud: the other end runs at another rate "
        f"(try --baud {other}), or sends something else"
    )


def of_datagrams(port: int, others: int) -> str:
    """Of a port of datagrams to which no frame came, but so many others."""
    if others == 0:
        return f"udp:{port}: nothing received yet: does posewire run with --udp to this port of this machine?"
    return f"udp:{port}: datagrams came, and none is a frame: what is read is posewire run --udp, with --udp-format full or named"


@contextmanager
def watched(reader: PoseReader, port: str, baud: int, say: Callable[[str], None]) -> Iterator[None]:
    """Says what may be wrong with the line, once, where nothing was understood after a while."""

    def wonder() -> None:
        text = of_line(port, baud, reader.received, reader.counters.packets)
        if text is not None:
            say(text)

    timer = threading.Timer(HINT_AFTER_S, wonder)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
