"""`python -m posewire PORT`: prints poses as JSON lines; `plot`, `lsl` and `record` in the place of the port do what they are called."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import threading

from ._command import baud_of, count_of
from ._signals import Ending
from .jsonl import FORMATS, as_lines, first_row
from .reader import PoseReader
from .wire import DEFAULT_BAUD

#: The host answers the request for HELLO at once and says STATUS every second.
HINT_AFTER_S = 1.5

EXAMPLES = """\
examples:
  python -m posewire /dev/ttyUSB0
  python -m posewire /dev/ttyUSB0 --baud 921600 | jq '.persons[0].keypoints[9]'
  python -m posewire /dev/ttyUSB0 --jsonl-format csv --frames 300 > poses.csv
  python -m posewire COM3 --jsonl-format named | head -n 3
  python -m posewire plot udp:9100         # and so on: plot, lsl and record have a --help of their own
  python -m posewire record udp:9100 --csv walk.csv
  python -m posewire lsl udp:9100

Each line is printed as soon as its persons are there; Ctrl-C ends it. What was counted goes to stderr."""


def hint(port: str, baud: int, received: int, packets: int) -> str | None:
    """What may be wrong with a line on which nothing was understood."""
    if packets:
        return None
    if received == 0:
        return f"{port}: nothing received yet: does posewire run with --serial at the other end, and is its TX wired to this RX?"
    other = 921600 if baud == DEFAULT_BAUD else DEFAULT_BAUD
    return (
        f"{port}: {received} bytes received, nothing understood at {baud} baud: the other end runs at another rate "
        f"(try --baud {other}), or sends something else"
    )


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
    parser.add_argument("port", help="serial port, for example /dev/ttyUSB0 or COM3")
    parser.add_argument(
        "--baud", type=baud_of, default=DEFAULT_BAUD, help="bits a second (default: %(default)s)"
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
        with PoseReader(args.port, args.baud) as reader:
            print_moments(reader, args.port, args.baud, args.frames, args.jsonl_format)
    except ImportError:
        print("pyserial is missing: pip install pyserial", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader of the lines has had enough. What Python still holds for it goes nowhere, instead of failing at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError) as error:  # the latter of a rate that the port does not have
        print(f"{args.port}: {error}; is the port right, and may you read it?", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        pass
    return 0


def print_moments(reader: PoseReader, port: str, baud: int, most: int, line_format: str = "full") -> None:
    """Prints moments as they come, `most` of them (0: all), and in the end what was counted."""

    def say() -> None:
        text = hint(port, baud, reader.received, reader.counters.packets)
        if text is not None:
            print(text, file=sys.stderr)

    timer = threading.Timer(HINT_AFTER_S, say)
    timer.daemon = True
    timer.start()
    try:
        names = first_row(line_format)
        if names is not None:
            print(names, flush=True)
        for shown, moment in enumerate(reader.moments(), start=1):
            for line in as_lines(moment, line_format):
                print(line)
            sys.stdout.flush()
            if shown == most:
                break
    finally:
        timer.cancel()
    print(reader.moment_counters, reader.counters, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
