"""The comparison of two runs' poses: `python3 -m unittest tests/test_arm64.py`."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from arm64 import apart

FRAME = {"frame": 3, "persons": [{"id": 1, "keypoints": [[10.0, 20.0, 1, 3.5, "measured"]]}]}


def frame(x: float, state: str) -> dict[str, object]:
    return {"frame": 3, "persons": [{"id": 1, "keypoints": [[x, 20.0, 1, 3.5, state]]}]}


class Apart(unittest.TestCase):
    def test_equal_frames_are_not_apart(self) -> None:
        self.assertEqual(apart(FRAME, frame(10.0, "measured")), 0.0)

    def test_the_largest_difference_counts(self) -> None:
        self.assertAlmostEqual(apart(FRAME, frame(10.25, "measured")), 0.25)

    def test_another_state_is_told_with_its_place(self) -> None:
        with self.assertRaisesRegex(
            SystemExit, r"persons\[0\]\.keypoints\[0\]\[4\]: 'measured' here, 'absent' there"
        ):
            apart(FRAME, frame(10.0, "absent"))

    def test_a_person_more_or_less_is_told(self) -> None:
        with self.assertRaises(SystemExit):
            apart(FRAME, {"frame": 3, "persons": []})

    def test_a_number_that_is_none_is_told(self) -> None:
        with self.assertRaises(SystemExit):
            apart({"depth": 1.0}, {"depth": None})


if __name__ == "__main__":
    unittest.main()
