"""What the package's commands have in common: a source to read, and arguments."""

from __future__ import annotations

import argparse
import math
import sys

from .wire import DEFAULT_BAUD

#: Bits a second that Posewire takes at the other end.
_BAUDS = range(4_800, 12_000_001)


def say(text: str) -> None:
    """Tells whoever runs the command."""
    print(text, file=sys.stderr)


def is_missing(library: str) -> int:
    """Tells whoever runs the command which library to install, and is the command's status."""
    say(f"{library} is missing: pip install {library}, in a virtual environment (docs/python.md)")
    return 2


def baud_of(text: str) -> int:
    """An argument that is the rate of a line."""
    if not text.isdecimal() or int(text) not in _BAUDS:
        raise argparse.ArgumentTypeError(f"{text!r:.20} is no baud rate: give {_BAUDS[0]} to {_BAUDS[-1]}")
    return int(text)


def count_of(text: str) -> int:
    """An argument that says how many."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r:.20} is no whole number from 0")
    return int(text)


def real_of(text: str) -> float:
    """An argument that is a time or a rate, not below 0."""
    try:
        real = float(text)
    except ValueError:
        real = math.nan
    if not 0.0 <= real < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r:.20} is no number from 0")
    return real


def command_line(name: str, description: str, examples: str, source: str) -> argparse.ArgumentParser:
    """The parser of `python -m posewire NAME SOURCE`, with the rate of a serial port; `source` says what SOURCE may be."""
    parser = argparse.ArgumentParser(
        prog=f"python -m posewire {name}",
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("source", metavar="SOURCE", help=source)
    parser.add_argument(
        "--baud", type=baud_of, default=DEFAULT_BAUD, help="of a serial port (default: %(default)s)"
    )
    return parser
