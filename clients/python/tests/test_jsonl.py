"""Lines against the files that `posewire read` is held to, and `python -m posewire` as a user starts it."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import unittest
from pathlib import Path

from posewire import FORMATS, JOINTS, Assembly, Decoder, Moment, PosePacket, as_line, as_lines, first_row

GOLDEN = Path(__file__).resolve().parents[3] / "tests" / "golden" / "lines"


def moments() -> list[Moment]:
    assembly, given = Assembly(), []
    for event in Decoder().feed(bytes.fromhex((GOLDEN / "wire.hex").read_text(encoding="ascii"))):
        if isinstance(event, PosePacket):
            given += assembly.push(event)
    return given + assembly.flush()


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
