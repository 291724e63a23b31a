"""Hears what `posewire-ros2` says by another DDS, Eclipse Cyclone (`pip install cyclonedds`): PYTHONPATH=.. python3 hear.py PROGRAM."""

import socket
import sys
from dataclasses import dataclass

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import float64, int32, sequence, uint32
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic

from heard import check, free_port, say


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
    of_joints = DataReader(participant, Topic(participant, "rt/posewire/joints", PoseArray), qos=qos)
    of_lines = DataReader(participant, Topic(participant, "rt/posewire/lines", String), qos=qos)
    joints: list[PoseArray] = []
    lines: list[String] = []

    def heard() -> tuple[list[PoseArray], list[String]]:
        joints.extend(of_joints.take(200))
        lines.extend(of_lines.take(200))
        return joints, lines

    port = free_port(socket.SOCK_DGRAM)
    sent = say([sys.argv[1], str(port)], port, heard)
    print("Cyclone DDS", check(sent, joints, lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
