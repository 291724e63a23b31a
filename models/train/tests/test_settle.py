"""An int8 file in PyTorch and back, and what it learns of its floats."""

from __future__ import annotations

import tempfile
import unittest
from itertools import repeat
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor

from posetrain.inference import as_input, session
from posetrain.keypoints.graph import export_keypoints
from posetrain.keypoints.net import KeypointNet, NetConfig
from posetrain.keypoints.quantise import check, quantise
from posetrain.keypoints.rounded import Rounded
from posetrain.keypoints.settle import OUTPUT, apart, settle, unlabelled
from posetrain.keypoints.steady_config import Source, SteadyConfig
from posetrain.keypoints.train import to_input

TINY = NetConfig((8, 8, 8, 8, 8), (0, 1, 0, 1), (8, 8))


def constants(path: Path) -> dict[str, np.ndarray]:
    return {i.name: numpy_helper.to_array(i) for i in onnx.load(path).graph.initializer}


class Settling(unittest.TestCase):
    def setUp(self) -> None:
        torch.manual_seed(5)
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = Path(kept.name)
        self.f32, self.int8 = self.folder / "net.onnx", self.folder / "int8.onnx"
        self.crops = np.random.default_rng(5).integers(0, 256, (12, 64, 64, 3), dtype=np.uint8)
        self.images = to_input(torch.from_numpy(self.crops))
        net = KeypointNet(TINY)
        with torch.no_grad():  # maps with peaks
            net.heatmaps.weight.mul_(200)
            net.train()(self.images)
        export_keypoints(net, 64, 64, self.f32)
        quantise(self.f32, self.int8, self.crops, real_outputs=(OUTPUT,))

    def run_file(self, path: Path) -> Tensor:
        run = session(path)
        return torch.stack(
            [torch.from_numpy(run.run(None, {"image": as_input(c)})[0][0]) for c in self.crops]
        )

    def test_it_answers_as_the_files_do(self) -> None:
        net = Rounded(self.int8, self.f32)
        with torch.no_grad():
            rounded, real = net(self.images)[OUTPUT], net(self.images, real=True)[OUTPUT]
        asked, exact = self.run_file(self.int8), self.run_file(self.f32)
        torch.testing.assert_close(real, exact, atol=1e-3, rtol=1e-3)
        # but for values that lie half way between two steps, which sums in another order round the other way
        self.assertLess(float((rounded - asked).abs().mean()), 0.25 * float((exact - asked).abs().mean()))

    def test_what_has_learned_nothing_is_written_as_it_was(self) -> None:
        out = self.folder / "out.onnx"
        Rounded(self.int8).write(out)
        before, after = constants(self.int8), constants(out)
        self.assertEqual(set(before), set(after))
        for name, value in before.items():
            self.assertEqual((value.dtype, value.shape), (after[name].dtype, after[name].shape), name)
            np.testing.assert_array_equal(value, after[name], name)

    def test_it_comes_nearer_to_its_floats_in_the_form_that_the_device_reads(self) -> None:
        out = self.folder / "out.onnx"
        net = Rounded(self.int8, self.f32)
        settle(net, repeat(self.images), 60)
        net.write(out)
        check(out)
        exact = self.run_file(self.f32)
        before, after = (float(apart(self.run_file(path), exact)) for path in (self.int8, out))
        self.assertLess(after, 0.6 * before)

    def test_floats_of_another_network_are_refused(self) -> None:
        other = self.folder / "other.onnx"
        export_keypoints(KeypointNet(TINY), 64, 64, other)
        with self.assertRaisesRegex(ValueError, "not those that were quantised"):
            Rounded(self.int8, other)

    def test_crops_are_drawn_without_labels_teachers_and_crops_of_nobody(self) -> None:
        told = SteadyConfig("any", "c", (Source("coco", 0.5, taught=0.4),), empty="nobody", empty_chance=0.1)
        drawn = unlabelled(told, 192)
        self.assertEqual((drawn.size(123_456), drawn.empty_chance, drawn.empty), (192, 0.0, ""))
        self.assertEqual([(s.cache, s.share, s.taught) for s in drawn.sources], [("coco", 0.5, 0.0)])


if __name__ == "__main__":
    unittest.main()
