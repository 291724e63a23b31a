"""Crops keep joints and pixels together; what does not decode is skipped and counted."""

from __future__ import annotations

import io
import json
import os
import tarfile
import tempfile
import tomllib
import unittest
from collections import Counter
from pathlib import Path
from unittest import mock

import cv2
import numpy as np

from posetrain.data import gather, packs
from posetrain.data.augment import (
    AugmentConfig,
    augmented,
    colour_matrix,
    coloured,
    crop_matrix,
    move_joints,
    plain_crop,
)
from posetrain.paths import REPOSITORY, SPLITS, TRAIN


class Geometry(unittest.TestCase):
    def test_crop_maps_centre_to_centre_and_scale_is_side_over_net(self) -> None:
        matrix = crop_matrix((50.0, 70.0), 80.0, 160)
        np.testing.assert_allclose(
            move_joints(np.array([[50.0, 70.0, 2.0]], np.float32), matrix), [[79.5, 79.5]]
        )
        np.testing.assert_allclose(matrix[0, 0], 2.0)

    def test_augmentation_moves_joints_with_the_pixels(self) -> None:
        pixels = np.zeros((160, 160, 3), np.uint8)
        joints = np.zeros((17, 3), np.float32)
        joints[5:] = [[40 + 7 * k, 30 + 8 * k, 2] for k in range(12)]
        cv2.circle(pixels, (int(joints[9, 0]), int(joints[9, 1])), 5, (255, 255, 255), -1)
        still = AugmentConfig(half_body_chance=0, damage_chance=0, cutout_chance=0)
        for seed in range(20):
            s = augmented(pixels, joints, still, 128, np.random.default_rng(seed))
            near = [
                s.pixels[int(y + 0.5), int(x + 0.5)].max()
                for x, y in s.xy[[9, 10]]
                if 0 <= x < 127 and 0 <= y < 127
            ]
            if len(near) == 2:
                self.assertGreater(max(near), 200)

    def test_colours_change_but_grey_only_by_exposure_and_white_balance(self) -> None:
        pictures = np.random.default_rng(4).integers(60, 180, (40, 24, 20, 3), np.uint8)
        seen = coloured(pictures, np.random.default_rng(5)).numpy()
        self.assertEqual(len({picture.tobytes() for picture in seen}), 40)
        means = seen.reshape(40, -1).mean(axis=1)
        self.assertLess(means.min(), 60, "some are taken in the dark")
        self.assertGreater(means.max(), 125)
        for k in range(40):
            gain = colour_matrix(120.0, np.random.default_rng(k)) @ (120.0, 120.0, 120.0, 1.0) / 120.0
            self.assertTrue((gain > 0.6 * 0.88 * 0.2 - 1e-5).all() and (gain < 1.3 * 1.12 + 1e-5).all())

    def test_a_narrow_crop_is_the_middle_of_one_that_the_person_fits_in(self) -> None:
        pixels = np.random.default_rng(0).integers(0, 256, (160, 160, 3), np.uint8)
        for box, side in (((60.0, 20.0, 100.0, 140.0), 120.0), ((20.0, 60.0, 140.0, 100.0), 160.0)):
            narrow, matrix = plain_crop(pixels, box, 128, aspect=0.75)
            self.assertEqual(narrow.shape, (128, 96, 3))
            np.testing.assert_allclose(matrix[0, 0], 128 / (1.25 * side), rtol=1e-5)
            corners = move_joints(np.array([box[:2], box[2:]], np.float32), matrix)
            self.assertTrue(((corners >= 0) & (corners < [96, 128])).all())
            np.testing.assert_allclose(corners.mean(axis=0), [47.5, 63.5], atol=1e-3)

    def test_a_narrow_augmented_crop_keeps_joints_and_pixels_together(self) -> None:
        pixels = np.zeros((160, 160, 3), np.uint8)
        joints = np.zeros((17, 3), np.float32)
        joints[5:] = [[60 + 3 * k, 30 + 8 * k, 2] for k in range(12)]
        cv2.circle(pixels, (int(joints[11, 0]), int(joints[11, 1])), 5, (255, 255, 255), -1)
        config = AugmentConfig(damage_chance=0, cutout_chance=0, half_body_chance=0, aspect=0.75)
        for seed in range(8):
            sample = augmented(pixels, joints, config, 128, np.random.default_rng(seed))
            self.assertEqual(sample.pixels.shape, (128, 96, 3))
            rows, columns = np.nonzero(sample.pixels[..., 0] > 128)
            # Mirrored crops exchange the hips.
            distance = np.hypot(*(sample.xy[[11, 12]] - [columns.mean(), rows.mean()]).T)
            self.assertLess(distance.min(), 2.0)


SHARED = Path(os.environ.get("POSEWIRE_SHARED", REPOSITORY.parent / "shared"))


class Splits(unittest.TestCase):
    def test_who_is_judged_on_is_said_by_name_and_said_once(self) -> None:
        for pack, counts in (("coco_more", {"val": 198, "calib": 66}), ("coco_nobody", {"val": 74})):
            said = tomllib.loads((SPLITS / f"{pack}.toml").read_text())
            self.assertEqual({split: len(names) for split, names in said.items()}, counts)
            self.assertEqual(len(packs.NAMED[pack]), sum(counts.values()), "a name on two sides, or twice")

    def test_an_installed_package_brings_the_lists(self) -> None:
        setuptools = tomllib.loads((TRAIN / "pyproject.toml").read_text())["tool"]["setuptools"]
        folder = TRAIN / "posetrain" / "data"
        brought = {p for glob in setuptools["package-data"]["posetrain.data"] for p in folder.glob(glob)}
        self.assertEqual(brought, {SPLITS / f"{pack}.toml" for pack in packs.LISTED_PACKS})

    def test_a_pack_without_its_list_is_refused(self) -> None:
        with mock.patch.dict(packs.NAMED, clear=True):
            for pack in packs.LISTED_PACKS:
                with self.assertRaisesRegex(
                    FileNotFoundError, rf"{pack}\.toml, which says what of .* judged on"
                ):
                    next(packs.read_pack(Path("nowhere"), pack, packs.ReadReport()))

    def test_a_picture_more_in_front_moves_nobody_to_another_side(self) -> None:
        black = cv2.imencode(".png", np.zeros((50, 60, 3), np.uint8))[1].tobytes()
        judged = next(name for name, split in packs.NAMED["coco_nobody"].items() if split == "val")
        with tempfile.TemporaryDirectory() as name:
            for new in ([], ["000000000001.jpg"]):
                entries = (
                    gather.Entry(file, black, (50, 60), [], "made up")
                    for file in [*new, judged, "000000000002.jpg"]
                )
                gather.write(entries, Path(name, str(len(new)), "coco_nobody"), "coco_nobody", Counter())
                report = packs.ReadReport()
                read = packs.read_pack(Path(name, str(len(new))), "coco_nobody", report)
                sides = {picture.key: picture.split for picture in read}
                expected = {judged: "val", "000000000002.jpg": "train"} | dict.fromkeys(new, "train")
                self.assertEqual(sides, expected)
                self.assertEqual(report.counts["picture of val that the pack lacks"], 73)

    @unittest.skipUnless(
        (SHARED / "data" / "coco_more").exists(), "SKIPPED: no packs in POSEWIRE_SHARED/data"
    )
    def test_the_pack_holds_whom_the_names_say(self) -> None:
        held = json.loads((SHARED / "data" / "coco_more" / "labels.json").read_text())["images"]
        self.assertEqual(packs.NAMED["coco_more"].keys() - {record["file_name"] for record in held}, set())


class Readers(unittest.TestCase):
    def test_corrupt_pictures_are_skipped_and_counted(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "pelota").mkdir()
            ok, data = cv2.imencode(".png", np.full((40, 30, 3), 90, np.uint8))
            self.assertTrue(ok)
            with tarfile.open(root / "pelota" / "images_0.tar", "w") as tar:
                for name, content in (
                    ("good.png", data.tobytes()),
                    ("bad.png", b"not a picture"),
                    ("empty.png", b""),
                ):
                    info = tarfile.TarInfo(name)
                    info.size = len(content)
                    tar.addfile(info, io.BytesIO(content))
            images = [
                {"id": k, "file_name": n, "tar": "images_0.tar", "width": 30, "height": 40, "split": "train"}
                for k, n in enumerate(("good.png", "bad.png", "empty.png", "missing.png"))
            ]
            (root / "pelota" / "labels.json").write_text(json.dumps({"images": images, "annotations": []}))
            report = packs.ReadReport()
            read = list(packs.read_pack(root, "pelota", report))
            self.assertEqual([p.key for p in read], ["good.png"])
            self.assertEqual(report.counts["corrupt picture"], 3)


if __name__ == "__main__":
    unittest.main()
