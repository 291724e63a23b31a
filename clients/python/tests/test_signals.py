"""Signals: what has to be done whole is, and a recording that one ends is there."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from test_frames import walker

from posewire import Frame, as_lines, record
from posewire._files import Replacement
from posewire._signals import Ending, uninterrupted
from posewire.record import ParquetRecorder

HAS_ARROW = importlib.util.find_spec("pyarrow") is not None


class Signals(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        # Whatever whoever runs the tests ignores, and so do programs that they start.
        for which in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self.addCleanup(signal.signal, which, signal.getsignal(which))
            signal.signal(which, signal.SIG_DFL)

    def test_what_is_done_whole_is_done_before_a_signal_is_heard(self) -> None:
        Ending()
        for which in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            done = []
            with self.subTest(which), self.assertRaises(KeyboardInterrupt):
                with uninterrupted():
                    with uninterrupted():
                        signal.raise_signal(which)
                        done.append("inner")
                    done.append("outer")
                done.append("never")
            self.assertEqual(done, ["inner", "outer"])
        worker = threading.Thread(target=lambda: uninterrupted().__enter__())
        worker.start()
        worker.join()
        with self.assertRaises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)

    def test_under_nohup_a_terminal_that_is_closed_ends_nothing(self) -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        Ending()
        signal.raise_signal(signal.SIGHUP)
        self.assertIs(signal.getsignal(signal.SIGHUP), signal.SIG_IGN)

    @unittest.skipUnless(HAS_ARROW, "no pyarrow")
    def test_a_signal_while_a_group_of_rows_is_written_costs_nothing(self) -> None:
        from pyarrow import parquet

        path = self.folder / "walk.parquet"
        whole = parquet.ParquetWriter.write_table

        def interrupted(*arguments: object, **named: object) -> None:
            signal.raise_signal(signal.SIGINT)
            whole(*arguments, **named)

        signal.signal(signal.SIGINT, signal.default_int_handler)
        with (
            self.assertRaises(KeyboardInterrupt),
            mock.patch.object(parquet.ParquetWriter, "write_table", interrupted),
            ParquetRecorder(path) as recorder,
        ):
            for seq in range(2 * ParquetRecorder.GROUP):
                recorder.write(walker(seq))
        self.assertEqual(parquet.read_table(path).num_rows, ParquetRecorder.GROUP)

    def test_more_signals_while_files_are_closed_cut_nothing_short(self) -> None:
        table, markers, columns = (self.folder / f"a.{kind}" for kind in ("csv", "trc", "parquet"))
        typed = ["--parquet", str(columns)] if HAS_ARROW else []

        def ended(*_: object, **__: object) -> Iterator[Frame]:
            yield from map(walker, range(10))
            signal.raise_signal(signal.SIGTERM)

        take_place = Replacement.take_place

        def late(replacement: Replacement) -> None:
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGINT)
            take_place(replacement)

        said = io.StringIO()
        with (
            mock.patch.object(record, "frames_from", ended),
            mock.patch.object(Replacement, "take_place", late),
            contextlib.redirect_stderr(said),
        ):
            code = record.main(["udp:1", "--csv", str(table), "--trc", str(markers), *typed])
        self.assertEqual(code, 0, said.getvalue())
        outputs = [columns, markers, table] if HAS_ARROW else [markers, table]
        self.assertEqual(said.getvalue(), "".join(f"{path}: 10 rows\n" for path in outputs))
        self.assertEqual(sorted(self.folder.iterdir()), sorted(outputs))

    def test_a_terminal_that_is_closed_ends_a_recording_in_good_order(self) -> None:
        markers = self.folder / "a.trc"
        words = [sys.executable, "-B", "-m", "posewire", "record", "-", "--trc", str(markers)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            assert running.stdin is not None
            running.stdin.write("".join(f"{as_lines(walker(seq))[0]}\n" for seq in range(400)).encode())
            running.stdin.flush()
            part = self.folder / "a.trc.part"
            while running.poll() is None and not (part.exists() and part.stat().st_size > 20_000):
                threading.Event().wait(0.02)
            running.send_signal(signal.SIGHUP)
            _, said = running.communicate(timeout=60)
        self.assertEqual((running.returncode, said.startswith(f"{markers}: ".encode())), (0, True), said)
        self.assertTrue(markers.read_text(encoding="utf-8").startswith("PathFileType"))


if __name__ == "__main__":
    unittest.main()
