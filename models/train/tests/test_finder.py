"""The person finder: targets and decoder are each other's inverse, shapes agree, and what is learned from is what is true."""

from __future__ import annotations

import tempfile
import tomllib
import unittest
from argparse import ArgumentTypeError
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch

from posetrain.data.boxes import iou
from posetrain.data.licences import Licence, LicenceError
from posetrain.data.scenes import Scene, settle
from posetrain.finder import manifest
from posetrain.finder import net as finder
from posetrain.finder.evaluate import Finder, Rule, Test, choose_threshold, test
from posetrain.finder.graph import export
from posetrain.finder.make import may_begin, mean
from posetrain.finder.sample import letterbox, sample, turned, warped
from posetrain.finder.train import BATCH
from posetrain.keypoints.adopt import dequantised, take_over
from posetrain.keypoints.train import to_input
from posetrain.paths import REPOSITORY

NOBODY = np.zeros((0, 4), np.float32)
SIZE = finder.Size(160, 128)


def scene(height: int, width: int, *boxes: list[int]) -> Scene:
    pixels = np.random.default_rng(4).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Scene(pixels, np.array(boxes, np.float32).reshape(-1, 4), NOBODY, "jhmdb")


class Targets(unittest.TestCase):
    def test_targets_decode_to_the_boxes(self) -> None:
        boxes = np.array([[10, 20, 60, 140], [190, 30, 230, 120]], np.float32)
        heat, sides, _, _ = finder.targets(boxes, NOBODY, finder.Size(288, 224))
        self.assertEqual(heat.shape, (28, 36))
        logits = np.where(heat >= 1, 4.0, -9.0).astype(np.float32)
        found, _ = finder.decode(logits, sides, 0.5)
        self.assertGreater(float(iou(found, boxes).max(axis=0).min()), 0.99)

    def test_a_size_that_the_strides_do_not_divide_is_refused(self) -> None:
        self.assertEqual(finder.Size.of(str(SIZE)), SIZE)
        for refused in ("288x216", "0x32", "288", "wide"):
            self.assertRaises(ArgumentTypeError, finder.Size.of, refused)

    def test_a_picture_of_any_shape_is_fitted_whole(self) -> None:
        for height, width in ((480, 640), (720, 1280), (1000, 500), (64, 64)):
            net, s = letterbox(np.full((height, width, 3), 255, np.uint8), SIZE)
            self.assertEqual(net.shape, (SIZE.height, SIZE.width, 3))
            rows, columns = (int((net[:, :, 0].max(axis=a) > 127).sum()) for a in (1, 0))
            self.assertAlmostEqual(rows, height * s, delta=1.01)
            self.assertAlmostEqual(columns, width * s, delta=1.01)

    def test_boxes_turn_with_the_scene(self) -> None:
        person, doubtful = np.array([[[4, 6, 14, 26]], [[40, 0, 50, 8]]], np.float32)
        bright = Scene(np.zeros((30, 50, 3), np.uint8), person, doubtful, "jhmdb")
        for box, value in ((bright.persons[0], 100), (bright.doubtful[0], 200)):
            x0, y0, x1, y1 = box.astype(int)
            bright.pixels[y0:y1, x0:x1] = value
        corners = set()
        for quarters in range(4):
            s = turned(bright, quarters)
            self.assertEqual(s.pixels.shape[:2], (30, 50) if quarters % 2 == 0 else (50, 30))
            for box, value in ((s.persons[0], 100), (s.doubtful[0], 200)):
                rows, columns = np.nonzero(s.pixels[:, :, 0] == value)
                tight = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
                self.assertEqual(box.tolist(), tight, quarters)
            corners.add(tuple(s.doubtful[0].tolist()))
        self.assertEqual(len(corners), 4)

    def test_scenes_that_shrink_are_averaged_as_on_the_device(self) -> None:
        fine = np.zeros((240, 320, 3), np.uint8)
        fine[::2, ::2] = fine[1::2, 1::2] = 255
        for scale in (0.4, 0.2):
            drawn = {}
            for nearest in (False, True):
                matrix = np.array([[-scale, 0, 0.9 * 320 * scale], [0, scale, 0.3]], np.float32)
                drawn[nearest] = warped(fine, matrix, (48, 36), nearest)[4:-4, 4:-4].astype(np.float64)
            self.assertLess(drawn[False].std(), 45)
            self.assertGreater(drawn[True].std(), 120)
        # a person drawn so is where the box says
        for scale in (1.3, 0.4, 0.2):
            one = np.zeros((240, 320, 3), np.uint8)
            one[80:200, 100:180] = 255
            matrix = np.array([[scale, 0, 3.0], [0, scale, 2.0]], np.float32)
            seen = warped(one, matrix, (300, 300), False)[:, :, 0] / 255
            columns, rows = np.arange(300), np.arange(300)
            total = seen.sum()
            self.assertAlmostEqual(float((seen.sum(axis=0) @ columns) / total), 139.5 * scale + 3, delta=0.1)
            self.assertAlmostEqual(float((seen.sum(axis=1) @ rows) / total), 139.5 * scale + 2, delta=0.1)

    def test_boxes_of_training_pictures_lie_in_them(self) -> None:
        scenes = [scene(240, 320, [20, 30, 120, 220]), scene(300, 200, [50, 10, 150, 290], [0, 0, 60, 90])]
        rng = np.random.default_rng(2)
        for _ in range(60):
            pixels, persons, doubtful = sample(scenes, np.array([0.5, 0.5]), rng, SIZE)
            self.assertEqual(pixels.shape, (SIZE.height, SIZE.width, 3))
            for x0, y0, x1, y1 in np.concatenate([persons.reshape(-1, 4), doubtful.reshape(-1, 4)]):
                self.assertTrue(0 <= x0 < x1 <= SIZE.width and 0 <= y0 < y1 <= SIZE.height)


class Scenes(unittest.TestCase):
    def test_what_is_doubtful_inside_a_person_is_a_part_of_that_one(self) -> None:
        person = np.array([[10, 10, 60, 160]], np.float32)
        doubtful = np.array([[15, 20, 50, 70], [50, 10, 110, 160]], np.float32)
        persons, left = settle(person, doubtful)
        np.testing.assert_array_equal(persons, person)
        np.testing.assert_array_equal(left, doubtful[1:])


class Weights(unittest.TestCase):
    def test_an_exported_finder_is_taken_back_and_answers_as_it_did(self) -> None:
        torch.manual_seed(3)
        net, again = (finder.FinderNet((4, 4, 8, 8, 8)) for _ in range(2))
        pictures = np.random.default_rng(3).integers(0, 256, (4, SIZE.height, SIZE.width, 3), dtype=np.uint8)
        images = to_input(torch.from_numpy(pictures))
        with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
            net.train()(images)
            said = net.eval()(images)
            path = Path(folder) / "finder.onnx"
            export(net, path, SIZE)
            take_over(again, partial(export, again, size=SIZE), dequantised(path), images)
            for a, b in zip(again.eval()(images), said, strict=True):
                torch.testing.assert_close(a, b, atol=1e-3, rtol=1e-3)
            # A file says itself how large its pictures are.
            result = test(Finder(path), [(scene(48, 64, [5, 5, 40, 40]), "one")])
        self.assertEqual((len(result.groups), result.pictures), (1, 1))

    def test_both_networks_together_tell_of_a_doubtful_find_that_shows_somebody_and_of_a_sure_one_that_may(
        self,
    ) -> None:
        def tested(score: float, presence: float) -> Test:
            class One:
                def find(self, pixels: object, threshold: float) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
                    boxes = np.array([[5, 5, 40, 40], [50, 10, 63, 40]], np.float32)
                    return boxes, np.array([score, score], np.float32)

            seen = [(scene(48, 64, [5, 5, 40, 40]), "one")]
            return test(cast(Finder, One()), seen, lambda _, boxes: np.full(len(boxes), presence))

        rule = Rule(0.25, 0.5, 3.0)
        for score, presence, is_told in (
            (0.3, 0.9, True),
            (0.3, 0.5, False),
            (0.2, 0.999, False),
            (0.8, 0.1, True),
            (0.5, 0.3, True),
            (0.5, 0.2, False),
        ):
            result, told = tested(score, presence), float(is_told)
            counts = result.together(rule)
            self.assertEqual(
                (result.recall(counts)[0], result.false_per_picture(counts)), (told, told), (score, presence)
            )
        alone = tested(0.3, 1.0)
        self.assertEqual([alone.recall(alone.alone(t))[0] for t in (0.25, 0.35)], [1.0, 0.0])
        self.assertEqual(choose_threshold(alone), 0.1)

    def test_a_rule_measured_anew_stands_in_the_manifest_and_the_rest_stays(self) -> None:
        result = Test(np.array([0.9]), np.array([0.9]), np.array([0]), np.array(["one"]), 1)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "person.toml"
            path.write_text((REPOSITORY / "models" / "person.toml").read_text())
            before = tomllib.loads(path.read_text())
            manifest.rewrite(path, Rule(0.3, 0.45, 2.0), {"coco": result})
            after = tomllib.loads(path.read_text())
        self.assertEqual(after["with_presence"], {"threshold": 0.3, "neutral": 0.45, "weight": 2.0})
        measured, of_f32 = (
            [m for m in after["card"]["metrics"] if m["precision"] == p] for p in ("int8", "f32")
        )
        self.assertEqual([m["recall_iou_50_told"][0] for m in measured], [1.0])
        kept = [m for m in before["card"]["metrics"] if m["precision"] == "f32"]
        for m in kept:
            m |= {"recall_iou_50": m["recall_iou_50"][:1]} if "recall_iou_50" in m else {}
        self.assertEqual(of_f32, kept, "without intervals, which are of another measure")
        self.assertTrue(of_f32 and not any("told" in key for m in of_f32 for key in m))
        for said in (before, after):
            said["card"].pop("metrics")
            said.pop("with_presence")
        self.assertEqual(after, before)

    def test_weights_of_a_worse_class_begin_no_usable_finder(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            began = Path(folder) / "began.pt"
            torch.save({"learned": ["coco_more", "rendered"]}, began)
            may_begin(Licence.COCO, began, None)
            torch.save({"learned": ["coco_more", "jhmdb"]}, began)
            may_begin(Licence.RESEARCH, began, None)
            with self.assertRaisesRegex(LicenceError, "jhmdb"):
                may_begin(Licence.COCO, began, None)
        with self.assertRaisesRegex(LicenceError, "keypoints-small"):
            may_begin(Licence.COCO, None, Path("checkpoints/small.npz"))

    def test_the_mean_of_runs_counts_what_each_has_seen(self) -> None:
        def run(value: float, steps: int) -> dict[str, object]:
            weights = {"w": torch.full((2,), value), "n": torch.tensor(7)}
            seen = {"pictures": 1000 + steps * BATCH, "spent": 60.0 * steps, "learned": [f"of {steps}"]}
            return {"ema": weights, "step": steps, **seen}

        of = mean([run(1.0, 10), run(3.0, 20)])
        self.assertEqual(of["learned"], ["of 10", "of 20"])
        torch.testing.assert_close(of["ema"]["w"], torch.full((2,), 2.0))
        self.assertEqual((of["pictures"], of["spent"]), (1000 + 30 * BATCH, 1800.0))
        began = run(3.0, 10)
        del began["step"]
        of = mean([run(1.0, 20), began])
        torch.testing.assert_close(of["ema"]["w"], torch.full((2,), 2.0))
        self.assertEqual((of["pictures"], of["spent"]), (1000 + 20 * BATCH, 1200.0))


if __name__ == "__main__":
    unittest.main()
