"""One scenario inside the bed: `scenarios.py NAME` writes what it measured to /mnt/out/result.json and fails by assertion.

Every limit is in the guest's time. Under simulated time the networks take none of it, so that what is left is what the
program, the driver and the bus do: the figures do not depend on the machine or on what else it does.
"""

from __future__ import annotations

import json
import os
import random
import re
import statistics
import struct
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bed import (
    BACK_S,
    BED,
    FIRST_S,
    FPS,
    LOST_S,
    OUT,
    SIZE,
    TMP,
    UVC,
    Camera,
    Microcontroller,
    Result,
    Tracker,
    at_most,
    nodes,
    quantiles,
    wait_until,
)
from drivers import multiplanar, no_camera, no_camera_before, set_up_pipeline, vivid
from libcamera import libcamera


def ids(frames: list[dict[str, Any]]) -> set[int]:
    return {p["id"] for f in frames for p in f["persons"]}


def ages_ms(frames: list[dict[str, Any]]) -> list[float]:
    return [(f["emitted_us"] - f["captured_us"]) / 1000 for f in frames]


def streaming(*args: str, kinds: str = "mjpeg", fps: int = FPS) -> tuple[Camera, Tracker]:
    camera = Camera(kinds, fps=fps)
    camera.plug()
    tracker = Tracker(*args)
    # Ten frames, also from networks that are slowed down.
    tracker.wait_frames(10, FIRST_S)
    return camera, tracker


# --- what it sees


def see_all(kinds: str, count: int) -> list[dict[str, Any]]:
    """Every frame of a clip that a camera shows once."""
    camera = Camera(kinds, once=True)
    camera.plug()
    tracker = Tracker("--predict", "capture")
    tracker.wait_frames(count, count / FPS + FIRST_S)
    tracker.stop()
    return tracker.frames


def play(path: Path, frames: int | str = "all") -> list[dict[str, Any]]:
    out = TMP / "replay.jsonl"
    options = ["--frames", str(frames), "--no-drop", "--predict", "capture", "--jsonl", str(out)]
    subprocess.run([os.environ["POSEWIRE"], "run", "--replay", str(path), *options], check=True)
    return [json.loads(line) for line in out.read_text().splitlines()]


def recording(path: Path, frames: list[dict[str, Any]]) -> None:
    """What `posewire record` writes: the clip's pictures with the numbers and capture times that the camera gave them."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return name + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)

    pictures = re.split(rb"(?<=\xff\xd9)(?=\xff\xd8)", (BED / "clip.mjpeg").read_bytes())
    width, height = map(int, SIZE.split("x"))
    strh = struct.pack("<4s4sIIIIII24s", b"vids", b"MJPG", 0, 0, 0, 1, FPS, 0, bytes(24))
    strf = struct.pack("<IiiHH4s20s", 40, width, height, 1, 24, b"MJPG", bytes(20))
    strl = chunk(b"LIST", b"strl" + chunk(b"strh", strh) + chunk(b"strf", strf))
    body = b"movi"
    for frame in frames:
        body += chunk(b"pwts", struct.pack("<Qq", frame["frame"], frame["captured_us"]))
        body += chunk(b"00dc", pictures[frame["frame"]])
    path.write_bytes(chunk(b"RIFF", b"AVI " + chunk(b"LIST", b"hdrl" + strl) + chunk(b"LIST", body)))


def apart_px(a: dict[str, Any], b: dict[str, Any]) -> list[float]:
    """How far apart the joints are that both have."""
    pairs = zip(a["keypoints"], b["keypoints"], strict=True)
    both = [(p, q) for p, q in pairs if "absent" not in (p[4], q[4])]
    return [max(abs(p[0] - q[0]), abs(p[1] - q[1])) for p, q in both]


def mjpeg() -> Result:
    """The same pictures at the same times, from the camera and from a file: the same poses, to the last digit."""
    seen = see_all("mjpeg", int(os.environ["JPEGS"]))
    recording(TMP / "recording.avi", seen)
    played = play(TMP / "recording.avi")
    assert len(seen) == len(played)
    joints = 0
    for a, b in zip(seen, played, strict=True):
        assert a["frame"] == b["frame"] and a["persons"] == b["persons"], f"frame {a['frame']}: {a} {b}"
        joints += sum(len(apart_px(p, q)) for p, q in zip(a["persons"], b["persons"], strict=True))
    assert joints > 17 * len(seen), f"only {joints} joints in {len(seen)} frames"
    rate = (len(seen) - 1) / ((seen[-1]["captured_us"] - seen[0]["captured_us"]) * 1e-6)
    assert 0.95 * FPS < rate < 1.05 * FPS, f"{rate:.1f} frames a second"
    return {
        "frames": len(seen),
        "joints": joints,
        "differing": 0,
        "fps": round(rate, 1),
        **quantiles("age_ms", ages_ms(seen)),
    }


# From here on the clip's two figures hide each other: who is who then, and how many they are, hangs on a hair.
APART_UNTIL = 20


def compare(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> tuple[float, list[float]]:
    """In which share of the frames the same persons are, and how far apart their joints are."""
    same, apart = 0, []
    for x, y in zip(a, b, strict=True):
        others = {p["id"]: p for p in y["persons"]}
        same += {p["id"] for p in x["persons"]} == set(others)
        apart += [d for p in x["persons"] if p["id"] in others for d in apart_px(p, others[p["id"]])]
    return same / len(a), apart


def yuyv() -> Result:
    """The file is read into RGB, the camera's frames are sampled in place, and the times are other ones: the poses are to be
    nearer to the file's than those of another encoding of the same pictures are."""
    count = int(os.environ["RAW_FRAMES"])
    seen, played, encoded = (
        see_all("yuyv", count),
        play(BED / "clip.y4m", count),
        play(BED / "clip.mjpeg", count),
    )
    first = slice(0, APART_UNTIL)
    share, apart = compare(seen[first], played[first])
    encodings = statistics.median(compare(encoded[first], played[first])[1])
    assert share == 1 and len(apart) > 10 * APART_UNTIL, (
        f"the same persons in {share:.0%} of the frames, {len(apart)} joints"
    )
    at_most("median of the pixels apart", statistics.median(apart), encodings)
    figures = {
        "px_apart_p50": round(statistics.median(apart), 2),
        "px_between_encodings_p50": round(encodings, 2),
    }
    return {
        "frames": len(seen),
        "compared": APART_UNTIL,
        "same_persons": share,
        "joints": len(apart),
        **figures,
    }


def slow_consumer() -> Result:
    """Networks that take 200 ms: each frame used is the newest there was."""
    _, tracker = streaming("--inject", "infer.slow=1")
    tracker.frames.clear()
    tracker.wait_frames(25, 10)
    tracker.stop()
    # The injected pause is the processing; the rest of the age is how old the frame was when it was taken.
    used = [(age - 200) / (1000 / FPS) for age in ages_ms(tracker.frames)]
    at_most("frames old when used", max(used), 1.5)
    return {**quantiles("frames_old", used)}


# --- what happens to the camera


def replug(cycles: int = 20) -> Result:
    """Unplugged at random moments for random times. Identities are compared with those of an equal time without an unplug:
    people come and go, and the finder errs, whatever the plug does."""
    rng = random.Random(int(os.environ.get("SEED", "1")))
    camera, tracker = streaming()
    lost, back, kept, kept_plugged, usage = [], [], [], [], []
    away_s = 1.0

    def share_kept(before: set[int]) -> float:
        tracker.wait_frames(5, 5)
        return len(before & ids(tracker.frames[-5:])) / max(1, len(before))

    for _ in range(cycles):
        time.sleep(0.3 + rng.random())
        tracker.read()
        before = ids(tracker.frames[-5:])
        time.sleep(away_s)
        tracker.read()
        kept_plugged.append(share_kept(before))
        before = ids(tracker.frames[-5:])
        start = time.monotonic()
        marker = len(tracker.log())
        camera.unplug()
        lost.append(tracker.wait_log("lost", 5, marker))
        time.sleep(1.2 * rng.random())
        tracker.read()
        camera.plug()
        back.append(tracker.wait_frames(1, 10))
        away_s = time.monotonic() - start
        kept.append(share_kept(before))
        usage.append(tracker.usage())
    tracker.stop()
    at_most("seconds to loss", max(lost), LOST_S)
    at_most("seconds to poses", max(back), BACK_S)
    files, threads, rss = zip(*usage[2:], strict=True)
    assert len(set(files)) == 1 and len(set(threads)) == 1, f"files {files}, threads {threads}"
    growth_kib = statistics.median(rss[-5:]) - statistics.median(rss[:5])
    at_most("KiB grown", growth_kib, 512)
    mean_kept, mean_plugged = statistics.mean(kept), statistics.mean(kept_plugged)
    assert mean_kept >= mean_plugged - 0.1, (
        f"identities kept: {mean_kept:.2f}, {mean_plugged:.2f} without an unplug"
    )
    identities = {"ids_kept": round(mean_kept, 3), "ids_kept_without_unplug": round(mean_plugged, 3)}
    resources = {"files": files[-1], "threads": threads[-1], "rss_growth_kib": growth_kib}
    return {
        "cycles": cycles,
        **quantiles("lost_s", lost),
        **quantiles("back_s", back),
        **identities,
        **resources,
    }


def renumber() -> Result:
    """Something else holds the old node, so the camera comes back under another number."""
    camera = Camera()
    camera.plug()
    first = nodes()
    tracker = Tracker(camera=first[0])
    tracker.wait_frames(30, FIRST_S)
    with Path(first[0]).open("rb", buffering=0):
        marker = len(tracker.log())
        camera.unplug()
        tracker.wait_log("lost", LOST_S, marker)
        camera.plug()
        back = tracker.wait_frames(5, 10)
        second = nodes()
        tracker.stop()
    assert set(second) - set(first), f"the camera came back as {second}"
    at_most("seconds to poses", back, BACK_S)
    return {"from": first[0], "to": min(set(second) - set(first)), "back_s": round(back, 3)}


def replaced() -> Result:
    """Another camera is plugged in in the place of the one that went."""
    camera, tracker = streaming()
    camera.unplug()
    time.sleep(6)
    other = Camera("yuyv", name="Another camera")
    other.plug()
    back = tracker.wait_frames(5, 10)
    tracker.stop()
    at_most("seconds to poses", back, BACK_S)
    return {"back_s": round(back, 3)}


def missing_at_start() -> Result:
    refused = Tracker("--no-wait")
    code = refused.end()
    assert code == 1 and "no camera found" in refused.log(), f"{code}: {refused.log()}"
    tracker = Tracker()
    tracker.wait_log("waiting", 2)
    time.sleep(3)
    tracker.alive()
    camera = Camera()
    camera.plug()
    back = tracker.wait_frames(1, 10)
    tracker.stop()
    at_most("seconds to poses", back, BACK_S)
    return {"no_wait_status": code, "first_s": round(back, 3)}


def busy_at_start() -> Result:
    """Another program has the camera, and lets go of it later."""
    _, first = streaming()
    node = nodes()[0]
    refused = Tracker("--no-wait", camera=node)
    code = refused.end()
    assert code == 1 and "busy" in refused.log(), f"{code}: {refused.log()}"
    second = Tracker(camera=node)
    second.wait_log("busy", 2)
    time.sleep(2)
    second.alive()
    first.wait_frames(10, 2)
    first.stop()
    back = second.wait_frames(1, 10)
    second.stop()
    at_most("seconds to poses", back, BACK_S)
    return {"no_wait_status": code, "first_s": round(back, 3)}


def stall() -> Result:
    camera, tracker = streaming()
    marker = len(tracker.log())
    camera.order("stall")
    lost = tracker.wait_log("lost", 5, marker)
    marker = len(tracker.log())
    time.sleep(40)
    tracker.read()
    # Opened again every few seconds, which is no news; the line of health comes every ten.
    lines = [line for line in tracker.log()[marker:].splitlines() if "fps, age" not in line]
    camera.order("normal")
    back = tracker.wait_frames(3, 10)
    tracker.stop()
    at_most("seconds to loss", lost, LOST_S)
    at_most("lines in the log", len(lines), 8)
    at_most("seconds to poses", back, BACK_S)
    return {"lost_s": round(lost, 3), "log_lines_in_40_s": len(lines), "back_s": round(back, 3)}


def damaged(word: str, kinds: str, driver_drops: bool, seconds: float = 2) -> Result:
    """Frames arrive damaged for a while: none is shown as if it were whole."""
    (UVC / "nodrop").write_text("0" if driver_drops else "1")
    camera, tracker = streaming(kinds=kinds)
    camera.order(word)
    time.sleep(0.2)
    tracker.read()
    time.sleep(seconds)
    during = len(tracker.read())
    camera.order("normal")
    back = tracker.wait_frames(3, 10)
    tracker.stop()
    assert during == 0, f"{during} poses from damaged frames"
    at_most("seconds to poses", back, BACK_S)
    return {"poses_during": during, "back_s": round(back, 3)}


def error_flag() -> Result:
    return damaged("error", "mjpeg", driver_drops=False)


def error_dropped() -> Result:
    return damaged("error", "mjpeg", driver_drops=True)


def truncated_mjpeg() -> Result:
    return damaged("truncate", "mjpeg", driver_drops=False)


def truncated_yuyv() -> Result:
    return damaged("truncate", "yuyv", driver_drops=False)


def dark() -> Result:
    """Half the rate, as a camera does in the dark, and back: no loss, every frame used."""
    camera, tracker = streaming()
    marker = len(tracker.log())
    camera.order("half")
    time.sleep(0.2)
    tracker.read()
    start = time.monotonic()
    time.sleep(4)
    rate = len(tracker.read()) / (time.monotonic() - start)
    camera.order("normal")
    tracker.wait_frames(30, 2)
    tracker.stop()
    assert "lost" not in tracker.log()[marker:], tracker.log()[marker:]
    assert 0.4 * FPS <= rate <= 0.6 * FPS, f"{rate:.1f} frames a second"
    return {"dark_fps": round(rate, 1)}


def wrong_mode() -> Result:
    camera = Camera()
    camera.plug()
    config = TMP / "wrong.toml"
    config.write_text('[source]\nformat = "nv12"\n')
    refused = Tracker("--config", str(config))
    code, log = refused.end(), refused.log()
    assert code == 1 and "no mode in NV12" in log and "640x480 MJPG at 30 fps" in log, f"{code}: {log}"
    config.write_text("[source]\nwidth = 1000\nheight = 1000\nfps = 25\n")
    tracker = Tracker("--config", str(config))
    tracker.wait_frames(10, FIRST_S)
    assert "the nearest is 640x480 MJPG at 30 fps" in tracker.log(), tracker.log()
    tracker.stop()
    return {"status": code}


# --- what happens to the serial line


def serial_replug() -> Result:
    mcu = Microcontroller()
    mcu.plug()
    _, tracker = streaming("--serial", mcu.PORT)
    back, others = [], []
    for _ in range(3):
        enough = mcu.frames() + 20
        wait_until(lambda: mcu.frames() > enough, 5, "nothing arrives")  # noqa: B023
        mcu.unplug()
        start = time.monotonic()
        tracker.read()
        time.sleep(1)
        others.append(len(tracker.read()) / (time.monotonic() - start))
        mcu.plug()
        before = mcu.frames()
        back.append(wait_until(lambda: mcu.frames() > before, 10, "nothing arrives after the replug"))  # noqa: B023
    tracker.stop()
    # The port is looked for at least every two seconds.
    at_most("seconds to frames", max(back), BACK_S + 0.2)
    assert min(others) > 0.8 * FPS, f"the other output fell to {others} a second"
    return {**quantiles("back_s", back), "others_fps_min": round(min(others), 1)}


def serial_stuck() -> Result:
    """Nobody reads at the other end: everything else goes on, memory does not grow, and it ends when asked to."""
    mcu = Microcontroller()
    mcu.plug()
    _, tracker = streaming("--serial", mcu.PORT, "--rate", "100")
    time.sleep(3)
    before = tracker.usage()
    tracker.read()
    start = time.monotonic()
    time.sleep(5)
    rate = len(tracker.read()) / (time.monotonic() - start)
    after = tracker.usage()
    stopped = tracker.stop()
    assert rate > 80, f"the other output fell to {rate:.0f} a second"
    assert after[:2] == before[:2], f"files and threads {before} to {after}"
    at_most("KiB grown", after[2] - before[2], 512)
    return {"others_hz": round(rate, 1), "stop_s": round(stopped, 3)}


# --- the end, and long times


def sigterm() -> Result:
    took: Result = {}
    camera = Camera()
    for state in ("starting", "streaming", "stalled", "unplugged", "waiting"):
        camera.order("normal")
        if state != "waiting":
            camera.plug()
        tracker = Tracker()
        if state == "starting":
            time.sleep(0.02)
            asked = time.monotonic()
            tracker.process.terminate()
            tracker.end()
            took[state] = round(time.monotonic() - asked, 3)
            at_most("seconds to the end", float(took[state]), 0.52)
        else:
            if state == "waiting":
                tracker.wait_log("waiting", 2)
            else:
                tracker.wait_frames(10, FIRST_S)
            if state == "stalled":
                camera.order("stall")
            if state == "unplugged":
                camera.unplug()
            time.sleep(1.3)
            took[state] = round(tracker.stop(), 3)
        camera.unplug()
        wait_until(lambda: not nodes(), 5, "the node stays")
    return took


# Time that passes costs nothing in the bed, pictures do: few a second, and faults that may last.
HOURS_FPS = 4
FAULTS_S = {"unplug": 600.0, "stall": 600.0, "error": 10.0, "half": 4.0}
STREAMING_S = 3.0
# Each kind of fault has to come once before all is taken that is taken once; a short run has two faults for it.
HOURS_WARM_UP_S = 3600.0


def settled(times_s: list[float]) -> int:
    """The first fault that counts."""
    return (
        next((i for i, t in enumerate(times_s) if t > HOURS_WARM_UP_S), 2)
        if times_s[-1] > 2 * HOURS_WARM_UP_S
        else 2
    )


def slope_an_hour(times_s: list[float], values: list[float], blocks: int = 24) -> tuple[float, float, float]:
    """Change an hour and its 95 % interval: the residuals are drawn again in blocks, which keeps what neighbours share."""
    hours_run = [t / 3600 for t in times_s]
    slope, base = statistics.linear_regression(hours_run, values)
    residuals = [v - base - slope * t for t, v in zip(hours_run, values, strict=True)]
    length = max(1, len(values) // blocks)
    dice = random.Random(1)
    drawn = []
    for _ in range(400):
        noise: list[float] = []
        while len(noise) < len(values):
            at = dice.randrange(len(values) - length + 1)
            noise += residuals[at : at + length]
        drawn.append(slope + statistics.linear_regression(hours_run, noise[: len(values)]).slope)
    drawn.sort()
    return slope, drawn[10], drawn[-11]


def hours() -> Result:
    """Hours of random faults in simulated time, a few seconds of pictures between two of them."""
    wanted_s = 3600 * float(os.environ.get("HOURS", "2"))
    rng = random.Random(int(os.environ.get("SEED", "1")) + 1)
    camera, tracker = streaming("--smoother", "one-euro", fps=HOURS_FPS)
    start = time.monotonic()
    times, usage, back, frames = [], [], [], 0
    # What was measured so far is there also where the run is cut short.
    with (OUT / "hours.jsonl").open("w") as log:
        while time.monotonic() - start < wanted_s:
            fault, longest_s = rng.choice(list(FAULTS_S.items()))
            if fault == "unplug":
                camera.unplug()
            else:
                camera.order(fault)
            time.sleep(longest_s * rng.random())
            tracker.read()
            if fault == "unplug":
                camera.plug()
            camera.order("normal")
            back.append(tracker.wait_frames(1, 20))
            time.sleep(STREAMING_S)
            tracker.read()
            frames += len(tracker.frames)
            tracker.frames.clear()
            times.append(time.monotonic() - start)
            usage.append(tracker.usage())
            files, threads, rss_kib = usage[-1]
            row = {"s": round(times[-1], 1), "fault": fault, "back_s": round(back[-1], 3)}
            print(
                json.dumps({**row, "files": files, "threads": threads, "rss_kib": rss_kib}),
                file=log,
                flush=True,
            )
    tracker.stop()
    first = settled(times)
    all_files, all_threads, rss = (list(values) for values in zip(*usage[first:], strict=True))
    said = f"files {set(all_files)}, threads {set(all_threads)}"
    assert len(set(all_files)) == 1 and len(set(all_threads)) == 1, said
    slope, low, high = slope_an_hour(times[first:], rss)
    assert low <= 0, f"memory grows by {slope:.2f} [{low:.2f}, {high:.2f}] KiB an hour"
    at_most("seconds to poses", max(back), BACK_S)
    seen = {"hours": round(times[-1] / 3600, 2), "fps": HOURS_FPS, "faults": len(back), "frames": frames}
    resources = {
        "files": all_files[-1],
        "threads": all_threads[-1],
        "rss_kib": rss[-1],
        "rss_kib_first": rss[0],
    }
    slopes = {"rss_kib_an_hour": round(slope, 2), "at_least": round(low, 2), "at_most": round(high, 2)}
    return {**seen, **quantiles("back_s", back), **resources, **slopes}


ALL: tuple[Callable[[], Result], ...] = (
    mjpeg, yuyv, slow_consumer, replug, renumber, replaced, missing_at_start, busy_at_start, stall, error_flag, error_dropped,
    truncated_mjpeg, truncated_yuyv, dark, wrong_mode, no_camera, no_camera_before, set_up_pipeline, vivid,
    multiplanar, libcamera, serial_replug, serial_stuck, sigterm,
)  # fmt: skip
SCENARIOS = {f.__name__: f for f in ALL}
# Not among those that run by themselves: it takes as long as all of them.
LONG = {"hours": hours}


def main() -> int:
    name = sys.argv[1]
    result: Result
    try:
        result = (SCENARIOS | LONG)[name]()
        passed = "skipped" not in result
    except (AssertionError, OSError, ValueError, subprocess.SubprocessError) as e:
        traceback.print_exc()
        result, passed = {"failed": f"{type(e).__name__}: {e}"}, False
    Path(OUT / "result.json").write_text(json.dumps({"scenario": name, "passed": passed, **result}))
    return 0 if passed or "skipped" in result else 1


if __name__ == "__main__":
    sys.exit(main())
