"""Presence: the unit is fitted, put into a finished network, and taken out again, and joints do not notice."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from typing import cast
from unittest import mock

import numpy as np
import onnx

from posetrain.data.packs import Picture
from posetrain.data.scenes import FastestDet
from posetrain.finder import presence
from posetrain.finder.evaluate import Finder
from posetrain.inference import session
from posetrain.paths import REPOSITORY

NETWORK = REPOSITORY / "models" / "keypoints-nano.onnx"


class Presence(unittest.TestCase):
    def run_once(self, model: onnx.ModelProto, outputs: list[str]) -> list[np.ndarray]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "network.onnx"
            onnx.save(model, path)
            network = session(path)
            side = int(network.get_inputs()[0].shape[2])
            image = np.random.default_rng(1).random((1, 3, side, side), np.float32)
            return [np.asarray(v) for v in network.run(outputs, {"image": image})]

    def test_a_unit_is_put_in_and_taken_out_and_the_maps_stay_as_they_were(self) -> None:
        shipped = self.run_once(onnx.load(NETWORK), ["heatmaps"])[0]
        bare = presence.without(onnx.load(NETWORK))
        self.assertEqual([o.name for o in bare.graph.output], ["heatmaps"])
        deepest = presence.deepest(bare.graph)
        bare.graph.output.append(onnx.helper.make_tensor_value_info(deepest, onnx.TensorProto.FLOAT, None))
        maps, features = self.run_once(bare, ["heatmaps", deepest])
        np.testing.assert_array_equal(maps, shipped)

        weight = np.asarray(np.random.default_rng(2).normal(size=features.shape[1]), np.float64)
        again = presence.with_unit(presence.without(onnx.load(NETWORK)), weight, 0.5)
        kept, bias = presence.unit_of(again)
        self.assertLess(float(np.abs(kept - weight).max()), 0.51 * float(np.abs(weight).max()) / 127)
        self.assertAlmostEqual(bias, 0.5, delta=0.001)
        maps, said = self.run_once(again, ["heatmaps", presence.OUTPUT])
        np.testing.assert_array_equal(maps, shipped)
        exact = features[0].mean((1, 2)) @ weight + 0.5
        # A step of int8 is a 127th of the largest weight; rounding hits each weight anew.
        self.assertAlmostEqual(
            float(said.mean()), exact, delta=0.02 * float(np.abs(features).sum() / said.size)
        )
        self.assertEqual(said.shape, (1, 1, *features.shape[2:]))

    def test_the_unit_tells_what_can_be_told_and_the_area_says_so(self) -> None:
        rng = np.random.default_rng(3)
        person = rng.random(2000) < 0.3
        features = rng.normal(size=(2000, 8))
        features[person, 2] += 2.0
        weight, bias = presence.fit(features, person)
        logit = features @ weight + bias
        self.assertEqual(int(np.abs(weight).argmax()), 2)
        # Two unit normals two apart: the area is the normal's distribution at the square root of two, .921.
        self.assertAlmostEqual(presence.area(person, logit), 0.921, delta=0.02)
        self.assertEqual(presence.area(person, person.astype(float)), 1.0)

    def test_words_true_to_the_letter_err_by_chance_alone_and_the_more_the_fewer_there_are(self) -> None:
        rng = np.random.default_rng(6)
        means = []
        for crops in (200, 20000):
            said = rng.uniform(0.02, 0.98, crops)
            person = rng.random(crops) < said
            mean, low, high = presence.error_by_chance(person, said)
            self.assertTrue(low < mean < high)
            self.assertTrue(0.5 * low < presence.calibration_error(person, said) < 1.5 * high)
            means.append(mean)
        self.assertLess(means[1], 0.2 * means[0])
        # words that are not true lie far outside, where crops are many
        self.assertGreater(presence.calibration_error(person, said**3), 2 * high)

    def test_intervals_draw_whole_videos(self) -> None:
        pictures = [f"jhmdb/run/{v}_run_f_nm_np1_fr_med_{k}.avi#{k}" for v in "ab" for k in range(5)]
        pictures += [f"coco_more/{k:012d}.jpg" for k in range(10)]
        yes = np.ones(20, bool)
        crops = presence.Crops(
            np.zeros((20, 1)), np.arange(20) % 2 == 0, np.ones(20), yes, np.array(pictures)
        )
        drawn: set[str] = set()

        def bootstrap(_: object, __: object, groups: np.ndarray) -> tuple[float, float]:
            drawn.update(groups.tolist())
            return 0.0, 1.0

        with mock.patch.object(presence, "bootstrap", bootstrap):
            presence.judge(crops, np.linspace(-1, 1, 20), 0.5, ["jhmdb", "coco_more"])
        self.assertEqual(len(drawn), 12)
        self.assertLessEqual({"a", "b"}, drawn)

    def test_what_another_network_or_finder_saw_is_not_taken_for_this_ones(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        bare = presence.without(onnx.load(NETWORK))
        made = presence.made_from(bare, NETWORK, ["coco_more", "rendered"])
        weight = np.ones(64)
        unit = presence.with_unit(presence.without(onnx.load(NETWORK)), weight, 0.0)
        self.assertEqual(presence.made_from(presence.without(unit), NETWORK, ["coco_more", "rendered"]), made)
        yes = np.ones(2, bool)
        crops = presence.Crops(np.zeros((2, 3)), yes, np.ones(2), yes, np.array(["a", "b"]))
        presence.keep(folder / "kept.npz", crops, made)
        again = presence.kept(folder / "kept.npz", made)
        self.assertEqual(again.picture.tolist(), ["a", "b"])
        other = REPOSITORY / "models" / "keypoints-small.onnx"
        others = {
            "network": presence.made_from(
                presence.without(onnx.load(other)), NETWORK, ["coco_more", "rendered"]
            ),
            "finder": presence.made_from(bare, other, ["coco_more", "rendered"]),
            "packs": presence.made_from(bare, NETWORK, ["coco_more"]),
        }
        for name, another in others.items():
            with self.assertRaisesRegex(SystemExit, f"another {name}, or does not say: give another --keep"):
                presence.kept(folder / "kept.npz", another)
        np.savez(folder / "old.npz", **vars(crops))
        with self.assertRaisesRegex(SystemExit, "does not say"):
            presence.kept(folder / "old.npz", made)

    def test_shares_are_of_either_box(self) -> None:
        box = np.array([0, 0, 10, 10], np.float32)
        inside, covered = presence.shares(box, np.array([[5, 0, 10, 10], [20, 20, 30, 30]], np.float32))
        np.testing.assert_allclose(inside, [0.5, 0])
        np.testing.assert_allclose(covered, [1, 0])

    def test_where_the_teacher_sees_anybody_nothing_is_background(self) -> None:
        class One:
            """Finds one box, whatever it is shown; it stands in for the finder and for the teacher."""

            def __init__(self, *box: float) -> None:
                self.box = np.array([box], np.float32)

            def find(self, _: object, __: float) -> tuple[np.ndarray, np.ndarray]:
                return self.box, np.array([0.5], np.float32)

        def found(pack: str, teacher: One) -> list[bool]:
            picture = Picture(pack, "train", "a", np.zeros((200, 200, 3), np.uint8), [])
            rng = np.random.default_rng(3)
            finder = cast(Finder, One(20, 20, 60, 120))
            made = presence.boxes(picture, finder, cast(FastestDet, teacher), rng)
            return [person for _, person, score in made if score >= 0]

        same, elsewhere = One(22, 18, 62, 118), One(140, 20, 180, 120)
        self.assertEqual(found("coco_more", same), [])
        self.assertEqual(found("coco_more", elsewhere), [False])
        self.assertEqual(found("coco_nobody", same), [False], "somebody looked: nobody is there")


if __name__ == "__main__":
    unittest.main()
