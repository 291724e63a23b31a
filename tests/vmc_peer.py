"""The other end of VMC and of `--udp` of one run, by python-osc alone: says both ports, takes what comes until `end`, hangs bone on
bone as a receiver does, and says how far from the joints of the same frames they come to lie, in millimetres, as JSON.

With a file as argument the lines are a hub's, which are in it by the time of `end`: joints in metres of the room."""

from __future__ import annotations

import json
import math
import socket
import statistics
import sys
from pathlib import Path

from pythonosc.osc_bundle import OscBundle

V = tuple[float, float, float]
#: Joints that are known, by COCO's numbers, in Unity's axes from wherever the hips are said to be.
Joints = dict[int, V]
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


def places(bones: dict[str, tuple[V, Q]], hips: V) -> dict[str, V]:
    """Where each bone begins, the hips at `hips`."""
    found: dict[str, tuple[V, Q]] = {}
    for name, parent in PARENTS.items():
        if name not in bones:
            continue
        offset, turn = bones[name]
        if parent is None:
            found[name] = (hips, turn)
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


def before_camera(datagrams: list[bytes]) -> list[Joints]:
    """The first person of each of the tracker's lines, from the middle of their hips: all three axes are the other way round."""
    frames = [json.loads(datagram)["persons"] for datagram in datagrams]
    return [
        {j: (-x, -y, -z) for j, (x, y, z) in enumerate(persons[0]["keypoints3d"])}
        for persons in frames
        if persons
    ]


def in_room(lines: Path) -> list[Joints]:
    """The only person of each of the hub's lines, from the room's origin: x right of the first camera, y ahead of it, z up."""
    frames = [json.loads(line)["persons"] for line in lines.read_text().splitlines()]
    return [
        {j: (-joint[0], joint[2], -joint[1]) for j, joint in enumerate(persons[0]["joints"]) if joint}
        for persons in frames
        if persons
    ]


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
    is_room = len(sys.argv) > 1
    # Nobody is no avatar.
    frames = in_room(Path(sys.argv[1])) if is_room else before_camera(heard(ears[1]))
    off_mm: list[float] = []
    for bones, joints in zip(moments, frames, strict=True):
        hips = bones["Hips"][0] if is_room else (0.0, 0.0, 0.0)
        for name, place in places(bones, hips).items():
            side, bone = ("Left", name[4:]) if name.startswith("Left") else ("Right", name[5:])
            if bone in BEGINS and (joint := joints.get(BEGINS[bone] + (side == "Right"))):
                off_mm.append(1000 * math.dist(place, joint))
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
