"""`python -m posewire lsl SOURCE`: an outlet of Lab Streaming Layer (the extra `lsl`, which brings LSL's library).

One person's joints, 17 x (x, y, score), under LSL's own clock: a sample's stamp is when the light fell. An absent joint is (NaN, NaN, 0),
so that every sample has all channels.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from ._command import command_line, count_of, is_missing, real_of, say
from ._elapsed import Elapsed
from ._signals import Ending
from .frames import FrameLike, can_wait, frames_from
from .pose import JOINTS, Pose

EXAMPLES = """\
examples:
  python -m posewire lsl udp:9100                          # of posewire run --udp 127.0.0.1:9100 --predict capture
  python -m posewire lsl /dev/ttyUSB0 --name Posewire-left --person 3

SOURCE is a serial port, udp:PORT, a file of JSON lines, or - for standard input; a recording plays as fast as it was captured.
The stream is found by its name, or by its type, MoCap. Ctrl-C ends it."""

#: What a joint has, and in which unit.
_VALUES = (("x", "PositionX", "pixels"), ("y", "PositionY", "pixels"), ("score", "Confidence", "normalized"))
CHANNELS = tuple(f"{joint}_{value}" for joint in JOINTS for value, _, _ in _VALUES)
#: What this machine's clock has stamped arrives within this of its sending; what another's has, only by chance. Microseconds.
_MAX_WAY_US = 200_000


class Outlet:
    """An outlet that is there from now on; `write` pushes a frame's sample."""

    def __init__(self, name: str = "Posewire", person: int | None = None, rate_hz: float = 0.0) -> None:
        import pylsl

        self._lsl: Any = pylsl
        self._person = person
        self._follows: int | None = None
        self.samples = 0
        # A source identifier lets inlets find the stream again when the outlet has been started anew.
        info = pylsl.StreamInfo(name, "MoCap", len(CHANNELS), rate_hz, pylsl.cf_float32, f"posewire-{name}")
        about = info.desc()
        about.append_child_value("manufacturer", "Posewire")
        channels = about.append_child("channels")
        for joint in JOINTS:
            for value, kind, unit in _VALUES:
                channel = channels.append_child("channel")
                channel.append_child_value("label", f"{joint}_{value}")
                channel.append_child_value("marker", joint)
                channel.append_child_value("type", kind)
                channel.append_child_value("unit", unit)
        space = about.append_child("setup").append_child("objects").append_child("object")
        space.append_child_value("class", "Camera")
        space.append_child_value("origin", "the picture's top left corner; y downwards")
        self._outlet: Any = pylsl.StreamOutlet(info)

    def write(self, frame: FrameLike, now_us: int | None = None) -> bool:
        """Pushes the sample of the one person, and says whether they were there.

        `now_us` is this machine's monotonic clock, where the tracker runs on it; None where it does not: a sample's age is then what
        it was when it was sent, and what the network took is missing.
        """
        pose = self._pose(frame)
        if pose is None:
            return False
        age_us = frame.sent_us - frame.captured_us if now_us is None else now_us - frame.captured_us
        self._outlet.push_sample(sample(pose), self._lsl.local_clock() - age_us / 1e6)
        self.samples += 1
        return True

    def _pose(self, frame: FrameLike) -> Pose | None:
        """The person that was asked for; else the one that is followed until they go, then the first."""
        wanted = self._follows if self._person is None else self._person
        for pose in frame.poses:
            if pose.track_id == wanted:
                return pose
        if self._person is not None or not frame.poses:
            return None
        self._follows = frame.poses[0].track_id
        return frame.poses[0]


def sample(pose: Pose) -> list[float]:
    """A value for each of `CHANNELS`."""
    nan = float("nan")
    return [
        value
        for joint in pose.joints
        for value in ((nan, nan, 0.0) if joint.state == "absent" else (joint.x, joint.y, joint.score))
    ]


def is_same_clock(frame: FrameLike, now_us: int) -> bool:
    """Whether a frame that comes at `now_us` of this machine's monotonic clock was stamped with it."""
    return 0 <= now_us - frame.sent_us < _MAX_WAY_US


class Pace:
    """When frames are due that are read as fast as somebody takes them: as far apart as they were captured."""

    def __init__(self) -> None:
        self._elapsed = Elapsed()
        self._begun_us: int | None = None

    def wait_us(self, captured_us: int, now_us: int) -> int:
        """How long from `now_us` on; the first is due at once, and one that comes late too."""
        if self._begun_us is None:
            self._begun_us = now_us
        return max(0, self._begun_us + self._elapsed.at(captured_us) - now_us)


def main(arguments: list[str] | None = None) -> int:
    parser = command_line(
        "lsl",
        "Offers one person's joints as a stream of Lab Streaming Layer.",
        EXAMPLES,
        "serial port, udp:PORT, file of JSON lines, or -",
    )
    parser.add_argument(
        "--name", default="Posewire", help="of the stream; one for each tracker (default: %(default)s)"
    )
    parser.add_argument(
        "--person",
        type=int,
        metavar="ID",
        help="whose joints (default: the first who is there, until they go)",
    )
    parser.add_argument(
        "--rate", type=real_of, default=0.0, metavar="HZ", help="that the stream claims (default: irregular)"
    )
    parser.add_argument(
        "--frames", type=count_of, default=0, help="stop after so many frames (default: never)"
    )
    parser.add_argument(
        "--clock",
        choices=("same", "other"),
        help="whether the stamps are of this machine's clock or another's (default: as the first frame looks)",
    )
    args = parser.parse_args(arguments)
    is_same: bool | None = None if args.clock is None else args.clock == "same"
    pace = Pace()
    Ending()
    outlet: Outlet | None = None
    try:
        outlet = Outlet(args.name, args.person, args.rate)
        print(f"stream {args.name}, type MoCap, {len(CHANNELS)} channels", file=sys.stderr)
        for count, frame in enumerate(frames_from(args.source, args.baud, say=say), start=1):
            now_us = time.monotonic_ns() // 1_000
            if is_same is None:
                # Once: stamps that change their measure from frame to frame are worse than either.
                is_same = is_same_clock(frame, now_us)
                whose, else_give = ("this", "other") if is_same else ("another", "same")
                played = (
                    ""
                    if is_same or not can_wait(args.source)
                    else ", frames come as far apart as they were captured"
                )
                print(
                    f"stamps are of {whose} machine's clock{played}; if not: --clock {else_give}",
                    file=sys.stderr,
                )
            if not is_same and can_wait(args.source):
                # A sample's stamp is when it is pushed, less its age.
                time.sleep(pace.wait_us(frame.captured_us, now_us) / 1e6)
            outlet.write(frame, now_us if is_same else None)
            if count == args.frames:
                break
    except ImportError as error:
        return is_missing("pyserial" if error.name == "serial" else "pylsl")
    except RuntimeError as error:
        # What pylsl says where the library itself cannot be loaded.
        print(f"LSL: {error}", file=sys.stderr)
        return 2
    except (OSError, ValueError) as error:
        print(f"{args.source}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        pass
    print(f"{outlet.samples if outlet else 0} samples", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
