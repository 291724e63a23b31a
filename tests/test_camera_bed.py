"""How the camera bed's results are told: `python3 -m unittest tests/test_camera_bed.py`."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

RUN = Path(__file__).resolve().parent / "camera-bed/run.py"


class Told(unittest.TestCase):
    def test_what_was_skipped_has_not_passed(self) -> None:
        rows = (
            {"scenario": "vivid", "passed": False, "skipped": "media-ctl is missing"},
            {"scenario": "vivid", "passed": True, "fps": 30},
            {"scenario": "libcamera", "passed": False, "skipped": "cam is missing"},
        )
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
            file.flush()
            command = [sys.executable, "-B", str(RUN), "--show", file.name]
            said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        self.assertIn("| `vivid` | 1 of 1, 1 skipped | fps 30 |", said)
        self.assertIn("| `libcamera` | 0 of 0, 1 skipped | skipped cam is missing |", said)


if __name__ == "__main__":
    unittest.main()
