"""Boxes of films: what counts, and what other trackers are given."""

from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path

import numpy as np

from posetrain.temporal import identities


def line(
    truth: list[dict[str, object]], detections: list[dict[str, object]], answers: list[dict[str, object]]
) -> str:
    row = {"film": "one", "captured_at_us": 0, "truth": truth, "detections": detections, "answers": answers}
    return json.dumps(row) + "\n"


class Boxes(unittest.TestCase):
    def frame(self) -> identities.Frame:
        truth = [
            {"id": 1, "box": [0, 0, 10, 20], "counts": True},
            {"id": 2, "box": [100, 0, 10, 20], "counts": False},
        ]
        seen = [
            {"box": [0, 0, 10, 20], "score": 0.4},
            {"box": [0, 1, 10, 20], "score": 0.9},
            {"box": [50, 0, 9, 9], "score": 0.2},
        ]
        told = [
            {"id": number, "box": box, "seen": number != 9}
            for number, box in ((7, [0, 0, 10, 18]), (8, [100, 0, 10, 20]), (9, [300, 0, 5, 5]))
        ]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "boxes.jsonl")
            path.write_text(line(truth, seen, told))
            return identities.films(path)["one"][0]

    def test_whoever_need_not_be_found_is_neither_missed_nor_a_ghost(self) -> None:
        frame = self.frame()
        truths, told, overlaps = identities.judged([frame], [frame.answers])
        self.assertEqual(frame.seen.tolist(), [True, True, False])
        self.assertEqual(truths[0].tolist(), [1])
        self.assertEqual(
            told[0].tolist(), [7, 9], "the answer at the hardly seen is left out, the ghost is not"
        )
        np.testing.assert_allclose(overlaps[0], [[0.9, 0.0]])

    def test_of_two_detections_of_one_person_the_surer_is_left(self) -> None:
        boxes, scores = identities.suppressed(self.frame())
        self.assertEqual(scores.tolist(), [0.9, 0.2])
        self.assertEqual(boxes[0].tolist(), [0, 1, 10, 21])

    def test_an_empty_file_is_said(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "boxes.jsonl")
            path.write_text("")
            with self.assertRaises(SystemExit):
                identities.films(path)


if __name__ == "__main__":
    unittest.main()
