"""The plot: what is drawn of frames, without a window."""

from __future__ import annotations

import importlib.util
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

from test_frames import walker

from posewire import as_lines
from posewire.plot import _COLOURS, Plot, Recent

if HAS := importlib.util.find_spec("matplotlib") is not None:
    os.environ["MPLBACKEND"] = "agg"
else:
    print("SKIPPED: the plot: no matplotlib (pip install './clients/python[plot]')", file=sys.stderr)


class Kept(unittest.TestCase):
    def test_an_identitys_colour_is_that_of_every_other_output(self) -> None:
        source = Path(__file__).resolve().parents[3] / "crates/pose-draw/src/colour.rs"
        told = re.findall(
            r"\[(\d+), (\d+), (\d+)\]", source.read_text(encoding="utf-8").split("colour_of")[0]
        )
        self.assertEqual([f"#{bytes(map(int, rgb)).hex()}" for rgb in told], list(_COLOURS))

    def test_the_last_seconds_are_kept_and_a_tracker_that_starts_anew_begins_a_new_plot(self) -> None:
        recent = Recent(last_s=1.0)
        for seq in range(100):
            recent.take(walker(seq))
        self.assertEqual([frame.seq for frame in recent.frames()], list(range(74, 100)))
        recent.take(walker(3))
        self.assertEqual([frame.seq for frame in recent.frames()], [3])
        self.assertEqual(recent.taken, 101)

    def test_a_frame_that_another_has_overtaken_is_left_out_and_costs_no_other(self) -> None:
        recent = Recent(last_s=10.0)
        # The last one comes a second late.
        for seq in (50, 52, 51, 52, 53, 28):
            recent.take(walker(seq))
        self.assertEqual([frame.seq for frame in recent.frames()], [50, 52, 52, 53])
        recent.take(walker(27))
        self.assertEqual([frame.seq for frame in recent.frames()], [27])


@unittest.skipUnless(HAS, "no matplotlib")
class Drawn(unittest.TestCase):
    def test_bones_where_both_ends_are_there_and_a_gap_where_somebody_was_not(self) -> None:
        plot = Plot(["left_ear", "left_eye"])
        frames = [walker(1), walker(2, track_id=9), walker(3)]
        plot.draw(frames)
        plot.draw(frames)
        people, over = plot.figure.axes[0], plot.figure.axes[1:]
        # 18 bones less the two at the eye that is absent; drawn once, however often.
        self.assertEqual(len(people.lines), 16)
        self.assertEqual([text.get_text() for text in people.texts], ["3"])
        left, right = people.get_xlim()
        self.assertLess(left, 3.0)
        self.assertGreater(right, 163.0)
        plot.draw([replace(frames[-1], size=(640, 480))])
        self.assertEqual((people.get_xlim(), people.get_ylim()), ((0, 640), (480, 0)), "the whole picture")
        plot.draw(frames)
        ear, eye = over[0].lines
        self.assertEqual([round(x, 3) for x in ear.get_xdata()], [-0.08, -0.04, 0.0])
        self.assertEqual(ear.get_ydata()[0], 31.0)
        self.assertTrue(math.isnan(ear.get_ydata()[1]), "somebody else")
        self.assertTrue(all(math.isnan(y) for y in eye.get_ydata()), "absent")

    def test_the_command_makes_a_picture_or_says_why_not(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            lines, picture = Path(folder) / "walk.jsonl", Path(folder) / "walk.png"
            lines.write_text("".join(f"{as_lines(walker(seq))[0]}\n" for seq in range(50)), encoding="utf-8")

            def plot(*words: str) -> tuple[int, str]:
                command = [sys.executable, "-m", "posewire", "plot", *words]
                done = subprocess.run(command, check=False, capture_output=True, text=True)
                return done.returncode, done.stderr

            code, said = plot(str(lines), "--save", str(picture), "--frames", "20")
            self.assertEqual((code, "20 frames" in said), (0, True), said)
            self.assertTrue(picture.read_bytes().startswith(b"\x89PNG"))
            code, said = plot(str(lines))
            self.assertEqual((code, "--save" in said), (2, True), said)


if __name__ == "__main__":
    unittest.main()
