"""Recordings: what is in a table, in Parquet and in TRC, and what is left of them and of earlier ones when something fails."""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import math
import os
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from test_frames import FULL, golden, walker
from test_jsonl import GOLDEN

from posewire import JOINTS, as_lines
from posewire._command import count_of
from posewire._elapsed import Elapsed
from posewire.record import CsvRecorder, ParquetRecorder, Recorder, TrcRecorder, main

try:
    from pyarrow import parquet
except ImportError:
    parquet = None
    print("SKIPPED: poses in Parquet: python3 has no pyarrow (pip install pyarrow)", file=sys.stderr)

try:
    import resource
except ImportError:
    resource = None  # type: ignore[assignment]


class OnDisk(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_a_table_is_that_of_read(self) -> None:
        path = self.folder / "poses.csv"
        with CsvRecorder(path) as recorder:
            for frame in golden():
                recorder.write(frame)
            # Whole rows are there before it is closed.
            self.assertEqual(
                path.read_text(encoding="utf-8"), (GOLDEN / "csv.csv").read_text(encoding="utf-8")
            )

    @unittest.skipIf(parquet is None, "no pyarrow")
    def test_columns_have_types_and_a_file_is_whole_or_not_there(self) -> None:
        path = self.folder / "poses.parquet"
        with ParquetRecorder(path) as recorder:
            for _ in range(400):
                for frame in golden():
                    recorder.write(frame)
            self.assertFalse(path.exists())
        self.assertEqual([p.name for p in self.folder.iterdir()], ["poses.parquet"])
        rows = parquet.read_table(path).to_pylist()
        self.assertEqual(len(rows), recorder.rows)
        self.assertGreater(parquet.ParquetFile(path).num_row_groups, 1)
        with (GOLDEN / "csv.csv").open(encoding="utf-8") as file:
            for row, told in zip(rows, csv.DictReader(file), strict=False):
                self.assertEqual(list(row), list(told))
                for name, value in told.items():
                    is_word = name == "source" or name.endswith("_state")
                    wanted = None if value == "" else value if is_word else float(value)
                    if isinstance(wanted, float) and not isinstance(row[name], int):
                        # Both are 32-bit floats, one of them in decimals.
                        self.assertAlmostEqual(row[name], wanted, delta=1e-6 * abs(wanted))
                    else:
                        self.assertEqual(row[name], wanted, name)
        schema = parquet.read_schema(path)
        self.assertEqual(str(schema.field("captured_us").type), "int64")
        self.assertEqual(str(schema.field("nose_x").type), "float")

    def test_markers_are_metres_with_y_up_and_time_goes_forwards(self) -> None:
        path = self.folder / "walk.trc"
        with TrcRecorder(path) as recorder:
            recorder.write(walker(0, lifted=False))
            for seq in (1, 2, 2, 1, 3):
                recorder.write(walker(seq))
            recorder.write(walker(4, track_id=9))
            recorder.write(walker(5))
            self.assertFalse(path.exists())
        self.assertEqual([p.name for p in self.folder.iterdir()], ["walk.trc"])
        lines = path.read_text(encoding="utf-8").split("\n")
        self.assertEqual(lines[0], "PathFileType\t4\t(X/Y/Z)\twalk.trc")
        self.assertEqual(lines[2], "25.00\t25.00\t5\t17\tm\t25.00\t1\t5")
        self.assertEqual(lines[3].split("\t")[2::3], [*JOINTS])
        self.assertEqual((lines[4].split("\t")[2:5], lines[5], lines[-1]), (["X1", "Y1", "Z1"], "", ""))
        rows = [line.split("\t") for line in lines[6:-1]]
        self.assertEqual({len(row) for row in rows} | {len(lines[4].split("\t"))}, {2 + 3 * 17})
        self.assertEqual([row[0] for row in rows], ["1", "2", "3", "4", "5"])
        self.assertEqual([float(row[1]) for row in rows], [0.0, 0.04, 0.08, 0.12, 0.16])
        self.assertEqual(rows[0][2 + 3 * 2 : 5 + 3 * 2], ["0.02000", "0.50000", "-0.25000"])
        self.assertEqual(rows[0][5:8], ["", "", ""], "an absent joint has no place")
        self.assertEqual(set(rows[3][2:]), {""}, "somebody else")

    def test_a_clock_that_starts_anew_carries_a_recording_on(self) -> None:
        lines, markers, table = (self.folder / name for name in ("poses.jsonl", "a.trc", "a.csv"))
        # 4 s, and as much again of a tracker that has been switched on anew.
        seqs = [*range(50_000, 50_100), *range(100)]
        lines.write_text("".join(f"{as_lines(walker(seq))[0]}\n" for seq in seqs), encoding="utf-8")
        code, said = self.recorded(str(lines), "--trc", str(markers), "--csv", str(table), "--seconds", "6")
        self.assertEqual((code, said), (0, f"{markers}: 150 rows\n{table}: 151 rows\n"))
        times_s = [float(row.split("\t")[1]) for row in markers.read_text(encoding="utf-8").splitlines()[6:]]
        self.assertEqual(times_s, [round(0.04 * i, 2) for i in range(150)])

    def test_time_goes_on_by_the_clock_of_whoever_hears_where_another_trackers_begins(self) -> None:
        for jump_us in (-1_000_000_000, 1_000_000_000):
            elapsed = Elapsed()
            before = [elapsed.at(5_000_000_000 + 40_000 * i, 70 + 40_000 * i) for i in range(100)]
            # Another board takes its place 2 s later.
            after = [
                elapsed.at(5_000_000_000 + jump_us + 40_000 * i, 70 + 5_960_000 + 40_000 * i)
                for i in range(10)
            ]
            self.assertEqual(before + after, [40_000 * i for i in [*range(100), *range(149, 159)]])
            # Those that waited while this program was stopped for 60 s, and the first one after it.
            captured_us, now_us = 5_000_000_000 + jump_us, 70 + 5_960_000
            waited = [elapsed.at(captured_us + 40_000 * i, now_us + 60_400_000 + i) for i in range(10, 13)]
            waited.append(elapsed.at(captured_us + 60_440_000, now_us + 60_440_000))
            self.assertEqual([us - 5_960_000 for us in waited], [400_000, 440_000, 480_000, 60_440_000])

    def test_markers_have_a_row_a_captured_frame_and_what_is_left_out_is_said(self) -> None:
        lines, markers = self.folder / "poses.jsonl", self.folder / "a.trc"
        # As of --rate 100: three moments of sending for each frame.
        sent = [
            replace(walker(seq), sent_us=40_000 * seq + at_us)
            for seq in range(5)
            for at_us in (9, 10_009, 20_009)
        ]
        lines.write_text("".join(f"{as_lines(frame)[0]}\n" for frame in sent), encoding="utf-8")
        code, said = self.recorded(str(lines), "--trc", str(markers))
        self.assertEqual(code, 0)
        self.assertTrue(said.startswith(f"{markers}: 5 rows, one a captured frame; 10 moments "), said)
        self.assertIn("--rate camera", said)

    def test_arguments_that_mean_nothing_are_refused(self) -> None:
        wrong = {
            "--baud": ("-5", "0", "99999999999", "fast"),
            "--seconds": ("-1", "nan", "inf", "long"),
        }
        for flag, value in ((flag, value) for flag, values in wrong.items() for value in values):
            with self.subTest(flag, value=value), self.assertRaises(SystemExit) as ended:
                self.recorded("/nowhere.jsonl", "--csv", "a.csv", flag, value)
            self.assertEqual(ended.exception.code, 2)
        with self.assertRaises(argparse.ArgumentTypeError):
            count_of("-1")
        said = io.StringIO()
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(said):
            main([str(FULL), "--csv", str(self.folder / "a.csv"), "--person", "7"])
        self.assertIn("tables hold everybody", said.getvalue())

    def test_the_command_records_both_and_says_how_much(self) -> None:
        table, markers = self.folder / "a.csv", self.folder / "a.trc"
        lines = self.folder / "poses.jsonl"
        lines.write_text("".join(f"{as_lines(walker(seq))[0]}\n" for seq in range(50)), encoding="utf-8")
        self.assertEqual(main([str(lines), "--csv", str(table), "--trc", str(markers), "--seconds", "1"]), 0)
        with table.open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 25)
        self.assertTrue(math.isclose(float(rows[-1]["left_ear_x"]), 54.0))
        self.assertIn("\t25\t17\tm\t", markers.read_text(encoding="utf-8"))
        lines.write_text("no poses\n", encoding="utf-8")
        self.assertEqual(self.recorded(str(lines), "--csv", str(table))[0], 1)

    def test_a_file_is_not_read_and_written_at_once_nor_written_twice(self) -> None:
        lines = self.folder / "walk.jsonl"
        lines.write_bytes(FULL.read_bytes())
        (self.folder / "link.jsonl").symlink_to(lines)
        for words, why in (
            (("--csv", str(lines)), "is what is read"),
            (("--trc", str(self.folder / "link.jsonl")), "is what is read"),
            (("--csv", str(self.folder / "o"), "--trc", str(self.folder / "." / "o")), "name one file"),
        ):
            with (
                self.subTest(words=words),
                self.assertRaises(SystemExit),
                contextlib.redirect_stderr(io.StringIO()) as said,
            ):
                main([str(lines), *words])
            self.assertIn(why, said.getvalue())
        self.assertEqual(lines.read_bytes(), FULL.read_bytes())
        self.assertFalse((self.folder / "o").exists())

    def test_markers_of_nobody_leave_an_earlier_file_and_say_so(self) -> None:
        markers = self.folder / "walk.trc"
        markers.write_text("earlier")
        code, said = self.recorded(str(FULL), "--trc", str(markers), "--person", "99")
        self.assertEqual((code, markers.read_text()), (1, "earlier"))
        self.assertIn("nothing is written, person 99 did not come with 3D, which these had: ", said)
        self.assertNotIn("serial", said)
        lines = self.folder / "poses.jsonl"
        for frame, why in (
            (walker(1, lifted=False), "nobody with 3D came: the smoothers xl"),
            (replace(walker(1), poses=()), "nobody came"),
        ):
            lines.write_text(f"{as_lines(frame)[0]}\n", encoding="utf-8")
            code, said = self.recorded(str(lines), "--trc", str(markers))
            self.assertEqual((code, why in said, markers.read_text()), (1, True, "earlier"), said)

    def recorded(self, *words: str) -> tuple[int, str]:
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            return main([*words]), said.getvalue()

    def test_an_earlier_recording_stays_where_nothing_comes(self) -> None:
        table, markers, columns = (self.folder / f"a.{kind}" for kind in ("csv", "trc", "parquet"))
        for path in (table, markers, columns):
            path.write_text("an hour's work", encoding="utf-8")
        typed = ["--parquet", str(columns)] if parquet else []
        empty = self.folder / "empty.jsonl"
        empty.touch()
        for source in (str(self.folder / "mistyped.jsonl"), str(empty)):
            code, said = self.recorded(source, "--csv", str(table), "--trc", str(markers), *typed)
            self.assertTrue(code, said)
        # Neither does a table that cannot be opened cost the others theirs.
        nowhere = self.folder / "no folder" / "a.csv"
        code, said = self.recorded(str(FULL), "--csv", str(nowhere), "--trc", str(markers), *typed)
        self.assertEqual((code, str(nowhere) in said), (1, True), said)
        for path in (table, markers, columns):
            self.assertEqual(path.read_text(encoding="utf-8"), "an hour's work")
        self.assertEqual(len(list(self.folder.iterdir())), 4, "no part is left")

    @unittest.skipUnless(Path("/dev/full").exists(), "no /dev/full")
    def test_an_output_that_fails_at_once_is_named_alone(self) -> None:
        markers = self.folder / "a.trc"
        code, said = self.recorded(str(FULL), "--csv", "/dev/full", "--trc", str(markers))
        self.assertEqual((code, said), (1, "/dev/full: No space left on device; nothing is recorded\n"))
        self.assertEqual(list(self.folder.iterdir()), [])

    @unittest.skipIf(resource is None, "no limits on the size of files")
    def test_a_full_disk_leaves_whole_rows_and_costs_the_others_nothing(self) -> None:
        lines = self.folder / "poses.jsonl"
        lines.write_text("".join(f"{as_lines(walker(seq))[0]}\n" for seq in range(700)), encoding="utf-8")
        wishes = [("csv", 900), ("trc", 900), *([("parquet", 400)] if parquet else [])]
        for kind, kib in wishes:
            with self.subTest(kind):
                path, other = self.folder / f"a.{kind}", self.folder / "other.trc"
                whole, size = self.limited(kib << 10, str(lines), f"--{kind}", str(path)), path.stat().st_size
                self.assertEqual((whole.returncode, whole.stderr), (0, f"{path}: 700 rows\n"))
                earlier, whole_file = b"earlier", path.read_bytes()
                path.write_bytes(earlier)
                path.chmod(0o640)
                # Not at a row's end.
                words = [str(lines), f"--{kind}", str(path), "--trc", str(other)]
                done = self.limited(size // 2, *(words if kind == "csv" else words[:3]))
                self.assertEqual(done.returncode, 1)
                self.assertTrue(done.stderr.startswith(f"{path}: "), done.stderr)
                self.assertIn("File too large; ", done.stderr)
                self.assertFalse(path.with_name(f"{path.name}.part").exists())
                self.assertEqual(path.stat().st_mode & 0o777, 0o640)
                if kind == "parquet":
                    self.assertEqual(path.read_bytes(), earlier)
                    continue
                kept = path.read_bytes()
                rows = kept.count(b"\n") - (1 if kind == "csv" else 6)
                self.assertIn(f"; the {rows} rows before are kept\n", done.stderr)
                self.assertLess(size // 2 - len(kept), 2_000)
                if kind == "csv":
                    self.assertTrue(whole_file.startswith(kept) and kept.endswith(b"\n"))
                    self.assertIn(f"{other}: {rows + 1} rows\n", done.stderr)
                else:
                    heads = [text.split(b"\n")[2].split(b"\t")[2] for text in (whole_file, kept)]
                    self.assertEqual(heads, [b"700", b"%d" % rows])
                    body = kept.split(b"\n", 3)[3]
                    self.assertTrue(whole_file.split(b"\n", 3)[3].startswith(body) and body.endswith(b"\n"))

    def limited(self, most_bytes: int, *words: str) -> subprocess.CompletedProcess[str]:
        """`record`, where no file may be longer: a disk that is full, for files that grow."""
        code = (
            f"import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({most_bytes}, {most_bytes})); "
            f"from posewire.record import main; sys.exit(main({[*words]!r}))"
        )
        return subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, check=False)

    @unittest.skipIf(resource is None, "no locks")
    def test_what_another_recording_writes_is_left_to_it(self) -> None:
        table, markers, columns = (self.folder / f"a.{kind}" for kind in ("csv", "trc", "parquet"))
        markers.write_text("earlier", encoding="utf-8")
        wishes: list[tuple[Path, Callable[[Path], Recorder]]] = [(table, CsvRecorder), (markers, TrcRecorder)]
        if parquet:
            wishes.append((columns, ParquetRecorder))
        for path, kind in wishes:
            with self.subTest(path.suffix):
                recorder = kind(path)
                recorder.write(walker(1))
                code, said = self.recorded(str(FULL), f"--{path.suffix[1:]}", str(path))
                self.assertEqual((code, f"{path}: another program writes it: " in said), (1, True), said)
                if path == table:
                    # Nor is it replaced by what has a part of its own.
                    self.assertEqual(self.recorded(str(FULL), "--trc", str(path))[0], 1)
                recorder.write(walker(2))
                recorder.close()
                self.assertEqual(recorder.rows, 2)
                # It is free again.
                self.assertEqual(self.recorded(str(FULL), f"--{path.suffix[1:]}", str(path))[0], 0)
        self.assertEqual(sorted(self.folder.iterdir()), sorted(path for path, _ in wishes))

    def test_links_stay_and_devices_are_left_alone(self) -> None:
        link, target = self.folder / "link.trc", self.folder / "there" / "walk.trc"
        target.parent.mkdir()
        target.write_text("earlier", encoding="utf-8")
        link.symlink_to(target)
        self.assertEqual(self.recorded(str(FULL), "--trc", str(link))[0], 0)
        self.assertTrue(link.is_symlink() and target.read_text("utf-8").startswith("PathFileType"))
        code, said = self.recorded(str(FULL), "--trc", os.devnull)
        self.assertEqual((code, "no regular file" in said), (1, True), said)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["link.trc", "there"])


if __name__ == "__main__":
    unittest.main()
