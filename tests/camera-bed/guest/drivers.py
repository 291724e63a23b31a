"""The kernel's own test drivers: what is no camera (vim2m; vimc whose pipeline nobody has set up), and what is one (vivid; vimc)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from bed import (
    BACK_S,
    BED,
    FIRST_S,
    FPS,
    LOST_S,
    Camera,
    Result,
    Tracker,
    at_most,
    nodes,
    quantiles,
    wait_until,
)

# What the test drivers stand on, in the order in which it is loaded.
BENEATH = (
    "font",
    "cfbfillrect",
    "cfbcopyarea",
    "cfbimgblt",
    "v4l2-tpg",
    "v4l2-mem2mem",
    "videobuf2-dma-contig",
)


def load(driver: str, *parameters: str) -> list[str]:
    """Loads one of the kernel's test drivers; the nodes that it made."""
    before, loaded = set(nodes()), Path("/proc/modules").read_text()
    for module in (*BENEATH, driver):
        if f"{module.replace('-', '_')} " not in loaded:
            options = parameters if module == driver else ()
            subprocess.run([BED / "busybox", "insmod", BED / f"drivers/{module}.ko", *options], check=True)
    wait_until(lambda: set(nodes()) - before, 10, f"{driver} makes no node")
    return sorted(set(nodes()) - before)


def said(*command: str) -> str:
    done = subprocess.run(
        [os.environ["POSEWIRE"], *command], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return done.stdout.decode()


def no_camera() -> Result:
    """A device that works on pictures from memory (vim2m) and a camera whose pipeline nobody has set up (vimc): neither is taken for one.
    Without a source the clip is shown, and gives way to a real camera."""
    memory, piped = load("vim2m"), load("vimc")
    listed, judged = said("devices"), said("doctor")
    assert all(f"{node} (vim2m): a video codec, not a camera" in listed for node in memory), listed
    assert all(f"{node} (vimc): gives pictures only once" in listed for node in piped), listed
    assert "no camera that gives pictures" in judged and "ok    /dev/video" not in judged, judged
    refused = Tracker("--no-wait", camera=memory[0])
    assert refused.end() == 1 and "not a camera" in refused.log(), refused.log()
    tracker = Tracker(camera=None)
    tracker.wait_frames(30, FIRST_S)
    assert {frame.get("source") for frame in tracker.frames} == {"built-in clip"}
    camera = Camera()
    camera.plug()
    back = wait_until(lambda: any("source" not in f for f in tracker.read()), 10, "the clip stays")
    tracker.stop()
    at_most("seconds to poses", back, BACK_S)
    return {"no_cameras": len(memory + piped), "first_s": round(back, 3)}


def no_camera_before() -> Result:
    """The same nodes come before a camera: `auto` is never held up by them, at the start or when the camera is back."""
    load("vim2m")
    piped = load("vimc")
    tracker = Tracker()
    tracker.wait_log("pipeline behind it is not set up", 2)
    # Each has had its turn.
    wait_until(lambda: all(f"{node}: " in tracker.log() for node in piped), 5, "not all were tried")
    camera = Camera()
    camera.plug()
    first = tracker.wait_frames(1, 10)
    marker = len(tracker.log())
    camera.unplug()
    tracker.wait_log("lost", LOST_S, marker)
    time.sleep(7)
    tracker.read()
    camera.plug()
    back = tracker.wait_frames(5, 10)
    tracker.stop()
    at_most("seconds to poses", max(first, back), BACK_S)
    return {"first_s": round(first, 3), "back_s": round(back, 3)}


def set_up_pipeline() -> Result:
    """The same camera with its pipeline set up gives pictures to whoever names it."""
    raw, _, node = load("vimc")
    if shutil.which("media-ctl") is None:
        return {"skipped": "media-ctl is missing: sudo apt install v4l-utils"}
    formats = {"Sensor A": "SBGGR8_1X8", "Debayer A": "SBGGR8_1X8", "Scaler": "RGB888_1X24"}
    for part, form in formats.items():
        entry = f'"{part}":0[fmt:{form}/640x480]'
        subprocess.run(["media-ctl", "-d", "/dev/media0", "-V", entry], check=True)
    bayer = "width=640,height=480,pixelformat=BA81"
    subprocess.run(["v4l2-ctl", "-d", raw, "-v", bayer], check=True)
    tracker = Tracker(camera=node)
    first = tracker.wait_frames(1, FIRST_S)
    start = len(tracker.frames)
    time.sleep(3)
    tracker.read()
    rate = (len(tracker.frames) - start) / 3
    tracker.stop()
    assert rate > 0.8 * FPS, f"{rate:.1f} frames a second"
    return {"first_s": round(first, 3), "fps": round(rate, 1)}


def vivid() -> Result:
    """A camera of another driver: all its kinds of nodes, of which one gives pictures; taken away and put back."""
    made = load("vivid")
    listed = said("devices")
    usable = [node for node in made if re.search(rf"{node}: vivid\n +\d+x\d+ ", listed)]
    assert len(usable) == 1 and len(made) > 2, listed
    tracker = Tracker()
    first = tracker.wait_frames(30, FIRST_S)
    driver = Path("/sys/bus/platform/drivers/vivid")
    back = []
    for _ in range(3):
        marker = len(tracker.log())
        (driver / "unbind").write_text("vivid.0")
        tracker.wait_log("opening it again", 2, marker)
        time.sleep(2)
        tracker.read()
        (driver / "bind").write_text("vivid.0")
        back.append(tracker.wait_frames(3, 10))
    tracker.stop()
    at_most("seconds to poses", max(back), BACK_S)
    return {"nodes": len(made), "first_s": round(first, 3), **quantiles("back_s", back)}


def multiplanar() -> Result:
    """A camera whose pictures lie in several buffers, as some boards' have them: listed with what is to be done, never waited for."""
    made = load("vivid", "multiplanar=2")
    listed, judged = said("devices"), said("doctor")
    told = [line for line in listed.splitlines() if "multi-planar" in line]
    assert len(told) == 1 and "gst-launch-1.0" in told[0], listed
    assert "no camera that gives pictures" in judged, judged
    tracker = Tracker(camera=None)
    tracker.wait_frames(30, FIRST_S)
    assert {frame.get("source") for frame in tracker.frames} == {"built-in clip"}
    tracker.stop()
    return {"nodes": len(made)}
