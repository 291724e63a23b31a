"""A serial cable between two programs: pseudo-terminals and a pump that keeps to the baud rate."""

from __future__ import annotations

import os
import select
import threading
import time
import tty
from dataclasses import dataclass


@dataclass(frozen=True)
class Passed:
    """Bytes that the cable has passed on together."""

    begun_at: float  #: when the sender had written the first of them, by `time.monotonic`
    done_at: float  #: when the last had gone over the line
    data: bytes


class Cable:
    """`ports` are the two ends' terminals; `passed[i]` is what came from end `i`."""

    #: Bytes at a time: 1.4 ms of a line of 115200 baud.
    PORTION = 16

    def __init__(self, baud: int) -> None:
        self.byte_s = 10 / baud
        ends = [os.openpty() for _ in range(2)]
        self.hands = [hand for hand, _ in ends]
        self.held = [port for _, port in ends]  # a terminal that nobody holds hangs up
        for port in self.held:
            tty.setraw(port)
        self.ports = [os.ttyname(port) for port in self.held]
        self.passed: list[list[Passed]] = [[], []]
        self.is_cut = threading.Event()
        self.pumps = [threading.Thread(target=self._pump, args=(i,), daemon=True) for i in range(2)]
        for pump in self.pumps:
            pump.start()

    def close(self) -> None:
        self.is_cut.set()
        for pump in self.pumps:
            pump.join()
        for end in (*self.hands, *self.held):
            os.close(end)

    def data(self, end: int) -> bytes:
        """All that has gone over the line from `end`."""
        return b"".join(p.data for p in list(self.passed[end]))

    def _pump(self, end: int) -> None:
        source, sink = self.hands[end], self.hands[1 - end]
        free_at = 0.0
        while not self.is_cut.is_set():
            if not select.select([source], [], [], 0)[0]:
                if not select.select([source], [], [], 0.05)[0]:
                    continue
                # The line was idle; where bytes were waiting it goes on with them, however late this thread has woken.
                free_at = max(free_at, time.monotonic())
            begun_at = time.monotonic()
            data = os.read(source, self.PORTION)
            free_at += len(data) * self.byte_s
            time.sleep(max(0.0, free_at - time.monotonic()))
            os.write(sink, data)
            self.passed[end].append(Passed(begun_at, time.monotonic(), data))
