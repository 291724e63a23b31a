"""The outlet of Lab Streaming Layer, heard by LSL's own inlet on this machine."""

from __future__ import annotations

import math
import os
import sys
import time
import unittest
import uuid

from test_frames import walker

from posewire import JOINTS
from posewire.lsl import CHANNELS, Outlet, clock_us

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
        now_us = time.monotonic_ns() // 1_000
        seq = now_us // 40_000  # `walker` has a frame every 40 ms
        self.assertIsNotNone(clock_us(walker(seq)))
        self.assertIsNone(clock_us(walker(seq + 1_000)), "light of the future")
        self.assertIsNone(clock_us(walker(seq - 1_000)), "40 s old")


if __name__ == "__main__":
    unittest.main()
