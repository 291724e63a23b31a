"""The other end of VMC and of `--udp` of one run, by python-osc alone: says both ports, takes what comes until `end`, hangs bone on
bone as a receiver does, and says how far from the joints of the same frames they come to lie, in millimetres, as JSON."""

from __future__ import annotations

import json
import socket
import statistics
import sys
from typing import Any

from pythonosc.osc_bundle import OscBundle

V = tuple[float, float, float]
Q = tuple[float, float, float, float]

#: In Unity's skeleton, parents first.
PARENTS = {"Hips": None, "Spine": "Hips", "Chest": "Spine", "Neck": "Chest", "Head": "Neck"} | {
    f"{side}{bone}": f"{side}{parent}" if parent not in ("Hips", "Chest") else parent
    for side in ("Left", "Right")
    for bone, parent in (
        ("Shoulder", "Chest"),
        ("UpperArm", "Shoulder"),
        ("LowerArm", "UpperArm"),
        ("UpperLeg", "Hips"),
        ("LowerLeg", "UpperLeg"),
        ("Foot", "LowerLeg"),
    )
}
#: Which of COCO's joints a bone begins at, the left one's.
BEGINS = {"UpperArm": 5, "LowerArm": 7, "UpperLeg": 11, "LowerLeg": 13, "Foot": 15}


def times(a: Q, b: Q) -> Q:
    """Unity's product of quaternions: the turn `b`, then `a`."""
    (ax, ay, az, aw), (bx, by, bz, bw) = a, b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def turned(q: Q, v: V) -> V:
    x, y, z, w = q
    return times(times(q, (*v, 0.0)), (-x, -y, -z, w))[:3]


def places(bones: dict[str, tuple[V, Q]]) -> dict[str, V]:
    """Where each bone begins, from the hips."""
    found: dict[str, tuple[V, Q]] = {}
    for name, parent in PARENTS.items():
        if name not in bones:
            continue
        offset, turn = bones[name]
        if parent is None:
            found[name] = ((0.0, 0.0, 0.0), turn)
        elif parent in found:
            at, held = found[parent]
            x, y, z = turned(held, offset)
            found[name] = ((at[0] + x, at[1] + y, at[2] + z), times(held, turn))
    return {name: at for name, (at, _) in found.items()}


def heard(ear: socket.socket) -> list[bytes]:
    datagrams: list[bytes] = []
    ear.settimeout(90)
    while (datagram := ear.recv(1 << 16)) != b"end":
        datagrams.append(datagram)
    return datagrams


def main() -> int:
    ears = []
    for _ in range(2):
        ear = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        ear.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 21)
        ear.bind(("127.0.0.1", 0))
        ears.append(ear)
    print(*(ear.getsockname()[1] for ear in ears), flush=True)
    moments: list[dict[str, tuple[V, Q]]] = []
    for datagram in heard(ears[0]):
        for message in OscBundle(datagram):
            if message.address == "/VMC/Ext/OK":
                moments.append({})
            elif message.address == "/VMC/Ext/Bone/Pos":
                name, x, y, z, *q = message.params
                moments[-1][name] = ((x, y, z), (q[0], q[1], q[2], q[3]))
    frames: list[dict[str, Any]] = [json.loads(datagram) for datagram in heard(ears[1])]
    # Nobody is no avatar.
    frames = [frame for frame in frames if frame["persons"]]
    off_mm: list[float] = []
    for bones, frame in zip(moments, frames, strict=True):
        person = frame["persons"][0]
        for name, (x, y, z) in places(bones).items():
            side, bone = ("Left", name[4:]) if name.startswith("Left") else ("Right", name[5:])
            if bone in BEGINS:
                joint = person["keypoints3d"][BEGINS[bone] + (side == "Right")]
                # All three axes are the other way round.
                off_mm.append(1000 * sum((a + b) ** 2 for a, b in zip((x, y, z), joint, strict=True)) ** 0.5)
    off_mm.sort()
    told = {
        "frames": len(frames),
        "joints": len(off_mm),
        "median_mm": round(statistics.median(off_mm), 1),
        "p95_mm": round(off_mm[int(0.95 * len(off_mm))], 1),
    }
    json.dump(told, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
