#!/usr/bin/env python3
"""The firmware on boards in QEMU: what the LM3S6965's screen shows, what it says, and what damage does to it.

    python3 firmware/emulator/test_qemu.py

Screens are compared with the host's drawing pixel by pixel, counters with those of the Python decoder for the same bytes.
"""

from __future__ import annotations

import array
import itertools
import random
import time
import unittest

import qemu
import scenes
from picture import best_match, differing, host
from posewire import Command, Receipt
from posewire.wire import POSE

AGE_MS = 20


class OnTheBoard(unittest.TestCase):
    name = "lm3s6965"

    def setUp(self) -> None:
        qemu.require(self.name)
        self.board = qemu.Board(self.name)
        self.addCleanup(self.board.close)
        self.board.hello_request()

    def shows(self, data: bytes, screen: array.array[int] | None = None) -> None:
        """The screen (now, or as it was) shows the newest moment of `data`, to the last pixel."""
        pixels, age_ms = best_match("ssd0323", data, screen or self.board.screen(), AGE_MS)
        self.assertEqual(pixels, 0, f"pixels that differ, at best (for an age of {age_ms} ms)")

    def shows_view(self, *view: str | int) -> None:
        """The screen comes to show `view`, to the last pixel."""
        (drawn,) = host("ssd0323", b"", *view)
        end = time.monotonic() + 10
        while (shown := self.board.screen()) != drawn and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual(differing(shown, drawn), 0, f"pixels that differ from {view}")

    def agrees(self, receipt: Receipt, data: bytes) -> None:
        """The board has counted what the Python decoder counts."""
        self.assertEqual(receipt._replace(seq=0, superseded=0, busy_us=0), scenes.counted(data))


class Pictures(OnTheBoard):
    def test_every_picture_is_the_hosts_to_the_last_pixel(self) -> None:
        self.shows_view("waiting")
        rng = random.Random(7)
        for seq in range(1, 21):
            size = rng.choice(((640, 480), (1280, 720), (320, 240)))
            persons = scenes.random_moment(rng, seq % 5)
            data = scenes.hello(*size) + scenes.moment(seq, persons, AGE_MS * 1000, lifted=seq % 3 == 0)
            self.board.receipt(data, seq)
            with self.subTest(seq=seq, persons=len(persons)):
                self.shows(data)
        print("QEMU, SSD0323: 20 pictures, 0 pixels differ")

    def test_a_lost_camera_is_told(self) -> None:
        data = scenes.hello() + scenes.moment(1, scenes.walk(0, 1))
        self.board.receipt(data, 1)
        self.board.send(scenes.status(source=2))
        self.shows_view("camera-lost")
        back = scenes.status() + scenes.moment(2, scenes.walk(1, 1))
        self.board.receipt(back, 2)
        self.shows(data + back)


class Time(OnTheBoard):
    def test_hello_is_asked_for_every_half_second_until_it_comes(self) -> None:
        for _ in range(4):
            self.board.hello_request()
        asked = [at for at, event in self.board.heard if event == Command(1, 0)]
        gaps = [b - a for a, b in itertools.pairwise(asked)]
        # The board's clock is the host's, but a loaded host may deliver late.
        self.assertTrue(all(0.3 < gap < 2.0 for gap in gaps), gaps)
        self.assertLess(abs(sorted(gaps)[len(gaps) // 2] - 0.5), 0.25, gaps)
        before = len(self.board.heard)
        with self.assertRaisesRegex(AssertionError, "not heard"):
            self.board.exchange(scenes.hello(), lambda event: event == Command(1, 0), patience_s=1.5)
        self.assertEqual(len(self.board.heard), before)

    def test_a_silent_line_is_lost_and_found_again(self) -> None:
        data = scenes.hello() + scenes.moment(1, scenes.walk(0, 2))
        sent_at = time.monotonic()
        self.board.receipt(data, 1)
        # The cable is pulled in the middle of a packet.
        self.board.send(scenes.moment(2, scenes.walk(9, 2))[:77])
        self.shows(data)
        self.shows_view("link-lost", 2)
        waited = time.monotonic() - sent_at
        self.assertGreater(waited, 2.4, "two heartbeats may be late")
        print(f"QEMU: `link lost` {waited:.1f} s after the last packet (2.5 s is the rule)")
        # Plugged in again, with another camera: the first whole packet counts, and HELLO is asked for anew.
        again = b"\0" + scenes.moment(3, scenes.walk(20, 2))
        receipt = self.board.receipt(again, 3)
        self.assertEqual((receipt.packets, receipt.crc_errors + receipt.framing_errors), (5, 1))
        self.board.hello_request(patience_s=5.0)
        wide = scenes.hello(1280, 720)
        self.board.receipt(wide + scenes.moment(4, scenes.walk(21, 2)), 4)
        self.shows(wide + scenes.moment(4, scenes.walk(21, 2)))


class Watchdog(OnTheBoard):
    def test_a_main_loop_that_stands_still_is_started_anew(self) -> None:
        data = scenes.hello() + scenes.moment(1, scenes.walk(0, 2))
        self.board.receipt(data, 1)
        # Longer than the watchdog waits: a loop that runs is left alone, and asks for nothing after HELLO.
        with self.assertRaisesRegex(AssertionError, "not heard"):
            self.board.exchange(scenes.status(), lambda event: event == Command(1, 0), patience_s=3.0)
        self.board.jam()
        began = time.monotonic()
        self.board.hello_request()
        took = time.monotonic() - began
        self.assertGreater(took, 0.5)
        receipt = self.board.receipt(data, 1)
        self.assertEqual(receipt.packets, 3, "counted from the start")
        print(f"QEMU: a main loop that stands still was started anew after {took:.1f} s")


class Floods(OnTheBoard):
    def test_two_thousand_moments_as_fast_as_they_go_lose_nothing(self) -> None:
        moments = [scenes.moment(n, scenes.walk(n, 1 + n % 4)) for n in range(1, 2001)]
        data = scenes.hello() + b"".join(moments)
        began = time.monotonic()
        receipt = self.board.receipt(data, 2000)
        took = time.monotonic() - began
        self.agrees(receipt, data)
        drawn = sum(isinstance(event, Receipt) for _, event in self.board.heard)
        self.assertEqual(
            drawn + receipt.superseded, 2000, "every moment was drawn or replaced by a newer one"
        )
        self.shows(scenes.hello() + moments[-1])
        print(
            f"QEMU: 2,000 moments ({receipt.packets} packets, {len(data)} bytes) in {took:.1f} s, 0 lost; {drawn} drawn"
        )


class Damage(OnTheBoard):
    def test_a_million_random_bytes(self) -> None:
        known = scenes.hello() + scenes.moment(1, scenes.walk(0, 3))
        self.board.receipt(known, 1)
        noise = random.Random(11).randbytes(1_000_000) + b"\0"
        after = scenes.hello() + scenes.moment(2, scenes.walk(5, 3))
        began = time.monotonic()
        receipt = self.board.receipt(noise + after, 2)
        took = time.monotonic() - began
        self.agrees(receipt, known + noise + after)
        moments = [e.seq for _, e in self.board.heard if isinstance(e, Receipt)]
        self.assertEqual(moments, [1, 2], "noise was drawn as a pose")
        self.shows(after)
        dropped = receipt.crc_errors + receipt.framing_errors + receipt.overfull + receipt.skipped
        print(
            f"QEMU: 1,000,001 bytes of noise in {took:.1f} s: {dropped} frames dropped and counted, 0 poses drawn"
        )

    def test_what_is_not_a_pose_of_this_version_is_counted_and_never_drawn(self) -> None:
        good = scenes.hello() + scenes.moment(1, scenes.walk(0, 2))
        self.board.receipt(good, 1)
        shown = self.board.screen()
        (wrong,) = scenes.walk(40, 1)
        body = scenes.pose_body(9, wrong, 0, 1, 0, lifted=False)
        whole = scenes.frame(POSE, body)
        bad = {
            "wrong CRC": scenes.frame(POSE, body, spoil_crc=True),
            "truncated": whole[:70] + b"\0",
            "a byte lost": whole[:33] + whole[34:],
            "short body": scenes.frame(POSE, body[:100]),
            "unknown type": scenes.frame(0x44, body),
            "version 2": scenes.frame(POSE, body, version=2),
            "too long": b"\x01" * 600 + b"\0",
        }
        sent = good
        for name, data in bad.items():
            # With a heartbeat, or the line would count as lost meanwhile.
            self.board.send(data + scenes.status())
            sent += data + scenes.status()
            time.sleep(0.2)
            self.assertEqual(differing(self.board.screen(), shown), 0, name)
        self.shows(good, shown)
        # Fields that a later version appends are none of our business; what comes before them is.
        longer = scenes.frame(POSE, body + bytes(range(1, 61)))
        receipt = self.board.receipt(longer, 9)
        self.agrees(receipt, sent + longer)
        self.assertEqual(receipt.crc_errors + receipt.framing_errors, 4)
        self.assertEqual((receipt.overfull, receipt.skipped), (1, 2))
        pixels, _ = best_match("ssd0323", scenes.hello() + whole, self.board.screen(), 0)
        self.assertEqual(pixels, 0)


class Stm32(OnTheBoard):
    name = "stm32"

    def test_a_flood_and_damage_are_counted_as_they_should_be(self) -> None:
        noise = random.Random(12).randbytes(5_000) + b"\0"
        moments = b"".join(scenes.moment(n, scenes.walk(n, 1 + n % 4)) for n in range(1, 101))
        data = scenes.hello() + noise + moments
        receipt = self.board.receipt(data, 100)
        self.agrees(receipt, data)
        drawn = sum(isinstance(event, Receipt) for _, event in self.board.heard)
        self.assertEqual(drawn + receipt.superseded, 100)


if __name__ == "__main__":
    unittest.main()
