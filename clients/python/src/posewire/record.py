"""`python -m posewire record SOURCE`: poses to a table (CSV, Parquet) or a file of markers (TRC, as OpenSim and Mokka read it)."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from ._command import command_line, is_missing, real_of, say
from ._elapsed import Elapsed
from ._files import Lines, Replacement, claim
from ._signals import Ending, uninterrupted
from ._trc import TrcRecorder
from .frames import FrameLike, can_wait, frames_from
from .jsonl import as_lines, first_row, row

__all__ = ["CsvRecorder", "ParquetRecorder", "Recorder", "TrcRecorder", "main"]

EXAMPLES = """\
examples:
  python -m posewire record /dev/ttyUSB0 --csv walk.csv --seconds 60
  python -m posewire record udp:9100 --trc walk.trc
  python -m posewire record poses.jsonl --parquet walk.parquet --trc walk.trc --person 3

SOURCE is a serial port, udp:PORT (of posewire run --udp), a file of JSON lines, or - for standard input.
Ctrl-C ends it; what was recorded is kept."""


class Recorder(Protocol):
    """What every recorder is."""

    #: Written so far.
    rows: int

    def write(self, frame: FrameLike) -> None: ...
    def close(self) -> None: ...
    def kept(self) -> str:
        """What is there after something went wrong, in words."""


class CsvRecorder:
    """The rows of `--jsonl-format csv`, one a person and moment."""

    def __init__(self, path: str | Path) -> None:
        self.rows = 0
        self._lines = Lines(claim(Path(path)))
        try:
            self._lines.add(f"{first_row('csv')}\n")
        except BaseException:
            self._lines.close()
            raise

    def write(self, frame: FrameLike) -> None:
        lines = as_lines(frame, "csv")
        # A recording that is killed holds all whole rows.
        self._lines.add("".join(f"{line}\n" for line in lines))
        self.rows += len(lines)

    def close(self) -> None:
        self._lines.close()

    def kept(self) -> str:
        return f"the {self.rows} rows before are kept"

    def __enter__(self) -> CsvRecorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class ParquetRecorder:
    """The same rows in columns with types, compressed (the extra `parquet`).

    A Parquet file ends with what its beginning means: it grows as `PATH.part`, and becomes the file in `close`.
    """

    #: Rows that are kept in memory and written together.
    GROUP = 600

    def __init__(self, path: str | Path) -> None:
        import pyarrow
        import pyarrow.parquet

        self.rows = 0
        self._is_begun = False
        self._is_broken = False
        self._arrow: Any = pyarrow
        self._replacement = Replacement(path)
        columns = [(name, self._type(name)) for name in row(None, None)]
        self._schema: Any = pyarrow.schema(columns)
        self._kept: list[dict[str, int | float | str | None]] = []
        try:
            self._writer: Any = pyarrow.parquet.ParquetWriter(
                self._replacement.part, self._schema, compression="zstd"
            )
        except BaseException:
            self._replacement.give_up()
            raise

    def _type(self, name: str) -> Any:
        arrow = self._arrow
        if name in ("seq", "frame", "captured_us", "emitted_us", "id"):
            return arrow.int64()
        if name in ("width", "height"):
            return arrow.int32()
        if name == "source" or name.endswith("_state"):
            return arrow.dictionary(arrow.int8(), arrow.string())
        return arrow.float32()

    def write(self, frame: FrameLike) -> None:
        # Half a group would cost the whole file.
        with uninterrupted():
            self._is_begun = True
            for pose in frame.poses:
                self._kept.append(row(frame, pose))
                self.rows += 1
            if len(self._kept) >= self.GROUP:
                self._write_group()

    def _write_group(self) -> None:
        if self._kept:
            try:
                self._writer.write_table(self._arrow.Table.from_pylist(self._kept, schema=self._schema))
            except BaseException:
                self._is_broken = True
                raise
            self._kept.clear()

    def close(self) -> None:
        """Writes what is kept and gives the file its name; where no frame came or writing failed, what had that name before stays."""
        if self._writer.is_open:
            with uninterrupted():
                self._end()

    def _end(self) -> None:
        try:
            if self._is_begun and not self._is_broken:
                self._write_group()
                self._writer.close()
                self._replacement.take_place()
        finally:
            if self._writer.is_open:
                # It ends what it has begun, and what it has begun is none.
                with suppress(OSError, ValueError):
                    self._writer.close()
            # Without its end it says nothing, and takes room on a disk that is full.
            self._replacement.give_up()

    def kept(self) -> str:
        return "a Parquet file is whole or nothing: an earlier one stays as it is"

    def __enter__(self) -> ParquetRecorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _OutputError(Exception):
    """What befell a file that is written; the source is not to blame."""

    def __init__(self, path: Path, said: str) -> None:
        super().__init__(f"{path}: {said}")
        self.path = path


@contextmanager
def _blamed(path: Path, kept: Callable[[], str]) -> Iterator[None]:
    """Errors inside are told of `path`, with what is `kept` of it."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise _OutputError(path, f"{reason}; {kept()}") from error


def _open(args: argparse.Namespace, elapsed: Elapsed) -> list[tuple[Path, Recorder]]:
    """What is to be written, all of it or none. The table, which has no part of its own, is the last: nothing fails after it."""
    outputs: list[tuple[Path, Recorder]] = []

    def begin(path: Path | None, recorder: Callable[[Path], Recorder]) -> None:
        if path is not None:
            with _blamed(path, lambda: "nothing is recorded"):
                outputs.append((path, recorder(path)))

    try:
        # Between a part and its place in the list nobody would remove it.
        with uninterrupted():
            begin(args.parquet, ParquetRecorder)
            begin(args.trc, lambda path: TrcRecorder(path, args.person, elapsed))
        # A named pipe makes this one wait.
        begin(args.csv, CsvRecorder)
    except BaseException:
        for _, recorder in outputs:
            recorder.close()
        raise
    return outputs


def _close(outputs: list[tuple[Path, Recorder]], faults: dict[str | Path, str]) -> None:
    """Closes every one, whatever becomes of the others. One that failed when it was written to may fail once more."""
    for path, recorder in outputs:
        try:
            with _blamed(path, recorder.kept):
                recorder.close()
        except _OutputError as error:
            faults[path] = str(error)
        if isinstance(recorder, TrcRecorder) and recorder.is_begun and recorder.rows == 0:
            faults.setdefault(path, f"{path}: nothing is written, {recorder.nobody()}")


def _left_out(recorder: Recorder) -> str:
    if not isinstance(recorder, TrcRecorder) or recorder.left_out == 0:
        return ""
    return (
        f", one a captured frame; {recorder.left_out} moments that show one again, for later, are left out "
        "(posewire run --rate camera sends none)"
    )


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        # One of them is not there yet.
        return one.resolve() == other.resolve()


def _clash(args: argparse.Namespace) -> str | None:
    """What is wrong with the names of the files, before any is opened."""
    names = ("csv", "parquet", "trc")
    files = [(f"--{name}", path) for name in names if (path := getattr(args, name)) is not None]
    for at, (option, path) in enumerate(files):
        if _is_same(path, Path(args.source)):
            return f"{option} {path} is what is read"
        for earlier, other in files[:at]:
            if _is_same(path, other):
                return f"{earlier} and {option} name one file, {path}"
    return None


def main(arguments: list[str] | None = None) -> int:
    parser = command_line(
        "record",
        "Records poses to CSV, Parquet and TRC.",
        EXAMPLES,
        "serial port, udp:PORT, file of JSON lines, or -",
    )
    parser.add_argument("--csv", type=Path, metavar="FILE", help="a row a person and moment")
    parser.add_argument(
        "--parquet", type=Path, metavar="FILE", help="the same, compressed, with types (needs pyarrow)"
    )
    parser.add_argument("--trc", type=Path, metavar="FILE", help="one person's joints in metres")
    parser.add_argument(
        "--person", type=int, metavar="ID", help="whose joints --trc holds (default: the first who has 3D)"
    )
    parser.add_argument(
        "--seconds", type=real_of, default=0.0, help="stop after so long, by capture (default: never)"
    )
    args = parser.parse_args(arguments)
    if args.csv is None and args.parquet is None and args.trc is None:
        parser.error("nothing to write: give --csv FILE, --parquet FILE or --trc FILE")
    if args.person is not None and args.trc is None:
        parser.error(
            "--person says whose markers --trc FILE holds, and tables hold everybody: leave it out, and choose by the column `id`"
        )
    if clash := _clash(args):
        parser.error(clash)
    ending = Ending()
    outputs: list[tuple[Path, Recorder]] = []
    #: By what it befell.
    faults: dict[str | Path, str] = {}
    try:
        if args.parquet is not None:
            # What is missing is told at once.
            import_module("pyarrow.parquet")
        elapsed = Elapsed()
        is_live = not can_wait(args.source)
        for frame in frames_from(args.source, args.baud, say=say):
            # Before an output is opened: whoever reads a pipe may keep it waiting.
            now_us = time.monotonic_ns() // 1_000 if is_live else None
            if not outputs:
                # Not before something comes: a source that is mistyped leaves an earlier recording as it is.
                outputs = _open(args, elapsed)
            if elapsed.at(frame.captured_us, now_us) >= args.seconds * 1e6 > 0:
                break
            for path, recorder in outputs:
                with _blamed(path, recorder.kept):
                    recorder.write(frame)
    except ImportError as error:
        return is_missing("pyarrow" if (error.name or "").startswith("pyarrow") else "pyserial")
    except _OutputError as error:
        faults[error.path] = str(error)
    except (OSError, ValueError) as error:
        faults[args.source] = f"{args.source}: {error}"
    except KeyboardInterrupt:
        pass
    finally:
        ending.is_heard = False
        _close(outputs, faults)
    if not (outputs or faults):
        faults[args.source] = f"{args.source}: no frame came, nothing is recorded"
    for said in faults.values():
        print(said, file=sys.stderr)
    for path, recorder in outputs:
        if path not in faults:
            say(f"{path}: {recorder.rows} rows{_left_out(recorder)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
