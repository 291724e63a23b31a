"""Stand-ins for message classes: the fields of the real definitions and no others, so that a wrong name is an error."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


def message(name: str, **fields: Any) -> type:
    """A class with these fields; a value that can be called makes the default anew for each instance."""

    def begin(self: Any, **given: Any) -> None:
        for field, default in fields.items():
            object.__setattr__(self, field, default() if callable(default) else default)
        for field, value in given.items():
            setattr(self, field, value)

    def put(self: Any, field: str, value: Any) -> None:
        if field not in fields:
            raise AttributeError(f"{name} has no field {field}")
        before = getattr(self, field)
        # As rclpy's own classes: an int is no float and the other way round.
        if type(before) in (int, float, str, list) and type(value) is not type(before):
            raise TypeError(f"{name}.{field} is {type(before).__name__}, not {type(value).__name__}")
        if type(before) is int and not -(2**31) <= value < 2**32:
            raise ValueError(f"{name}.{field} = {value} does not fit")
        object.__setattr__(self, field, value)

    return type(name, (), {"__init__": begin, "__setattr__": put})


def ros() -> SimpleNamespace:
    """builtin_interfaces, std_msgs, geometry_msgs, vision_msgs 4, visualization_msgs, as far as they are used."""
    time = message("Time", sec=0, nanosec=0)
    duration = message("Duration", sec=0, nanosec=0)
    header = message("Header", stamp=time, frame_id="")
    point = message("Point", x=0.0, y=0.0, z=0.0)
    point_2d = message("Point2D", x=0.0, y=0.0)
    vector = message("Vector3", x=0.0, y=0.0, z=0.0)
    quaternion = message("Quaternion", x=0.0, y=0.0, z=0.0, w=1.0)
    pose = message("Pose", position=point, orientation=quaternion)
    pose_2d = message("Pose2D", position=point_2d, theta=0.0)
    box = message("BoundingBox2D", center=pose_2d, size_x=0.0, size_y=0.0)
    hypothesis = message("ObjectHypothesis", class_id="", score=0.0)
    marker = message(
        "Marker",
        header=header,
        ns="",
        id=0,
        type=0,
        action=0,
        pose=pose,
        scale=vector,
        color=message("ColorRGBA", r=0.0, g=0.0, b=0.0, a=0.0),
        lifetime=duration,
        frame_locked=False,
        points=list,
        colors=list,
        text="",
    )
    marker.ADD, marker.LINE_LIST, marker.SPHERE_LIST = 0, 5, 7  # type: ignore[attr-defined]
    return SimpleNamespace(
        ColorRGBA=message("ColorRGBA", r=0.0, g=0.0, b=0.0, a=0.0),
        Detection2D=message("Detection2D", header=header, results=list, bbox=box, id=""),
        Detection2DArray=message("Detection2DArray", header=header, detections=list),
        Duration=duration,
        Header=header,
        Marker=marker,
        MarkerArray=message("MarkerArray", markers=list),
        ObjectHypothesisWithPose=message("ObjectHypothesisWithPose", hypothesis=hypothesis, pose=object),
        Point=point,
        Time=time,
    )
