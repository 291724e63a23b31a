"""What the package's commands have in common: a source to read, and an end by signal that loses nothing."""

from __future__ import annotations

import argparse
import signal

from .wire import DEFAULT_BAUD


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
        "--baud", type=int, default=DEFAULT_BAUD, help="of a serial port (default: %(default)s)"
    )
    return parser


def end_by_signal() -> None:
    """Both Ctrl-C and a polite kill raise KeyboardInterrupt, so that what is open is closed."""
    for which in (signal.SIGINT, signal.SIGTERM):
        signal.signal(which, signal.default_int_handler)
