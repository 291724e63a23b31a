"""Lines against the files that `posewire read` is held to, and `python -m posewire` as a user starts it."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import subprocess
import sys
import unittest
from pathlib import Path

from test_reader import Line, opened

from posewire import (
    FORMATS,
    JOINTS,
    Frame,
    Moment,
    as_line,
    as_lines,
    first_row,
)

GOLDEN = Path(__file__).resolve().parents[3] / "tests" / "golden" / "lines"


def moments() -> list[Moment]:
    line = Line(bytes.fromhex((GOLDEN / "wire.hex").read_text(encoding="ascii")))
    given: list[Moment] = []
    # As a port that is pulled out.
    with contextlib.suppress(OSError):
        given.extend(opened(line).moments())
    return given


def written(line_format: str) -> str:
    names = first_row(line_format)
    lines = [line for moment in moments() for line in as_lines(moment, line_format)]
    return "".join(f"{line}\n" for line in ([names] if names else []) + lines)


class Lines(unittest.TestCase):
    def test_each_format_is_what_read_prints(self) -> None:
        for line_format in FORMATS:
            path = GOLDEN / f"{line_format}.{'csv' if line_format == 'csv' else 'jsonl'}"
            self.assertEqual(written(line_format), path.read_text(encoding="utf-8"), line_format)
        self.assertEqual([as_line(m) for m in moments()], written("full").splitlines())

    def test_a_table_reads_as_the_flat_lines(self) -> None:
        rows = list(csv.DictReader(io.StringIO(written("csv"))))
        flat = [json.loads(line) for line in written("flat").splitlines()]
        self.assertEqual([r.keys() for r in rows], [f.keys() for f in flat])
        self.assertEqual(len(rows), 6)
        for row, line in zip(rows, flat, strict=True):
            self.assertEqual({k: v or None for k, v in row.items()}, {k: _text(v) for k, v in line.items()})
            self.assertTrue(all(f"{joint}_z3d" in row for joint in JOINTS))

    def test_a_line_of_the_program_is_written_again_as_it_was(self) -> None:
        # Corners of a frame of the built-in clip, whose box is a subtraction of 32-bit floats; a tie of two decimals; both zeros.
        joints = [
            '[83.02677,205.96008,0.9690121,4.1462407,"measured"]',
            '[197.29665,207.42628,0.9730997,316.64063,"measured"]',
            '[131.978,107.708694,0.97969353,1243.4063,"measured"]',
            '[174.50061,424.70383,0.91079307,7.8958745,"measured"]',
            *['[0,0,0,0,"absent"]'] * 13,
        ]
        places = ["[0,-0,0.25]", "[-0,0,-0.25]", *["[0,0,0]"] * 15]
        line = (
            '{"seq":1,"frame":1,"captured_us":40000,"emitted_us":40009,"persons":[{"id":1,"score":0.9,'
            f'"box":[83.02677,107.708694,114.269875,316.99512],"keypoints":[{",".join(joints)}],'
            f'"keypoints3d":[{",".join(places)}]}}]}}'
        )
        frame = Frame.from_line(line)
        self.assertEqual(as_line(frame), line)
        self.assertIn("83.02677,107.708694,114.269875,316.99512,", as_lines(frame, "csv")[0])

    def test_help_has_examples(self) -> None:
        command = [sys.executable, "-B", "-m", "posewire", "--help"]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        self.assertIn("--jsonl-format csv", said)
        self.assertIn("examples:\n  python -m posewire /dev/ttyUSB0\n", said)


def _text(value: object) -> str | None:
    """As a table's cell."""
    if isinstance(value, float):
        # The shortest decimals of both are the same digits; only Python's text of small ones has an exponent.
        return (
            f"{value:.12f}".rstrip("0").rstrip(".") if "e" in repr(value) else repr(value).removesuffix(".0")
        )
    return None if value is None else str(value)


if __name__ == "__main__":
    unittest.main()
