"""People whom the picture's edge cuts off: their crops, whose legs are beyond it, and the teacher who saw more of the picture."""

from __future__ import annotations

import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from posetrain.data import cache, packs
from posetrain.data.cut_off import LEGS, crop_of, ended, without_legs
from posetrain.data.licences import LicenceError
from posetrain.data.loose import loosely
from posetrain.keypoints import asked, steady
from posetrain.keypoints.checkpoints import sources, store, weights_of
from posetrain.keypoints.mixture import Mixture
from posetrain.keypoints.steady_config import Source
from tests.test_steady import PLAIN, caches, config, figure

CUT = replace(PLAIN, cut_off_chance=1.0)


def at_the_edge(folder: Path) -> cache.Records:
    """Six persons, of whom the first two have no legs: the first at the picture's lower edge."""
    few = caches(folder) / "few"
    with np.load(few / "index.npz") as kept:
        index = {name: kept[name].copy() for name in kept.files}
    index["joints"][:2, LEGS] = 0
    lowest = index["joints"][:2, :, 1].max(axis=1)
    index["box"][:2, 3] = lowest
    index["shape"][0, 0] = int(lowest[0]) + 4
    np.savez(few / "index.npz", **index)
    return cache.load(few)


class Ended(unittest.TestCase):
    def test_what_is_beyond_the_pictures_end_is_black_and_outside(self) -> None:
        rng, ends, flips, seen = np.random.default_rng(1), set(), set(), 0
        for _ in range(300):
            crop = ended(*figure(rng), replace(CUT, rotate_chance=0.0), 128, rng)
            if crop is None:
                continue
            sample = crop.sample
            self.assertTrue(crop.is_cut_off)
            self.assertGreater(int((sample.inside > 0).sum()), 0)
            self.assertGreater(int((sample.outside > 0).sum()), 0)
            kept = np.zeros((128, 128), bool)
            (x0, y0), (x1, y1) = (np.rint(v + 0.5).astype(int) for v in (crop.low, crop.high))
            kept[y0:y1, x0:x1] = True
            self.assertLess(int(kept.sum()), 128 * 128)
            self.assertEqual(int(sample.pixels[~kept].max()), 0)
            ends.add(tuple(int(v) for v in (x0 > 0, y0 > 0, x1 < 128, y1 < 128)))
            flips.add(crop.flip)
            for x, y in sample.xy[sample.inside > 0]:
                row, column = round(float(y)), round(float(x))
                if kept[row - 2 : row + 3, column - 2 : column + 3].all():
                    self.assertGreater(int(sample.pixels[row, column].max()), 150)
                    seen += 1
        self.assertEqual(len(ends), 4, "each of the four edges")
        self.assertEqual(flips, {False, True})
        self.assertGreater(seen, 500)

    def test_somebody_of_whom_too_little_would_be_left_stays_whole(self) -> None:
        pixels, joints = figure(np.random.default_rng(2))
        joints[5:, 2] = 0
        crops = [ended(pixels, joints, CUT, 64, np.random.default_rng(seed)) for seed in range(20)]
        self.assertEqual(crops, [None] * 20)
        self.assertFalse(crop_of(pixels, joints, False, CUT, 64, np.random.default_rng(3)).is_cut_off)

    def test_without_the_wish_crops_are_what_they_were(self) -> None:
        pixels, joints = figure(np.random.default_rng(4))
        for seed in range(5):
            before = loosely(pixels, joints, PLAIN, 64, np.random.default_rng(seed))
            now = crop_of(pixels, joints, False, PLAIN, 64, np.random.default_rng(seed))
            np.testing.assert_array_equal(before.sample.pixels, now.sample.pixels)


class Legless(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_only_who_has_no_legs_and_no_room_for_them_is(self) -> None:
        records = at_the_edge(self.folder)
        self.assertEqual(without_legs(records).tolist(), [True] + 5 * [False])
        records.joints[0, 5, 2] = 0
        self.assertFalse(without_legs(records).any(), "of a hand at the edge nobody knows")

    def test_their_legs_are_absent_and_a_source_may_have_them_alone(self) -> None:
        at_the_edge(self.folder)
        alone = (Source("few", 1.0, legless=True),)
        mixture = Mixture(config(sources=alone, augment=CUT), self.folder, 0)
        self.assertEqual(mixture.ids[0].tolist(), [0])
        batch = mixture.batch(0, 64)
        self.assertTrue((batch.outside[:, LEGS] == 1).all())
        self.assertEqual(float(batch.weight[:, LEGS].abs().sum()), 0)
        twice = config(sources=(Source("few", 0.9), *alone))
        self.assertEqual(sources(twice, self.folder), sources(config(), self.folder), "counted once")
        whole = Mixture(config(augment=PLAIN), self.folder, 0)
        self.assertFalse(
            whole.legless[0].any(), "who learns of no picture's end is not told of legs beyond it"
        )


class Asked(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        caches(self.folder)
        sources = (Source("few", 1.0, taught=0.5),)
        self.config = config(sources=sources, augment=CUT, teachers=("movenet_thunder",), batch=16)

    def test_the_teacher_sees_what_the_picture_ended_before_and_says_nothing_of_it(self) -> None:
        batch = Mixture(self.config, self.folder, 0).batch(0, 64)
        asked_about = []

        def teacher(images: torch.Tensor) -> torch.Tensor:
            asked_about.append(images)
            return torch.zeros(len(images), packs.JOINTS, 16, 16)

        taught = asked.taught(batch, teacher)
        black = (batch.images == 0).all(dim=3).float().mean(dim=(1, 2))
        lit = (asked_about[0] > 0).all(dim=1).float().mean(dim=(1, 2))
        some = (black > 0.2) & (lit > 0.95)
        self.assertGreater(int(some.sum()), 0, "black for the learner alone")
        assert taught.taught_weight is not None and taught.taught is not None
        self.assertEqual(float(taught.taught_weight[batch.outside > 0].sum()), 0)
        self.assertGreater(float(batch.outside.sum()), 0)
        inside = batch.weight > 0
        total = taught.weight + taught.taught_weight
        self.assertTrue(torch.allclose(total[inside], batch.weight[inside]))
        self.assertGreater(float(taught.taught_weight[inside].sum()), 0)

    def test_a_configuration_with_teachers_needs_one_and_the_other_way_round(self) -> None:
        batch = Mixture(config(), self.folder, 0).batch(0, 32)
        with self.assertRaisesRegex(ValueError, "without `teachers`"):
            asked.taught(batch, lambda images: images)
        out = self.folder / "run"
        with self.assertRaisesRegex(ValueError, "--teacher"):
            steady.train(self.config, self.folder, out, minutes=0.0, workers=0)
        steady.train(config(), self.folder, out, minutes=0.0, workers=0)
        with self.assertRaisesRegex(ValueError, "--teacher"):
            steady.train(config(), self.folder, out, minutes=0.0, workers=0, teacher=out / "checkpoint.pt")
        research = self.folder / "research.npz"
        store(weights_of(out / "checkpoint.pt"), 16, research, ["lspet"])
        with self.assertRaisesRegex(LicenceError, "lspet"):
            steady.train(self.config, self.folder, out, minutes=0.0, workers=0, teacher=research)
        again = self.folder / "again"
        steady.train(self.config, self.folder, again, minutes=0.0, workers=0, teacher=out / "checkpoint.pt")
        self.assertEqual(torch.load(again / "checkpoint.pt", weights_only=True)["step"], 1)


if __name__ == "__main__":
    unittest.main()
