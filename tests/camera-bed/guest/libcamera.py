"""Debian's libcamera itself on the kernel's virtual camera (vimc): what stands behind `rpicam-vid` on a Raspberry Pi."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from bed import BACK_S, FIRST_S, FPS, OUT, TMP, Result, Tracker, at_most, wait_until
from drivers import load, said

PROGRAMS = TMP / "bin"
# vimc's scaler takes widths that six divides.
SIZE = "636x480"
# `rpicam-vid` with libcamera's own program inside: lists as it lists, writes JPEGs to its output, ends when it is told to. The pipe
# is held open, since `cam` opens and closes its file for each picture.
RPICAM_VID = f"""#!/bin/sh
case "$*" in *--help*) exit 0 ;; esac
if [ "$1" = --list-cameras ]; then
    cam --list 2>/dev/null | sed -n 's/^\\([0-9]*\\): \\(.*\\) (\\(.*\\))$/\\1 \\2 \\3/p' |
        while read -r number name; do echo "$((number - 1)) : $name [{SIZE}] (vimc)"; done
    exit 0
fi
pipe={TMP}/pictures.$$
mkfifo "$pipe"
exec 3<>"$pipe"
cam --camera 1 --capture --stream width=636,height=480,pixelformat=RGB888 --file="$pipe" >{OUT}/cam.log 2>&1 &
trap 'kill %1; exit 0' TERM
ffmpeg -v error -f rawvideo -pix_fmt bgr24 -s {SIZE} -r {FPS} -i "$pipe" -c:v mjpeg -q:v 3 -f mjpeg - &
wait $!
echo "no more pictures: $(tail -n 1 {OUT}/cam.log)" >&2
kill %1 2>/dev/null
exit 1
"""


def udev_knows() -> None:
    """libcamera asks udev, of which nothing runs in the bed, for devices that are set up: says so of each."""
    told = Path("/run/udev/data")
    told.mkdir(parents=True, exist_ok=True)
    Path("/run/udev/control").touch()
    for dev in [*Path("/sys/class/video4linux").glob("*/dev"), *Path("/sys/bus/media/devices").glob("*/dev")]:
        (told / f"c{dev.read_text().strip()}").write_text("I:1\n")


def libcamera() -> Result:
    """`--camera csi` on libcamera's pictures: listed, first pose, rate; the program killed, and back."""
    missing = [program for program in ("cam", "ffmpeg") if shutil.which(program) is None]
    if missing:
        return {"skipped": f"{missing[0]} is missing: sudo apt install libcamera-tools libcamera-ipa ffmpeg"}
    load("vimc")
    udev_knows()
    PROGRAMS.mkdir()
    program = PROGRAMS / "rpicam-vid"
    program.write_text(RPICAM_VID)
    program.chmod(0o755)
    os.environ["PATH"] = f"{PROGRAMS}:{os.environ['PATH']}"
    listed = said("devices")
    assert re.search(r"csi", listed), listed
    tracker = Tracker("--size", SIZE, camera="csi")
    first = tracker.wait_frames(1, FIRST_S)
    start = len(tracker.frames)
    time.sleep(3)
    tracker.read()
    rate = (len(tracker.frames) - start) / 3
    told = (OUT / "cam.log").read_text(errors="replace")
    assert "vimc" in told and rate > 0.8 * FPS, f"{rate:.1f} frames a second; {told[:400]}"
    marker = len(tracker.log())
    subprocess.run(["pkill", "-KILL", "-x", "cam"], check=True)
    subprocess.run(["pkill", "-KILL", "-x", "ffmpeg"], check=True)
    wait_until(lambda: "CSI camera 0" in tracker.log()[marker:], 2, "the log says nothing of the loss")
    back = tracker.wait_frames(5, 10)
    tracker.stop()
    at_most("seconds to poses", back, 2 * BACK_S)
    return {"first_s": round(first, 3), "fps": round(rate, 1), "back_s": round(back, 3)}
