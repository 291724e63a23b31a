"""Frames of lines, datagrams and the wire: the same poses whichever way they came, in arrays, in asyncio, and on disk."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import csv
import io
import json
import math
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from collections.abc import Iterator
from pathlib import Path

from test_jsonl import GOLDEN, moments

from posewire import JOINTS, Floor, Frame, as_lines, frames_from, frames_from_lines, frames_from_udp
from posewire._command import count_of
from posewire.aio import Frames, frames_of, udp_frames
from posewire.record import CsvRecorder, ParquetRecorder, TrcRecorder, main

try:
    import numpy as np
except ImportError:
    np = None  # type: ignore[assignment]
    print("SKIPPED: poses as numpy arrays: python3 has no numpy (pip install numpy)", file=sys.stderr)

try:
    from pyarrow import parquet
except ImportError:
    parquet = None
    print("SKIPPED: poses in Parquet: python3 has no pyarrow (pip install pyarrow)", file=sys.stderr)

try:
    import resource
except ImportError:
    resource = None  # type: ignore[assignment]

FULL = GOLDEN / "full.jsonl"


def golden() -> list[Frame]:
    return list(frames_from(str(FULL)))


def walker(seq: int, track_id: int = 3, lifted: bool = True) -> Frame:
    """Somebody whose every joint has a place of its own."""
    joints = [[10.0 * j + seq, 5.0 * j, 0.5, 1.5, "absent" if j == 1 else "measured"] for j in range(17)]
    places = [[0.01 * j, -0.5, 0.25] for j in range(17)] if lifted else None
    person = {"id": track_id, "score": 0.9, "box": [0, 0, 1, 1], "keypoints": joints, "keypoints3d": places}
    line = {
        "seq": seq,
        "frame": seq,
        "captured_us": 40_000 * seq,
        "emitted_us": 40_000 * seq + 9,
        "persons": [person],
    }
    return Frame.from_line(json.dumps(line))


class Reading(unittest.TestCase):
    def test_lines_and_the_wire_bring_the_same_frames(self) -> None:
        self.assertGreater(sum(len(frame.poses) for frame in golden()), 4)
        for frame, moment in zip(golden(), moments(), strict=True):
            self.assertEqual(as_lines(frame), as_lines(moment))
            self.assertEqual(as_lines(Frame.of(moment), "csv"), as_lines(moment, "csv"))

    def test_named_lines_are_read_as_full_ones(self) -> None:
        named = list(frames_from(str(GOLDEN / "named.jsonl")))
        for one, other in zip(named, golden(), strict=True):
            self.assertEqual(as_lines(one), as_lines(other))

    def test_a_place_in_metres_is_read_and_written(self) -> None:
        where = ',"place":[0.42,0.31,3.12],"place_sigma":[0.02,0.03,0.11],"distance":3.16,"distance_sigma":0.12}]}'
        line = as_lines(walker(1))[0].removesuffix("}]}") + where
        frame = Frame.from_line(line)
        place = frame.poses[0].place
        assert place is not None
        self.assertEqual((place.at, place.distance), ((0.42, 0.31, 3.12), 3.16))
        self.assertEqual(as_lines(frame), [line])
        self.assertTrue(as_lines(frame, "csv")[0].endswith("0.42,0.02,0.31,0.03,3.12,0.11,3.16,0.12"))
        self.assertIsNone(walker(1).poses[0].place)

    def test_the_floor_and_where_on_it_somebody_stands_are_read_and_written(self) -> None:
        floor = ',"floor":{"height":1.32,"height_sigma":0.08,"pitch":7.5,"pitch_sigma":1.25,"roll":-0.5,"roll_sigma":1}'
        where = ',"place":[0.5,0.2,3],"place_sigma":[0.02,0.03,0.11],"distance":3.05,"distance_sigma":0.12,"ground":[0.5,3]'
        for line_format in ("full", "named"):
            plain = as_lines(walker(1), line_format)[0].removesuffix("}]}")
            line = plain.replace(',"persons"', floor + ',"persons"') + where + "}]}"
            frame = Frame.from_line(line)
            self.assertEqual(
                (frame.floor, frame.poses[0].ground), (Floor(1.32, 0.08, 7.5, 1.25, -0.5, 1), (0.5, 3))
            )
            self.assertEqual(as_lines(frame, line_format), [line])
            for old, new in (
                ('"pitch":7.5,', ""),
                ('"roll":-0.5', '"roll":[]'),
                ('"ground":[0.5,3]', '"ground":[0.5]'),
            ):
                with self.subTest(new), self.assertRaises(ValueError):
                    Frame.from_line(line.replace(old, new))
        self.assertEqual((walker(1).floor, walker(1).poses[0].ground), (None, None))

    def test_the_frames_number_and_whose_it_is_are_written_again(self) -> None:
        head = '{"seq":1,"frame":901,"captured_us":40000,"emitted_us":40009,"source":"built-in clip",'
        line = head + as_lines(walker(1))[0].split(",", 4)[4]
        frame = Frame.from_line(line)
        self.assertEqual(as_lines(frame), [line])
        for line_format in ("coco", "flat"):
            said = json.loads(as_lines(frame, line_format)[0])
            self.assertEqual(said["source"], "built-in clip")
            self.assertEqual(said["image_id" if line_format == "coco" else "frame"], 901)
        self.assertTrue(as_lines(frame, "csv")[0].startswith("1,901,40000,40009,built-in clip,3,"))
        self.assertNotIn("source", as_lines(walker(1))[0])

    def test_whatever_a_line_holds_it_is_a_frame_or_a_value_error(self) -> None:
        line = as_lines(walker(1))[0]
        places = (
            ('"measured"', '"guessed"'),
            ('"score":0.9', f'"score":1{"0" * 400}'),
            ('"score":0.9', '"score":1e300'),
            ('"score":0.9', '"score":NaN'),
            ('"id":3', f'"id":1{"0" * 20}'),
            ('"seq":1', '"seq":"one"'),
            ('"emitted_us":40009', '"emitted_us":null'),
            ('"frame":1', '"frame":[]'),
        )
        wrong = [line.replace(old, new, 1) for old, new in places]
        self.assertNotIn(line, wrong)
        for text in [*wrong, "[" * 60_000, "\udcff", '{"persons":' * 60_000]:
            with self.subTest(text[:60]), self.assertRaises(ValueError):
                Frame.from_line(text)
        self.assertTrue(as_lines(walker(1), "csv")[0].endswith(",,,,,,,,"))

    def test_a_line_that_is_cut_off_ends_a_file_and_one_that_is_wrong_is_told(self) -> None:
        lines = FULL.read_text(encoding="utf-8").splitlines(keepends=True)
        cut = [*lines[:2], lines[2][:40]]
        self.assertEqual(len(list(frames_from_lines(cut))), 2)
        for wrong in (
            "{}\n",
            "[1]\n",
            "null\n",
            "nonsense\n",
            '{"seq":1,"captured_us":1,"emitted_us":1,"persons":[{}]}\n',
        ):
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, "^line 3: no JSON"):
                list(frames_from_lines([*lines[:2], wrong]))
        deep = "[" * 60_000 + "\n"
        with self.assertRaisesRegex(ValueError, "^line 4: "):
            list(frames_from_lines([lines[0], "\n", lines[1], deep]))

    def test_what_is_no_recording_is_told_by_its_line_and_kind(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "poses.jsonl"
            lines = FULL.read_bytes()
            for data, why in (
                (
                    (GOLDEN / "csv.csv").read_bytes(),
                    "^line 1: no JSON: .* character 1, near 'seq,frame,.* --jsonl FILE",
                ),
                (
                    (GOLDEN / "coco.jsonl").read_bytes(),
                    "^line 1: no JSON line .*'persons' is missing.* --jsonl FILE",
                ),
                (lines.decode().encode("utf-16"), "^line 1: no text in UTF-8"),
                (
                    lines + b'{"seq":1,}\n',
                    f"^line {lines.count(10) + 1}: no JSON: .* character 10, near '{{\"seq\":1,}}.n'$",
                ),
            ):
                source.write_bytes(data)
                with self.subTest(why), self.assertRaisesRegex(ValueError, why):
                    list(frames_from(str(source)))
            source.write_bytes(b"\xef\xbb\xbf" + lines)
            self.assertEqual(list(frames_from(str(source))), golden())
            with self.assertRaisesRegex(FileNotFoundError, "^no such file; "):
                next(frames_from(str(source.with_suffix(".json"))))
            with self.assertRaisesRegex(IsADirectoryError, "^a folder"):
                next(frames_from(folder))

    def test_a_port_of_datagrams_that_is_none_is_told(self) -> None:
        for port in ("abc", "99999", "0", "-1", ""):
            with self.subTest(port), self.assertRaisesRegex(ValueError, "from 1 to 65535"):
                next(frames_from(f"udp:{port}", is_over=lambda: True))

    def test_datagrams_are_frames_and_others_are_passed_over(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]

        def send() -> None:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mouth:
                for datagram in [b"who are you?", as_lines(walker(7))[0].encode()] * 20:
                    mouth.sendto(datagram, ("127.0.0.1", port))
                    time.sleep(0.02)

        sender = threading.Thread(target=send)
        sender.start()
        heard = list(frames_from_udp(port, "127.0.0.1", timeout_s=1.0))
        sender.join()
        self.assertTrue(heard)
        self.assertTrue(all(as_lines(frame) == as_lines(walker(7)) for frame in heard))


@unittest.skipIf(np is None, "no numpy")
class InArrays(unittest.TestCase):
    def test_everybody_of_a_frame_is_a_row_and_what_is_not_known_is_not_a_number(self) -> None:
        from posewire.arrays import STATES, arrays

        for frame in golden():
            people = arrays(frame)
            self.assertEqual(people.xy.shape, (len(frame.poses), 17, 2))
            for row, pose in enumerate(frame.poses):
                self.assertEqual(people.ids[row], pose.track_id)
                for j, joint in enumerate(pose.joints):
                    self.assertEqual(STATES[people.state[row, j]], joint.state)
                    if joint.state == "absent":
                        self.assertTrue(np.isnan(people.xy[row, j]).all() and people.score[row, j] == 0)
                        self.assertTrue(np.isnan(people.xyz[row, j]).all())
                        continue
                    self.assertEqual(
                        people.xy[row, j].tolist(), np.array([joint.x, joint.y], np.float32).tolist()
                    )
                    self.assertEqual(bool(np.isnan(people.xyz[row, j]).any()), pose.joints_3d is None)

    def test_a_person_over_time_is_a_row_a_frame(self) -> None:
        from posewire.arrays import over_time

        frames = [walker(seq, track_id=3 if seq % 2 else 4) for seq in range(10)]
        person = over_time(frames, 3)
        self.assertEqual((person.captured_us // 40_000).tolist(), [1, 3, 5, 7, 9])
        self.assertEqual(person.joint("left_ear")[:, 0].tolist(), [31.0, 33.0, 35.0, 37.0, 39.0])
        self.assertEqual(over_time(frames, 99).xy.shape, (0, 17, 2))


class InAsyncio(unittest.TestCase):
    def test_a_busy_loop_gets_the_newest_and_knows_what_it_missed(self) -> None:
        async def listen() -> tuple[int, int]:
            frames = Frames()
            for seq in range(10):
                frames.put(walker(seq))
            newest = await frames.__anext__()
            frames.end()
            return newest.seq, frames.dropped + sum([1 async for _ in frames])

        self.assertEqual(asyncio.run(listen()), (9, 9))

    def test_datagrams_come_by_themselves(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]

        async def listen() -> list[int]:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mouth:
                async with udp_frames(port, "127.0.0.1", backlog=8) as frames:
                    for seq in (1, 2, 3):
                        mouth.sendto(b"noise", ("127.0.0.1", port))
                        mouth.sendto(as_lines(walker(seq))[0].encode(), ("127.0.0.1", port))
                    return [(await asyncio.wait_for(frames.__anext__(), 10)).seq for _ in range(3)]

        self.assertEqual(asyncio.run(listen()), [1, 2, 3])

    def test_what_a_thread_reads_arrives_and_so_does_its_end(self) -> None:
        def lost() -> Iterator[Frame]:
            yield walker(1)
            raise OSError("the port is gone")

        async def listen() -> list[int]:
            async with frames_of(str(FULL)) as frames:
                # However long nobody takes any: a file waits.
                await asyncio.sleep(0.2)
                heard = [frame.seq async for frame in frames]
                self.assertEqual(frames.dropped, 0)
                return heard

        async def leave() -> None:
            async with frames_of(str(FULL)) as frames:
                await frames.__anext__()

        async def fail() -> list[int]:
            seen = []
            async with frames_of(lost) as frames:
                async for frame in frames:
                    seen.append(frame.seq)
            return seen

        self.assertEqual(asyncio.run(listen()), [frame.seq for frame in golden()])
        before = threading.active_count()
        asyncio.run(leave())
        self.assertEqual(threading.active_count(), before)
        with self.assertRaisesRegex(ValueError, "1 frame at least"):
            Frames(0)
        with self.assertRaisesRegex(OSError, "the port is gone"):
            asyncio.run(fail())

    def test_who_stops_listening_leaves_the_port_free(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("0.0.0.0", 0))
            port = probe.getsockname()[1]

        async def listen() -> int:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mouth:
                async with frames_of(f"udp:{port}") as frames:
                    waiting = asyncio.ensure_future(frames.__anext__())
                    while not waiting.done():
                        mouth.sendto(as_lines(walker(4))[0].encode(), ("127.0.0.1", port))
                        await asyncio.sleep(0.01)
                    return (await waiting).seq

        before = threading.active_count()
        self.assertEqual([asyncio.run(asyncio.wait_for(listen(), 20)) for _ in range(2)], [4, 4])
        self.assertEqual(threading.active_count(), before)


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
        self.assertIn("nobody with 3D came", said)

    def test_events_between_frames_are_passed_over(self) -> None:
        event = '{"event":"enter","id":3,"zone":"door","captured_us":1,"emitted_us":2,"persons":2}\n'
        lines = FULL.read_text().splitlines(keepends=True)
        frames = list(frames_from_lines([event, lines[0], event, *lines[1:], event.rstrip("\n")]))
        self.assertEqual(len(frames), len(lines))

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
