#!/usr/bin/env python3
"""The firmware in QEMU (LM3S6965) and in rp2040js (Pico): what it says back about what it was sent.

    python3 firmware/emulator/test_emulators.py

The counters in its RECEIPTs are compared with those of the Python decoder for the very same bytes.
"""

from __future__ import annotations

import json
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "clients/python/src"))

from posewire import Command, Decoder, Receipt

TARGET = ROOT / "firmware/target"
LM3S6965 = TARGET / "thumbv7m-none-eabi/release/lm3s6965"
PICO = TARGET / "thumbv6m-none-eabi/release/pico"
GOLDEN = json.loads((ROOT / "tests/golden/wire_v1.json").read_text(encoding="utf-8"))
FRAMES = {s["name"]: bytes.fromhex(s["hex"]) for s in GOLDEN["streams"]}
#: More than enough for a loaded machine.
PATIENCE_S = 120.0


def skipped(reason: str) -> unittest.SkipTest:
    print(f"SKIPPED: {reason}", file=sys.stderr)
    return unittest.SkipTest(reason)


class Board:
    """QEMU's LM3S6965 board and the cable to its UART."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "serial"
        machine = ["-M", "lm3s6965evb", "-display", "none", "-monitor", "none", "-nodefaults"]
        serial = ["-serial", f"unix:{path},server=on,wait=on"]
        self.qemu = subprocess.Popen(
            ["qemu-system-arm", *machine, *serial, "-kernel", LM3S6965], stderr=subprocess.DEVNULL
        )
        self.decoder = Decoder()
        self.serial = socket.socket(socket.AF_UNIX)
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                self.serial.connect(str(path))
                break
            except OSError:
                if time.monotonic() > deadline:
                    self.close()
                    raise
                time.sleep(0.02)
        self.serial.setblocking(False)

    def close(self) -> None:
        self.qemu.kill()
        self.qemu.wait()
        self.serial.close()
        self.folder.cleanup()

    def exchange(self, data: bytes, until: type[Command | Receipt], seq: int = 0) -> Receipt | Command:
        """Sends `data` while it listens, until a packet of the wanted type (and `seq`) comes."""
        at, deadline = 0, time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            readable, writable, _ = select.select(
                [self.serial], [self.serial] if at < len(data) else [], [], 0.2
            )
            if writable:
                at += self.serial.send(data[at : at + 4096])
            if not readable:
                continue
            for event in self.decoder.feed(self.serial.recv(4096)):
                wanted = isinstance(event, until) and (not isinstance(event, Receipt) or event.seq == seq)
                if wanted and at == len(data):
                    assert isinstance(event, (Command, Receipt))
                    return event
        raise AssertionError(f"no {until.__name__} within {PATIENCE_S} s")


class InQemu(unittest.TestCase):
    def setUp(self) -> None:
        if not LM3S6965.exists():
            raise skipped("the firmware in QEMU: not built, run firmware/test.sh")
        if not shutil.which("qemu-system-arm"):
            raise skipped("the firmware in QEMU: apt install qemu-system-arm")
        self.board = Board()
        self.addCleanup(self.board.close)
        self.board.exchange(b"", Command)

    def agree(self, receipt: Receipt | Command, data: bytes) -> None:
        """The board has counted what the Python decoder counts."""
        assert isinstance(receipt, Receipt)
        host = Decoder()
        host.feed(data)
        c = host.counters
        self.assertEqual(
            receipt._replace(seq=0, superseded=0, busy_us=0),
            Receipt(
                0, c.packets, c.crc, c.framing + c.malformed, c.overfull, c.version + c.unknown_type, 0, 0, 0
            ),
        )

    def test_a_flood_loses_nothing(self) -> None:
        data = FRAMES["hello"] + FRAMES["pose_two_persons"] * 100 + FRAMES["pose_3d"]
        self.agree(self.board.exchange(data, Receipt, seq=42), data)


class InRp2040js(unittest.TestCase):
    def setUp(self) -> None:
        if not PICO.exists():
            raise skipped("the firmware in rp2040js: not built, run firmware/test.sh")
        if not shutil.which("node"):
            raise skipped("the firmware in rp2040js: apt install nodejs npm")
        if not (ROOT / "firmware/emulator/node_modules/rp2040js").exists():
            raise skipped("the firmware in rp2040js: run `npm ci` in firmware/emulator")

    def run_pico(self, data: bytes) -> tuple[list[str], Receipt, int]:
        script = Path(__file__).with_name("pico.mjs")
        done = subprocess.run(["node", script, PICO], input=data, stdout=subprocess.PIPE, check=True)
        seen = json.loads(done.stdout)
        events = Decoder().feed(bytes.fromhex(seen["sent"]))
        self.assertEqual(events[0], Command(1, 0))
        receipts = [e for e in events if isinstance(e, Receipt)]
        return seen["rows"], receipts[-1], seen["overruns"]

    def test_thirty_moments_of_two_persons_at_115200_baud(self) -> None:
        data = FRAMES["hello"] + FRAMES["pose_two_persons"] * 29 + FRAMES["pose_3d"]
        rows, receipt, overruns = self.run_pico(data)
        self.assertEqual((receipt.seq, receipt.packets, receipt.overruns, overruns), (42, 60, 0, 0))
        self.assertEqual((receipt.crc_errors, receipt.framing_errors, receipt.overfull), (0, 0, 0))
        self.assertTrue(any("1" in row[64:] for row in rows), "a person is drawn")

    def test_damage_is_counted(self) -> None:
        data = FRAMES["hello"] + FRAMES["bit_flipped_late"] + FRAMES["version_2"] + FRAMES["pose_3d"]
        host = Decoder()
        host.feed(data)
        _, receipt, _ = self.run_pico(data)
        self.assertEqual(receipt.packets, host.counters.packets)
        self.assertEqual(receipt.crc_errors, host.counters.crc)
        self.assertEqual(receipt.skipped, host.counters.version)


if __name__ == "__main__":
    unittest.main()
