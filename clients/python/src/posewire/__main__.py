"""`python -m posewire SOURCE`: prints poses as JSON lines; `plot`, `lsl` and `record` in its place do what they are called."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Iterable

from ._command import baud_of, count_of, is_missing, say
from ._hints import watched
from ._signals import Ending, ignore_late
from .frames import FrameLike, check_port, frames_from, is_port
from .jsonl import FORMATS, as_lines, first_row
from .reader import PoseReader
from .wire import DEFAULT_BAUD

EXAMPLES = """\
examples:
  python -m posewire /dev/ttyUSB0
  python -m posewire /dev/ttyUSB0 --baud 921600 | jq '.persons[0].keypoints[9]'
  python -m posewire /dev/ttyUSB0 --jsonl-format csv --frames 300 > poses.csv
  python -m posewire COM3 --jsonl-format named | head -n 3
  python -m posewire walk.jsonl --jsonl-format csv > walk.csv
  python -m posewire plot udp:9100         # and so on: plot, lsl and record have a --help of their own
  python -m posewire record udp:9100 --csv walk.csv
  python -m posewire lsl udp:9100

SOURCE is a serial port, udp:PORT (of posewire run --udp), a file of JSON lines, or - for standard input.
Each line is printed as soon as its persons are there; Ctrl-C ends it. What was counted on a serial line goes to stderr."""


#: Modules that are programs, too; no port is called so.
PROGRAMS = ("lsl", "plot", "record")


def main() -> int:
    if len(sys.argv) > 1 and sys.argv[1] in PROGRAMS:
        code: int = importlib.import_module(f"posewire.{sys.argv[1]}").main(sys.argv[2:])
        return code
    parser = argparse.ArgumentParser(
        prog="python -m posewire",
        description="Prints poses as JSON lines, the same as `posewire read`.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="serial port (/dev/ttyUSB0, COM3), udp:PORT, file of JSON lines, or -",
    )
    parser.add_argument(
        "--baud", type=baud_of, default=DEFAULT_BAUD, help="of a serial port (default: %(default)s)"
    )
    parser.add_argument(
        "--jsonl-format",
        choices=FORMATS,
        default="full",
        metavar="FORMAT",
        help="what a line is: a frame (full, named) or a person (coco, flat, csv) (default: %(default)s)",
    )
    parser.add_argument(
        "--frames", type=count_of, default=0, help="stop after so many moments (default: never)"
    )
    args = parser.parse_args()
    Ending()
    try:
        if not is_port(args.source):
            print_frames(frames_from(args.source, say=say), args.frames, args.jsonl_format)
            return 0
        check_port(args.source)
        with PoseReader(args.source, args.baud) as reader:
            try:
                with watched(reader, args.source, args.baud, say):
                    print_frames(reader.moments(), args.frames, args.jsonl_format)
            finally:
                # Ctrl-C is how a line ends.
                print(reader.moment_counters, reader.counters, file=sys.stderr)
    except ImportError:
        return is_missing("pyserial")
    except BrokenPipeError:
        # The reader of the lines has had enough. What Python still holds for it goes nowhere, instead of failing at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError) as error:  # the latter of a rate that the port does not have
        is_there = is_port(args.source) and not isinstance(error, (FileNotFoundError, IsADirectoryError))
        asked = "; is the port right, and may you read it?" if is_there else ""
        print(f"{args.source}: {error}{asked}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        pass
    return 0


def print_frames(frames: Iterable[FrameLike], most: int, line_format: str) -> None:
    """Prints frames as they come, `most` of them (0: all)."""
    names = first_row(line_format)
    if names is not None:
        print(names, flush=True)
    for shown, frame in enumerate(frames, start=1):
        for line in as_lines(frame, line_format):
            print(line)
        sys.stdout.flush()
        if shown == most:
            break


if __name__ == "__main__":
    status = main()
    ignore_late()
    sys.exit(status)
