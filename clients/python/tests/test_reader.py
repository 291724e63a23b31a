"""PoseReader over a port that is only pretended: what a host sends, what goes back, and a port that goes away."""

from __future__ import annotations

import json
import threading
import time
import unittest
from pathlib import Path
from typing import Any, cast
from unittest import mock

from posewire import Command, Decoder, Frame, Hello, PosePacket, PoseReader, Status
from posewire.port import Port

GOLDEN = Path(__file__).resolve().parents[3] / "tests" / "golden" / "wire_v1.json"
FRAMES = {
    s["name"]: bytes.fromhex(s["hex"]) for s in json.loads(GOLDEN.read_text(encoding="utf-8"))["streams"]
}


class Line:
    """Gives its chunks one a read and then ends like a port that was pulled out."""

    def __init__(self, *chunks: bytes) -> None:
        self.chunks = list(chunks)
        self.written = b""
        self.closed = False

    @property
    def in_waiting(self) -> int:
        return len(self.chunks[0]) if self.chunks else 0

    def read(self, size: int) -> bytes:
        if not self.chunks:
            raise OSError("the device is gone")
        return self.chunks.pop(0)

    def write(self, data: bytes) -> int:
        self.written += data
        return len(data)

    def close(self) -> None:
        self.closed = True


def opened(port: Line) -> PoseReader:
    return PoseReader(cast(Any, port))


class Reading(unittest.TestCase):
    def test_poses_come_one_by_one_and_nobody_is_no_pose(self) -> None:
        port = Line(FRAMES["hello"] + FRAMES["pose_measured"], FRAMES["pose_nobody"] + FRAMES["pose_3d"])
        reader = opened(port)
        poses = iter(reader)
        first, second = next(poses), next(poses)
        self.assertIsNone(first.joints_3d)
        self.assertIsNotNone(second.joints_3d)
        assert reader.hello is not None
        self.assertEqual((reader.hello.width, reader.hello.height), (640, 480))
        with self.assertRaises(OSError):
            next(poses)

    def test_the_persons_of_a_moment_come_together_and_nobody_is_an_empty_one(self) -> None:
        two = FRAMES["pose_two_persons"]
        moments = opened(Line(two[:50], two[50:], FRAMES["pose_nobody"])).moments()
        self.assertEqual([p.index for p in next(moments).poses], [0, 1])
        self.assertEqual(next(moments).poses, [])

    def test_moments_of_a_host_that_shows_the_built_in_clip_say_so(self) -> None:
        (nobody, status) = (
            event for name in ("pose_nobody", "status") for event in Decoder().feed(FRAMES[name])
        )
        assert isinstance(nobody, PosePacket) and isinstance(status, Status)
        later = [nobody._replace(seq=nobody.seq + i, captured_us=nobody.captured_us + i) for i in (1, 2)]
        read = [nobody, status._replace(source=4), later[0], status._replace(source=1), later[1]]
        with mock.patch.object(PoseReader, "_reads", return_value=iter([read])):
            moments = list(opened(Line()).moments())
        self.assertEqual([moment.source for moment in moments], [None, "built-in clip", None])
        self.assertEqual([Frame.of(m).source for m in moments], [None, "built-in clip", None])

    def test_a_moment_ends_with_silence_and_with_the_port(self) -> None:
        two = FRAMES["pose_two_persons"]
        first, second = (frame + b"\0" for frame in two.split(b"\0")[:2])
        reader = opened(Line(first, b"", second))
        moments = reader.moments()
        self.assertEqual([p.index for p in next(moments).poses], [0])
        # The one that came after the silence belongs to nothing any more.
        with self.assertRaises(OSError):
            next(moments)
        counters = reader.moment_counters
        self.assertEqual((counters.given, counters.incomplete, counters.refused), (1, 1, 1))
        moments = opened(Line(FRAMES["pose_mixed"])).moments()
        self.assertEqual([p.index for p in next(moments).poses], [1])
        with self.assertRaises(OSError):
            next(moments)

    def test_a_rate_is_asked_for_again_of_a_port_that_comes_back(self) -> None:
        back = Line(FRAMES["pose_measured"])
        with mock.patch.object(Port, "_open", side_effect=[Line(), back]), mock.patch("time.sleep"):
            reader = PoseReader("pretended")
            reader.set_rate(20)
            next(iter(reader))
        self.assertEqual(Decoder().feed(back.written), [Command(1, 0), Command(2, 2000)])

    def test_a_rate_is_asked_for_again_once_of_a_host_that_has_forgotten_it(self) -> None:
        (said,) = (event for event in Decoder().feed(FRAMES["hello"]) if isinstance(event, Hello))
        own, granted = (
            said._replace(uptime_ms=50_000, pose_rate=0),
            said._replace(uptime_ms=51_000, pose_rate=1500),
        )
        line = Line()
        reader = opened(line)
        reader.set_rate(20)
        for hello, asks in (
            # It was not there yet when it was asked; its line carries less, which it grants and goes on saying.
            *((own, 1), (granted, 1), (granted, 0), (granted, 0)),
            # Its own port went away; it started anew.
            *((own, 1), (granted, 1), (granted._replace(uptime_ms=900), 1), (granted, 0)),
        ):
            line.written = b""
            reader._greet(hello)
            self.assertEqual(Decoder().feed(line.written), [Command(2, 2000)] * asks, hello)

    def test_a_moment_that_was_cut_off_comes_before_its_port_is_back(self) -> None:
        first = FRAMES["pose_two_persons"].split(b"\0")[0] + b"\0"
        with (
            mock.patch.object(Port, "_open", side_effect=[Line(first)]) as opening,
            mock.patch("time.sleep"),
        ):
            moment = next(PoseReader("pretended").moments())
            self.assertEqual(([p.index for p in moment.poses], opening.call_count), ([0], 1))

    def test_another_thread_ends_it_whatever_the_port_then_fails_with(self) -> None:
        class Closed(Line):
            """As pyserial is: it has no descriptor any more."""

            def read(self, size: int) -> bytes:
                while not self.closed:
                    time.sleep(0.001)
                raise TypeError("an integer is required")

        with mock.patch.object(Port, "_open", side_effect=[Closed()]):
            reader = PoseReader("pretended")
        closer = threading.Timer(0.05, reader.close)
        closer.start()
        self.assertEqual(list(reader.moments()), [])
        closer.join()

    def test_a_port_that_stays_away_is_waited_for_until_it_is_over(self) -> None:
        asked = iter([False, False, False, True])
        with (
            mock.patch.object(Port, "_open", side_effect=[Line(), OSError("away"), OSError("away")]),
            mock.patch("time.sleep"),
        ):
            reader = PoseReader("pretended", is_over=lambda: next(asked, True))
            self.assertEqual(list(reader.moments()), [])

    def test_commands_reach_the_host(self) -> None:
        port = Line()
        reader = opened(port)
        # The last but one is next to nothing, and 0 would be everything.
        for hz in (30, 1000, 0.004, 0):
            reader.set_rate(hz)
        reader.reset()
        asked = [Command(1, 0), *(Command(2, chz) for chz in (3000, 65535, 1, 0)), Command(3, 0)]
        self.assertEqual(Decoder().feed(port.written), asked)

    def test_a_named_port_is_opened_again_when_it_is_back(self) -> None:
        cut = FRAMES["pose_measured"]
        ports = [Line(cut[:30]), Line(cut)]
        opening = [ports[0], OSError("not there yet"), ports[1]]
        with mock.patch.object(Port, "_open", side_effect=opening), mock.patch("time.sleep"):
            reader = PoseReader("pretended")
            pose = next(iter(reader))
        self.assertEqual(pose.track_id, 7)
        self.assertTrue(ports[0].closed)
        self.assertEqual(reader.counters.framing + reader.counters.crc, 1)


if __name__ == "__main__":
    unittest.main()
