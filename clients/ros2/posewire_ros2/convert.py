"""From frames to messages. Message classes are given, so that this is tested where there is no ROS.

`Detection2DArray` says the boxes in the picture, `MarkerArray` the skeletons in metres. Both carry the stamp of the light and a frame:
the camera's optical frame (REP 103: x right, y down, z forward), in which Posewire's own metres are already turned. Where the tracker says
where a person stands, or the camera's intrinsics are known here, the skeleton stands there; else it stands at its hips' own frame,
`FRAME/person_ID`.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from posewire.frames import FrameLike
from posewire.pose import JOINTS, Pose

from .camera import Intrinsics

#: The bones of every display of Posewire, by the joints' places in `JOINTS`.
BONES = (
    *((3, 1), (1, 0), (0, 2), (2, 4), (3, 5), (4, 6), (5, 6)),
    *((5, 7), (7, 9), (6, 8), (8, 10)),
    *((5, 11), (6, 12), (11, 12), (11, 13), (13, 15), (12, 14), (14, 16)),
)

#: The colours of every display of Posewire, by identity.
COLOURS = ("f0e442", "56b4e9", "e69f00", "009e73", "cc79a7", "d55e00")

Place = tuple[float, float, float]

#: Hips are not nearer to a camera, nor farther from one that sees them.
NEAREST_M, FARTHEST_M = 0.1, 100.0


def ros_classes() -> SimpleNamespace:
    """The classes that messages are made of; `ImportError` without ROS."""
    from builtin_interfaces.msg import Duration, Time
    from geometry_msgs.msg import Point
    from std_msgs.msg import ColorRGBA, Header
    from vision_msgs.msg import Detection2D, Detection2DArray, ObjectHypothesisWithPose
    from visualization_msgs.msg import Marker, MarkerArray

    return SimpleNamespace(
        ColorRGBA=ColorRGBA,
        Detection2D=Detection2D,
        Detection2DArray=Detection2DArray,
        Duration=Duration,
        Header=Header,
        Marker=Marker,
        MarkerArray=MarkerArray,
        ObjectHypothesisWithPose=ObjectHypothesisWithPose,
        Point=Point,
        Time=Time,
    )


def header(ros: Any, stamp_ns: int, frame_id: str) -> Any:
    """Of a message about the moment `stamp_ns`."""
    return ros.Header(
        stamp=ros.Time(sec=stamp_ns // 1_000_000_000, nanosec=stamp_ns % 1_000_000_000), frame_id=frame_id
    )


def detections(ros: Any, frame: FrameLike, stamp_ns: int, frame_id: str) -> Any:
    """A `vision_msgs/Detection2DArray`: a box round the joints of each person, in pixels; `id` is the identity."""
    array = ros.Detection2DArray()
    array.header = header(ros, stamp_ns, frame_id)
    for pose in frame.poses:
        seen = [joint for joint in pose.joints if joint.state != "absent"]
        if not seen:
            continue
        left, right = min(j.x for j in seen), max(j.x for j in seen)
        top, bottom = min(j.y for j in seen), max(j.y for j in seen)
        detection = ros.Detection2D()
        detection.header = array.header
        detection.id = str(pose.track_id)
        detection.bbox.center.position.x = 0.5 * (left + right)
        detection.bbox.center.position.y = 0.5 * (top + bottom)
        detection.bbox.size_x = right - left
        detection.bbox.size_y = bottom - top
        hypothesis = ros.ObjectHypothesisWithPose()
        hypothesis.hypothesis.class_id = "person"
        hypothesis.hypothesis.score = float(pose.score)
        detection.results.append(hypothesis)
        array.detections.append(detection)
    return array


def markers(
    ros: Any,
    frame: FrameLike,
    stamp_ns: int,
    frame_id: str,
    intrinsics: Intrinsics | None = None,
    lifetime_s: float = 0.5,
) -> Any:
    """A `visualization_msgs/MarkerArray`: bones and joints of each person who has 3D, in metres.

    They vanish by themselves `lifetime_s` after the last frame with them. Predicted joints are half transparent.
    """
    array = ros.MarkerArray()
    for pose in frame.poses:
        placed = places_in(pose, intrinsics)
        if placed is None:
            continue
        places, is_in_camera = placed
        within = frame_id if is_in_camera else f"{frame_id}/person_{pose.track_id}"
        head = header(ros, stamp_ns, within)
        red, green, blue = (
            int(COLOURS[pose.track_id % len(COLOURS)][i : i + 2], 16) / 255 for i in (0, 2, 4)
        )

        def colour(
            joint: int, pose: Pose = pose, rgb: tuple[float, float, float] = (red, green, blue)
        ) -> Any:
            alpha = 1.0 if pose.joints[joint].state == "measured" else 0.5
            return ros.ColorRGBA(r=rgb[0], g=rgb[1], b=rgb[2], a=alpha)

        known = [j for j in range(len(JOINTS)) if pose.joints[j].state != "absent"]
        bones = [joint for bone in BONES if set(bone) <= set(known) for joint in bone]
        for namespace, kind, size_m, joints in (
            ("joints", ros.Marker.SPHERE_LIST, 0.05, known),
            ("bones", ros.Marker.LINE_LIST, 0.02, bones),
        ):
            marker = ros.Marker()
            marker.header = head
            marker.ns = namespace
            marker.id = pose.track_id
            marker.type = kind
            marker.action = ros.Marker.ADD
            marker.pose.orientation.w = 1.0
            marker.scale.x = size_m
            marker.scale.y = marker.scale.z = size_m if namespace == "joints" else 0.0
            marker.points = [ros.Point(x=places[j][0], y=places[j][1], z=places[j][2]) for j in joints]
            marker.colors = [colour(j) for j in joints]
            nanosec = round(lifetime_s * 1e9)
            marker.lifetime = ros.Duration(sec=nanosec // 1_000_000_000, nanosec=nanosec % 1_000_000_000)
            array.markers.append(marker)
    return array


def places_in(pose: Pose, intrinsics: Intrinsics | None) -> tuple[list[Place], bool] | None:
    """The joints in metres, and whether they are in the camera's frame rather than round the hips; None without 3D.

    The tracker's own place goes first: it knows how tall somebody is, and watches for longer than a frame.
    """
    if pose.joints_3d is None:
        return None
    places = [(float(x), float(y), float(z)) for x, y, z in pose.joints_3d]
    if pose.place is not None:
        at: Place | None = pose.place.at
    else:
        at = None if intrinsics is None else _hips_at(pose, places, intrinsics)
    if at is None:
        return places, False
    return [(x + at[0], y + at[1], z + at[2]) for x, y, z in places], True


def _hips_at(pose: Pose, places: Sequence[Place], camera: Intrinsics) -> Place | None:
    """Where the hips have to be so that the joints are seen where they are: weighted least squares of the pinhole's equations.

    (x + a) / (z + c) = u is linear in a and c: a - u c = u z - x, and likewise for y; joints count by their score.
    """
    rows = []
    for joint, (x, y, z) in zip(pose.joints, places, strict=True):
        if joint.state != "absent":
            u, v = camera.direction(joint.x, joint.y)
            rows.append((joint.score, u, v, u * z - x, v * z - y))
    weight = sum(w for w, *_ in rows)
    if len(rows) < 4 or weight <= 0:
        return None
    # a and b follow from c: what is left is one equation about the means.
    mean_u, mean_v, mean_p, mean_q = (sum(row[0] * row[i] for row in rows) / weight for i in range(1, 5))
    spread = sum(w * ((u - mean_u) ** 2 + (v - mean_v) ** 2) for w, u, v, _, _ in rows)
    common = sum(w * ((u - mean_u) * (p - mean_p) + (v - mean_v) * (q - mean_q)) for w, u, v, p, q in rows)
    depth_m = -common / spread if spread > 1e-12 else 0.0
    if not NEAREST_M < depth_m < FARTHEST_M:
        # Behind the camera, or beyond every room: the numbers belong to another camera.
        return None
    return (mean_p + mean_u * depth_m, mean_q + mean_v * depth_m, depth_m)
