"""Parts of the pages' scripts that need no browser, in node: trails and zones.

python3 -m unittest tests/test_pages.py
"""

from __future__ import annotations

import json
import shutil
import subprocess
import unittest
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parent.parent / "src/output/web/page"
NODE = shutil.which("node")

# What the program puts before the scripts, as far as these parts ask for it.
CONSTANTS = """
const JOINTS = ["nose", "left_wrist", "right_wrist", "left_ankle", "right_ankle"], COLOURS = ["#fff"], UNSURE_SCORE = 0.3;
"""


class Pages(unittest.TestCase):
    """Each script answers by its last value."""

    def value(self, files: str, script: str) -> Any:
        if NODE is None:
            print("SKIPPED: the pages' scripts: no node on this machine (sudo apt install nodejs)")
            self.skipTest("no node")
        text = CONSTANTS + "".join((PAGE / f"{name}.js").read_text() for name in files.split())
        text += f"(async () => console.log(JSON.stringify(await (async () => {{ {script} }})())))();"
        done = subprocess.run([NODE, "-"], input=text, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_trails_of_a_board_that_starts_anew_begin_anew(self) -> None:
        # A pen that counts the strokes of the nose's way.
        script = """
          let strokes = 0;
          const pen = { beginPath() {}, moveTo() {}, lineTo() {}, stroke() { strokes += 1; } };
          const absent = [0, 0, 0, 0, "absent"], trails = new Trails();
          const add = (us, x) => trails.add({ emitted_us: us, persons: [
            { id: 1, keypoints: [[x, 0, 1, 1, "measured"], absent, absent, absent, absent] }] });
          for (let i = 0; i < 5; i++) add(9e9 + 33000 * i, i);
          add(1000, 0);
          add(34000, 1);
          trails.draw(pen, 1, 34000);
          return strokes;
        """
        self.assertEqual(self.value("draw", script), 1)

    def test_a_double_click_ends_a_zone_and_a_corner_goes_while_it_is_held(self) -> None:
        script = """
          const editor = new ZoneEditor(() => {}), near = [0.02, 0.02];
          const drawn = corners => {
            for (const corner of corners) { editor.down(corner, near); editor.up(); }
            editor.close();
            return editor.zones.map(zone => zone.polygon.length);
          };
          const two = drawn([[0.1, 0.1], [0.5, 0.5], [0.5, 0.5]]);
          const three = drawn([[0.1, 0.1], [0.5, 0.1], [0.5, 0.5], [0.5, 0.5]]);
          editor.down([0.5, 0.5], near);
          editor.key("Delete");
          editor.move([0.6, 0.6]);
          return [two, three, editor.zones.length];
        """
        self.assertEqual(self.value("zones", script), [[], [3], 0])


if __name__ == "__main__":
    unittest.main()
