"""Datagrams: of whom frames are taken, and what is said where none comes."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import socket
import sys
import tempfile
import threading
import unittest
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from test_frames import FULL, golden, walker

from posewire import Frame, as_lines, frames_from, frames_from_udp
from posewire.__main__ import main
from posewire._datagrams import OneTracker
from posewire.aio import udp_frames
from posewire.moments import MomentCounters
from posewire.wire import Counters

ONE, OTHER = ("127.0.0.1", 40_001), ("192.168.1.9", 40_001)


def datagram(seq: int) -> bytes:
    return as_lines(walker(seq))[0].encode()


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Trackers(unittest.TestCase):
    def setUp(self) -> None:
        self.said: list[str] = []
        self.tracker = OneTracker(9100, self.said.append)

    def heard(self, seq: int, sender: object, now_s: float) -> bool:
        return self.tracker.frame(datagram(seq), sender, now_s) is not None

    def test_of_two_trackers_the_first_is_heard_and_the_other_is_told_of_once(self) -> None:
        for seq in range(20):
            self.assertTrue(self.heard(seq, ONE, 0.05 * seq))
            self.assertFalse(self.heard(seq, OTHER, 0.05 * seq + 0.02))
        (said,) = self.said
        self.assertIn("two trackers send here, 127.0.0.1:40001 and 192.168.1.9:40001", said)

    def test_one_that_starts_anew_is_heard_when_the_old_one_is_silent_and_nothing_is_said(self) -> None:
        self.assertTrue(self.heard(9, ONE, 0.0))
        self.assertFalse(self.heard(0, OTHER, 0.9))
        self.assertTrue(self.heard(1, OTHER, 1.0))
        self.assertTrue(self.heard(2, OTHER, 1.1))
        self.assertEqual(self.said, [])

    def test_what_may_be_wrong_is_said_after_a_while(self) -> None:
        self.tracker.wonder(100.0)
        self.tracker.wonder(101.4)
        self.assertEqual(self.said, [])
        for _ in range(2):
            self.tracker.wonder(101.6)
        self.assertIsNone(self.tracker.frame(b'{"joints":[]}', ONE, 101.7))
        for _ in range(2):
            self.tracker.wonder(101.8)
        self.assertEqual(["nothing received" in said for said in self.said], [True, False])
        self.assertIn("--udp-format full or named", self.said[1])
        self.assertTrue(self.heard(1, ONE, 102.0))
        self.tracker.wonder(200.0)
        self.assertEqual(len(self.said), 2)

    def test_who_listens_to_a_silent_port_is_told(self) -> None:
        with mock.patch("posewire._datagrams.HINT_AFTER_S", 0.2):
            heard = list(frames_from_udp(free_port(), "127.0.0.1", timeout_s=0.5, say=self.said.append))
        self.assertEqual((heard, len(self.said)), ([], 1))


class Ports(unittest.TestCase):
    def test_a_port_is_free_when_its_block_ends(self) -> None:
        port = free_port()

        async def listen() -> None:
            for _ in range(3):
                async with udp_frames(port, "127.0.0.1"):
                    pass
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
                    other.bind(("127.0.0.1", port))

        asyncio.run(listen())


class Sources(unittest.TestCase):
    def printed(self, *words: str) -> tuple[int, str, str]:
        out, said = io.StringIO(), io.StringIO()
        with (
            mock.patch.object(sys, "argv", ["posewire", *words]),
            mock.patch("posewire.__main__.Ending"),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(said),
        ):
            return main(), out.getvalue(), said.getvalue()

    def test_lines_of_a_file_and_of_datagrams_are_printed_as_those_of_a_port(self) -> None:
        self.assertEqual(self.printed(str(FULL))[:2], (0, FULL.read_text(encoding="utf-8")))
        table = FULL.with_name("csv.csv").read_text(encoding="utf-8")
        self.assertEqual(self.printed(str(FULL), "--jsonl-format", "csv")[1], table)
        port, is_over = free_port(), threading.Event()

        def send() -> None:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mouth:
                while not is_over.wait(0.01):
                    mouth.sendto(datagram(5), ("127.0.0.1", port))

        sender = threading.Thread(target=send)
        sender.start()
        try:
            printed = self.printed(f"udp:{port}", "--frames", "2")
        finally:
            is_over.set()
            sender.join()
        self.assertEqual(printed[:2], (0, 2 * f"{datagram(5).decode()}\n"))

    def test_advice_on_a_port_is_given_of_ports(self) -> None:
        for source, why in (
            ("mistyped.jsonl", "no such file"),
            ("udp:x", "a port is"),
            (os.curdir, "a folder"),
        ):
            code, _, said = self.printed(source)
            self.assertEqual((code, why in said, "is the port right" in said), (1, True, False), said)
        # As pyserial says it, which need not be installed here.
        with mock.patch("posewire.__main__.PoseReader", side_effect=OSError("could not open port")):
            code, _, said = self.printed("/dev/no-such-port")
        self.assertEqual((code, "is the port right" in said), (1, True), said)

    def test_what_was_counted_on_a_line_is_said_however_reading_ends(self) -> None:
        counted, given = Counters(packets=7), MomentCounters(given=5)
        for ending, status in ((KeyboardInterrupt(), 0), (OSError("the port is gone"), 1)):

            def moments(ending: BaseException = ending) -> Iterator[Frame]:
                yield walker(1)
                raise ending

            with mock.patch("posewire.__main__.PoseReader") as opened:
                reader = opened.return_value.__enter__.return_value
                reader.moments = moments
                reader.counters, reader.moment_counters = counted, given
                opened.return_value.__exit__.return_value = None
                code, shown, said = self.printed("/dev/ttyUSB0")
            self.assertEqual((code, len(shown.splitlines())), (status, 1), said)
            self.assertEqual(said.splitlines()[0], f"{given} {counted}")

    @unittest.skipUnless(hasattr(os, "mkfifo"), "no named pipes")
    def test_a_named_pipe_is_read_as_a_file_of_lines(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            pipe = Path(folder) / "lines"
            os.mkfifo(pipe)
            writer = threading.Thread(target=pipe.write_bytes, args=(FULL.read_bytes(),))
            writer.start()
            frames = list(frames_from(str(pipe)))
            writer.join()
        self.assertEqual(frames, golden())


if __name__ == "__main__":
    unittest.main()
