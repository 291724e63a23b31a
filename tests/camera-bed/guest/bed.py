"""What a scenario has in its hands inside the bed: a camera, a microcontroller and the tracker. Times are the guest's."""

from __future__ import annotations

import json
import os
import select
import signal
import statistics
import subprocess
import termios
import time
import tty
from collections.abc import Callable
from pathlib import Path
from typing import Any

TMP = Path("/mnt/tmp")
OUT = Path("/mnt/out")
BED = Path(os.environ.get("BED", "."))
FPS = 30
SIZE = "640x480"
UVC = Path("/sys/module/uvcvideo/parameters")


Result = dict[str, float | int | str]

# A loss is to be known so soon, and poses back so soon after the camera is.
LOST_S = 1.0
BACK_S = 2.0
# From the start to the first pose of a camera that is there: the sensor's start included.
FIRST_S = 5.0


def nodes() -> list[str]:
    return sorted(str(p) for p in Path("/dev").glob("video*"))


class Camera:
    """The emulated USB camera; `order` tells it to misbehave."""

    def __init__(
        self, kinds: str = "mjpeg", name: str = "Posewire test camera", once: bool = False, fps: int = FPS
    ) -> None:
        self.options = [f"{k}={BED}/clip.{k}" for k in kinds.split("+")]
        self.options += [f"name={name}"] + ["once=1"] * once
        self.fps = fps
        self.process: subprocess.Popen[bytes] | None = None
        self.order("normal")

    def order(self, word: str) -> None:
        (TMP / "order.new").write_text(word)
        (TMP / "order.new").rename(TMP / "order")

    def plug(self) -> None:
        """Plugs it in and waits for its node."""
        before = set(nodes())
        command = [os.environ["USB_CAMERA"], SIZE, str(self.fps), *self.options, f"control={TMP}/order"]
        self.process = subprocess.Popen(command)
        wait_until(lambda: set(nodes()) - before, 10, "no new /dev/video* after plugging in")

    def unplug(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


class Microcontroller:
    """A USB serial device; the board sees /dev/ttyACM0, and what it is sent is read here."""

    GADGET = Path("/sys/kernel/config/usb_gadget/mcu")
    PORT = "/dev/ttyACM0"

    def __init__(self) -> None:
        function, config = self.GADGET / "functions/acm.0", self.GADGET / "configs/c.1"
        for folder in (self.GADGET, function, config):
            folder.mkdir()
        (self.GADGET / "idVendor").write_text("0x1d6b")
        (self.GADGET / "idProduct").write_text("0x0104")
        (config / "acm.0").symlink_to(function)
        self.fd, self.received = -1, 0

    def plug(self) -> None:
        (self.GADGET / "UDC").write_text("dummy_udc.1")
        wait_until(lambda: Path(self.PORT).exists(), 10, f"no {self.PORT} after plugging in")
        # Its own end was hung up with the plug.
        self.fd = os.open("/dev/ttyGS0", os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        tty.setraw(self.fd, termios.TCSANOW)

    def unplug(self) -> None:
        os.close(self.fd)
        (self.GADGET / "UDC").write_text("\n")

    def frames(self) -> int:
        """Frames of the wire that have arrived so far."""
        while select.select([self.fd], [], [], 0)[0]:
            data = os.read(self.fd, 65536)
            if not data:
                break
            self.received += data.count(0)
        return self.received


def wait_until(done: Callable[[], Any], within_s: float, otherwise: str) -> float:
    """Waits for `done()`; the seconds that it took."""
    start = time.monotonic()
    while not done():
        if time.monotonic() - start > within_s:
            raise AssertionError(f"{otherwise}: {within_s} s waited")
        time.sleep(0.005)
    return time.monotonic() - start


def at_most(what: str, value: float, limit: float) -> None:
    assert value <= limit, f"{what}: {value:.3f}, at most {limit} allowed"


def quantiles(name: str, values: list[float]) -> Result:
    values = sorted(values)
    p90 = values[min(len(values) - 1, int(0.9 * len(values)))]
    return {
        f"{name}_p50": round(statistics.median(values), 3),
        f"{name}_p90": round(p90, 3),
        f"{name}_max": round(values[-1], 3),
    }


class Tracker:
    """`posewire run`, its JSON lines and its log read while it runs."""

    def __init__(self, *args: str, camera: str | None = "auto", jsonl: str | None = None) -> None:
        stem = f"{time.monotonic_ns()}"
        self.lines_path = Path(jsonl) if jsonl else TMP / f"poses-{stem}.jsonl"
        self.log_path = OUT / f"posewire-{stem}.log"
        source = ["--camera", camera] if camera else []
        command = [os.environ["POSEWIRE"], "run", *source, "--jsonl", str(self.lines_path), *args]
        environment = {**os.environ, "RUST_LOG": "info"}
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        self.frames: list[dict[str, Any]] = []
        self.at = 0

    def read(self) -> list[dict[str, Any]]:
        """New lines since the last call."""
        if not self.lines_path.exists():
            return []
        with self.lines_path.open("rb") as f:
            f.seek(self.at)
            data = f.read()
        end = data.rfind(b"\n") + 1
        self.at += end
        new = [json.loads(line) for line in data[:end].splitlines()]
        self.frames += new
        return new

    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    def alive(self) -> None:
        if self.process.poll() is not None:
            raise AssertionError(f"posewire ended with {self.process.returncode}: {self.log()[-600:]}")

    def wait_frames(self, count: int, within_s: float) -> float:
        """Waits for `count` more frames; the seconds that it took."""
        goal = len(self.frames) + count

        def done() -> bool:
            self.alive()
            self.read()
            return len(self.frames) >= goal

        try:
            return wait_until(done, within_s, f"no {count} frames")
        except AssertionError as e:
            raise AssertionError(f"{e}; its log ends: {self.log()[-600:]}") from None

    def wait_log(self, word: str, within_s: float, after: int = 0) -> float:
        """Waits until the log says `word` behind position `after`."""
        return wait_until(lambda: word in self.log()[after:], within_s, f"the log does not say '{word}'")

    def end(self, within_s: float = 5) -> int:
        """Waits for it to end by itself; its exit status."""
        wait_until(lambda: self.process.poll() is not None, within_s, "it does not end")
        return self.process.returncode

    def stop(self, within_s: float = 0.5) -> float:
        """SIGTERM; the seconds until it has ended with success."""
        self.alive()
        self.process.send_signal(signal.SIGTERM)
        took = wait_until(lambda: self.process.poll() is not None, 10, "still running after SIGTERM")
        code = self.process.returncode
        assert code == 0, f"exit status {code} after SIGTERM: {self.log()[-600:]}"
        assert took <= within_s + 0.02, f"{took:.2f} s from SIGTERM to the end, {within_s} allowed"
        self.read()
        return took

    def usage(self) -> tuple[int, int, int]:
        """Open files, threads, resident KiB."""
        proc = Path(f"/proc/{self.process.pid}")
        status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
        return len(list((proc / "fd").iterdir())), int(status["Threads"]), int(status["VmRSS"].split()[0])
