"""PoseReader over a port that is only pretended: what a host sends, what goes back, and a port that goes away."""

from __future__ import annotations

import json
import unittest
from pathlib import Path
from typing import Any, cast
from unittest import mock

from posewire import Command, Decoder, PoseReader

GOLDEN = Path(__file__).resolve().parents[3] / "tests" / "golden" / "wire_v1.json"
FRAMES = {
    s["name"]: bytes.fromhex(s["hex"]) for s in json.loads(GOLDEN.read_text(encoding="utf-8"))["streams"]
}


class Port:
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


def opened(port: Port) -> PoseReader:
    return PoseReader(cast(Any, port))


class Reading(unittest.TestCase):
    def test_poses_come_one_by_one_and_nobody_is_no_pose(self) -> None:
        port = Port(FRAMES["hello"] + FRAMES["pose_measured"], FRAMES["pose_nobody"] + FRAMES["pose_3d"])
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
        moments = opened(Port(two[:50], two[50:], FRAMES["pose_nobody"])).moments()
        self.assertEqual([p.index for p in next(moments).poses], [0, 1])
        self.assertEqual(next(moments).poses, [])

    def test_a_moment_ends_with_silence_and_with_the_port(self) -> None:
        two = FRAMES["pose_two_persons"]
        first, second = (frame + b"\0" for frame in two.split(b"\0")[:2])
        reader = opened(Port(first, b"", second))
        moments = reader.moments()
        self.assertEqual([p.index for p in next(moments).poses], [0])
        # The one that came after the silence belongs to nothing any more.
        with self.assertRaises(OSError):
            next(moments)
        counters = reader.moment_counters
        self.assertEqual((counters.given, counters.incomplete, counters.refused), (1, 1, 1))
        moments = opened(Port(FRAMES["pose_mixed"])).moments()
        self.assertEqual([p.index for p in next(moments).poses], [1])
        with self.assertRaises(OSError):
            next(moments)

    def test_a_rate_is_asked_for_again_of_a_port_that_comes_back(self) -> None:
        back = Port(FRAMES["pose_measured"])
        with mock.patch.object(PoseReader, "_open", side_effect=[Port(), back]), mock.patch("time.sleep"):
            reader = PoseReader("pretended")
            reader.set_rate(20)
            next(iter(reader))
        self.assertEqual(Decoder().feed(back.written), [Command(1, 0), Command(2, 2000)])

    def test_a_port_that_stays_away_is_waited_for_until_it_is_over(self) -> None:
        asked = iter([False, False, False, True])
        with (
            mock.patch.object(PoseReader, "_open", side_effect=[Port(), OSError("away"), OSError("away")]),
            mock.patch("time.sleep"),
        ):
            reader = PoseReader("pretended", is_over=lambda: next(asked, True))
            self.assertEqual(list(reader.moments()), [])

    def test_commands_reach_the_host(self) -> None:
        port = Port()
        reader = opened(port)
        reader.set_rate(30)
        reader.reset()
        self.assertEqual(Decoder().feed(port.written), [Command(1, 0), Command(2, 3000), Command(3, 0)])

    def test_a_named_port_is_opened_again_when_it_is_back(self) -> None:
        cut = FRAMES["pose_measured"]
        ports = [Port(cut[:30]), Port(cut)]
        opening = [ports[0], OSError("not there yet"), ports[1]]
        with mock.patch.object(PoseReader, "_open", side_effect=opening), mock.patch("time.sleep"):
            reader = PoseReader("pretended")
            pose = next(iter(reader))
        self.assertEqual(pose.track_id, 7)
        self.assertTrue(ports[0].closed)
        self.assertEqual(reader.counters.framing + reader.counters.crc, 1)


if __name__ == "__main__":
    unittest.main()
