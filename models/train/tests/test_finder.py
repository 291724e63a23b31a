"""The person finder's targets and decoder are each other's inverse."""

from __future__ import annotations

import unittest

import numpy as np

from posetrain.data.boxes import iou
from posetrain.finder import net as finder


class Finder(unittest.TestCase):
    def test_targets_decode_to_the_boxes(self) -> None:
        boxes = np.array([[10, 20, 60, 140], [90, 30, 130, 120]], np.float32)
        heat, sides, _, _ = finder.targets(boxes, np.zeros((0, 4), np.float32), 160)
        logits = np.where(heat >= 1, 4.0, -9.0).astype(np.float32)
        found, _ = finder.decode(logits, sides, 0.5)
        self.assertGreater(float(iou(found, boxes).max(axis=0).min()), 0.99)


if __name__ == "__main__":
    unittest.main()
