"""The published measure on Leeds Sports Pose's test part; needs no data."""

from __future__ import annotations

import unittest

import numpy as np

from posetrain.data.packs import MIRROR
from posetrain.keypoints import lsp


def standing(persons: int) -> np.ndarray:
    """[N, 17, 3]: everybody 200 px tall, the joints below the head labelled, the left side at larger x."""
    joints = np.zeros((persons, 17, 3), np.float32)
    joints[:, 5:, 2] = 2
    for row, left in enumerate(range(5, 17, 2)):
        joints[:, left, :2] = (130, 40 * row)
        joints[:, left + 1, :2] = (100, 40 * row)
    return joints


class PublishedMeasure(unittest.TestCase):
    def test_joints_count_within_a_fifth_of_the_torso(self) -> None:
        truth = standing(4)
        torso = np.hypot(30, 120)  # left shoulder to right hip
        answers = truth[..., :2].copy()
        answers[:2, 9] += (0.19 * torso, 0)
        answers[2:, 9] += (0.21 * torso, 0)
        said = lsp.figures(answers, truth)
        self.assertEqual(said["joints"], {name: 0.75 if name == "wrist" else 1.0 for name in lsp.PAIRS})
        self.assertAlmostEqual(said["torso_02"][0], 46 / 48, places=4)
        self.assertEqual(said["exchanged"], 0)

    def test_who_is_nearer_with_left_and_right_exchanged_is_counted(self) -> None:
        truth = standing(4)
        answers = truth[..., :2].copy()
        answers[0] = answers[0, MIRROR]
        self.assertEqual(lsp.figures(answers, truth)["exchanged"], 0.25)

    def test_kept_predictions_are_put_in_cocos_order(self) -> None:
        joints = np.arange(28, dtype=np.float32).reshape(14, 2)
        placed = lsp.ordered(joints.T[:, :, None])
        np.testing.assert_array_equal(placed[0, 16], joints[0] - 1)  # right ankle comes first there
        np.testing.assert_array_equal(placed[0, 9], joints[11] - 1)  # left wrist


if __name__ == "__main__":
    unittest.main()
