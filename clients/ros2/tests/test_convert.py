"""Messages without ROS: stamps of the light, frames, places and colours, from the wire's own golden bytes."""

from __future__ import annotations

import json
import random
import re
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any

from fakes import ros

from posewire import JOINTS, Assembly, Decoder, Frame, PosePacket
from posewire.wire import Joint, Place, Pose
from posewire_ros2.camera import Camera, Intrinsics
from posewire_ros2.convert import BONES, COLOURS, detections, markers
from posewire_ros2.line import is_line, line_ns
from posewire_ros2.node import Bridge
from posewire_ros2.stamps import STEP_NS, StampClock

ROOT = Path(__file__).resolve().parents[3]
CAMERA = Intrinsics(500.0, 510.0, 320.0, 240.0)
FRAME = "camera_optical_frame"


def somebody(at: tuple[float, float, float], track_id: int = 3, absent: tuple[int, ...] = ()) -> Frame:
    """A person whose hips are at `at` metres from the camera, exactly as the camera sees them."""
    rng = random.Random(track_id)
    places = [(rng.uniform(-0.5, 0.5), rng.uniform(-0.8, 0.8), rng.uniform(-0.3, 0.3)) for _ in JOINTS]
    joints = []
    for i, (x, y, z) in enumerate(places):
        u = CAMERA.cx + CAMERA.fx * (x + at[0]) / (z + at[2])
        v = CAMERA.cy + CAMERA.fy * (y + at[1]) / (z + at[2])
        state: Any = "absent" if i in absent else "predicted" if i == 9 else "measured"
        joints.append(Joint(u, v, 0.8, 2.0, state))
    pose = Pose(1, 5_000_000, 9_000, 0, track_id, 0.9, 0, 1, tuple(joints), tuple(places))
    return Frame(1, 5_000_000, 5_009_000, (pose,))


class Messages(unittest.TestCase):
    def test_bones_and_colours_are_those_of_every_display(self) -> None:
        source = (ROOT / "crates/pose/src/joint.rs").read_text(encoding="utf-8")
        table = source.split("pub const BONES", 1)[1].split("    [\n", 1)[1].split("    ]", 1)[0]
        names = [
            re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower() for name in re.findall(r"\b[A-Z][A-Za-z]+", table)
        ]
        joints = [JOINTS.index(name) for name in names]
        theirs = {frozenset(pair) for pair in zip(joints[::2], joints[1::2], strict=True)}
        self.assertEqual({frozenset(bone) for bone in BONES}, theirs)
        self.assertEqual(len(theirs), 18)
        source = (ROOT / "crates/pose-draw/src/colour.rs").read_text(encoding="utf-8")
        table = source.split("const COLOURS", 1)[1].split("=", 1)[1].split(";", 1)[0]
        bytes_of = [
            int(number, 0) for number in re.findall(r"0x[0-9a-fA-F]+|\b\d+\b", table.replace("_", ""))
        ]
        self.assertEqual("".join(COLOURS), bytes(bytes_of).hex())

    def test_boxes_carry_the_stamp_the_frame_and_the_identity(self) -> None:
        frame = somebody((0.0, 0.0, 3.0), absent=(4,))
        array = detections(ros(), frame, 12_345_678_901, FRAME)
        self.assertEqual((array.header.stamp.sec, array.header.stamp.nanosec), (12, 345_678_901))
        (found,) = array.detections
        self.assertEqual((found.header.frame_id, found.id), (FRAME, "3"))
        seen = [j for j in frame.poses[0].joints if j.state != "absent"]
        left = found.bbox.center.position.x - found.bbox.size_x / 2
        self.assertAlmostEqual(left, min(j.x for j in seen))
        self.assertAlmostEqual(found.bbox.center.position.y + found.bbox.size_y / 2, max(j.y for j in seen))
        self.assertEqual(
            (found.results[0].hypothesis.class_id, found.results[0].hypothesis.score), ("person", 0.9)
        )

    def test_with_intrinsics_a_skeleton_stands_where_the_person_is(self) -> None:
        for at in ((0.0, 0.0, 3.0), (-1.2, 0.4, 2.0), (2.0, -0.5, 7.5)):
            frame = somebody(at, absent=(4, 16))
            array = markers(ros(), frame, 7_000_000_001, FRAME, CAMERA)
            joints, bones = array.markers
            self.assertEqual({m.header.frame_id for m in array.markers}, {FRAME})
            self.assertEqual((joints.header.stamp.sec, joints.header.stamp.nanosec), (7, 1))
            self.assertEqual((joints.ns, joints.type, joints.id), ("joints", 7, 3))
            self.assertEqual((bones.ns, bones.type, len(bones.points) % 2), ("bones", 5, 0))
            self.assertEqual(len(joints.points), 15)
            self.assertEqual(len(bones.points), 2 * sum(not {4, 16} & set(bone) for bone in BONES))
            lifted = frame.poses[0].joints_3d
            assert lifted is not None
            for point, place in zip(joints.points[:4], lifted[:4], strict=True):
                for there, own, hips in zip((point.x, point.y, point.z), place, at, strict=True):
                    self.assertAlmostEqual(there, own + hips, places=6)
            self.assertEqual([c.a for c in joints.colors].count(0.5), 1, "the predicted wrist")
            self.assertEqual((joints.lifetime.sec, joints.lifetime.nanosec), (0, 500_000_000))

    def test_without_intrinsics_it_stands_at_its_own_hips_and_without_3d_not_at_all(self) -> None:
        frame = somebody((0.0, 0.0, 3.0))
        array = markers(ros(), frame, 0, FRAME)
        self.assertEqual({m.header.frame_id for m in array.markers}, {f"{FRAME}/person_3"})
        pose = frame.poses[0]
        flat = Pose(1, 0, 0, 0, 3, 0.9, 0, 1, pose.joints, None)
        self.assertEqual(markers(ros(), Frame(1, 0, 0, (flat,)), 0, FRAME, CAMERA).markers, [])
        self.assertEqual(markers(ros(), Frame(1, 0, 0, ()), 0, FRAME, CAMERA).markers, [])
        # What one camera saw through another's numbers ends behind it: round the hips, rather than nowhere.
        behind = markers(ros(), frame, 0, FRAME, Intrinsics(-500.0, -510.0, 320.0, 240.0))
        self.assertEqual({m.header.frame_id for m in behind.markers}, {f"{FRAME}/person_3"})

    def test_where_the_tracker_says_that_somebody_stands_goes_before_what_is_worked_out_here(self) -> None:
        pose = somebody((0.0, 0.0, 3.0)).poses[0]
        at = (-0.5, 0.25, 4.0)
        told = Frame(1, 0, 0, (replace(pose, place=Place(at, (0.1, 0.1, 0.3), 4.04, 0.3)),))
        assert pose.joints_3d is not None
        for intrinsics in (None, CAMERA):
            joints, bones = markers(ros(), told, 0, FRAME, intrinsics).markers
            self.assertEqual({joints.header.frame_id, bones.header.frame_id}, {FRAME})
            for point, own in zip(joints.points, pose.joints_3d, strict=True):
                self.assertEqual(
                    (point.x, point.y, point.z), tuple(a + b for a, b in zip(own, at, strict=True))
                )

    def test_everything_on_the_golden_wire_becomes_messages(self) -> None:
        wire = bytes.fromhex((ROOT / "tests/golden/lines/wire.hex").read_text(encoding="ascii"))
        assembly = Assembly()
        packets = [event for event in Decoder().feed(wire) if isinstance(event, PosePacket)]
        moments = [m for packet in packets for m in assembly.push(packet)] + assembly.flush()
        bridge = Bridge(ros(), FRAME, None, 115200)
        persons = 0
        for i, moment in enumerate(moments):
            found, drawn = bridge.messages(Frame.of(moment), 10**18 + i * 33_000_000)
            persons += len(found.detections)
            self.assertLessEqual(len(drawn.markers), 2 * len(moment.poses))
        self.assertGreater(persons, 4)


class CameraFile(unittest.TestCase):
    #: As `posewire calibrate` writes it.
    FILE = """# By posewire calibrate; calib/README.md says what it means.
camera = "a = b"
width_px = 640
height_px = 480
fx_px = 500.5
fy_px = 501.0
cx_px = 318.25
cy_px = 243.0
k1 = -0.31
k2 = 0.09
rms_px = 0.12
views = 20
board = "9x6"
"""

    def file(self, width: int, height: int, text: str = FILE) -> Camera:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name) / "webcam.toml"
        path.write_text(text, encoding="utf-8")
        return Camera(path, width, height)

    def of(self, width: int, height: int, text: str = FILE) -> Intrinsics:
        return self.file(640, 480, text).at(width, height)

    def test_it_holds_for_its_size_and_scaled_for_others_of_the_same_shape(self) -> None:
        self.assertEqual(self.of(640, 480), Intrinsics(500.5, 501.0, 318.25, 243.0, -0.31, 0.09))
        self.assertEqual(self.of(1280, 960), Intrinsics(1001.0, 1002.0, 636.5, 486.0, -0.31, 0.09))
        # The same direction is seen at twice the place.
        for x, y in ((0.0, 0.0), (320.0, 240.0), (639.0, 100.0)):
            one, other = self.of(640, 480).direction(x, y), self.of(1280, 960).direction(2 * x, 2 * y)
            for a, b in zip(one, other, strict=True):
                self.assertAlmostEqual(a, b, places=12)

    def test_another_shape_and_another_file_are_refused_with_what_to_do(self) -> None:
        with self.assertRaisesRegex(ValueError, "640x480.*1280x720.*calibrate --size 1280x720"):
            self.of(1280, 720)
        with self.assertRaisesRegex(ValueError, "no fx_px"):
            self.of(640, 480, self.FILE.replace("fx_px", "focal"))
        with self.assertRaisesRegex(ValueError, "above 0"):
            self.of(640, 480, self.FILE.replace("500.5", "0"))

    def test_the_size_that_a_line_says_goes_before_the_one_that_was_told(self) -> None:
        camera = self.file(640, 480)
        seen = somebody((0.2, 0.1, 3.0))
        half, whole = replace(seen, size=(320, 240)), replace(seen, size=(640, 480))
        self.assertEqual(
            [camera.of(frame) for frame in (half, whole, seen)],
            [self.of(*size) for size in ((320, 240), (640, 480), (640, 480))],
        )
        with self.assertRaisesRegex(ValueError, "640x480.*1280x720"):
            camera.of(replace(seen, size=(1280, 720)))
        # Told wrongly, or not at all: whoever says it is believed, and a wire that has not said it yet is waited for.
        told = self.file(1280, 720)
        self.assertEqual(told.of(half), self.of(320, 240))
        self.assertIsNone(told.of(seen))
        with self.assertRaisesRegex(ValueError, "1280x720.*-p width:="):
            told.of(replace(seen, frame=7))

    def test_a_person_stands_at_the_same_place_whatever_the_size_of_the_pictures(self) -> None:
        text = "width_px = 640\nheight_px = 480\nfx_px = 500\nfy_px = 510\ncx_px = 320\ncy_px = 240\n"
        seen = somebody((0.2, 0.1, 3.0))
        (pose,) = seen.poses
        joints = tuple(replace(joint, x=joint.x / 2, y=joint.y / 2) for joint in pose.joints)
        half = replace(seen, poses=(replace(pose, joints=joints),), size=(320, 240))
        stands = []
        for frame in (seen, half):
            _, drawn = Bridge(ros(), FRAME, self.file(640, 480, text), None).messages(frame, 10**18)
            nose = drawn.markers[0].points[0]
            self.assertEqual(drawn.markers[0].header.frame_id, FRAME)
            stands.append((nose.x, nose.y, nose.z))
        for one, other in zip(*stands, strict=True):
            self.assertAlmostEqual(one, other, places=9)

    def test_the_lens_is_undone(self) -> None:
        camera = self.of(640, 480)
        for x, y in ((0.0, 0.0), (0.3, -0.2), (-0.6, 0.45)):
            r2 = x * x + y * y
            d = 1 + camera.k1 * r2 + camera.k2 * r2 * r2
            back = camera.direction(camera.fx * x * d + camera.cx, camera.fy * y * d + camera.cy)
            for there, true in zip(back, (x, y), strict=True):
                self.assertAlmostEqual(there, true, places=4)


class Stamps(unittest.TestCase):
    def test_a_stamp_is_the_light_whatever_the_way_does(self) -> None:
        rng = random.Random(1)
        clock = StampClock()
        offset_ns, worst_ns = 10**18, 0
        for i in range(3_000):
            sent_us = 33_333 * i + 40_000
            # The tracker's clock is 50 ppm slow; the way takes 2 ms at best and now and then half a second.
            late_ns = 500_000_000 if rng.random() < 0.02 else round(rng.expovariate(1 / 5e6))
            arrived_ns = offset_ns + round(1000 * sent_us * (1 + 50e-6)) + 2_000_000 + late_ns
            clock.heard(sent_us, arrived_ns, way_ns=2_000_000)
            if i > 100:
                true_ns = offset_ns + round(1000 * (sent_us - 40_000) * (1 + 50e-6))
                worst_ns = max(worst_ns, abs(clock.ros_ns(sent_us - 40_000) - true_ns))
        self.assertLess(worst_ns, 1_500_000)

    def test_messages_that_waited_together_move_nothing(self) -> None:
        clock = StampClock()
        offset_ns, way_ns = 10**18, 2_000_000
        sent_us = [33_333 * i for i in range(300)]
        for i, at_us in enumerate(sent_us):
            # For 1.5 s nobody reads, and then all at once.
            read_at_us = sent_us[145] if 100 <= i < 145 else at_us
            clock.heard(at_us, offset_ns + 1000 * read_at_us + way_ns)
            self.assertEqual(clock.ros_ns(at_us), offset_ns + 1000 * at_us + way_ns, i)

    def test_a_clock_of_ros_that_is_set_is_believed(self) -> None:
        for set_by_ns, within in ((-(10**15), 1), (5 * 10**9, 302)):
            clock = StampClock()
            for i in range(300):
                clock.heard(33_333 * i, 10**18 + 33_333_000 * i)
            for i in range(300, 300 + within):
                clock.heard(33_333 * i, 10**18 + 33_333_000 * i + set_by_ns)
            self.assertEqual(clock.ros_ns(0), 10**18 + set_by_ns)

    def test_a_tracker_that_starts_anew_is_believed_at_once(self) -> None:
        clock = StampClock()
        for i in range(10):
            clock.heard(10**12 + i, 10**18 + 1000 * i)
        clock.heard(5, 10**18 + STEP_NS)
        self.assertEqual(clock.ros_ns(5), 10**18 + STEP_NS)
        self.assertGreaterEqual(clock.ros_ns(-(10**16)), 0)

    def test_a_stamp_is_the_light_whatever_a_line_carries(self) -> None:
        streams = json.loads((ROOT / "tests/golden/wire_v1.json").read_text(encoding="utf-8"))["streams"]
        length = {stream["name"]: len(stream["hex"]) // 2 for stream in streams}
        lifted = somebody((0.0, 0.0, 3.0)).poses[0]
        flat = replace(lifted, joints_3d=None)
        placed = replace(flat, place=Place((0.0, 0.0, 3.0), (0.1, 0.1, 0.3), 3.0, 0.3))
        # Poses of a frame, and its bytes as they are on the wire.
        kinds: list[tuple[tuple[Pose, ...], int]] = [
            ((), length["pose_nobody"]),
            ((flat,), length["pose_measured"]),
            ((lifted,), length["pose_3d"]),
            ((flat, flat), 2 * length["pose_measured"]),
            ((placed, lifted), length["place"] + length["pose_measured"] + length["pose_3d"]),
        ]
        rng = random.Random(1)
        # Of each kind alone, and of all mixed: somebody who leaves must not move the stamps of whoever comes next.
        for within in (*([kind] for kind in kinds), kinds):
            bridge = Bridge(ros(), FRAME, None, 115200)
            offset_ns, worst_ns = 10**18, 0
            for i in range(600):
                poses, carried = rng.choice(within)
                captured_us = 66_667 * i
                frame = Frame(i, captured_us, captured_us + 40_000, poses)
                arrived_ns = offset_ns + 1000 * frame.sent_us + carried * 10 * 10**9 // 115200
                stamp = bridge.messages(frame, arrived_ns)[0].header.stamp
                stamp_ns = stamp.sec * 10**9 + stamp.nanosec
                worst_ns = max(worst_ns, abs(stamp_ns - offset_ns - 1000 * captured_us))
            self.assertLess(worst_ns, 1_000_000)

    def test_only_a_port_is_a_line(self) -> None:
        self.assertEqual(
            [is_line(source) for source in ("/dev/ttyUSB0", "udp:9100", "-", __file__)],
            [True, False, False, False],
        )
        self.assertEqual(line_ns(somebody((0.0, 0.0, 3.0)), 115200), 21_006_944)


if __name__ == "__main__":
    unittest.main()
