#!/usr/bin/env python3
"""The very firmware that a user flashes to a Pico, in rp2040js with a UART that keeps to its baud rate.

    python3 firmware/emulator/test_pico.py

Screens are compared with the host's drawing pixel by pixel, counters with those of the Python decoder for the same bytes.
"""

from __future__ import annotations

import random
import unittest

import pico
import scenes
from pico import PICTURE_NOW, gap, send, settle
from picture import best_match, host
from posewire import Command
from posewire.wire import POSE

AGE_MS = 20
#: A moment's last picture and its receipt are out by then.
DRAWN_MS = 60.0


class InRp2040js(unittest.TestCase):
    def same_pictures(self, build: pico.Build, count: int) -> None:
        """`count` random moments are shown as the host draws them, and so is the screen before the first."""
        rng = random.Random(3)
        steps, sent = [settle(DRAWN_MS), PICTURE_NOW], []
        for seq in range(1, count + 1):
            size = rng.choice(((640, 480), (1280, 720), (320, 240)))
            persons = scenes.random_moment(rng, seq % 5)
            data = scenes.hello(*size) + scenes.moment(seq, persons, AGE_MS * 1000, lifted=seq % 3 == 0)
            sent.append(data)
            steps += [send(data), settle(DRAWN_MS), PICTURE_NOW]
        seen = pico.run(build, steps)
        self.assertEqual(seen.pictures[0], host(build.screen, b"", "waiting")[0])
        for data, shown in zip(sent, seen.pictures[1:], strict=True):
            pixels, age_ms = best_match(build.screen, data, shown, AGE_MS)
            self.assertEqual(pixels, 0, f"pixels that differ, at best (for an age of {age_ms} ms)")
        print(f"rp2040js, {build.screen}: {count + 1} pictures, 0 pixels differ")

    def stream(self, build: pico.Build, baud: int, persons: int, rate_hz: int, seconds: float) -> None:
        """`persons` at `rate_hz`, with HELLO and STATUS once a second, on a line of `baud`."""
        steps, data, bits = [], b"", 0
        for n in range(1, round(rate_hz * seconds) + 1):
            piece = scenes.moment(n, scenes.walk(n, persons))
            if n % rate_hz == 1:
                piece = scenes.hello() + scenes.status() + piece
            data += piece
            bits += 10 * len(piece)
            # The pause up to the next moment; the UART's model sends each at the line's own speed.
            steps += [send(piece), settle(1e3 / rate_hz - 1e4 * len(piece) / baud)]
        seen = pico.run(build, [*steps, settle(DRAWN_MS)])
        last = seen.receipts[-1]
        self.assertLess(abs(seen.baud / baud - 1), 0.01)
        self.assertEqual((seen.overruns, last.overruns), (0, 0))
        self.assertEqual(last._replace(seq=0, superseded=0, busy_us=0), scenes.counted(data))
        self.assertEqual((last.seq, len(seen.receipts) + last.superseded), (n, n))
        busy_ms = sorted(r.busy_us / 1000 for r in seen.receipts)
        print(
            f"rp2040js, {build.screen}: {persons} persons at {rate_hz} Hz on {baud} baud: {bits / baud / seconds:.0%} of the line, "
            f"{last.packets} packets, 0 lost; {len(seen.receipts)} of {n} moments drawn, {busy_ms[len(busy_ms) // 2]:.1f} ms each"
        )


class Oled(InRp2040js):
    def test_every_picture_is_the_hosts_to_the_last_pixel(self) -> None:
        self.same_pictures(pico.OLED, 20)

    def test_two_persons_at_30_hz_fit_115200_baud(self) -> None:
        self.stream(pico.OLED, 115_200, persons=2, rate_hz=30, seconds=2)

    def test_four_persons_at_30_hz_fit_921600_baud(self) -> None:
        self.stream(pico.OLED_FAST, 921_600, persons=4, rate_hz=30, seconds=1)

    def test_four_persons_at_100_hz_fit_921600_baud(self) -> None:
        self.stream(pico.OLED_FAST, 921_600, persons=4, rate_hz=100, seconds=0.5)

    def test_damage_and_noise_are_counted_and_never_drawn(self) -> None:
        good = scenes.hello() + scenes.moment(1, scenes.walk(0, 2), AGE_MS * 1000)
        (wrong,) = scenes.walk(40, 1)
        body = scenes.pose_body(9, wrong, 0, 1, 0, lifted=False)
        whole = scenes.frame(POSE, body)
        bad = b"".join(
            (
                *(scenes.frame(POSE, body, spoil_crc=True), whole[:70] + b"\0", whole[:33] + whole[34:]),
                *(
                    scenes.frame(POSE, body[:100]),
                    scenes.frame(0x44, body),
                    scenes.frame(POSE, body, version=2),
                ),
                *(b"\x01" * 600 + b"\0", random.Random(5).randbytes(10_000) + b"\0"),
            )
        )
        longer = scenes.frame(POSE, body + bytes(range(1, 61)))
        seen = pico.run(
            pico.OLED,
            [
                *(send(good), settle(DRAWN_MS), PICTURE_NOW, send(bad), settle(DRAWN_MS), PICTURE_NOW),
                *(send(longer), settle(DRAWN_MS), PICTURE_NOW),
            ],
        )
        self.assertEqual(best_match("ssd1306", good, seen.pictures[0], AGE_MS)[0], 0)
        self.assertEqual(seen.pictures[1], seen.pictures[0], "bad packets were drawn")
        self.assertEqual(best_match("ssd1306", scenes.hello() + whole, seen.pictures[2], 0)[0], 0)
        self.assertEqual([r.seq for r in seen.receipts], [1, 9])
        self.assertEqual(
            seen.receipts[-1]._replace(seq=0, superseded=0, busy_us=0), scenes.counted(good + bad + longer)
        )

    def test_an_overrun_costs_its_frame_and_nothing_after_it(self) -> None:
        moments = [scenes.moment(n, scenes.walk(n, 1), AGE_MS * 1000) for n in range(1, 5)]
        steps = [send(scenes.hello() + moments[0]), settle(DRAWN_MS)]
        # Ten bytes are lost in the middle of the second.
        steps += [send(moments[1][:60]), settle(0), gap(10), send(moments[1][60:]), settle(DRAWN_MS)]
        steps += [send(moments[2]), settle(DRAWN_MS), send(moments[3]), settle(DRAWN_MS), PICTURE_NOW]
        seen = pico.run(pico.OLED, steps)
        self.assertEqual(seen.overruns, 10)
        self.assertEqual([r.seq for r in seen.receipts], [1, 3, 4])
        last = seen.receipts[-1]
        self.assertEqual(last.packets, 4)
        self.assertGreaterEqual(last.overruns, 1)
        pixels, _ = best_match("ssd1306", scenes.hello() + moments[3], seen.pictures[0], AGE_MS)
        self.assertEqual(pixels, 0)

    def test_a_wrong_baud_rate_leaves_it_waiting_until_the_right_one_comes(self) -> None:
        right = b"\0" + scenes.hello() + scenes.moment(1, scenes.walk(0, 2), AGE_MS * 1000)
        for build, baud in ((pico.OLED, 9_600), (pico.OLED, 57_600), (pico.OLED_FAST, 57_600)):
            # Errors alone, or nearly, without a pause, for two and a half times as long as the watchdog waits.
            moments = b"".join(scenes.moment(n, scenes.walk(n, 2)) for n in range(1, 101))
            wrong = moments[: round(2.5 * baud / 10)]
            steps = [
                send(wrong, baud=baud),
                settle(0),
                PICTURE_NOW,
                send(right),
                settle(DRAWN_MS),
                PICTURE_NOW,
            ]
            seen = pico.run(build, steps)
            with self.subTest(build=build, baud=baud):
                self.assertFalse(seen.watchdog_bit)
                asked = [event for event in seen.events if event == Command(1, 0)]
                self.assertEqual(len(asked), 6, "HELLO is asked for every half second")
                self.assertEqual(seen.pictures[0], host("ssd1306", b"", "waiting")[0])
                self.assertEqual([r.seq for r in seen.receipts], [1])
                self.assertEqual(best_match("ssd1306", right, seen.pictures[1], AGE_MS)[0], 0)
                self.assertTrue(seen.rx_pulled_up, "an unplugged line is a silent one")

    def test_a_sender_too_fast_loses_frames_without_flow_control_and_none_with_it(self) -> None:
        moments = [scenes.moment(n, scenes.walk(n, 2)) for n in range(1, 201)]
        data = scenes.hello() + b"".join(moments)
        # Where the gap has swallowed the last packet's end, the next packet goes with it; so something comes before the moment.
        after = scenes.status() + scenes.moment(500, scenes.walk(3, 2), AGE_MS * 1000)
        steps = [send(data, 120), settle(200), send(after), settle(DRAWN_MS), PICTURE_NOW]
        seen = pico.run(pico.OLED, steps)
        last = seen.receipts[-1]
        self.assertGreater(seen.overruns, 0)
        self.assertGreater(last.overruns, 0)
        self.assertFalse(seen.flow_control)
        self.assertEqual(last.seq, 500, "it finds back")
        self.assertEqual(best_match("ssd1306", scenes.hello() + after, seen.pictures[0], AGE_MS)[0], 0)

        held = pico.run(pico.OLED_RTSCTS, steps)
        last = held.receipts[-1]
        self.assertTrue(held.flow_control)
        self.assertEqual((held.overruns, last.overruns), (0, 0))
        self.assertEqual(last._replace(seq=0, superseded=0, busy_us=0), scenes.counted(data + after))
        self.assertGreater(held.held_ms, 0)
        print(
            f"rp2040js: {len(data)} bytes at 120 times 115200 baud: {seen.overruns} lost without flow control, 0 with RTS, "
            f"which held the sender for {held.held_ms:.0f} ms"
        )

    def test_hello_is_asked_for_and_a_silent_line_is_lost_and_found_again(self) -> None:
        first = scenes.hello() + scenes.moment(1, scenes.walk(0, 2), AGE_MS * 1000)
        again = b"\0" + scenes.moment(2, scenes.walk(5, 2), AGE_MS * 1000)
        steps = [
            settle(1_800),
            send(first[: len(scenes.hello()) + 40]),
            settle(2_400),
            PICTURE_NOW,
            settle(300),
            PICTURE_NOW,
        ]
        steps += [settle(1_000), PICTURE_NOW, send(again), settle(DRAWN_MS), PICTURE_NOW]
        seen = pico.run(pico.OLED, steps)
        self.assertEqual([e for e in seen.events[:4] if isinstance(e, Command)], [Command(1, 0)] * 4)
        # Half of a first packet came: nothing to draw, but the line lived.
        self.assertEqual(seen.pictures[0], host("ssd1306", b"", "waiting")[0])
        self.assertEqual(seen.pictures[1], host("ssd1306", b"", "link-lost", 2)[0])
        self.assertEqual(seen.pictures[2], host("ssd1306", b"", "link-lost", 3)[0])
        self.assertEqual(best_match("ssd1306", scenes.hello() + again, seen.pictures[3], AGE_MS)[0], 0)
        self.assertEqual(sum(isinstance(e, Command) for e in seen.events), 5, "HELLO is asked for anew")


class OwnCable(InRp2040js):
    """The board's own USB cable, with a host that enumerates it as a computer does."""

    def test_every_picture_is_the_hosts_to_the_last_pixel(self) -> None:
        self.same_pictures(pico.OLED_USB, 6)

    def test_a_sender_too_fast_waits_and_loses_nothing(self) -> None:
        data = scenes.hello() + b"".join(scenes.moment(n, scenes.walk(n, 2)) for n in range(1, 201))
        after = scenes.status() + scenes.moment(500, scenes.walk(3, 2), AGE_MS * 1000)
        seen = pico.run(pico.OLED_USB, [send(data + after), settle(DRAWN_MS), PICTURE_NOW])
        last = seen.receipts[-1]
        self.assertEqual((last.seq, last.overruns), (500, 0))
        self.assertEqual(last._replace(seq=0, superseded=0, busy_us=0), scenes.counted(data + after))
        self.assertEqual(best_match("ssd1306", scenes.hello() + after, seen.pictures[0], AGE_MS)[0], 0)
        print(
            f"rp2040js, USB: {len(data + after)} bytes in {seen.ms:.0f} ms, 0 lost, {len(seen.receipts)} of 201 moments drawn"
        )


class Lcd(InRp2040js):
    def test_every_picture_is_the_hosts_to_the_last_pixel(self) -> None:
        self.same_pictures(pico.LCD, 6)

    def test_two_persons_at_30_hz_fit_115200_baud(self) -> None:
        self.stream(pico.LCD, 115_200, persons=2, rate_hz=30, seconds=0.5)

    def test_four_persons_at_30_hz_fit_921600_baud(self) -> None:
        self.stream(pico.LCD_FAST, 921_600, persons=4, rate_hz=30, seconds=0.5)


if __name__ == "__main__":
    unittest.main()
