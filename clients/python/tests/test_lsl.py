"""The outlet of Lab Streaming Layer, heard by LSL's own inlet on this machine."""

from __future__ import annotations

import contextlib
import io
import math
import os
import sys
import tempfile
import time
import unittest
import uuid
from pathlib import Path
from unittest import mock

from test_frames import walker

from posewire import JOINTS, as_lines, lsl
from posewire.lsl import CHANNELS, Outlet, Pace, is_same_clock

try:
    import pylsl
except (ImportError, RuntimeError) as why:
    pylsl = None
    print(f"SKIPPED: Lab Streaming Layer: {why} (pip install pylsl)", file=sys.stderr)

#: Longer than finding a stream takes on a busy machine.
SOON_S = 30.0


@unittest.skipIf(pylsl is None, "no pylsl")
class Heard(unittest.TestCase):
    def test_an_inlet_hears_the_joints_with_their_names_when_the_light_fell(self) -> None:
        # Others may test on the same network.
        name = f"Posewire-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        outlet = Outlet(name)
        (found,) = pylsl.resolve_byprop("name", name, timeout=SOON_S)
        inlet = pylsl.StreamInlet(found)
        try:
            inlet.open_stream(timeout=SOON_S)
            info = inlet.info()
            self.assertEqual((info.type(), info.channel_count(), info.nominal_srate()), ("MoCap", 51, 0.0))
            labels = []
            channel = info.desc().child("channels").child("channel")
            while not channel.empty():
                labels.append(channel.child_value("label"))
                channel = channel.next_sibling("channel")
            self.assertEqual(tuple(labels), CHANNELS)
            unit = info.desc().child("channels").child("channel").child_value("unit")
            self.assertEqual(unit, "pixels")

            deadline = time.monotonic() + SOON_S
            while not outlet._outlet.have_consumers() and time.monotonic() < deadline:
                time.sleep(0.01)
            before_s = pylsl.local_clock()
            # The light of the first fell a quarter of a second ago.
            self.assertTrue(outlet.write(walker(1), now_us=walker(1).captured_us + 250_000))
            self.assertTrue(outlet.write(walker(2)))
            after_s = pylsl.local_clock()
            values, stamp = inlet.pull_sample(timeout=SOON_S)
            self.assertLessEqual(before_s - 0.25, stamp)
            self.assertLessEqual(stamp, after_s - 0.25 + 1e-6)
            joints = walker(1).poses[0].joints
            for j, joint in enumerate(joints):
                x, y, score = values[3 * j : 3 * j + 3]
                if joint.state == "absent":
                    self.assertTrue(math.isnan(x) and math.isnan(y) and score == 0, JOINTS[j])
                else:
                    self.assertEqual((x, y, score), (joint.x, joint.y, joint.score), JOINTS[j])
            # Without a clock in common: as old as it was when it was sent.
            _, stamp = inlet.pull_sample(timeout=SOON_S)
            age_s = (walker(2).sent_us - walker(2).captured_us) / 1e6
            self.assertTrue(before_s - age_s <= stamp <= after_s - age_s + 1e-6)
        finally:
            inlet.close_stream()

    def test_one_person_is_followed_until_they_go(self) -> None:
        outlet = Outlet(f"Posewire-{uuid.uuid4().hex[:8]}", person=7)
        self.assertFalse(outlet.write(walker(1, track_id=3)))
        self.assertTrue(outlet.write(walker(2, track_id=7)))
        self.assertEqual(outlet.samples, 1)


class Clock(unittest.TestCase):
    def test_stamps_of_this_machines_clock_are_told_from_another_machines(self) -> None:
        frame = walker(1_000)
        # Two that were switched on together are apart by seconds.
        for way_ms, is_same in (
            (-40, False),
            (0, True),
            (20, True),
            (150, True),
            (6_000, False),
            (40_000, False),
        ):
            self.assertIs(is_same_clock(frame, frame.sent_us + 1_000 * way_ms), is_same, way_ms)

    def test_a_recording_is_played_as_it_was_captured(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            lines = Path(folder) / "walk.jsonl"
            lines.write_text("".join(f"{as_lines(walker(seq))[0]}\n" for seq in range(4)), encoding="utf-8")
            for words, waits_s in (([], [0.0, 0.04, 0.08, 0.12]), (["--clock", "same"], [])):
                with (
                    mock.patch.object(lsl, "Outlet", return_value=mock.Mock(samples=4)),
                    # Nothing but the waits takes time, and these are not waited.
                    mock.patch("posewire.lsl.time.monotonic_ns", return_value=10**15),
                    mock.patch("posewire.lsl.time.sleep") as sleep,
                    contextlib.redirect_stderr(io.StringIO()) as said,
                ):
                    self.assertEqual(lsl.main([str(lines), *words]), 0)
                self.assertEqual([call.args[0] for call in sleep.call_args_list], waits_s)
                self.assertEqual("as far apart" in said.getvalue(), not words)
        pace = Pace()
        # Late, then early again, and a tracker that has started anew.
        waits = [
            pace.wait_us(*at)
            for at in ((5_000_000, 0), (5_040_000, 50_000), (5_080_000, 60_000), (9, 80_000))
        ]
        self.assertEqual(waits, [0, 0, 20_000, 0])

    def test_it_is_decided_once_and_said(self) -> None:
        frames = [walker(seq) for seq in (1, 2, 3)]
        for words, way_ms, is_same in (
            ([], 20, True),
            ([], 6_000, False),
            (["--clock", "same"], 6_000, True),
            (["--clock", "other"], 20, False),
        ):
            outlet = mock.Mock(samples=3)
            # Of the frames after the first one is on the other side of what the first decides.
            ways_ns = [1_000_000 * ms for ms in (way_ms, 6_020 - way_ms, way_ms)]
            clock_ns = [1_000 * frame.sent_us + way_ns for frame, way_ns in zip(frames, ways_ns, strict=True)]
            said = io.StringIO()
            with (
                mock.patch.object(lsl, "Outlet", return_value=outlet),
                mock.patch.object(lsl, "frames_from", return_value=frames),
                mock.patch("posewire.lsl.time.monotonic_ns", side_effect=clock_ns),
                contextlib.redirect_stderr(said),
            ):
                self.assertEqual(lsl.main(["udp:9100", *words]), 0)
            used = [call.args[1] for call in outlet.write.call_args_list]
            self.assertEqual(used, [ns // 1_000 if is_same else None for ns in clock_ns])
            self.assertEqual(said.getvalue().count("if not: --clock"), 0 if words else 1)


if __name__ == "__main__":
    unittest.main()
