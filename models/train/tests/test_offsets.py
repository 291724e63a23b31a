"""Where a network sees joints beside their labels: the person's own axes, medians and their intervals."""

from __future__ import annotations

import unittest

import numpy as np

from posetrain.data.packs import Floats
from posetrain.keypoints import offsets


def standing() -> Floats:
    """Seen from the front, 100 px from shoulders to ankles: the left side lies on the picture's right."""
    places = [(0, -20), (3, -22), (-3, -22), (6, -20), (-6, -20)]
    places += [(15, 0), (-15, 0), (20, 25), (-20, 25), (20, 50), (-20, 50)]
    places += [(9, 50), (-9, 50), (10, 75), (-10, 75), (10, 100), (-10, 100)]
    return np.array([(x, y, 2) for x, y in places], np.float32)


class Offsets(unittest.TestCase):
    def test_offsets_are_told_along_limbs_and_outwards_on_both_sides(self) -> None:
        joints = standing()
        found = joints[:, :2].copy()
        found[[15, 16], 1] += 2  # ankles farther down the shin
        found[11, 0] += 3  # both hips farther out
        found[12, 0] -= 3
        told = offsets.person_offsets(found, joints)
        np.testing.assert_allclose(told["ankles"], [(0.02, 0), (0.02, 0)], atol=2e-3)
        across = [across for _, across in told["hips"]]
        np.testing.assert_allclose(across, [0.03, 0.03], atol=3e-3)
        self.assertEqual(len(told["nose"]), 1)
        self.assertTrue(np.isnan(told["nose"][0][1]), "a nose has no side")

    def test_hidden_missed_and_unlabelled_joints_tell_nothing(self) -> None:
        joints = standing()
        joints[9, 2], joints[13, 2] = 1, 0
        found = joints[:, :2].copy()
        found[16] += 40
        told = offsets.person_offsets(found, joints)
        # the ankle below the unlabelled knee has no limb to lie on
        self.assertEqual([len(told.get(name, [])) for name in ("wrists", "knees", "ankles")], [1, 1, 0])

    def test_from_behind_outwards_stays_outwards(self) -> None:
        joints = standing()
        joints[:, 0] *= -1
        found = joints[:, :2].copy()
        found[11, 0] -= 3
        [first, _] = offsets.person_offsets(found, joints)["hips"]
        self.assertGreater(first[1], 0.02)

    def test_the_interval_holds_the_median_and_is_wider_for_fewer_groups(self) -> None:
        values = np.random.default_rng(1).normal(0.01, 0.02, 400)
        alone, shared = (np.array([f"g{k // size}" for k in range(400)]) for size in (1, 100))
        middle, low, high, count = offsets.median(values, alone)
        self.assertTrue(low <= middle <= high and count == 400)
        trend = values + np.repeat([-0.05, 0.0, 0.0, 0.05], 100)
        _, low_shared, high_shared, _ = offsets.median(trend, shared)
        self.assertGreater(high_shared - low_shared, high - low)
        self.assertTrue(np.isnan(offsets.median(values[:5], alone[:5])[0]))


if __name__ == "__main__":
    unittest.main()
