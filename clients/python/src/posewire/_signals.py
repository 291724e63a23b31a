"""Signals that end a command: they cut short what waits, and nothing that has to be done whole."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

#: Ctrl-C, a polite kill, and a terminal that is closed; some systems lack the last.
_ENDS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Ending:
    """From now on each of these signals raises KeyboardInterrupt, so that what is open is closed."""

    def __init__(self) -> None:
        #: False while what is open is closed: nothing is to cut that short.
        self.is_heard = True
        for which in _ENDS:
            # SIGINT, too: a program that a shell started in the background has it ignored. What nohup started is to outlive its terminal.
            if which.name != "SIGHUP" or signal.getsignal(which) != signal.SIG_IGN:
                signal.signal(which, self._hear)

    def _hear(self, _number: int, _frame: FrameType | None) -> None:
        if self.is_heard:
            raise KeyboardInterrupt


def ignore_late() -> None:
    """For what is over: a signal that comes while the interpreter ends does not change how it ended."""
    for which in _ENDS:
        signal.signal(which, signal.SIG_IGN)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """What is inside is done whole: a signal whose handler may raise is heard behind it."""
    if threading.current_thread() is not threading.main_thread():
        # Handlers run in the main thread alone.
        yield
        return
    came: list[int] = []
    before = {which: handler for which in _ENDS if callable(handler := signal.getsignal(which))}
    try:
        for which in before:
            signal.signal(which, lambda number, _: came.append(number))
        yield
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)
    # Not where something failed: that is told, and ends it as well.
    for number in came[:1]:
        signal.raise_signal(number)
