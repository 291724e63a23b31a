#!/usr/bin/env python3
"""Boards on one network, the hub on another, a router of Zenoh's between them, which dies and returns. As root, for networks of its own:

    cargo build -p posewire-hub --features zenoh
    POSEWIRE_HUB=target/debug/posewire-hub benches/hub/router.py

The router is `zenohd`, where that is installed, else Zenoh's own Python package in the mode of a router (`pip install eclipse-zenoh`, in
the Python of POSEWIRE_CLIENT_PYTHON or this one). No packet finds from one network to the other but through it. Says when the hub told of
somebody whom all three boards see, as JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

HUB = os.environ.get("POSEWIRE_HUB", "target/debug/posewire-hub")
PYTHON = os.environ.get("POSEWIRE_CLIENT_PYTHON", sys.executable)
BOARDS, ROUTER, ROOM = "posewire-boards", "posewire-router", "posewire-room"
#: The router's address on either network; boards and the hub have the next one.
ADDRESSES = {BOARDS: "10.77.1.1", ROOM: "10.77.2.1"}
PORTS = (9201, 9202, 9203)
OUT = 9200
#: Seconds of the take at which the router dies, is there again, and everything ends.
DIES_S, RETURNS_S, ENDS_S = 9.0, 13.0, 26.0

AS_ROUTER = """
import sys, time, zenoh
config = zenoh.Config()
config.insert_json5("mode", '"router"')
config.insert_json5("listen/endpoints", '["tcp/0.0.0.0:7447"]')
with zenoh.open(config):
    time.sleep(3600)
"""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@contextmanager
def networks() -> Iterator[None]:
    """Two networks that do not see each other, and a machine that is on both and passes no packet on."""
    spaces = (BOARDS, ROUTER, ROOM)
    try:
        for space in spaces:
            ip("netns", "add", space)
            ip("-n", space, "link", "set", "lo", "up")
        for k, (space, address) in enumerate(ADDRESSES.items()):
            near, far = f"posewire{k}", f"posewire{k}r"
            ip("link", "add", near, "netns", space, "type", "veth", "peer", "name", far, "netns", ROUTER)
            for of, link, own in ((ROUTER, far, address), (space, near, address[:-1] + "2")):
                ip("-n", of, "addr", "add", f"{own}/24", "dev", link)
                ip("-n", of, "link", "set", link, "up")
        yield
    finally:
        for space in spaces:
            subprocess.run(["ip", "netns", "del", space], check=False, capture_output=True)


@contextmanager
def inside(space: str, words: list[str], folder: str, **pipes: int) -> Iterator[subprocess.Popen[str]]:
    """A program on one of the networks, as long as it is wanted."""
    process = subprocess.Popen(["ip", "netns", "exec", space, *words], cwd=folder, text=True, **pipes)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def router() -> list[str]:
    zenohd = shutil.which("zenohd")
    return [zenohd, "--listen", "tcp/0.0.0.0:7447"] if zenohd else [PYTHON, "-c", AS_ROUTER]


def feed(take: Path, began: float) -> None:
    """The take's lines to the boards' agents, as time goes by."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mouth:
        for text in take.read_text().splitlines():
            taken = json.loads(text)
            time.sleep(max(0.0, began + taken["arrived_us"] / 1e6 - time.monotonic()))
            port = PORTS[int(taken["camera"].removeprefix("camera-")) - 1]
            mouth.sendto(json.dumps(taken["line"]).encode(), ("127.0.0.1", port))


def hear(began: float) -> None:
    """Says when the hub told of somebody, and how many cameras see them."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear:
        ear.bind(("127.0.0.1", OUT))
        while True:
            persons = json.loads(ear.recv(1 << 16))["persons"]
            print(round(time.monotonic() - began, 3), persons[0]["cameras"] if persons else 0, flush=True)


def study(folder: str) -> list[tuple[float, int]]:
    """The moments that the hub told of, in seconds of the take, and how many cameras saw the person."""

    def hub(*words: str) -> None:
        subprocess.run([str(Path(HUB).resolve()), *words], cwd=folder, check=True, capture_output=True)

    take = Path(folder) / "demo/take.jsonl"
    hub("simulate", "--out", "demo", "--cameras", "3", "--seconds", str(ENDS_S))
    hub("calibrate", "demo/cameras.toml", "--stature", "1.72", "--replay", str(take), "--out", "room.toml")
    cameras = take.with_name("cameras.toml").read_text()
    for k in (1, 2, 3):
        cameras = cameras.replace(f"127.0.0.1:{9100 + k}", f"zenoh:hall/{k}")
    take.with_name("keys.toml").write_text(cameras)
    program, own = str(Path(HUB).resolve()), [sys.executable, str(Path(__file__).resolve())]
    to = {space: ["--zenoh", f"tcp/{address}:7447"] for space, address in ADDRESSES.items()}
    with ExitStack() as running:
        start = running.enter_context
        start(networks())
        began = time.monotonic() + 3.0
        ear = start(inside(ROOM, [*own, "hear", str(began)], folder, stdout=subprocess.PIPE))
        for k, port in enumerate(PORTS, 1):
            words = ["agent", "--listen", f"127.0.0.1:{port}", "--to", f"zenoh:hall/{k}", *to[BOARDS]]
            start(inside(BOARDS, [program, *words], folder, stderr=subprocess.DEVNULL))
        words = ["run", "demo/keys.toml", "--room", "room.toml", "--udp", f"127.0.0.1:{OUT}", *to[ROOM]]
        start(inside(ROOM, [program, *words], folder))
        start(inside(BOARDS, [*own, "feed", str(take), str(began)], folder))
        with inside(ROUTER, router(), folder):
            time.sleep(began + DIES_S - time.monotonic())
        time.sleep(began + RETURNS_S - time.monotonic())
        start(inside(ROUTER, router(), folder))
        time.sleep(began + ENDS_S - time.monotonic())
        ear.kill()
        assert ear.stdout is not None
        moments = [line.split() for line in ear.stdout.read().splitlines()]
    return [(float(seconds), int(cameras)) for seconds, cameras in moments]


def main() -> int:
    if sys.argv[1:2] == ["feed"]:
        feed(Path(sys.argv[2]), float(sys.argv[3]))
        return 0
    if sys.argv[1:2] == ["hear"]:
        hear(float(sys.argv[2]))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        moments = study(folder)
    of_all = [seconds for seconds, cameras in moments if cameras == len(PORTS)]
    # What is on its way when the router dies may still arrive; then its absence has to show, or packets found another way.
    meanwhile = [seconds for seconds in of_all if DIES_S + 1.0 < seconds < RETURNS_S]
    after = [seconds for seconds in of_all if seconds >= RETURNS_S]
    before = sum(seconds < DIES_S for seconds in of_all)
    told = {
        "router": router()[0],
        "told_before": before,
        "first_s": of_all[0] if of_all else None,
        "told_without_router": len(meanwhile),
        "told_after": len(after),
        "after_its_return_s": round(after[0] - RETURNS_S, 2) if after else None,
    }
    print(json.dumps(told))
    is_good = before > 100 and not meanwhile and len(after) > 100
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
