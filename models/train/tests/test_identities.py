"""Boxes of films: what counts, and what other trackers are given."""

from __future__ import annotations

import json
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

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

    def test_a_peer_may_remember_for_as_long_as_posewire_does(self) -> None:
        asked: list[identities.Setting] = []

        def make(setting: identities.Setting) -> identities.Setting:
            asked.append(setting)
            return setting

        def followed(
            setting: identities.Setting, frames: list[identities.Frame]
        ) -> Iterator[identities.Tracked]:
            # whoever remembers 20 s keeps the number, else it is another
            same = setting == identities.Setting(0.5, 20)
            for k, frame in enumerate(frames):
                yield np.array([1 if same else k]), frame.truth[1][:1]

        def together(sums: list[list[identities.Tracked]]) -> dict[str, float]:
            return {"HOTA": float(len({int(ids[0]) for film in sums for ids, _ in film}) == 1)}

        found = {"one": [self.frame(), self.frame()]}
        with (
            mock.patch.object(identities, "followed", followed),
            mock.patch.object(identities, "measured", lambda film, answers: answers),
            mock.patch.object(identities, "together", together),
        ):
            setting, answers = identities.suited(found, make)
        self.assertEqual(setting, identities.Setting(0.5, 20))
        self.assertEqual(setting.buffer, 600, "frames of a thirtieth of a second, as `trackers` counts")
        self.assertEqual([int(ids[0]) for ids, _ in answers[0]], [1, 1])
        self.assertEqual({s.memory_s for s in asked}, {3, 8, 20})


if __name__ == "__main__":
    unittest.main()
