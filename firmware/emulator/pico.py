"""The Pico's firmware in rp2040js: a script of what happens to it, and what came of that."""

from __future__ import annotations

import array
import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from places import PICTURE, TARGET, skipped
from posewire import Command, Decoder, Receipt
from posewire.wire import Event

HERE = Path(__file__).parent
Step = tuple[str, str, float, int | None] | tuple[str, float] | tuple[str]


@dataclass(frozen=True)
class Build:
    """A firmware as `firmware/pico.sh` makes it."""

    screen: str
    more: str = ""

    @property
    def elf(self) -> Path:
        return TARGET / f"posewire-rp2040-{self.screen}{self.more}.elf"


OLED = Build("ssd1306")
OLED_RTSCTS = Build("ssd1306", "-rtscts")
OLED_USB = Build("ssd1306", "-usb")
OLED_FAST = Build("ssd1306", "-921600")
LCD = Build("st7789")
LCD_FAST = Build("st7789", "-921600")


@dataclass(frozen=True)
class Seen:
    """What a board did."""

    pictures: list[array.array[int]]
    events: list[Event]  #: what it said
    sent_ms: list[float]  #: when each of its bytes was sent
    baud: int
    overruns: int  #: bytes that its UART lost
    watchdog_bit: bool
    held_ms: float  #: how long RTS stopped the sender
    flow_control: bool
    rx_pulled_up: bool
    ms: float

    @property
    def receipts(self) -> list[Receipt]:
        return [event for event in self.events if isinstance(event, Receipt)]


def require(build: Build) -> None:
    """Skips where `build` cannot run."""
    if not (build.elf.exists() and PICTURE.exists()):
        raise skipped(f"{build.elf.name} in rp2040js: not built, run firmware/test.sh")
    if not shutil.which("node"):
        raise skipped("the firmware in rp2040js: apt install nodejs npm")
    if not (HERE / "node_modules/rp2040js").exists():
        raise skipped("the firmware in rp2040js: run `npm ci` in firmware/emulator")


def send(data: bytes, times: float = 1.0, baud: int | None = None) -> Step:
    """Sends `data` at `times` the board's baud rate, or as a host does that has set `baud`."""
    return ("send", data.hex(), times, baud)


def settle(ms: float) -> Step:
    return ("settle", ms)


def gap(bytes_lost: int) -> Step:
    return ("gap", bytes_lost)


PICTURE_NOW: Step = ("picture",)


def run(build: Build, steps: list[Step]) -> Seen:
    """Runs `steps` from the moment at which the board asks for HELLO."""
    require(build)
    done = subprocess.run(
        ["node", HERE / "pico.mjs", build.elf, build.screen, "usb" if build is OLED_USB else "uart"],
        input=json.dumps(steps).encode(),
        stdout=subprocess.PIPE,
        check=True,
        timeout=600,
    )
    seen = json.loads(done.stdout)
    events = Decoder().feed(bytes.fromhex(seen.pop("sent")))
    assert events and events[0] == Command(1, 0), events
    pictures = [array.array("H", pixels) for pixels in seen.pop("pictures")]
    return Seen(pictures=pictures, events=events, **seen)
