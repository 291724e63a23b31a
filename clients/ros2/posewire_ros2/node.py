"""The node: `ros2 run posewire_ros2 poses --ros-args -p source:=/dev/ttyUSB0`."""

from __future__ import annotations

import sys
import threading
from typing import Any

from posewire.frames import Frame, frames_from
from posewire.moments import BUILT_IN
from posewire.wire import DEFAULT_BAUD

from .camera import Camera
from .convert import detections, markers, ros_classes
from .line import is_line, line_ns
from .stamps import StampClock

#: A reader notices within a fraction of it that it is over, between two attempts to open a port too.
_END_WITHIN_S = 2.0


class Bridge:
    """Takes frames and gives messages to whoever publishes them. `now_ns` is ROS's clock, `baud` None where there is no line."""

    def __init__(self, ros: Any, frame_id: str, camera: Camera | None, baud: int | None) -> None:
        self._ros = ros
        self._frame_id = frame_id
        self._camera = camera
        self._baud = baud
        self._clock = StampClock()

    def messages(self, frame: Frame, now_ns: int) -> tuple[Any, Any]:
        """Boxes and skeletons of a frame that arrived at `now_ns`; `ValueError` where its pictures are not the camera's."""
        # Of another camera mode: skeletons in the wrong place are worse than none.
        intrinsics = None if self._camera is None else self._camera.of(frame)
        way_ns = 0 if self._baud is None else line_ns(frame, self._baud)
        self._clock.heard(frame.sent_us, now_ns, way_ns)
        stamp_ns = self._clock.ros_ns(frame.captured_us)
        return (
            detections(self._ros, frame, stamp_ns, self._frame_id),
            markers(self._ros, frame, stamp_ns, self._frame_id, intrinsics),
        )


def _camera(source: str, baud: int, calibration: str, width_px: int, height_px: int) -> Camera | None:
    """Of the camera's file, if one is named; `OSError` or `ValueError` where the parameters make no node."""
    if is_line(source) and baud <= 0:
        raise ValueError(f"baud is {baud}: name the speed of {source}, as in -p baud:={DEFAULT_BAUD}")
    return Camera(calibration, width_px, height_px) if calibration else None


def main() -> int:
    """Runs the node until it is told to end or its source does; 1 where that broke."""
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
    try:
        camera = _camera(source, baud, calibration, width, height)
    except (OSError, ValueError) as error:
        node.get_logger().fatal(str(error))
        node.destroy_node()
        rclpy.try_shutdown()
        return 1
    bridge = Bridge(ros, frame_id, camera, baud if is_line(source) else None)
    # Best effort: a subscriber that is slow gets the newest, and the tracker's own rule is the same.
    boxes = node.create_publisher(ros.Detection2DArray, "~/detections", qos_profile_sensor_data)
    skeletons = node.create_publisher(ros.MarkerArray, "~/skeletons", qos_profile_sensor_data)

    is_over, is_broken = threading.Event(), threading.Event()

    def publish() -> None:
        was_built_in = False
        try:
            for frame in frames_from(source, baud, is_over.is_set):
                if is_over.is_set():
                    return
                is_built_in = frame.source == BUILT_IN
                if is_built_in and not was_built_in:
                    node.get_logger().warning(
                        f"{source}: the tracker has no camera and sends its {BUILT_IN}, which is not published"
                    )
                was_built_in = is_built_in
                if is_built_in:
                    continue
                found, drawn = bridge.messages(frame, node.get_clock().now().nanoseconds)
                boxes.publish(found)
                skeletons.publish(drawn)
            if not is_over.is_set():
                node.get_logger().info(f"{source}: no more frames")
        except Exception as error:
            # Told to end, ROS takes nothing more: that is no fault of the source.
            if not is_over.is_set() and rclpy.ok():
                is_broken.set()
                node.get_logger().fatal(f"{source}: {error}")
        # A node that publishes nothing any more must not look alive.
        rclpy.try_shutdown()

    reader = threading.Thread(target=publish, name="posewire", daemon=True)
    reader.start()
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        is_over.set()
        # A silent pipe ends with its next line, and this process before.
        reader.join(_END_WITHIN_S)
        node.destroy_node()
        rclpy.try_shutdown()
    return int(is_broken.is_set())


if __name__ == "__main__":
    sys.exit(main())
