#!/usr/bin/env python3
"""Runs Posewire for an hour at full rate and shows whether anything grows: memory, files, threads, age of the poses.

    benches/endurance.py [--minutes 60] [--out FOLDER] [--posewire target/release/posewire] [--clip clip.mjpeg]
    benches/endurance.py --show        judges the samples that are kept in benches/results
    benches/endurance.py --plot        draws them, too: docs/images/endurance.png

The built-in clip, or a file of JPEGs over and over (painting the built-in figures costs several times what tracking them does),
at 30 frames a second; poses to a pseudo-terminal that is read and as JSON lines through a pipe. Every ten
seconds: resident memory, open files and threads from /proc, frames (nine in ten of those that are due must come), and the 50th and 99th
percentile of the age of the poses.
Ends with the slope of each and its 95 % interval (blocks of a minute, resampled), and writes `endurance.json` and
its picture.
"""

from __future__ import annotations

import argparse
import fcntl
import importlib.util
import json
import os
import pty
import random
import re
import selectors
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import tty
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
EVERY_S = 10.0
# Buffers, caches and the first identities: what is taken once.
WARM_UP_S = 120.0
# A slope needs samples after the warm-up: of fewer minutes it says nothing.
LEAST_MINUTES = 5.0
FPS = 30
# Of the frames that are due in each sample: a tracker that stops or slows grows nothing.
MIN_SHARE = 0.9
TIMES = re.compile(rb'"captured_us":(-?\d+),"emitted_us":(-?\d+)')


def usage(pid: int) -> dict[str, int]:
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    files = sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    memory = {"rss_kib": int(status["VmRSS"].split()[0]), "anon_kib": int(status["RssAnon"].split()[0])}
    return {**memory, "threads": int(status["Threads"]), "files": files}


def percentile(values: list[float], share: float) -> float | None:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else None


def write(samples: list[dict[str, float | int | None]], path: Path) -> None:
    path.write_text("[\n" + ",\n".join(json.dumps(s) for s in samples) + "\n]\n")


class Endless:
    """A named pipe out of which a clip comes over and over, as fast as it is read."""

    def __init__(self, clip: Path) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "clip.mjpeg"
        os.mkfifo(self.path)
        # For reading too, or it would end whenever the tracker opens it once more.
        self.fd = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)
        fcntl.fcntl(self.fd, fcntl.F_SETPIPE_SZ, 1 << 20)
        self.clip, self.at = memoryview(clip.read_bytes()), 0

    def fill(self) -> None:
        self.at = (self.at + os.write(self.fd, self.clip[self.at : self.at + (1 << 18)])) % len(self.clip)


def run(posewire: Path, minutes: float, path: Path, clip: Path | None) -> None:
    """Samples go to `path` as they are taken: an hour that is cut short is still to be looked at."""
    hand, port = pty.openpty()
    tty.setraw(port)
    serial = f"{os.ttyname(port)}@921600"
    endless = Endless(clip) if clip else None
    source = ["--replay", endless.path] if endless else ["--synthetic"]
    command = [posewire, "run", *source, "--serial", serial, "--jsonl", "-"]
    tracker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert tracker.stdout
    os.set_blocking(tracker.stdout.fileno(), False)
    selector = selectors.DefaultSelector()
    selector.register(hand, selectors.EVENT_READ)
    selector.register(tracker.stdout, selectors.EVENT_READ)
    if endless:
        selector.register(endless.fd, selectors.EVENT_WRITE)
    samples: list[dict[str, float | int | None]] = []
    start = time.monotonic()
    due, wire_frames, rest, ages = start + EVERY_S, 0, b"", list[float]()
    while time.monotonic() < start + 60 * minutes:
        for key, _ in selector.select(max(0.0, due - time.monotonic())):
            if endless and key.fd == endless.fd:
                endless.fill()
                continue
            data = os.read(key.fd, 1 << 16)
            if not data and tracker.poll() is not None:
                sys.exit(f"posewire ended with {tracker.returncode}")
            if key.fd == hand:
                wire_frames += data.count(0)
            else:
                *lines, rest = (rest + data).split(b"\n")
                found = (TIMES.search(line) for line in lines)
                ages += [(int(m[2]) - int(m[1])) / 1e3 for m in found if m]
        now = time.monotonic()
        if now >= due:
            due += EVERY_S
            sample = {"s": now - start, "frames": len(ages), "wire_frames": wire_frames, **usage(tracker.pid)}
            samples.append(
                {**sample, "age_p50_ms": percentile(ages, 0.5), "age_p99_ms": percentile(ages, 0.99)}
            )
            wire_frames, ages = 0, []
            write(samples, path)
    tracker.send_signal(signal.SIGTERM)
    assert tracker.wait(5) == 0


def slope(samples: list[dict[str, Any]], key: str) -> tuple[float, float, float]:
    """Change an hour and its 95 % interval by the bootstrap over blocks of six samples, which keeps what neighbours share."""
    kept = [s for s in samples if s["s"] > WARM_UP_S and s.get(key) is not None]
    hours = [s["s"] / 3600 for s in kept]
    values = [float(s[key]) for s in kept]
    change, base = statistics.linear_regression(hours, values)
    residuals = [v - base - change * t for t, v in zip(hours, values, strict=True)]
    # The slope of what is drawn is a sum over these weights.
    middle = statistics.fmean(hours)
    spread = sum((t - middle) ** 2 for t in hours)
    weights = [(t - middle) / spread for t in hours]
    dice = random.Random(1)
    drawn = []
    for _ in range(2000):
        noise: list[float] = []
        while len(noise) < len(values):
            at = dice.randrange(max(1, len(values) - 5))
            noise += residuals[at : at + 6]
        drawn.append(change + sum(w * n for w, n in zip(weights, noise, strict=False)))
    drawn.sort()
    return change, drawn[50], drawn[-51]


def plot(samples: list[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    minutes = [s["s"] / 60 for s in samples]
    figure, axes = pyplot.subplots(3, 1, sharex=True, figsize=(8, 7))
    axes[0].plot(minutes, [s["rss_kib"] / 1024 for s in samples], color="#0b6")
    axes[0].set_ylabel("resident memory, MiB")
    axes[0].set_ylim(0, 1.2 * max(s["rss_kib"] for s in samples) / 1024)
    axes[1].plot(minutes, [s["files"] for s in samples], label="open files", color="#05a")
    axes[1].plot(minutes, [s["threads"] for s in samples], label="threads", color="#a50")
    axes[1].set_ylim(0, 1.4 * max(s["threads"] for s in samples))
    axes[1].legend()
    axes[2].plot(minutes, [s["age_p99_ms"] for s in samples], label="99th percentile", color="#a05")
    axes[2].plot(minutes, [s["age_p50_ms"] for s in samples], label="median", color="#555")
    axes[2].set_ylabel("age when sent, ms")
    axes[2].set_xlabel("minutes")
    axes[2].legend()
    figure.tight_layout()
    figure.savefig(path, dpi=90)


def report(samples: list[dict[str, Any]]) -> bool:
    kept = [s for s in samples if s["s"] > WARM_UP_S]
    frames = sum(s["frames"] for s in samples)
    print(
        f"{samples[-1]['s'] / 60:.1f} minutes, {frames} frames, {sum(s['wire_frames'] for s in samples)} on the wire"
    )
    # The first sample has the start in it.
    least = min(samples[1:], key=lambda s: s["frames"])
    due = MIN_SHARE * FPS * EVERY_S
    flat = least["frames"] >= due
    print(
        f"frames      at least {least['frames']} in {EVERY_S:.0f} s, wanted {due:.0f}, after {least['s']:.0f} s"
    )
    highest = max(s["rss_kib"] for s in kept)
    print(
        f"rss_kib     first {kept[0]['rss_kib']}, highest {highest}, last {kept[-1]['rss_kib']} KiB after two minutes"
    )
    # What the kernel takes back of a program's file is no memory given up: the program's own is told apart where it was sampled.
    memory = [key for key in ("rss_kib", "anon_kib") if key in kept[0]]
    for key, unit in (*((key, "KiB") for key in memory), ("age_p99_ms", "ms"), ("age_p50_ms", "ms")):
        mean = sum(s[key] or 0 for s in kept) / len(kept)
        change, low, high = slope(samples, key)
        flat &= low <= 0
        print(
            f"{key:11} mean {mean:9.1f} {unit}, slope {change:+8.2f} [{low:+.2f}, {high:+.2f}] {unit} an hour"
        )
    for key in ("files", "threads"):
        values = {s[key] for s in kept}
        flat &= len(values) == 1
        print(f"{key:11} {', '.join(map(str, sorted(values)))}")
    return flat


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--posewire", type=Path, default=ROOT / "target/release/posewire")
    parser.add_argument(
        "--clip", type=Path, help="JPEGs one after the other, as `cargo run --example clip` writes them"
    )
    parser.add_argument(
        "--out",
        type=Path,
        help="folder of endurance.json and endurance.png (default: where the kept ones are)",
    )
    parser.add_argument("--show", action="store_true", help="only judge what endurance.json holds")
    parser.add_argument("--plot", action="store_true", help="only draw and judge what it holds")
    args = parser.parse_args()
    if not args.show and importlib.util.find_spec("matplotlib") is None:
        parser.error("matplotlib not found: better known now than after an hour (pip install matplotlib)")
    if not (args.show or args.plot or args.minutes >= LEAST_MINUTES):
        parser.error(
            f"--minutes {args.minutes:g}: {LEAST_MINUTES:g} or more; the first {WARM_UP_S / 60:g} are warm-up, and of few samples after it "
            "nothing can be said"
        )
    samples_path = (args.out or ROOT / "benches/results") / "endurance.json"
    picture_path = (args.out or ROOT / "docs/images") / "endurance.png"
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
    if not (args.show or args.plot):
        run(args.posewire, args.minutes, samples_path, args.clip)
    samples = json.loads(samples_path.read_text())
    # a last sample is up to one interval before the end
    if not samples or samples[-1]["s"] < 60 * LEAST_MINUTES - 2 * EVERY_S:
        parser.error(
            f"{samples_path} holds less than {LEAST_MINUTES:g} minutes: a run that was stopped; run it again"
        )
    if not args.show:
        plot(samples, picture_path)
    return 0 if report(samples) else 1


if __name__ == "__main__":
    sys.exit(main())
