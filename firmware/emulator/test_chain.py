#!/usr/bin/env python3
"""The whole chain: a video, the networks, a serial cable at 115200 baud, the board and its screen; and how long each leg takes.

    python3 firmware/emulator/test_chain.py [PICTURE.png]

With PICTURE.png the emulated screen is kept there, four times enlarged.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import qemu
from cable import Cable, Passed
from picture import best_match, enlarged, png
from places import PATIENCE_S, POSEWIRE, skipped
from posewire import Decoder, PosePacket, Receipt

BAUD = 115_200
FRAMES = 90
PICTURE_PATH: Path | None = None


def moments_of(passed: list[Passed]) -> dict[int, tuple[PosePacket, float, float]]:
    """Every moment by its seq: its last packet, when its first byte was sent, and when its last was received."""
    decoder = Decoder()
    found: dict[int, tuple[PosePacket, float, float]] = {}
    begun_at: float | None = None
    for portion in passed:
        begun_at = portion.begun_at if begun_at is None else begun_at
        for event in decoder.feed(portion.data):
            if isinstance(event, PosePacket):
                first = found[event.seq][1] if event.seq in found else begun_at
                found[event.seq] = (event, first, portion.done_at)
            begun_at = portion.begun_at
        if portion.data.endswith(b"\0"):
            begun_at = None
    return found


def receipts_of(passed: list[Passed]) -> list[tuple[float, Receipt]]:
    """What the board said, and when it had said it."""
    decoder = Decoder()
    return [(p.done_at, e) for p in passed for e in decoder.feed(p.data) if isinstance(e, Receipt)]


def row(name: str, values_ms: list[float]) -> str:
    ordered = sorted(values_ms)
    p95 = ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))]
    return f"  {name:<44} p50 {statistics.median(ordered):7.1f} ms   p95 {p95:7.1f} ms   n {len(ordered)}"


class Chain(unittest.TestCase):
    def test_from_video_to_screen(self) -> None:
        qemu.require()
        if not POSEWIRE.exists():
            raise skipped(f"from video to screen: {POSEWIRE} is not built: cargo build --release")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        clip = Path(folder.name) / "clip.avi"
        record = [str(POSEWIRE), "record", "--synthetic", "--frames", str(FRAMES), str(clip)]
        subprocess.run(record, check=True, timeout=PATIENCE_S, capture_output=True)

        cable = Cable(BAUD)
        self.addCleanup(cable.close)
        board = qemu.Board(serial=cable.ports[1])
        self.addCleanup(board.close)
        end = time.monotonic() + PATIENCE_S
        while not cable.passed[1]:
            self.assertLess(time.monotonic(), end, "the board does not ask for HELLO")
            time.sleep(0.05)

        tracker = subprocess.Popen(
            [POSEWIRE, "run", "--replay", clip, "--serial", f"{cable.ports[0]}@{BAUD}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        self.addCleanup(tracker.kill)
        _, told = tracker.communicate(timeout=2 * PATIENCE_S)
        self.assertEqual(tracker.returncode, 0, told.decode())

        # Until the line is quiet and the board has said that it drew the last moment.
        end = time.monotonic() + PATIENCE_S
        while True:
            heard = len(cable.passed[0])
            time.sleep(0.3)
            sent, receipts = moments_of(cable.passed[0]), receipts_of(cable.passed[1])
            if len(cable.passed[0]) == heard and sent and receipts and receipts[-1][1].seq == max(sent):
                break
            self.assertLess(
                time.monotonic(), end, f"moment {max(sent, default=None)} is not drawn: {receipts[-1:]}"
            )
        began = time.monotonic()
        screen = board.screen()
        screenshot_ms = (time.monotonic() - began) * 1e3
        if PICTURE_PATH:
            PICTURE_PATH.write_bytes(png(enlarged("ssd0323", screen, 4)))

        # Nothing was lost on the way, and the screen shows the last moment to the last pixel.
        host = Decoder()
        host.feed(cable.data(0))
        _, last = receipts[-1]
        self.assertEqual((host.counters.crc, host.counters.framing), (0, 0))
        self.assertEqual((last.crc_errors, last.framing_errors, last.overfull, last.overruns), (0, 0, 0, 0))
        packet = sent[last.seq][0]
        pixels, _ = best_match("ssd0323", cable.data(0), screen, packet.age_us // 1000)
        self.assertEqual(pixels, 0)
        persons = [p for p, _, _ in sent.values() if p.persons]
        self.assertGreater(len(persons), len(sent) // 2, "the figure of the clip is seen")

        legs = {
            "light to wire (decode, networks, temporal)": [p.age_us / 1e3 for p, _, _ in sent.values()],
            "wire (115200 baud)": [(done - begun) * 1e3 for _, begun, done in sent.values()],
            "board: last byte to RECEIPT on the host": [
                (at - sent[r.seq][2]) * 1e3 for at, r in receipts if r.seq in sent
            ],
            "  of which drawing and sending the picture": [r.busy_us / 1e3 for _, r in receipts],
        }
        print(
            f"\nFrom video to screen: {FRAMES} frames, {len(sent)} moments sent, {len(receipts)} drawn, 0 lost, 0 pixels differ"
        )
        for name, values in legs.items():
            print(row(name, values))
        print(f"  screenshot{screenshot_ms:46.1f} ms; load of this machine {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].endswith(".png"):
        PICTURE_PATH = Path(sys.argv.pop(1))
    unittest.main()
