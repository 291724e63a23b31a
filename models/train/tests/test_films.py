"""Films for the whole program's evaluation: labels say which video a film was cut from, where that is known."""

from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

from posetrain.temporal import films


class Heads(unittest.TestCase):
    def test_clips_of_one_video_name_it(self) -> None:
        rng = np.random.default_rng(1)
        pictures = [rng.integers(0, 255, (24, 32, 3), np.uint8) for _ in range(films.MIN_FRAMES)]
        labels = [{"keypoints": [1.0, 2.0, 2] * 17} for _ in pictures]
        clips = [{"name": f"run/{name}", "split": "val", "tier": 1, "source_video": "film"} for name in "ab"]
        with tempfile.TemporaryDirectory() as folder:
            with (
                mock.patch.object(films, "films", lambda _: [(clip, pictures, labels) for clip in clips]),
                mock.patch("sys.argv", ["films", "--data", folder, "--out", folder]),
            ):
                films.main()
            films.write(Path(folder), "alone", pictures, np.zeros((len(pictures), 17, 3)))
            of = {
                path.stem: json.loads(path.read_text().splitlines()[0])
                for path in Path(folder).glob("*.jsonl")
            }
        self.assertEqual(
            [of[name].get("source") for name in ("run-a", "run-b", "alone")], ["film", "film", None]
        )
        self.assertEqual(of["run-a"]["film"], "run/a")
        self.assertEqual((of["run-a"]["smooth_truth"], of["alone"]["smooth_truth"]), (1.0, 0.0))

    def test_places_are_counted_from_the_pictures_corner_as_the_program_does(self) -> None:
        joints = np.zeros((1, 17, 3))
        joints[0, 9] = (10, 20, 2)
        with tempfile.TemporaryDirectory() as folder:
            films.write(Path(folder), "one", [np.zeros((40, 30, 3), np.uint8)], joints)
            line = json.loads((Path(folder) / "one.jsonl").read_text().splitlines()[1])
        said = line["persons"][0]["joints"]
        self.assertEqual(
            (said[9], said[0]), ([10.5, 20.5, 2.0], [0.0, 0.0, 0.0]), "a joint without a label has no place"
        )


if __name__ == "__main__":
    unittest.main()
