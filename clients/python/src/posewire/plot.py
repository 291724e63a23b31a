"""`python -m posewire plot SOURCE`: skeletons as they move, and joints over time (the extra `plot`)."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ._command import command_line, count_of, is_missing, real_of, say
from ._elapsed import ANEW_US
from ._signals import Ending
from .frames import Frame, frames_from
from .pose import JOINTS, Pose

EXAMPLES = """\
examples:
  python -m posewire plot udp:9100
  python -m posewire plot /dev/ttyUSB0 --joint left_wrist --joint right_wrist --last 20
  python -m posewire plot walk.jsonl --save walk.png

SOURCE is a serial port, udp:PORT (of posewire run --udp), a file of JSON lines, or - for standard input.
Above: who is there now, in pixels. Below: how far right and down the joints of the first person were. Close the window to end it."""

#: Drawn anew so often, Hz: matplotlib does not draw faster on a small machine.
_RATE_HZ = 20
#: Where no joint is named.
_JOINTS = ("left_wrist", "right_wrist")
_BONES = (
    *((a, b) for side in ("left", "right") for a, b in (
        (f"{side}_shoulder", f"{side}_elbow"),
        (f"{side}_elbow", f"{side}_wrist"),
        (f"{side}_shoulder", f"{side}_hip"),
        (f"{side}_hip", f"{side}_knee"),
        (f"{side}_knee", f"{side}_ankle"),
        (f"{side}_ear", f"{side}_eye"),
        (f"{side}_eye", "nose"),
        (f"{side}_ear", f"{side}_shoulder"),
    )),
    ("left_shoulder", "right_shoulder"),
    ("left_hip", "right_hip"),
)  # fmt: skip
_BY_INDEX = tuple((JOINTS.index(a), JOINTS.index(b)) for a, b in _BONES)
#: One an identity: those of every other output, told apart by all common kinds of colour vision. Yellow is not seen on white.
_COLOURS = ("#f0e442", "#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#d55e00")
_GROUND = "#101010"


class Recent:
    """The frames of the last seconds, filled by one thread and read by another."""

    def __init__(self, last_s: float) -> None:
        self.taken = 0
        self._last_us = last_s * 1e6
        self._lock = threading.Lock()
        self._frames: deque[Frame] = deque()

    def take(self, frame: Frame) -> None:
        with self._lock:
            self.taken += 1
            frames = self._frames
            late_us = frames[-1].captured_us - frame.captured_us if frames else 0
            # A tracker that has started anew begins a new plot.
            if late_us > ANEW_US:
                frames.clear()
            elif late_us > 0:
                return
            frames.append(frame)
            while frames[-1].captured_us - frames[0].captured_us > self._last_us:
                frames.popleft()

    def frames(self) -> list[Frame]:
        with self._lock:
            return list(self._frames)


class Plot:
    """A figure with the newest frame above and the chosen joints over time below."""

    def __init__(self, joints: Sequence[str] = _JOINTS) -> None:
        from matplotlib import pyplot

        self.figure: Any = pyplot.figure(figsize=(7, 8), layout="constrained")
        self._joints = [(name, JOINTS.index(name)) for name in joints]
        parts: Any = self.figure.subfigures(2, 1, height_ratios=(3, 2))
        above, below = parts
        self._people: Any = above.subplots()
        self._people.set_facecolor(_GROUND)
        self._over_time: Any = below.subplots(2, 1, sharex=True)
        #: Left, top, right, bottom, pixels: of the picture, or where nobody says how large it is, of all that was seen.
        self._seen: list[float] | None = None

    def draw(self, frames: Sequence[Frame]) -> None:
        """Draws the last of `frames`, and all of them over time."""
        if frames:
            for frame in frames:
                self._widen(frame)
            self._draw_people(frames[-1])
            self._draw_over_time(frames)

    def _draw_people(self, frame: Frame) -> None:
        axes = self._people
        axes.clear()
        axes.set_title(
            f"frame {frame.seq}, {len(frame.poses)} there, {(frame.sent_us - frame.captured_us) / 1e3:.0f} ms old"
        )
        for pose in frame.poses:
            colour = _COLOURS[pose.track_id % len(_COLOURS)]
            for a, b in _BY_INDEX:
                ends = [pose.joints[a], pose.joints[b]]
                if all(joint.state != "absent" for joint in ends):
                    is_seen = all(joint.state == "measured" for joint in ends)
                    xs, ys = [joint.x for joint in ends], [joint.y for joint in ends]
                    axes.plot(xs, ys, color=colour, linestyle="-" if is_seen else ":", linewidth=2)
            there = [joint for joint in pose.joints if joint.state != "absent"]
            if not there:
                continue
            axes.scatter([j.x for j in there], [j.y for j in there], s=12, color=colour, zorder=3)
            top = min(there, key=lambda joint: joint.y)
            axes.annotate(
                f"{pose.track_id}",
                (top.x, top.y),
                (0, 8),
                textcoords="offset points",
                ha="center",
                color=colour,
            )
        if self._seen is not None:
            left, top_px, right, bottom = self._seen
            axes.set_xlim(left, right)
            axes.set_ylim(bottom, top_px)
        axes.set_aspect("equal")
        axes.set_xlabel("px")
        axes.set_ylabel("px, downwards")

    def _widen(self, frame: Frame) -> None:
        """Shows the whole picture, or where its size is not said makes room for everybody.

        Never less than there was, so that nothing jumps.
        """
        if frame.size is not None:
            self._seen = [0.0, 0.0, *map(float, frame.size)]
            return
        there = [joint for pose in frame.poses for joint in pose.joints if joint.state != "absent"]
        if not there:
            return
        edge = 20.0
        low = [min(j.x for j in there) - edge, min(j.y for j in there) - edge]
        high = [max(j.x for j in there) + edge, max(j.y for j in there) + edge]
        if self._seen is not None:
            low = [min(pair) for pair in zip(low, self._seen[:2], strict=True)]
            high = [max(pair) for pair in zip(high, self._seen[2:], strict=True)]
        self._seen = low + high

    def _draw_over_time(self, frames: Sequence[Frame]) -> None:
        people = [(frame, _who(frame, frames[-1])) for frame in frames]
        for axes, axis in zip(self._over_time, "xy", strict=True):
            axes.clear()
            for name, index in self._joints:
                # A gap where they were not there: no line is drawn across it.
                values = [_value(pose, index, axis) for _, pose in people]
                seconds = [(frame.captured_us - frames[-1].captured_us) / 1e6 for frame, _ in people]
                axes.plot(seconds, values, label=name.replace("_", " "))
            axes.set_ylabel(f"{axis}, px")
        self._over_time[1].invert_yaxis()
        self._over_time[1].set_xlabel("s before the newest frame")
        self._over_time[0].legend(loc="upper left", fontsize="small", ncols=3)


def _who(frame: Frame, newest: Frame) -> Pose | None:
    """The first person of the newest frame, or where nobody is there the first of this one."""
    if not newest.poses:
        return frame.poses[0] if frame.poses else None
    return next((pose for pose in frame.poses if pose.track_id == newest.poses[0].track_id), None)


def _value(pose: Pose | None, index: int, axis: str) -> float:
    if pose is None or pose.joints[index].state == "absent":
        return float("nan")
    return float(getattr(pose.joints[index], axis))


def _show(frames: Iterable[Frame], recent: Recent, joints: Sequence[str]) -> Exception | None:
    """A window until it is closed; what ended the source, if it was an error."""
    from matplotlib import pyplot
    from matplotlib.animation import FuncAnimation

    ended: list[Exception] = []

    def read() -> None:
        try:
            for frame in frames:
                recent.take(frame)
        except Exception as error:  # told by the thread that draws
            ended.append(error)

    plot = Plot(joints)

    def draw(_: int) -> None:
        plot.draw(recent.frames())
        if ended:
            pyplot.close(plot.figure)

    threading.Thread(target=read, daemon=True, name="source").start()
    # Kept for as long as the window is there: matplotlib does not.
    moving = FuncAnimation(plot.figure, draw, interval=1000 // _RATE_HZ, cache_frame_data=False)
    pyplot.show()
    del moving
    return ended[0] if ended else None


def main(arguments: list[str] | None = None) -> int:
    parser = command_line(
        "plot",
        "Draws who is there, and joints over time.",
        EXAMPLES,
        "serial port, udp:PORT, file of JSON lines, or -",
    )
    parser.add_argument(
        "--joint",
        action="append",
        choices=JOINTS,
        metavar="NAME",
        help=f"over time; may be given several times (default: {', '.join(_JOINTS)})",
    )
    parser.add_argument(
        "--last", type=real_of, default=10.0, metavar="SECONDS", help="how far back (default: %(default)s)"
    )
    parser.add_argument(
        "--save",
        type=Path,
        metavar="FILE",
        help="no window: a picture (.png, .svg, .pdf) of the source's end",
    )
    parser.add_argument(
        "--frames", type=count_of, default=0, metavar="N", help="of --save: the end is after so many frames"
    )
    args = parser.parse_args(arguments)
    try:
        import matplotlib as mpl
    except ImportError:
        return is_missing("matplotlib")
    Ending()
    recent = Recent(args.last)
    joints = args.joint or _JOINTS
    frames = frames_from(args.source, args.baud, say=say)
    try:
        if args.save is None:
            if mpl.get_backend().lower() == "agg":
                print("there is no window system here: give --save FILE", file=sys.stderr)
                return 2
            error = _show(frames, recent, joints)
            if error is not None:
                raise error
            return 0
        mpl.use("agg")
        for frame in frames:
            recent.take(frame)
            if recent.taken == args.frames:
                break
    except ImportError:
        return is_missing("pyserial")
    except (OSError, ValueError) as error:
        print(f"{args.source}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        # What came until now is drawn.
        pass
    if args.save is None:
        return 0
    if recent.taken == 0:
        print(f"{args.source}: no frame came, nothing is drawn", file=sys.stderr)
        return 1
    began = time.monotonic()
    plot = Plot(joints)
    plot.draw(recent.frames())
    try:
        plot.figure.savefig(args.save)
    except (OSError, ValueError) as error:
        print(f"{args.save}: {error}", file=sys.stderr)
        return 1
    print(
        f"{args.save}: {len(recent.frames())} frames, drawn in {time.monotonic() - began:.1f} s",
        file=sys.stderr,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
