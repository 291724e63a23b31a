"""The node with a stand-in for rclpy: parameters in, messages out, and an end that is seen."""

from __future__ import annotations

import sys
import tempfile
import threading
import time
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import fakes

from posewire import Frame, frames_from
from posewire_ros2 import node

LINES = Path(__file__).resolve().parents[3] / "tests/golden/lines/full.jsonl"
NOW_NS = 1_700_000_000_000_000_000


class Ros:
    """What `main` imports, and what it did with it."""

    def __init__(self, **parameters: Any) -> None:
        self.parameters = parameters
        self.published: dict[str, list[Any]] = {}
        self.said: list[tuple[str, str]] = []
        self.is_over = threading.Event()
        self.is_destroyed = False
        self.code: int | None = None

    def is_running(self) -> bool:
        return not self.is_over.is_set()

    def modules(self) -> dict[str, ModuleType]:
        classes = fakes.ros()
        fields: dict[str, Any] = {
            "rclpy": {
                "init": lambda: None,
                "spin": self.spin,
                "try_shutdown": self.is_over.set,
                "ok": self.is_running,
            },
            "rclpy.executors": {"ExternalShutdownException": type("Over", (Exception,), {})},
            "rclpy.node": {"Node": lambda name: self},
            "rclpy.qos": {"qos_profile_sensor_data": "best effort"},
        }
        for package in (
            "builtin_interfaces",
            "geometry_msgs",
            "std_msgs",
            "vision_msgs",
            "visualization_msgs",
        ):
            fields[package] = {}
            fields[f"{package}.msg"] = vars(classes)
        made = {}
        for name, inside in fields.items():
            made[name] = ModuleType(name)
            vars(made[name]).update(inside)
        return made

    def spin(self, _node: object) -> None:
        assert self.is_over.wait(30), "the node does not end"

    def declare_parameter(self, name: str, default: Any) -> Any:
        return SimpleNamespace(value=self.parameters.get(name, default))

    def create_publisher(self, kind: type, topic: str, quality: str) -> Any:
        assert quality == "best effort"
        published = self.published.setdefault(topic, [])

        def publish(message: Any) -> None:
            assert not self.is_destroyed, "there is no node any more"
            published.append(message)

        return SimpleNamespace(publish=publish)

    def get_clock(self) -> Any:
        return SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=NOW_NS))

    def get_logger(self) -> Any:
        return SimpleNamespace(
            **{
                level: lambda text, level=level: self.said.append((level, text))
                for level in ("info", "warning", "fatal")
            }
        )

    def destroy_node(self) -> None:
        self.is_destroyed = True


class Interrupted(Ros):
    """Ctrl-C, once something was published."""

    def spin(self, _node: object) -> None:
        while not self.published["~/skeletons"]:
            time.sleep(0.001)
        raise KeyboardInterrupt


def run(kind: type[Ros] = Ros, **parameters: Any) -> Ros:
    ros = kind(**parameters)
    with mock.patch.dict(sys.modules, ros.modules()):
        ros.code = node.main()
    return ros


class Node(unittest.TestCase):
    def test_every_frame_is_published_with_a_stamp_before_it_came(self) -> None:
        ros = run(source=str(LINES), frame_id="eye")
        frames = list(frames_from(str(LINES)))
        boxes, skeletons = ros.published["~/detections"], ros.published["~/skeletons"]
        self.assertEqual((len(boxes), len(skeletons)), (len(frames), len(frames)))
        for frame, box in zip(frames, boxes, strict=True):
            self.assertEqual(box.header.frame_id, "eye")
            self.assertLessEqual(len(box.detections), len(frame.poses))
            self.assertLessEqual(box.header.stamp.sec * 10**9 + box.header.stamp.nanosec, NOW_NS)
        self.assertEqual((ros.code, ros.said), (0, [("info", f"{LINES}: no more frames")]))

    def test_people_of_the_built_in_clip_are_not_published_and_that_is_said_once(self) -> None:
        line = LINES.read_text().splitlines()[0]
        clip = line.replace('{"seq":', '{"source":"built-in clip","seq":', 1)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "lines.jsonl"
            file.write_text("".join(f"{each}\n" for each in (clip, clip, line, line)))
            ros = run(source=str(file))
        self.assertEqual([len(ros.published[topic]) for topic in ("~/detections", "~/skeletons")], [2, 2])
        self.assertEqual([level for level, _ in ros.said], ["warning", "info"])
        self.assertIn("built-in clip", ros.said[0][1])

    def test_a_source_that_breaks_ends_the_node_with_why(self) -> None:
        with mock.patch.object(node, "frames_from", return_value=broken()):
            ros = run(source="/dev/nowhere")
        self.assertEqual((ros.code, ros.said), (1, [("fatal", "/dev/nowhere: no such port")]))

    def test_parameters_that_make_no_node_end_it_in_words(self) -> None:
        for name, value, word in (
            ("calibration", "/nowhere.toml", "/nowhere.toml"),
            ("baud", 0, "-p baud:="),
        ):
            ros = run(Ros, **{"source": "/dev/nowhere", name: value})
            ((level, said),) = ros.said
            self.assertEqual((ros.code, level, ros.is_destroyed), (1, "fatal", True))
            self.assertIn(word, said)

    def test_lines_of_another_shape_than_the_calibration_end_it_in_words(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "webcam.toml"
            file.write_text(
                "width_px = 1280\nheight_px = 720\nfx_px = 900\nfy_px = 900\ncx_px = 640\ncy_px = 360\n"
            )
            ros = run(source=str(LINES), calibration=str(file))
        ((level, said),) = ros.said
        self.assertEqual((ros.code, level), (1, "fatal"))
        self.assertRegex(said, "1280x720.*640x480.*calibrate --size 640x480")

    def test_an_interrupt_ends_it_without_a_fault_and_without_a_thread_that_goes_on(self) -> None:
        before = threading.active_count()
        with mock.patch.object(node, "frames_from", endless):
            ros = run(Interrupted)
        self.assertEqual((ros.code, ros.said, threading.active_count()), (0, [], before))


def endless(_source: str, _baud: int, is_over: Callable[[], bool]) -> Iterator[Frame]:
    (frame, *_) = frames_from(str(LINES))
    while not is_over():
        yield frame


def broken() -> Any:
    """Frames of a port that is not there."""
    raise OSError("no such port")
    yield


if __name__ == "__main__":
    unittest.main()
