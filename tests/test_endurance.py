"""How an hour is judged: `python3 -m unittest tests/test_endurance.py`."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent.parent / "benches"))
import endurance
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

    def test_a_run_too_short_to_judge_is_refused_before_it_runs(self) -> None:
        said = io.StringIO()
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.object(endurance, "run", side_effect=AssertionError("it ran")),
            mock.patch("importlib.util.find_spec", return_value=True),
            contextlib.redirect_stderr(said),
        ):
            for words in (["--minutes", "2"], ["--minutes", "nan"]):
                with (
                    mock.patch.object(sys, "argv", ["endurance.py", "--out", folder, *words]),
                    self.assertRaises(SystemExit),
                ):
                    endurance.main()
            self.assertIn("--minutes 2: 5 or more", said.getvalue())
            short = json.loads(KEPT.read_text(encoding="utf-8"))[:13]
            Path(folder, "endurance.json").write_text(json.dumps(short))
            with (
                mock.patch.object(sys, "argv", ["endurance.py", "--out", folder, "--show"]),
                self.assertRaises(SystemExit),
            ):
                endurance.main()
            self.assertIn("holds less than 5 minutes", said.getvalue())


if __name__ == "__main__":
    unittest.main()
