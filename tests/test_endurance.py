"""How an hour is judged: `python3 -m unittest tests/test_endurance.py`."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from endurance import ROOT, report

KEPT = ROOT / "benches/results/endurance.json"


class Judged(unittest.TestCase):
    def judged(self, change: dict[str, Any], at: int) -> bool:
        samples = json.loads(KEPT.read_text(encoding="utf-8"))[:60]
        samples[at] |= change
        with contextlib.redirect_stdout(io.StringIO()):
            return report(samples)

    def test_a_tracker_that_stops_or_slows_does_not_pass(self) -> None:
        still = {"frames": 0, "age_p50_ms": None, "age_p99_ms": None}
        self.assertTrue(self.judged({}, 40))
        self.assertFalse(self.judged(still, 40))
        self.assertFalse(self.judged({"frames": 200}, 40))
        # A start may take its time.
        self.assertTrue(self.judged({"frames": 200}, 0))


if __name__ == "__main__":
    unittest.main()
