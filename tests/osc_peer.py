"""The other end of an OSC line, by python-osc alone: says its port, takes packets until `/end`, says what it understood as JSON."""

from __future__ import annotations

import json
import math
import socket
import sys
from collections import Counter
from typing import Any

from pythonosc.osc_bundle import OscBundle
from pythonosc.osc_message import OscMessage

#: Of everything that `/posewire/N/JOINT` says.
JOINT_TYPES = [float, float, float, int, float, float, float]


def hear_bones(bundle: OscBundle, counts: Counter[str]) -> None:
    """A bundle of the Virtual Motion Capture protocol: its messages' types, and rotations that are some."""
    for message in bundle:
        if message.address in ("/VMC/Ext/Bone/Pos", "/VMC/Ext/Root/Pos"):
            name, *numbers = message.params
            assert isinstance(name, str) and [type(n) for n in numbers] == [float] * 7, message.params
            length = math.hypot(*numbers[3:])
            assert abs(length - 1) < 1e-3, (name, numbers)
            counts[f"vmc {name}"] += 1
        else:
            kind = {"/VMC/Ext/OK": int, "/VMC/Ext/T": float}[message.address]
            assert [type(p) for p in message.params] == [kind], (message.address, message.params)
            counts["vmc moments"] += message.address == "/VMC/Ext/OK"


def main() -> int:
    ear = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    # The tests send in bursts.
    ear.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 21)
    ear.bind(("127.0.0.1", 0))
    ear.settimeout(60)
    print(ear.getsockname()[1], flush=True)
    counts: Counter[str] = Counter()
    tags: list[float] = []
    of_frame_1: dict[str, Any] = {}
    trackers: dict[str, list[list[float]]] = {}
    while True:
        packet = ear.recv(1 << 16)
        if not OscBundle.dgram_is_bundle(packet):
            message = OscMessage(packet)
            if message.address == "/end":
                break
            assert message.address.startswith("/tracking/trackers/"), message.address
            assert [type(p) for p in message.params] == [float] * 3, message.params
            counts["trackers"] += 1
            trackers.setdefault(message.address.split("/")[3], []).append(list(message.params))
            continue
        bundle = OscBundle(packet)
        if any(message.address.startswith("/VMC/") for message in bundle):
            hear_bones(bundle, counts)
            continue
        counts["bundles"] += 1
        tags.append(bundle.timestamp)
        messages = list(bundle)
        counts["messages"] += len(messages)
        is_first = any(m.address == "/posewire/frame" and m.params[0] == 1 for m in messages)
        for message in messages:
            parts = message.address.split("/")
            assert parts[1] == "posewire", message.address
            if len(parts) == 4 and parts[3] != "person":
                assert [type(p) for p in message.params] == JOINT_TYPES, (message.address, message.params)
                counts["joints"] += 1
            if is_first:
                of_frame_1[message.address] = message.params
    said = {"first_tag": tags[0] if tags else None, "of_frame_1": of_frame_1, "places": trackers}
    json.dump(counts | said, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
