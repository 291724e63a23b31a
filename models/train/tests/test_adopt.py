"""A shipped network is taken back into training: the same answers, and batch norms that normalise."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch

from posetrain.keypoints.adopt import dequantised, exporter, take_over
from posetrain.keypoints.graph import export_keypoints
from posetrain.keypoints.net import KeypointNet, NetConfig
from posetrain.keypoints.quantise import quantise
from posetrain.keypoints.train import to_input

TINY = NetConfig((8, 8, 8, 8, 8), (0, 1, 0, 1), (8, 8))


class Adopting(unittest.TestCase):
    def setUp(self) -> None:
        torch.manual_seed(3)
        self.net = KeypointNet(TINY)
        crops = np.random.default_rng(3).integers(0, 256, (16, 64, 64, 3), dtype=np.uint8)
        self.crops, self.images = crops, to_input(torch.from_numpy(crops))
        # statistics that are not those of a new norm
        with torch.no_grad():
            self.net.train()
            for _ in range(5):
                self.net(self.images)
            self.net.eval()
            self.said = self.net(self.images)

    def adopted(self, path: Path) -> KeypointNet:
        net = KeypointNet(TINY)
        take_over(net, exporter(net), dequantised(path), self.images)
        return net

    def test_a_network_written_in_floats_answers_as_it_did_and_while_it_learns(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "net.onnx"
            export_keypoints(self.net, 64, 64, path)
            net = self.adopted(path)
        with torch.no_grad():
            torch.testing.assert_close(net.eval()(self.images), self.said, atol=1e-4, rtol=1e-3)
            # norms of the batch are those of the crops that it was adopted on
            torch.testing.assert_close(net.train()(self.images), self.said, atol=1e-4, rtol=1e-3)

    def test_int8_weights_come_back_within_half_a_step(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            f32, int8 = Path(folder) / "net.onnx", Path(folder) / "int8.onnx"
            export_keypoints(self.net, 64, 64, f32)
            quantise(f32, int8, self.crops, real_outputs=("heatmaps",))
            exact, got = dequantised(f32), dequantised(int8)
        self.assertEqual(set(exact), set(got))
        for name, (weight, bias) in exact.items():
            step = weight.flatten(1).abs().amax(1)[:, None, None, None] / 127
            self.assertTrue(((got[name][0] - weight).abs() <= 0.51 * step + 1e-7).all(), name)
            torch.testing.assert_close(got[name][1], bias, atol=1e-3, rtol=1e-2)

    def test_a_file_of_another_network_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "net.onnx"
            export_keypoints(KeypointNet(NetConfig((8, 8, 8, 8, 8), (0, 0, 0, 0), (8, 8))), 64, 64, path)
            with self.assertRaisesRegex(ValueError, "no convolution"):
                other = KeypointNet(TINY)
                take_over(other, exporter(other), dequantised(path), self.images)


if __name__ == "__main__":
    unittest.main()
