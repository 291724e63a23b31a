"""For whoever hears the examples in Rust (`native`, `native-zenoh`): the lines that they are sent, and whether messages say the same."""

from __future__ import annotations

import json
import math
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

CLIP = Path(__file__).resolve().parents[1] / "python/examples/clip.jsonl"
SOON_S = 30.0
#: Of each topic.
ENOUGH = 20


def free_port(kind: socket.SocketKind) -> int:
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def say(program: list[str], port: int, heard: Callable[[], tuple[Sequence[Any], Sequence[Any]]]) -> list[str]:
    """Runs the program and sends it lines as `posewire run --udp` would, until enough joints and lines were heard; the lines."""
    sent = CLIP.read_text(encoding="utf-8").splitlines()[:10]
    running = subprocess.Popen(program)
    began = time.monotonic()
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mouth:
            while time.monotonic() - began < SOON_S and any(len(topic) < ENOUGH for topic in heard()):
                for line in sent:
                    mouth.sendto(line.encode(), ("127.0.0.1", port))
                    time.sleep(0.02)
    finally:
        running.terminate()
        running.wait()
    return sent


def check(sent: list[str], joints: Sequence[Any], lines: Sequence[Any]) -> str:
    """Asserts that `PoseArray`s and `String`s are of the lines that were sent; what was found."""
    places = [_places(line) for line in sent]
    assert len(joints) >= ENOUGH and len(lines) >= ENOUGH, (
        f"heard {len(joints)} arrays and {len(lines)} lines"
    )
    assert all(line.data in sent for line in lines), lines[0]
    for message in joints:
        assert message.header.frame_id == "camera_optical_frame", message.header
        assert abs(message.header.stamp.sec - time.time()) < 2 * SOON_S, message.header
        found = [(p.position.x, p.position.y, p.position.z) for p in message.poses]
        assert any(_same(found, other) for other in places), found
        assert all(p.orientation.w == 1.0 for p in message.poses)
    return f"heard {len(joints)} arrays of joints and {len(lines)} lines, as they were sent"


def _places(line: str) -> list[tuple[float, ...]]:
    (person,) = json.loads(line)["persons"]
    hips = person["place"]
    return [
        (math.nan,) * 3 if joint[4] == "absent" else tuple(hips[i] + place[i] for i in range(3))
        for joint, place in zip(person["keypoints"], person["keypoints3d"], strict=True)
    ]


def _same(found: Sequence[tuple[float, ...]], wanted: Sequence[tuple[float, ...]]) -> bool:
    return len(found) == len(wanted) and all(
        math.isclose(a, b, abs_tol=1e-9) or (math.isnan(a) and math.isnan(b))
        for one, other in zip(found, wanted, strict=True)
        for a, b in zip(one, other, strict=True)
    )
