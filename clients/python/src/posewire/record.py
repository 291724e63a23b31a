"""`python -m posewire record SOURCE`: poses to a table (CSV, Parquet) or a file of markers (TRC, as OpenSim and Mokka read it)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import IO, Any, Protocol

from ._command import command_line, end_by_signal, real_of
from .frames import FrameLike, frames_from
from .jsonl import as_lines, first_row, row
from .pose import JOINTS, Pose

EXAMPLES = """\
examples:
  python -m posewire record /dev/ttyUSB0 --csv walk.csv --seconds 60
  python -m posewire record udp:9100 --trc walk.trc
  python -m posewire record poses.jsonl --parquet walk.parquet --trc walk.trc --person 3

SOURCE is a serial port, udp:PORT (of posewire run --udp), a file of JSON lines, or - for standard input.
Ctrl-C ends it; what was recorded is kept."""


#: A step back beyond it is a tracker whose clock has started anew; a smaller one is a frame that came late. Microseconds.
_ANEW_US = 1_000_000


class _Elapsed:
    """Time by capture, carried on where the tracker's clock starts anew."""

    def __init__(self) -> None:
        #: The latest so far, microseconds.
        self.us = 0
        self._begun_us: int | None = None

    def at(self, captured_us: int) -> int:
        """Microseconds from the first frame to this one."""
        if self._begun_us is None or captured_us - self._begun_us < self.us - _ANEW_US:
            self._begun_us = captured_us - self.us
        us = captured_us - self._begun_us
        self.us = max(self.us, us)
        return us


class Recorder(Protocol):
    """What every recorder is."""

    #: Written so far.
    rows: int

    def write(self, frame: FrameLike) -> None: ...
    def close(self) -> None: ...


class CsvRecorder:
    """The rows of `--jsonl-format csv`, one a person and moment."""

    def __init__(self, path: str | Path) -> None:
        self.rows = 0
        self._file: IO[str] = Path(path).open("w", encoding="utf-8", newline="")  # noqa: SIM115  # closed in `close`
        self._file.write(f"{first_row('csv')}\n")

    def write(self, frame: FrameLike) -> None:
        for line in as_lines(frame, "csv"):
            self._file.write(line + "\n")
            self.rows += 1
        # A recording that is killed holds all whole rows.
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> CsvRecorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class ParquetRecorder:
    """The same rows in columns with types, compressed (`pip install posewire[parquet]`).

    A Parquet file ends with what its beginning means: it grows as `PATH.part`, and becomes the file in `close`.
    """

    #: Rows that are kept in memory and written together.
    GROUP = 600

    def __init__(self, path: str | Path) -> None:
        import pyarrow
        import pyarrow.parquet

        self.rows = 0
        self._is_begun = False
        self._arrow: Any = pyarrow
        self._path = Path(path)
        self._part_path = self._path.with_name(self._path.name + ".part")
        columns = [(name, self._type(name)) for name in row(None, None)]
        self._schema: Any = pyarrow.schema(columns)
        self._kept: list[dict[str, int | float | str | None]] = []
        self._writer: Any = pyarrow.parquet.ParquetWriter(self._part_path, self._schema, compression="zstd")

    def _type(self, name: str) -> Any:
        arrow = self._arrow
        if name in ("seq", "frame", "captured_us", "emitted_us", "id"):
            return arrow.int64()
        if name == "source" or name.endswith("_state"):
            return arrow.dictionary(arrow.int8(), arrow.string())
        return arrow.float32()

    def write(self, frame: FrameLike) -> None:
        self._is_begun = True
        for pose in frame.poses:
            self._kept.append(row(frame, pose))
            self.rows += 1
        if len(self._kept) >= self.GROUP:
            self._write_group()

    def _write_group(self) -> None:
        if self._kept:
            self._writer.write_table(self._arrow.Table.from_pylist(self._kept, schema=self._schema))
            self._kept.clear()

    def close(self) -> None:
        """Writes what is kept and gives the file its name; where no frame came, what had that name before stays."""
        if self._writer.is_open:
            self._write_group()
            self._writer.close()
            if self._is_begun:
                self._part_path.replace(self._path)
            else:
                self._part_path.unlink()

    def __enter__(self) -> ParquetRecorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class TrcRecorder:
    """One person's 3D joints as markers, in metres: x right in the picture, y up, z towards the camera.

    `person` is an identity, or None for the first who has 3D. A frame without them, and a joint that is absent, are empty cells. TRC
    says how many rows there are at its top: they wait in `PATH.part` and become the file in `close`.
    """

    def __init__(self, path: str | Path, person: int | None = None) -> None:
        self.rows = 0
        self._path = Path(path)
        self._person = person
        self._part: IO[str] = self._part_path.open("w+", encoding="utf-8", newline="")
        self._elapsed = _Elapsed()
        self._steps_us: list[int] = []

    @property
    def _part_path(self) -> Path:
        return self._path.with_name(self._path.name + ".part")

    def write(self, frame: FrameLike) -> None:
        pose = self._pose(frame)
        if self.rows == 0 and pose is None:
            # The recording begins with the person.
            return
        last_us = self._elapsed.us
        us = self._elapsed.at(frame.captured_us)
        if self.rows:
            if us <= last_us:
                # Late, sent twice, or the first of a tracker that has started anew: time goes forwards in a TRC.
                return
            self._steps_us.append(us - last_us)
        self.rows += 1
        self._part.write(f"{self.rows}\t{us / 1e6:.6f}\t{_cells(pose)}\n")
        self._part.flush()

    def _pose(self, frame: FrameLike) -> Pose | None:
        for pose in frame.poses:
            if pose.joints_3d is not None and self._person in (None, pose.track_id):
                self._person = pose.track_id
                return pose
        return None

    def close(self) -> None:
        """Writes the file and removes its part; where the person did not come, what had its name before stays."""
        if self._part.closed:
            return
        if self.rows == 0:
            self._part.close()
            self._part_path.unlink()
            return
        step_us = median(self._steps_us) if self._steps_us else 0
        rate = f"{1e6 / step_us:.2f}" if step_us else "0.00"
        count = len(JOINTS)
        names = "\t\t\t".join(JOINTS)
        axes = "\t".join(f"{axis}{i}" for i in range(1, count + 1) for axis in "XYZ")
        self._part.seek(0)
        with self._path.open("w", encoding="utf-8", newline="") as file:
            file.write(f"PathFileType\t4\t(X/Y/Z)\t{self._path.name}\n")
            file.write(
                "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames\n"
            )
            file.write(f"{rate}\t{rate}\t{self.rows}\t{count}\tm\t{rate}\t1\t{self.rows}\n")
            file.write(f"Frame#\tTime\t{names}\t\t\n\t\t{axes}\n\n")
            for row in self._part:
                file.write(row)
        self._part.close()
        self._part_path.unlink()

    def __enter__(self) -> TrcRecorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _cells(pose: Pose | None) -> str:
    if pose is None or pose.joints_3d is None:
        return "\t\t" + "\t\t\t" * (len(JOINTS) - 1)
    return "\t".join(
        # Half a turn about x: y up, still right-handed.
        f"{x:.5f}\t{-y:.5f}\t{-z:.5f}" if joint.state != "absent" else "\t\t"
        for joint, (x, y, z) in zip(pose.joints, pose.joints_3d, strict=True)
    )


class _OutputError(Exception):
    """What befell a file that is written; the source is not to blame."""


@contextmanager
def _blamed(path: Path) -> Iterator[None]:
    """Errors inside are told of `path`."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise _OutputError(f"{path}: {reason}; what was written before is kept") from error


def _open(outputs: list[tuple[Path, Recorder]], args: argparse.Namespace) -> None:
    """Opens what is to be written, into `outputs`. The table, which has no part of its own, is the last: nothing fails after it."""
    if args.parquet is not None:
        with _blamed(args.parquet):
            outputs.append((args.parquet, ParquetRecorder(args.parquet)))
    if args.trc is not None:
        with _blamed(args.trc):
            outputs.append((args.trc, TrcRecorder(args.trc, args.person)))
    if args.csv is not None:
        with _blamed(args.csv):
            outputs.append((args.csv, CsvRecorder(args.csv)))


def _close(path: Path, recorder: Recorder) -> str | None:
    """What went wrong."""
    try:
        with _blamed(path):
            recorder.close()
    except _OutputError as error:
        return str(error)
    if isinstance(recorder, TrcRecorder) and recorder.rows == 0:
        return f"{path}: nobody with 3D came, nothing is written; over a serial line they come with `[serial] with_3d = true`"
    return None


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
        "--person", type=int, metavar="ID", help="whose markers (default: the first who has 3D)"
    )
    parser.add_argument(
        "--seconds", type=real_of, default=0.0, help="stop after so long, by capture (default: never)"
    )
    args = parser.parse_args(arguments)
    if args.csv is None and args.parquet is None and args.trc is None:
        parser.error("nothing to write: give --csv FILE, --parquet FILE or --trc FILE")
    if clash := _clash(args):
        parser.error(clash)
    end_by_signal()
    outputs: list[tuple[Path, Recorder]] = []
    faults: list[str] = []
    try:
        if args.parquet is not None:
            # What is missing is told at once.
            import_module("pyarrow.parquet")
        elapsed = _Elapsed()
        for frame in frames_from(args.source, args.baud):
            if not outputs:
                # Not before something comes: a source that is mistyped leaves an earlier recording as it is.
                _open(outputs, args)
            if elapsed.at(frame.captured_us) >= args.seconds * 1e6 > 0:
                break
            for path, recorder in outputs:
                with _blamed(path):
                    recorder.write(frame)
    except ImportError as error:
        missing = "pyarrow" if (error.name or "").startswith("pyarrow") else "pyserial"
        print(f"{missing} is missing: pip install {missing}", file=sys.stderr)
        return 2
    except _OutputError as error:
        faults.append(str(error))
    except (OSError, ValueError) as error:
        faults.append(f"{args.source}: {error}")
    except KeyboardInterrupt:
        pass
    finally:
        # Every one, whatever becomes of the others.
        faults += [fault for path, recorder in outputs if (fault := _close(path, recorder))]
    if not (outputs or faults):
        faults.append(f"{args.source}: no frame came, nothing is recorded")
    if faults:
        # A full disk says so when it is written to and once more when it is closed.
        print("\n".join(dict.fromkeys(faults)), file=sys.stderr)
        return 1
    for path, recorder in outputs:
        print(f"{path}: {recorder.rows} rows", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
