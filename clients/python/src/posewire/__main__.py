"""`python -m posewire PORT`: prints poses as JSON lines."""

from __future__ import annotations

import argparse
import json
import signal
import sys

from .reader import PoseReader
from .wire import DEFAULT_BAUD, Pose


def as_json(poses: list[Pose]) -> str:
    """One line for one moment; pixels of the source image."""
    return json.dumps(
        {
            "seq": poses[0].seq,
            "captured_us": poses[0].captured_us,
            "age_us": poses[0].age_us,
            "horizon_us": poses[0].horizon_us,
            "persons": [
                {
                    "id": pose.track_id,
                    "score": round(pose.score, 4),
                    "keypoints": [[j.x, j.y, round(j.score, 4), j.sigma, j.state] for j in pose.joints],
                    "keypoints3d": pose.joints_3d,
                }
                for pose in poses
            ],
        },
        separators=(",", ":"),
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m posewire", description="Prints poses as JSON lines.")
    parser.add_argument("port", help="serial port, for example /dev/ttyUSB0 or COM3")
    parser.add_argument("--baud", type=int, default=DEFAULT_BAUD, help="bits a second (default: %(default)s)")
    parser.add_argument("--frames", type=int, default=0, help="stop after so many moments (default: never)")
    args = parser.parse_args()
    # Started in the background by a shell, a program has SIGINT ignored; SIGTERM ends it as cleanly.
    for which in (signal.SIGINT, signal.SIGTERM):
        signal.signal(which, signal.default_int_handler)
    try:
        with PoseReader(args.port, args.baud) as reader:
            shown = 0
            for poses in reader.moments():
                if not poses:
                    continue
                print(as_json(poses), flush=True)
                shown += 1
                if shown == args.frames:
                    break
            print(reader.counters, file=sys.stderr)
    except ImportError:
        print("pyserial is missing: pip install pyserial", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{args.port}: {error}; is the port right, and may you read it?", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
