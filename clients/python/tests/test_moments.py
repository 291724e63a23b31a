"""The assembly of packets into moments: what the golden vectors do not reach, and the lines that are printed."""

from __future__ import annotations

import struct
import unittest
from dataclasses import replace

from posewire import Assembly, Notice, PlacePacket, PosePacket
from posewire._hints import of_line as hint
from posewire.jsonl import _number
from posewire.moments import MAX_PERSONS


def packet(seq: int, index: int, persons: int) -> PosePacket:
    return PosePacket(seq % 2**32, 1000 * seq, 20, 30, persons, index, index + 1, 255, 0, (0,) * 68, None)


class Assembling(unittest.TestCase):
    def test_persons_that_change_within_a_moment_neither_grow_nor_hold_it(self) -> None:
        assembly = Assembly()
        for turn in range(10_000):
            assembly.push(packet(7, turn % 3, 3 + turn % 6))
        self.assertLessEqual(len(assembly._places), MAX_PERSONS)
        self.assertEqual([m.seq for m in assembly.push(packet(8, 0, 1))], [7, 8])
        self.assertEqual((assembly.counters.given, assembly.counters.refused), (2, 9_999))

    def test_every_moment_of_a_long_stream_is_given_once_across_the_wrap_of_seq(self) -> None:
        assembly = Assembly()
        moments = [
            m
            for n in range(2**32 - 500, 2**32 + 500)
            for i in range(2)
            for m in assembly.push(packet(n, i, 2))
        ]
        self.assertEqual([m.seq for m in moments], [n % 2**32 for n in range(2**32 - 500, 2**32 + 500)])
        self.assertTrue(all(m.is_whole for m in moments))
        self.assertEqual((assembly.counters.missed, assembly.counters.refused), (0, 0))

    def test_places_and_what_happened_come_with_their_moment(self) -> None:
        assembly = Assembly()
        for number in range(100):
            assembly.push_notice(Notice(number, 0, 1, 11, 2, 0, b"\0" * 12))
        for track_id in (1, 2):
            assembly.push_place(PlacePacket(7, 7000, track_id, 3000, 90, 0, 0, 3000 * track_id, 1, 1, 1))
        # Of another moment, and of nobody who is there.
        assembly.push_place(PlacePacket(6, 6000, 1, 1, 1, 1, 1, 1, 1, 1, 1))
        moments = [m for index in (0, 1) for m in assembly.push(packet(7, index, 2))]
        (moment,) = moments
        self.assertEqual([pose.place and pose.place.at[2] for pose in moment.poses], [3.0, 6.0])
        self.assertEqual([n.number for n in moment.notices], list(range(36, 100)))
        self.assertEqual(moment.notices[0].event, "fall")
        (following,) = assembly.push(packet(8, 0, 1))
        self.assertEqual(([pose.place for pose in following.poses], following.notices), ([None], ()))

    def test_times_stop_at_the_ends_of_an_i64(self) -> None:
        (moment,) = Assembly().push(packet(0, 0, 1)._replace(captured_us=2**63 - 1))
        self.assertEqual((moment.sent_us, moment.valid_us), (2**63 - 1, 2**63 - 1))
        self.assertEqual(replace(moment, captured_us=-(2**63), age_us=-1).sent_us, -(2**63))


class Lines(unittest.TestCase):
    def test_numbers_are_the_shortest_that_read_back_as_the_same_float(self) -> None:
        for value, text in [
            (0.0, "0"),
            (120.5, "120.5"),
            (1 / 3, "0.33333334"),
            (-0.001, "-0.001"),
            (4e6, "4000000"),
        ]:
            self.assertEqual(_number(value), text)
        for step in range(1, 256):
            (rounded,) = struct.unpack("<f", struct.pack("<f", step / 255))
            self.assertEqual(struct.pack("<f", float(_number(step / 255))), struct.pack("<f", rounded))

    def test_a_line_on_which_nothing_is_understood_is_explained(self) -> None:
        self.assertIsNone(hint("p", 115200, 0, 1))
        self.assertIn("nothing received", hint("p", 115200, 0, 0) or "")
        self.assertIn("try --baud 921600", hint("p", 115200, 300, 0) or "")
        self.assertIn("try --baud 115200", hint("p", 9600, 300, 0) or "")


if __name__ == "__main__":
    unittest.main()
