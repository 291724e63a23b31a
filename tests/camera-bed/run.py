#!/usr/bin/env python3
"""Runs Posewire on the kernel's own camera driver, without a camera: prints one row a scenario.

    tests/camera-bed/run.py [--times 3] [--results FILE] [SCENARIO ...]
    tests/camera-bed/run.py --show FILE          the results as a table in Markdown
    tests/camera-bed/run.py --hours FILE         what a run of `hours` has shown so far, from its hours.jsonl

Builds what is missing (a User-Mode Linux kernel, once, about four CPU minutes; the emulated camera; the clips; Posewire) and
boots the kernel once a scenario. Time in the bed is simulated: it passes while everything waits, and computing takes none of
it, so that the figures do not depend on this machine. A scenario for which something is
missing is said to be skipped, not passed. Exit status 77 where the bed cannot be built; the reason is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Outside the working tree: a kernel outlives many checkouts.
BED = Path(os.environ.get("POSEWIRE_CAMERA_BED", Path.home() / ".cache/posewire/camera-bed"))
CANNOT = 77
# What the clips, the networks and Python need, with room.
MEMORY = "768M"
# 15 seconds of JPEGs; raw frames take more room.
JPEGS = 450
RAW_FRAMES = 150

sys.path.insert(0, str(HERE / "guest"))


def build(bed: Path, posewire: Path) -> None:
    done = subprocess.run([HERE / "build.sh", bed], check=False)
    if done.returncode == CANNOT:
        sys.exit(CANNOT)
    done.check_returncode()
    camera = ["--manifest-path", HERE / "usb-camera/Cargo.toml", "--target-dir", bed / "usb-camera"]
    subprocess.run(["cargo", "build", "--release", "-q", *map(str, camera)], check=True)
    if not posewire.exists():
        subprocess.run(["cargo", "build", "--release", "-q"], cwd=ROOT, check=True)
    names = [f"clip.{kind}" for kind in ("mjpeg", "yuyv", "y4m")]
    if not all((bed / name).exists() for name in names):
        clip = [
            "cargo",
            "run",
            "--release",
            "-q",
            "--example",
            "clip",
            "--",
            str(bed),
            str(JPEGS),
            str(RAW_FRAMES),
        ]
        subprocess.run(clip, cwd=ROOT, check=True)


def boot(bed: Path, out: Path, job: str, limit_s: float, real_time: bool) -> int:
    """Runs a shell command inside the bed, its results in `out`; its exit status."""
    (out / "job").write_text(job)
    arguments = [
        f"mem={MEMORY}",
        "root=/dev/root",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        f"init={HERE}/guest/init.sh",
        "con=null",
        "con0=null,fd:1",
        "console=tty0",
        "quiet",
        "panic=-1",
        f"uml_dir={out}",
        f"BED={bed}",
        f"OUT={out}",
        *([] if real_time else ["time-travel=inf-cpu"]),
    ]
    # The guest's memory is a file there, which must allow execution.
    environment = {**os.environ, "TMPDIR": "/dev/shm"}
    with (out / "console").open("wb") as console:
        guest = subprocess.Popen(
            [bed / "linux", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            env=environment,
            start_new_session=True,
        )
        try:
            guest.wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(guest.pid, 9)
            guest.wait()
            return -1
    status = out / "status"
    return int(status.read_text()) if status.exists() else -1


def table(path: Path) -> str:
    """One row a scenario: how often it passed, and the least and the greatest of each figure."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        rows.setdefault(row.pop("scenario"), []).append(row)
    lines = ["| scenario | passed | figures |", "|---|---|---|"]
    for name, runs in sorted(rows.items()):
        figures = []
        tried = [run for run in runs if "skipped" not in run]
        for key in (k for k in (tried or runs)[0] if k != "passed"):
            values = [run[key] for run in (tried or runs) if key in run]
            low, high = min(values), max(values)
            figures.append(f"{key} {low}" + (f" to {high}" if high != low else ""))
        passed = sum(run["passed"] for run in tried)
        skipped = f", {len(runs) - len(tried)} skipped" if len(tried) < len(runs) else ""
        lines.append(f"| `{name}` | {passed} of {len(tried)}{skipped} | {', '.join(figures)} |")
    return "\n".join(lines)


def so_far(path: Path) -> str:
    """What `hours` would say if it ended now."""
    from scenarios import settled, slope_an_hour

    rows = [json.loads(line) for line in path.read_text().splitlines()]
    kept = rows[settled([row["s"] for row in rows]) :]
    slope, low, high = slope_an_hour([row["s"] for row in kept], [row["rss_kib"] for row in kept])
    seen = {key: sorted({row[key] for row in kept}) for key in ("files", "threads", "rss_kib")}
    back = max(row["back_s"] for row in rows)
    return (
        f"{rows[-1]['s'] / 3600:.2f} hours, {len(rows)} faults, back within {back} s\n"
        + "".join(f"{key:8} {', '.join(map(str, values))}\n" for key, values in seen.items())
        + f"rss_kib  slope {slope:+.2f} [{low:+.2f}, {high:+.2f}] KiB an hour"
    )


def main() -> int:
    from scenarios import LONG, SCENARIOS

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--posewire", type=Path, default=ROOT / "target/release/posewire")
    parser.add_argument("--bed", type=Path, default=BED, help="where the kernel and the clips are kept")
    parser.add_argument("--no-build", action="store_true", help="take the bed as it is")
    parser.add_argument("--times", type=int, default=1, help="so many times in a row")
    parser.add_argument(
        "--seed", type=int, default=1, help="of the first time; the random moments follow from it"
    )
    parser.add_argument("--real-time", action="store_true", help="let computing take its time")
    parser.add_argument(
        "--limit", type=float, default=900, help="seconds of this machine after which one hangs"
    )
    parser.add_argument("--results", type=Path, help="append each result to this file, as JSON lines")
    parser.add_argument("--show", type=Path, help="only show what such a file holds")
    parser.add_argument("--hours", type=Path, help="only show what a run of hours has written")
    parser.add_argument("--keep", action="store_true", help="keep the folders of results")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=", ".join(SCENARIOS | LONG))
    args = parser.parse_args()
    if args.show:
        print(table(args.show))
        return 0
    if args.hours:
        print(so_far(args.hours))
        return 0
    bed = args.bed.resolve()
    posewire = args.posewire.resolve()
    if not args.no_build:
        build(bed, posewire)
    missing = [name for name in args.scenarios if name not in SCENARIOS | LONG]
    if missing:
        parser.error(f"no such scenario: {', '.join(missing)}")
    failed = 0
    for seed in range(args.seed, args.seed + args.times):
        for name in args.scenarios or SCENARIOS:
            job = (
                f"export BED={bed} POSEWIRE={posewire} USB_CAMERA={bed}/usb-camera/release/usb-camera "
                f"JPEGS={JPEGS} RAW_FRAMES={RAW_FRAMES} SEED={seed} HOURS={os.environ.get('HOURS', '2')}; "
                f"exec {sys.executable} -B {HERE}/guest/scenarios.py {name}"
            )
            out = Path(tempfile.mkdtemp(prefix="camera-bed-"))
            started = time.monotonic()
            status = boot(bed, out, job, args.limit, args.real_time)
            result = out / "result.json"
            row = (
                json.loads(result.read_text())
                if result.exists()
                else {"failed": f"no result, status {status}"}
            )
            if args.results:
                with args.results.open("a") as f:
                    f.write(json.dumps({"scenario": name, "passed": False, **row}) + "\n")
            passed = row.pop("passed", False)
            row.pop("scenario", None)
            is_skipped = "skipped" in row
            failed += not (passed or is_skipped)
            word = "ok" if passed else "skipped" if is_skipped else "FAILED"
            figures = "  ".join(f"{k} {v}" for k, v in row.items())
            wall_s = time.monotonic() - started
            print(f"{name:17} {word:7} {figures}  ({wall_s:.0f} s here)", flush=True)
            if (passed or is_skipped) and not args.keep:
                shutil.rmtree(out)
            else:
                print(f"{'':17} kept: {out}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
