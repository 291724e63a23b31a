"""The node: `ros2 run posewire_ros2 poses --ros-args -p source:=/dev/ttyUSB0`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from posewire.frames import Frame, frames_from
from posewire.wire import DEFAULT_BAUD

from .camera import Intrinsics, intrinsics_of
from .convert import detections, markers, ros_classes
from .line import is_line, line_ns
from .stamps import StampClock


class Bridge:
    """Takes frames and gives messages to whoever publishes them. `now_ns` is ROS's clock, `baud` None where there is no line."""

    def __init__(self, ros: Any, frame_id: str, intrinsics: Intrinsics | None, baud: int | None) -> None:
        self._ros = ros
        self._frame_id = frame_id
        self._intrinsics = intrinsics
        self._baud = baud
        self._clock = StampClock()

    def messages(self, frame: Frame, now_ns: int) -> tuple[Any, Any]:
        """Boxes and skeletons of a frame that arrived at `now_ns`."""
        way_ns = 0 if self._baud is None else line_ns(frame, self._baud)
        self._clock.heard(frame.sent_us, now_ns, way_ns)
        stamp_ns = self._clock.ros_ns(frame.captured_us)
        return (
            detections(self._ros, frame, stamp_ns, self._frame_id),
            markers(self._ros, frame, stamp_ns, self._frame_id, self._intrinsics),
        )


def main() -> None:
    import rclpy
    from rclpy.executors import ExternalShutdownException
    from rclpy.node import Node
    from rclpy.qos import qos_profile_sensor_data

    ros = ros_classes()
    rclpy.init()
    node = Node("posewire")
    parameter = node.declare_parameter
    source = str(parameter("source", "/dev/ttyUSB0").value)
    baud = int(parameter("baud", DEFAULT_BAUD).value)
    frame_id = str(parameter("frame_id", "camera_optical_frame").value)
    calibration = str(parameter("calibration", "").value)
    width, height = (int(parameter(name, pixels).value) for name, pixels in (("width", 640), ("height", 480)))
    # A file of another camera mode ends the node with what to do: skeletons in the wrong place are worse than none.
    intrinsics = intrinsics_of(calibration, width, height) if calibration else None
    bridge = Bridge(ros, frame_id, intrinsics, baud if is_line(source) else None)
    # Best effort: a subscriber that is slow gets the newest, and the tracker's own rule is the same.
    boxes = node.create_publisher(ros.Detection2DArray, "~/detections", qos_profile_sensor_data)
    skeletons = node.create_publisher(ros.MarkerArray, "~/skeletons", qos_profile_sensor_data)

    def publish(frames: Iterator[Frame]) -> None:
        try:
            for frame in frames:
                found, drawn = bridge.messages(frame, node.get_clock().now().nanoseconds)
                boxes.publish(found)
                skeletons.publish(drawn)
            node.get_logger().info(f"{source}: no more frames")
        except Exception as error:  # a node that publishes nothing any more must not look alive
            node.get_logger().fatal(f"{source}: {error}")
        rclpy.try_shutdown()

    threading.Thread(target=publish, args=(frames_from(source, baud),), daemon=True).start()
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
