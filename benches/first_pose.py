"""How long after its start Posewire says where the first person is, with its files in the cache and without.

    cargo build --release
    python benches/first_pose.py CLIP [--starts 5] [--posewire FILE]

CLIP is anything that `--replay` takes and that shows somebody in its first frame. Printed are milliseconds from the start of the process
to the first JSON line with a person in it: `cold` after the kernel has dropped its file cache (as root; else left out), `warm` right after.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent


def first_pose_ms(posewire: Path, clip: Path) -> float:
    began = time.monotonic()
    command = [str(posewire), "run", "--replay", str(clip), "--jsonl", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
        assert run.stdout
        for line in run.stdout:
            if json.loads(line).get("persons"):
                run.kill()
                return 1000 * (time.monotonic() - began)
    raise SystemExit(f"{clip}: nobody was found in it")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("clip", type=Path)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--posewire", type=Path, default=REPO / "target/release/posewire")
    args = parser.parse_args()
    dropping = Path("/proc/sys/vm/drop_caches")
    for name in ("cold", "warm"):
        if name == "cold" and not os.access(dropping, os.W_OK):
            print("cold: left out, only root may drop the file cache")
            continue
        times = []
        for _ in range(args.starts):
            if name == "cold":
                os.sync()
                dropping.write_text("3")
            times.append(first_pose_ms(args.posewire, args.clip))
        print(f"{name}: {min(times):.0f} to {max(times):.0f} ms in {args.starts} starts")


if __name__ == "__main__":
    main()
