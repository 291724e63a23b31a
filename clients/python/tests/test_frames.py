"""Frames of lines, datagrams and the wire: the same poses whichever way they came, in arrays and in asyncio."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import tempfile
import threading
import time
import unittest
from collections.abc import Iterator
from pathlib import Path

from test_jsonl import GOLDEN, moments

from posewire import Floor, Frame, as_lines, frames_from, frames_from_lines, frames_from_udp
from posewire.aio import Frames, frames_of, udp_frames

try:
    import numpy as np
except ImportError:
    np = None  # type: ignore[assignment]
    print("SKIPPED: poses as numpy arrays: python3 has no numpy (pip install numpy)", file=sys.stderr)

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
        self.assertTrue(as_lines(frame, "csv")[0].endswith("0.42,0.02,0.31,0.03,3.12,0.11,3.16,0.12,,"))
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
            table = as_lines(frame, "csv")[0]
            self.assertTrue(
                ",1.32,0.08,7.5,1.25,-0.5,1,3," in table and table.endswith(",3.05,0.12,0.5,3"), table
            )
            for old, new in (
                ('"pitch":7.5,', ""),
                ('"roll":-0.5', '"roll":[]'),
                ('"ground":[0.5,3]', '"ground":[0.5]'),
            ):
                with self.subTest(new), self.assertRaises(ValueError):
                    Frame.from_line(line.replace(old, new))
        self.assertEqual((walker(1).floor, walker(1).poses[0].ground), (None, None))

    def test_the_pictures_size_is_known_once_it_is_said(self) -> None:
        # HELLO comes after the second moment.
        self.assertEqual([frame.size for frame in golden()], [None, None, (640, 480), (640, 480)])
        self.assertEqual([moment.size for moment in moments()], [None, None, (640, 480), (640, 480)])
        line = as_lines(golden()[2])[0]
        for size in ('"width":"640","height":480', '"width":640', '"width":1.5,"height":480'):
            with self.subTest(size), self.assertRaises(ValueError):
                Frame.from_line(line.replace('"width":640,"height":480', size))

    def test_the_frames_number_and_whose_it_is_are_written_again(self) -> None:
        head = '{"seq":1,"frame":901,"captured_us":40000,"emitted_us":40009,"source":"built-in clip",'
        line = head + as_lines(walker(1))[0].split(",", 4)[4]
        frame = Frame.from_line(line)
        self.assertEqual(as_lines(frame), [line])
        for line_format in ("coco", "flat"):
            said = json.loads(as_lines(frame, line_format)[0])
            self.assertEqual(said["source"], "built-in clip")
            self.assertEqual(said["image_id" if line_format == "coco" else "frame"], 901)
        self.assertTrue(as_lines(frame, "csv")[0].startswith("1,901,40000,40009,,,built-in clip,,,,,,,3,"))
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

    def test_events_between_frames_are_passed_over(self) -> None:
        event = '{"event":"enter","id":3,"zone":"door","captured_us":1,"emitted_us":2,"persons":2}\n'
        lines = FULL.read_text().splitlines(keepends=True)
        frames = list(frames_from_lines([event, lines[0], event, *lines[1:], event.rstrip("\n")]))
        self.assertEqual(len(frames), len(lines))

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


if __name__ == "__main__":
    unittest.main()
