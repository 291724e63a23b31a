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


if __name__ == "__main__":
    unittest.main()
