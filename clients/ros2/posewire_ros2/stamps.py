"""From the tracker's clock to that of ROS.

A frame says when its light fell and when it was sent, both on the tracker's monotonic clock, whose zero is its machine's boot. What
arrives was sent before it arrived: the smallest difference between arrival and sending, over a while, is the clocks' offset and
the fastest way there. A message that comes late has a larger difference and moves nothing. What is known of a message's way, as the time
of a line that carries a long one for longer, is taken off first: else whichever is shortest would speak for all.
"""

from __future__ import annotations

from collections import deque

#: For so long a difference is remembered: at 50 ppm two clocks part by 0.5 ms meanwhile.
WINDOW_NS = 10_000_000_000
#: A step back beyond this, of the time of sending or of the difference, is another clock: a machine that has booted anew, another machine,
#: or a ROS time that was set. A step forward of the difference may as well be a message that waited: it counts when the window has passed.
STEP_NS = 1_000_000_000


class StampClock:
    """Gives ROS times for the tracker's."""

    def __init__(self) -> None:
        # Arrival and difference; differences grow from the front to the back.
        self._least: deque[tuple[int, int]] = deque()
        self._sent_us: int | None = None

    def heard(self, sent_us: int, arrived_ns: int, way_ns: int = 0) -> None:
        """A frame that was sent at `sent_us` of the tracker's clock has come at `arrived_ns` of ROS's, after `way_ns` at least."""
        difference_ns = arrived_ns - way_ns - 1000 * sent_us
        is_back = self._sent_us is not None and 1000 * (self._sent_us - sent_us) > STEP_NS
        if is_back or (self._least and self._least[0][1] - difference_ns > STEP_NS):
            self._least.clear()
        self._sent_us = sent_us
        while self._least and arrived_ns - self._least[0][0] > WINDOW_NS:
            self._least.popleft()
        while self._least and self._least[-1][1] >= difference_ns:
            self._least.pop()
        self._least.append((arrived_ns, difference_ns))

    def ros_ns(self, at_us: int) -> int:
        """The moment `at_us` of the tracker's clock, in nanoseconds of ROS's; never before ROS's zero."""
        offset_ns = self._least[0][1] if self._least else 0
        return max(0, 1000 * at_us + offset_ns)
