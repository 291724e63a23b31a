"""Time by capture, whatever becomes of the tracker's clock."""

from __future__ import annotations

#: A step back beyond it is a tracker whose clock has started anew, a smaller one a frame that came late; and no frame is captured so
#: long after it came. Microseconds.
ANEW_US = 1_000_000


class Elapsed:
    """Time by capture, carried on where another clock begins: the tracker's own anew, or another tracker's.

    `now_us` is any clock of whoever hears the frames as they are captured. Without it, as of a recording, a step forward is a gap.
    """

    def __init__(self) -> None:
        #: The latest so far, microseconds.
        self.us = 0
        self._begun_us: int | None = None
        #: When the frames of this clock would have begun to come.
        self._begun_now_us: int | None = None
        self._last_now_us: int | None = None

    def at(self, captured_us: int, now_us: int | None = None) -> int:
        """Microseconds from the first frame to this one."""
        if self._begun_us is None:
            self._begin(captured_us, now_us, 0)
        elif captured_us - self._begun_us < self.us - ANEW_US or self._is_ahead(captured_us, now_us):
            between_us = 0 if now_us is None or self._last_now_us is None else now_us - self._last_now_us
            self._begin(captured_us, now_us, self.us + between_us)
        assert self._begun_us is not None
        us = captured_us - self._begun_us
        self.us = max(self.us, us)
        if now_us is not None:
            self._last_now_us = now_us
        return us

    def _begin(self, captured_us: int, now_us: int | None, us: int) -> None:
        self._begun_us = captured_us - us
        self._begun_now_us = None if now_us is None else now_us - us

    def _is_ahead(self, captured_us: int, now_us: int | None) -> bool:
        """Whether it would come before it was captured."""
        if now_us is None or self._begun_now_us is None or self._begun_us is None:
            return False
        return captured_us - self._begun_us > now_us - self._begun_now_us + ANEW_US
