"""Hears what `posewire-ros2` says through another DDS, Eclipse Cyclone (`pip install cyclonedds`): python3 hear.py PROGRAM.

Sends the frames of clients/python/examples/clip.jsonl as `posewire run --udp` would, until messages of both topics have come, and compares
them with the line that they were made from.
"""

import json
import math
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import float64, int32, sequence, uint32
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic

CLIP = Path(__file__).resolve().parents[2] / "python/examples/clip.jsonl"
SOON_S = 30.0


@dataclass
class Time(IdlStruct, typename="builtin_interfaces::msg::dds_::Time_"):
    sec: int32
    nanosec: uint32


@dataclass
class Header(IdlStruct, typename="std_msgs::msg::dds_::Header_"):
    stamp: Time
    frame_id: str


@dataclass
class Point(IdlStruct, typename="geometry_msgs::msg::dds_::Point_"):
    x: float64
    y: float64
    z: float64


@dataclass
class Quaternion(IdlStruct, typename="geometry_msgs::msg::dds_::Quaternion_"):
    x: float64
    y: float64
    z: float64
    w: float64


@dataclass
class Pose(IdlStruct, typename="geometry_msgs::msg::dds_::Pose_"):
    position: Point
    orientation: Quaternion


@dataclass
class PoseArray(IdlStruct, typename="geometry_msgs::msg::dds_::PoseArray_"):
    header: Header
    poses: sequence[Pose]


@dataclass
class String(IdlStruct, typename="std_msgs::msg::dds_::String_"):
    data: str


def main() -> int:
    participant = DomainParticipant()
    qos = Qos(Policy.Reliability.BestEffort, Policy.History.KeepLast(200))
    joints = DataReader(participant, Topic(participant, "rt/posewire/joints", PoseArray), qos=qos)
    lines = DataReader(participant, Topic(participant, "rt/posewire/lines", String), qos=qos)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    sent = CLIP.read_text(encoding="utf-8").splitlines()
    program = subprocess.Popen([sys.argv[1], str(port)])
    heard: list[PoseArray] = []
    told: list[String] = []
    began = time.monotonic()
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mouth:
            while time.monotonic() - began < SOON_S and (len(heard) < 20 or len(told) < 20):
                for line in sent[:10]:
                    mouth.sendto(line.encode(), ("127.0.0.1", port))
                    time.sleep(0.02)
                heard += joints.take(200)
                told += lines.take(200)
    finally:
        program.terminate()
        program.wait()
    assert len(heard) >= 20 and len(told) >= 20, f"heard {len(heard)} arrays and {len(told)} lines"
    assert all(line.data in sent[:10] for line in told), told[0]
    places = [_places(line) for line in sent[:10]]
    for message in heard:
        assert message.header.frame_id == "camera_optical_frame", message.header
        assert abs(message.header.stamp.sec - time.time()) < 2 * SOON_S, message.header
        found = [(p.position.x, p.position.y, p.position.z) for p in message.poses]
        assert any(_same(found, other) for other in places), found
        assert all(p.orientation.w == 1.0 for p in message.poses)
    print(f"Cyclone DDS heard {len(heard)} arrays of joints and {len(told)} lines, as they were sent")
    return 0


def _places(line: str) -> list[tuple[float, float, float]]:
    (person,) = json.loads(line)["persons"]
    hips = person["place"]
    return [
        (math.nan,) * 3 if joint[4] == "absent" else tuple(hips[i] + place[i] for i in range(3))
        for joint, place in zip(person["keypoints"], person["keypoints3d"], strict=True)
    ]


def _same(found: list[tuple[float, float, float]], wanted: list[tuple[float, float, float]]) -> bool:
    return len(found) == len(wanted) and all(
        math.isclose(a, b, abs_tol=1e-9) or (math.isnan(a) and math.isnan(b))
        for one, other in zip(found, wanted, strict=True)
        for a, b in zip(one, other, strict=True)
    )


if __name__ == "__main__":
    sys.exit(main())
