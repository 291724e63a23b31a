"""A run of the finder's training that was stopped is gone on with, and no other run's checkpoint is taken for its own."""

from __future__ import annotations

import tempfile
import unittest
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from itertools import count
from pathlib import Path
from unittest import mock

import numpy as np
import torch

from posetrain.data.scenes import Scene
from posetrain.finder.net import Size
from posetrain.finder.train import BATCH, Run, train


class Runs(unittest.TestCase):
    def test_a_stopped_run_goes_on_and_another_run_is_refused(self) -> None:
        pixels = np.random.default_rng(4).integers(0, 256, (60, 80, 3), dtype=np.uint8)
        nobody = np.zeros((0, 4), np.float32)
        scenes = [Scene(pixels, np.array([[10, 5, 40, 55]], np.float32), nobody, "jhmdb")]
        run = Run(Size(64, 64), seed=1, minutes=1, workers=0)
        with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
            out = Path(folder)
            for step in (1, 2):
                # the clock goes on by a minute each time that it is read: when the run begins, and once a step
                with mock.patch("posetrain.finder.train.time.monotonic", side_effect=count(0, 60)):
                    train(replace(run, minutes=step), scenes, [], out)
                state = torch.load(out / "final.pt", weights_only=True)
                self.assertEqual((state["step"], state["pictures"]), (step, step * BATCH))
            with self.assertRaisesRegex(SystemExit, "of another run .seed 1, not 2"):
                train(replace(run, seed=2, minutes=9), scenes, [], out)


if __name__ == "__main__":
    unittest.main()
