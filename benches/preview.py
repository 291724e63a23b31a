#!/usr/bin/env python3
"""What viewers cost the tracker: how old poses are when they are sent, with nobody looking and with ten viewers of whom five take nothing.

    python3 benches/preview.py --seconds 10 --pairs 12

One tracker runs all the time; the two cases take turns within it, so that whatever else the machine does meets both. Each pair gives a
ratio of the ages' p50 and p99; the median of them is what viewers cost, and its 95 % interval is drawn from the pairs (bootstrap): where
that holds 1, no cost was seen. The viewers run on the same machine and are part of what is measured. How busy the machine is otherwise is
said, and a figure of a busy one is none to keep. Standard library alone.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import re
import select
import signal
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TAKEN = b"\x81\x85\0\0\0\0taken"  # masked by zeros, which is a mask
SETTLES_S = 1.0
#: Other work that keeps more cores busy than that is in every figure.
QUIET_CORES = 0.3


class Viewer:
    """The least that a page does: a WebSocket that takes each message and says so, or one that never reads."""

    def __init__(self, port: int, is_stalled: bool) -> None:
        self.is_stalled = is_stalled
        self.socket = socket.create_connection(("127.0.0.1", port))
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET /live HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        self.bytes = b""
        while b"\r\n\r\n" not in self.bytes:
            got = self.socket.recv(4096)
            if not got:
                raise ConnectionError("not let in")
            self.bytes += got
        head, self.bytes = self.bytes.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise ConnectionError(head.decode().splitlines()[0])

    def take(self) -> int:
        """Reads what is there; how many frames that were."""
        got = self.socket.recv(1 << 18)
        if not got:
            raise ConnectionError("let go")
        self.bytes += got
        frames = 0
        while len(self.bytes) >= 10:
            length, at = self.bytes[1] & 127, 2
            if length == 126:
                length, at = struct.unpack(">H", self.bytes[2:4])[0], 4
            elif length == 127:
                length, at = struct.unpack(">Q", self.bytes[2:10])[0], 10
            if len(self.bytes) < at + length:
                break
            if self.bytes[0] & 15 == 2:
                self.socket.sendall(TAKEN)
                frames += 1
            self.bytes = self.bytes[at + length :]
        return frames


def look(port: int, count: int, stalled: int, seconds: float) -> int:
    """Viewers for so long; frames that they took in all."""
    viewers = [Viewer(port, i < stalled) for i in range(count)]
    taken, until = 0, time.monotonic() + seconds
    active = [v for v in viewers if not v.is_stalled]
    while time.monotonic() < until:
        for ready in select.select([v.socket for v in active], [], [], 0.1)[0]:
            taken += next(v for v in active if v.socket is ready).take()
    for viewer in viewers:
        viewer.socket.close()
    return taken


def quantile(values: list[int], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] / 1000


def interval(ratios: list[float]) -> tuple[float, float]:
    """The median's 95 % interval, the pairs drawn anew two thousand times; the same pairs give the same."""
    drawn = random.Random(1)
    medians = sorted(statistics.median(drawn.choices(ratios, k=len(ratios))) for _ in range(2000))
    return medians[50], medians[1949]


def busy_cores(seconds: float) -> float:
    """How many cores the machine is busy with, whoever keeps it busy."""

    def busy() -> int:
        user, nice, system = map(int, Path("/proc/stat").read_text().split(maxsplit=4)[1:4])
        return user + nice + system

    before = busy()
    time.sleep(seconds)
    return (busy() - before) / os.sysconf("SC_CLK_TCK") / seconds


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--posewire", default=str(ROOT / "target/debug/posewire"))
    parser.add_argument("--seconds", type=float, default=10, help="of each case, each time")
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--viewers", type=int, default=10)
    parser.add_argument("--stalled", type=int, default=5)
    parser.add_argument("--json", type=Path, help="also write the result to this file")
    args = parser.parse_args()
    others = busy_cores(2)
    is_quiet = others < QUIET_CORES
    print(
        f"before: {others:.1f} of {os.cpu_count()} cores busy with other work"
        + ("" if is_quiet else "; too much for a figure to keep")
    )
    command = [args.posewire, "run", "--synthetic", "--web", "127.0.0.1:0", "--web-pixels", "--jsonl", "-"]
    tracker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert tracker.stdout is not None and tracker.stderr is not None
    ages: list[int] = []
    lines, told = tracker.stdout, tracker.stderr

    def read() -> None:
        for line in lines:
            said = json.loads(line)
            ages.append(said["emitted_us"] - said["captured_us"])

    try:
        links = (re.search(r"http://127.0.0.1:(\d+)/", line) for line in told)
        port = next(int(link[1]) for link in links if link)
        threading.Thread(target=lambda: [None for _ in told], daemon=True).start()
        threading.Thread(target=read, daemon=True).start()
        time.sleep(3)
        ratios: list[list[float]] = []
        rows: list[dict[str, list[float]]] = []
        for pair in range(args.pairs):
            found: dict[bool, list[float]] = {}
            # Each goes first as often as the other.
            for is_watched in (pair % 2 == 0, pair % 2 == 1):
                before, taken = len(ages), 0
                if is_watched:
                    taken = look(port, args.viewers, args.stalled, SETTLES_S + args.seconds)
                else:
                    time.sleep(SETTLES_S + args.seconds)
                settled = before + int((len(ages) - before) * SETTLES_S / (SETTLES_S + args.seconds))
                some = ages[settled:]
                found[is_watched] = [quantile(some, 0.5), quantile(some, 0.99), len(some), taken]
            alone, watched = found[False], found[True]
            ratios.append([watched[0] / alone[0], watched[1] / alone[1]])
            rows.append({"alone": alone, "watched": watched})
            print(
                f"pair {pair + 1}: p50 {alone[0]:.2f} -> {watched[0]:.2f} ms, p99 {alone[1]:.2f} -> {watched[1]:.2f} ms; "
                f"{alone[2]} and {watched[2]} frames, {watched[3]} taken by viewers",
                flush=True,
            )
        medians = [statistics.median(r[k] for r in ratios) for k in (0, 1)]
        spread = [interval([r[k] for r in ratios]) for k in (0, 1)]
        print(
            f"{args.viewers} viewers, {args.stalled} stalled, over nobody: p50 x {medians[0]:.2f} "
            f"({spread[0][0]:.2f} to {spread[0][1]:.2f}), p99 x {medians[1]:.2f} ({spread[1][0]:.2f} to {spread[1][1]:.2f})"
        )
        if args.json:
            said = {
                "command": f"python3 benches/preview.py --seconds {args.seconds:g} --pairs {args.pairs}",
                "viewers": args.viewers,
                "stalled": args.stalled,
                "columns": ["p50 ms", "p99 ms", "frames", "taken by viewers"],
                "pairs": rows,
                "busy_cores_before": round(others, 2),
                "ratio_p50": [medians[0], *spread[0]],
                "ratio_p99": [medians[1], *spread[1]],
            }
            args.json.write_text(json.dumps(said, indent=1) + "\n")
    finally:
        tracker.send_signal(signal.SIGINT)
        tracker.wait(timeout=10)
    return 0


if __name__ == "__main__":
    sys.exit(main())
