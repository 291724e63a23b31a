"""Hears what `posewire-ros2-zenoh` says: PYTHONPATH=.. python3 hear.py PROGRAM, with `pip install eclipse-zenoh rosbags`.

A Zenoh router of the Python package stands for ROS's own. rosbags says which names and hashes ROS 2 gives types, and reads the messages.
"""

import json
import socket
import sys
from typing import Any

import zenoh
from rosbags.typesys import Stores, get_typestore

from heard import check, free_port, say

#: Of `rmw_zenoh` in ROS's domain 0: domain, topic, type as DDS names it, hash of the type's definition.
KEY = "0/posewire/{topic}/{package}::msg::dds_::{kind}_/{hash}"


def main() -> int:
    types = get_typestore(Stores.ROS2_JAZZY)
    topics = {"joints": ("geometry_msgs", "PoseArray"), "lines": ("std_msgs", "String")}
    heard: dict[str, list[Any]] = {topic: [] for topic in topics}
    router = f"tcp/127.0.0.1:{free_port(socket.SOCK_STREAM)}"
    config = zenoh.Config()
    config.insert_json5("mode", '"router"')
    config.insert_json5("listen/endpoints", json.dumps([router]))
    config.insert_json5("scouting/multicast/enabled", "false")
    with zenoh.open(config) as session:
        for topic, (package, kind) in topics.items():
            name = f"{package}/msg/{kind}"

            def take(sample: zenoh.Sample, topic: str = topic, name: str = name) -> None:
                heard[topic].append(types.deserialize_cdr(sample.payload.to_bytes(), name))

            key = KEY.format(topic=topic, package=package, kind=kind, hash=types.hash_rihs01(name))
            session.declare_subscriber(key, take)
        port = free_port(socket.SOCK_DGRAM)
        sent = say([sys.argv[1], str(port), router], port, lambda: (heard["joints"], heard["lines"]))
    print("Zenoh's router", check(sent, heard["joints"], heard["lines"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
