"""Boards in QEMU: their serial line as a socket, the LM3S6965's screen as a picture."""

from __future__ import annotations

import array
import json
import select
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from places import LM3S6965, PATIENCE_S, PICTURE, STM32, skipped
from posewire import Command, Decoder, Receipt
from posewire.wire import Event, Fault

#: QEMU shows every pixel of the panel as 4 × 4 of its own.
ZOOM = 4


#: The machine that has the board's UART, the firmware, and what comes before its UART on the command line. The STM32F405 of
#: netduinoplus2 has the registers that the STM32F411 has, as far as they are used (but the core's voltage, which QEMU leaves out), and
#: no screen.
MACHINES = {"lm3s6965": ("lm3s6965evb", LM3S6965, []), "stm32": ("netduinoplus2", STM32, ["-serial", "null"])}


def require(board: str = "lm3s6965") -> None:
    """Skips where the board cannot run."""
    if not (MACHINES[board][1].exists() and PICTURE.exists()):
        raise skipped(f"{board} in QEMU: not built, run firmware/test.sh")
    if not shutil.which("qemu-system-arm"):
        raise skipped("the firmware in QEMU: apt install qemu-system-arm")


class Board:
    """A board that runs. Where `serial` names a terminal the line goes there, else to `exchange`."""

    def __init__(self, board: str = "lm3s6965", serial: str | None = None) -> None:
        machine, firmware, before = MACHINES[board]
        self.folder = tempfile.TemporaryDirectory()
        line, control, debugger = (
            Path(self.folder.name) / name for name in ("serial", "control", "debugger")
        )
        self.qemu = subprocess.Popen(
            [
                *("qemu-system-arm", "-M", machine, "-kernel", str(firmware), *before),
                *("-display", "none", "-monitor", "none", "-nodefaults"),
                *("-qmp", f"unix:{control},server=on,wait=off"),
                *(
                    "-chardev",
                    f"socket,id=debugger,path={debugger},server=on,wait=off",
                    "-gdb",
                    "chardev:debugger",
                ),
                *("-serial", serial or f"unix:{line},server=on,wait=on"),
            ],
            stderr=subprocess.DEVNULL,
        )
        self.debugger = debugger
        self.decoder = Decoder()
        self.heard: list[tuple[float, Event]] = []  #: what the board said, and when by `time.monotonic`
        self.line = None if serial else self._connect(line)
        if self.line:
            self.line.setblocking(False)
        self.control = self._connect(control)
        self.control.settimeout(PATIENCE_S)
        self.replies = self.control.makefile("r", encoding="utf-8")
        self._reply("QMP")
        self.command("qmp_capabilities")

    def _connect(self, path: Path) -> socket.socket:
        end = time.monotonic() + PATIENCE_S
        while True:
            s = socket.socket(socket.AF_UNIX)
            try:
                s.connect(str(path))
                return s
            except OSError:
                s.close()
                if time.monotonic() > end or self.qemu.poll() is not None:
                    self.close()
                    raise
                time.sleep(0.02)

    def close(self) -> None:
        self.qemu.kill()
        self.qemu.wait()
        for s in ("line", "replies", "control"):
            if getattr(self, s, None):
                getattr(self, s).close()
        self.folder.cleanup()

    def _reply(self, key: str) -> Any:
        for text in self.replies:
            reply = json.loads(text)
            if key in reply:
                return reply[key]
            if "error" in reply:
                raise RuntimeError(reply["error"])
        raise RuntimeError("QEMU has ended")

    def command(self, name: str, **arguments: Any) -> Any:
        """Runs a QMP command."""
        text = json.dumps({"execute": name, "arguments": arguments})
        self.control.sendall(text.encode() + b"\n")
        return self._reply("return")

    def screen(self) -> array.array[int]:
        """What the panel shows: 128 × 64 of 16 greys."""
        path = Path(self.folder.name) / "screen.ppm"
        self.command("screendump", filename=str(path))
        head, size, depth, pixels = path.read_bytes().split(b"\n", 3)
        width, height = map(int, size.split())
        assert (head, depth, width, height) == (b"P6", b"255", 128 * ZOOM, 64 * ZOOM), (head, size, depth)
        greys = array.array("H")
        for y in range(0, height, ZOOM):
            rows = [pixels[3 * width * (y + i) : 3 * width * (y + i + 1)] for i in range(ZOOM)]
            assert all(row == rows[0] for row in rows)
            for x in range(0, width, ZOOM):
                cell = rows[0][3 * x : 3 * (x + ZOOM)]
                assert cell == cell[:3] * ZOOM
                greys.append(grey(cell[0]))
        return greys

    def jam(self) -> None:
        """Lets the processor jump to itself for ever, as a debugger can; only a reset ends it."""
        with self._connect(self.debugger) as gdb:
            gdb.settimeout(PATIENCE_S)
            replies = b""

            def reply() -> str:
                nonlocal replies
                while True:
                    head, end, rest = replies.partition(b"#")
                    if end and len(rest) >= 2:
                        replies = rest[2:]
                        gdb.sendall(b"+")
                        return head[head.index(b"$") + 1 :].decode()
                    more = gdb.recv(4096)
                    assert more, "the debugger's line is closed"
                    replies += more

            def ask(command: str) -> str:
                gdb.sendall(f"${command}#{sum(command.encode()) & 0xFF:02x}".encode())
                return reply()

            # Connecting stops the processor, which is told; what is asked before that is lost.
            assert reply().startswith("T")
            registers = ask("g")
            spare, branch_to_itself = "2000a000", "fee7"
            assert ask(f"M{spare},2:{branch_to_itself}") == "OK"
            # The program counter is the sixteenth register; each is four bytes in the order of memory, in hexadecimal.
            at = 15 * 8
            there = int(spare, 16).to_bytes(4, "little").hex()
            assert ask("G" + registers[:at] + there + registers[at + 8 :]) == "OK"
            assert ask("D") == "OK"

    def exchange(self, data: bytes, until: Callable[[Event], bool], patience_s: float = PATIENCE_S) -> Event:
        """Sends `data` and listens until, all of it sent, `until` holds for something that the board says."""
        assert self.line
        at, end = 0, time.monotonic() + patience_s
        while time.monotonic() < end:
            writers = [self.line] if at < len(data) else []
            readable, writable, _ = select.select([self.line], writers, [], 0.2)
            if writable:
                at += self.line.send(data[at : at + 4096])
            if not readable:
                continue
            found = None
            for event in self.decoder.feed(self.line.recv(4096)):
                self.heard.append((time.monotonic(), event))
                assert not isinstance(event, Fault), f"the board said {event}"
                if at == len(data) and until(event):
                    found = event
            if found is not None:
                return found
        raise AssertionError(f"not heard within {patience_s} s; {at} of {len(data)} bytes sent")

    def send(self, data: bytes) -> None:
        """Sends a few bytes and waits for nothing."""
        assert self.line
        assert self.line.send(data) == len(data)

    def hello_request(self, patience_s: float = PATIENCE_S) -> None:
        """Waits until the board asks for HELLO."""
        self.exchange(b"", lambda event: event == Command(1, 0), patience_s)

    def receipt(self, data: bytes, seq: int) -> Receipt:
        """Sends `data` and waits until the moment `seq` was drawn."""
        event = self.exchange(data, lambda event: isinstance(event, Receipt) and event.seq == seq)
        assert isinstance(event, Receipt)
        return event


def grey(shown: int) -> int:
    """The panel's level behind QEMU's colour."""
    level, rest = divmod(shown, 17)
    assert rest == 0, shown
    return level
