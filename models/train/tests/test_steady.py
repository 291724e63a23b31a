"""The long run in pieces: its crops, its teacher's maps, what it may read, stopping and going on, the compact checkpoint."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import sys
import tempfile
import tomllib
import unittest
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest import mock

import cv2
import numpy as np
import torch

from posetrain import precision
from posetrain.data import cache, gather, packs
from posetrain.data.augment import AugmentConfig, crop_matrix, move_joints
from posetrain.data.licences import LicenceError
from posetrain.data.loose import loosely
from posetrain.keypoints import checkpoints, mixing, relabel, ship, steady, taught, teach
from posetrain.keypoints.mixture import Mixture, some
from posetrain.keypoints.net import KeypointNet, NetConfig
from posetrain.keypoints.steady_config import Source, SteadyConfig, load_config
from posetrain.paths import CONFIGS

PLAIN = AugmentConfig(damage_chance=0.0, cutout_chance=0.0)
TINY = NetConfig(widths=(8, 8, 8, 8, 8), blocks=(0, 0, 0, 0), pyramid=(8, 8))


def figure(rng: np.random.Generator) -> tuple[packs.Pixels, packs.Floats]:
    """Bright dots on grey, one a joint."""
    pixels = np.full((160, 140, 3), 60, np.uint8)
    xy = rng.permutation([(x, y) for x in (30, 50, 70, 90) for y in (20, 45, 70, 95, 120)])[: packs.JOINTS]
    for x, y in xy:
        cv2.circle(pixels, (int(x), int(y)), 3, (255, 255, 255), -1)
    joints = np.concatenate([xy, np.full((packs.JOINTS, 1), 2)], axis=1)
    return pixels, joints.astype(np.float32)


def caches(folder: Path, pack: str = "coco_subset", persons: int = 6) -> Path:
    """FOLDER/few: a cache of a made-up pack."""
    rng = np.random.default_rng(0)

    def entries() -> Iterator[gather.Entry]:
        for n in range(persons):
            pixels, joints = figure(rng)
            data = cv2.imencode(".png", pixels)[1].tobytes()
            person = (joints.astype(np.float64), gather.box_of(joints.astype(np.float64)))
            yield gather.Entry(f"{n}.png", data, (160, 140), [person], "made up")

    gather.write(entries(), folder / "packs" / pack, pack, Counter())
    cache.build(folder / "packs", folder / "few", (pack,))
    return folder


def config(licence: str = "b", **changes: object) -> SteadyConfig:
    plain = SteadyConfig("tiny", licence, (Source("few", 1.0),), batch=2, sizes=((0, 32), (8, 64)), net=TINY)
    return replace(plain, **changes)  # type: ignore[arg-type]


class LooseCrops(unittest.TestCase):
    def test_joints_move_with_the_pixels_however_loose_the_crop(self) -> None:
        rng, sides, checked = np.random.default_rng(5), [], 0
        for _ in range(60):
            pixels, joints = figure(rng)
            crop = loosely(pixels, joints, PLAIN, 128, rng)
            sample = crop.sample
            sides.append(128 / float(np.sqrt(abs(np.linalg.det(crop.matrix[:, :2])))))
            for x, y in sample.xy[sample.inside > 0]:
                row, column = round(float(y)), round(float(x))
                if 2 < row < 125 and 2 < column < 125:
                    self.assertGreater(int(sample.pixels[row, column].max()), 150)
                    checked += 1
        self.assertGreater(checked, 300)
        self.assertLess(min(sides), 100)
        self.assertGreater(max(sides), 145)

    def test_what_lies_beyond_the_crop_or_the_picture_is_outside(self) -> None:
        rng, some = np.random.default_rng(6), 0
        for _ in range(60):
            sample = loosely(*figure(rng), PLAIN, 96, rng).sample
            self.assertTrue(((sample.inside > 0) != (sample.outside > 0)).all())
            beyond = ((sample.xy < -0.5) | (sample.xy > 95.5)).any(axis=1)
            self.assertTrue((sample.outside[beyond] > 0).all())
            some += int((sample.outside > 0).sum() - beyond.sum())
        self.assertGreater(some, 0, "pictures end inside some crops")


class Teachers(unittest.TestCase):
    def test_maps_follow_the_crop(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            records = cache.load(caches(Path(folder)) / "few")
            rng = np.random.default_rng(7)
            maps = np.zeros((len(records), packs.JOINTS, taught.CELLS, taught.CELLS), np.float32)
            for i in range(len(records)):
                x0, y0, x1, y1 = (float(v) for v in records.box[i])
                side = taught.SIDE * max(x1 - x0, y1 - y0)
                matrix = crop_matrix(((x0 + x1) / 2, (y0 + y1) / 2), side, taught.CELLS * taught.STRIDE)
                cells = np.rint((move_joints(records.joints[i], matrix) + 0.5) / taught.STRIDE - 0.5).astype(
                    int
                )
                maps[i, np.arange(packs.JOINTS), cells[:, 1], cells[:, 0]] = 1
            stored = np.stack([teach.stored(m) for m in maps])
            flips, errors = set(), []
            for k in range(30):
                i = k % len(records)
                crop = loosely(records.picture(i), records.joints[i], PLAIN, 128, rng)
                target, believed = taught.warped(stored, records, i, crop)
                sure = (crop.sample.inside > 0) & (believed > 0.5)
                peaks = target.flatten(1).argmax(dim=1).numpy()
                xy = (np.stack([peaks % 32, peaks // 32], axis=1) + 0.5) * 4 - 0.5
                errors += list(np.abs(xy - crop.sample.xy)[sure].max(axis=1))
                np.testing.assert_allclose(target[sure].sum(dim=(1, 2)).numpy(), 1, atol=1e-4)
                self.assertEqual(float(believed[crop.sample.outside > 0].sum()), 0.0)
                flips.add(crop.flip)
            self.assertEqual(flips, {False, True})
            self.assertGreater(len(errors), 200)
            self.assertLess(max(errors), 6.0)

    def test_nothing_is_asked_for_where_the_picture_ends_inside_the_crop(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            records = cache.load(caches(Path(folder)) / "few")
            records.joints[0, packs.BODY, 2] = 0
            whole = loosely(records.picture(0), records.joints[0], PLAIN, 128, np.random.default_rng(0))
            maps = np.zeros((len(records), packs.JOINTS, taught.CELLS, taught.CELLS), np.uint8)
            maps[:, :, 30:34, 30:34] = 255  # the teacher is sure of a body that nobody labelled
            target, believed = taught.warped(maps, records, 0, whole)
            self.assertGreater(float(believed[packs.BODY].min()), 0.4)
            row, column = divmod(int(target[-1].argmax()), 32)
            for axis, at in enumerate((column, row)):
                end = np.full(2, 127.5, np.float32)
                end[axis] = 4 * (at - 3)
                cut = replace(whole, high=end)
                _, believed = taught.warped(maps, records, 0, cut)
                self.assertEqual(float(believed[packs.BODY].sum()), 0.0)

    def test_a_teacher_that_disagrees_with_a_label_is_not_believed(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            records = cache.load(caches(Path(folder)) / "few")
            maps = np.zeros((len(records), packs.JOINTS, taught.CELLS, taught.CELLS), np.uint8)
            maps[:, :, 0, 0] = 255  # a corner, where nobody's joint is
            crop = loosely(records.picture(0), records.joints[0], PLAIN, 128, np.random.default_rng(8))
            _, believed = taught.warped(maps, records, 0, crop)
            self.assertEqual(float(believed.sum()), 0.0)


class Still:
    """A teacher that knows where each dot is; stops after some persons."""

    names: tuple[str, ...] = ("movenet_thunder",)

    def __init__(self, records: cache.Records, first: int, stop: int) -> None:
        self.records, self.at, self.stop = records, first, stop

    def maps(self, pixels: packs.Pixels, box: packs.Floats) -> packs.Floats:
        if self.at == self.stop:
            raise InterruptedError
        i, self.at = self.at, self.at + 1
        x0, y0, x1, y1 = (float(v) for v in box)
        side = taught.SIDE * max(x1 - x0, y1 - y0)
        matrix = crop_matrix(((x0 + x1) / 2, (y0 + y1) / 2), side, taught.CELLS * taught.STRIDE)
        at = (move_joints(self.records.joints[i], matrix) + 0.5) / taught.STRIDE - 0.5
        grid = np.arange(taught.CELLS)
        apart = (grid[None, :, None] - at[:, 1, None, None]) ** 2 + (grid - at[:, 0, None, None]) ** 2
        maps = np.exp(-apart / 2).astype(np.float32)
        maps[3] = 1  # of one joint it knows nothing
        return maps / maps.sum(axis=(1, 2), keepdims=True)


class Relabelling(unittest.TestCase):
    def test_maps_become_labels_where_the_teacher_is_sure_and_stopping_loses_nothing(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = caches(Path(name)) / "few"
            records = cache.load(folder)
            with mock.patch.object(teach, "EVERY", 2):
                with self.assertRaises(InterruptedError):
                    teach.teach(folder, Still(records, 0, 3))
                self.assertEqual(json.loads((folder / "maps.at").read_text())["done"], 2)
                other = Still(records, 2, 6)
                other.names = ("keypoints-large",)
                with self.assertRaisesRegex(SystemExit, "movenet_thunder taught the first 2 persons"):
                    teach.teach(folder, other)
                self.assertFalse((folder / "teachers.json").exists(), "nobody taught these maps to the end")
                teach.teach(folder, Still(records, 2, 6))
            self.assertFalse((folder / "maps.at").exists())
            with mock.patch(
                "sys.argv", ["relabel", "--cache", str(folder), "--sheet", str(folder / "sheet.png")]
            ):
                relabel.main()
                relabel.main()
            joints = cache.load(folder).joints
            self.assertEqual(float(joints[:, 3].sum()), 0.0)
            labelled = np.ones((len(records), packs.JOINTS), bool)
            labelled[:, 3] = False
            labelled[[relabel.from_behind(known) for known in records.joints], packs.FACE] = False
            np.testing.assert_array_equal(joints[..., 2] == 2, labelled)
            np.testing.assert_allclose(joints[labelled, :2], records.joints[labelled, :2], atol=1.5)
            self.assertTrue((folder / "sheet.png").exists())

    def test_a_person_seen_from_behind_gets_no_face(self) -> None:
        found = np.ones((packs.JOINTS, 3), np.float32)
        found[:, :2] = np.random.default_rng(0).uniform(30, 70, (packs.JOINTS, 2))
        found[[5, 6, 11, 12], :2] = [(60, 20), (20, 20), (50, 80), (30, 80)]
        shape = np.array([100, 100], np.int32)
        self.assertTrue((relabel.labels(found, shape)[:, 2] == 2).all())
        found[[5, 6, 11, 12], 0] = 100 - found[[5, 6, 11, 12], 0]
        joints = relabel.labels(found, shape)
        np.testing.assert_array_equal(joints[packs.FACE], 0)
        np.testing.assert_array_equal(joints[packs.BODY, 2], 2)

    def test_whoever_networks_are_measured_on_keeps_their_labels(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = caches(Path(name)) / "few"
            with np.load(folder / "index.npz") as kept:
                index = {k: kept[k] for k in kept.files}
            index["split"] = np.array(
                [cache.SPLITS.index(s) for s in ("train", "val", "calib", *3 * ("train",))], np.int8
            )
            np.savez(folder / "index.npz", **index)
            before = cache.load(folder)
            teach.teach(folder, Still(before, 0, 6))
            for _ in range(2):
                with mock.patch("sys.argv", ["relabel", "--cache", str(folder)]):
                    relabel.main()
                joints = cache.load(folder).joints
                np.testing.assert_array_equal(joints[1:3], before.joints[1:3])
                self.assertEqual(float(joints[[0, 3, 4, 5], 3, 2].sum()), 0.0)

    def test_what_a_research_teacher_taught_is_no_class_b(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = caches(Path(name))
            np.save(folder / "few" / "maps.npy", np.zeros((6, packs.JOINTS, 64, 64), np.uint8))
            (folder / "few" / "teachers.json").write_text('["movenet_thunder", "keypoints-small"]')
            taught_by = (Source("few", 1.0, taught=0.5),)
            with self.assertRaisesRegex(LicenceError, "keypoints-small"):
                Mixture(config(sources=taught_by), folder, 0)
            (folder / "few" / "teachers.json").write_text('["movenet_thunder"]')
            Mixture(config(sources=taught_by), folder, 0)

    def test_a_cache_of_other_persons_keeps_no_maps_and_takes_none(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            few = caches(Path(name)) / "few"
            for derived in cache.DERIVED:
                (few / derived).touch()
            caches(Path(name), persons=5)
            self.assertEqual({path.name for path in few.iterdir()}, {"index.npz", "pixels.bin"})
            np.save(few / "maps.npy", np.zeros((6, packs.JOINTS, 64, 64), np.uint8))
            (few / "teachers.json").write_text('["movenet_thunder"]')
            with self.assertRaisesRegex(ValueError, "of 6 persons, the cache of 5"):
                Mixture(config(sources=(Source("few", 1.0, taught=0.5),)), few.parent, 0)
            words = ["relabel", "--cache", str(few)]
            with mock.patch("sys.argv", words), self.assertRaisesRegex(ValueError, "of 6 persons"):
                relabel.main()
            np.save(few / "maps.npy", np.zeros((5, packs.JOINTS, 64, 64), np.uint8))
            with np.load(few / "index.npz") as index:
                np.savez(few / "index-before.npz", **{k: index[k][:4] for k in index.files})
            with mock.patch("sys.argv", words), self.assertRaisesRegex(SystemExit, "of other persons"):
                relabel.main()


class LongRun(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_a_cache_of_a_worse_class_is_refused(self) -> None:
        caches(self.folder, "pelota")
        with self.assertRaisesRegex(LicenceError, "pelota"):
            Mixture(config(), self.folder, 0)
        Mixture(config("c"), self.folder, 0)

    def test_a_batch_depends_on_its_number_alone(self) -> None:
        caches(self.folder)
        first, again = (Mixture(config(), self.folder, n).batch(3, 32) for n in (0, 2))
        self.assertTrue(torch.equal(first.images, again.images))
        self.assertTrue(torch.equal(first.xy, again.xy))

    def test_batches_take_turns_at_the_sizes_of_their_stage(self) -> None:
        several = config(sizes=((0, 32), (4, 64, 32, 96)))
        self.assertEqual([several.size(crops) for crops in range(0, 14, 2)], [32, 32, 96, 64, 32, 96, 64])
        self.assertEqual((several.largest(2), several.largest(4)), (32, 96))
        caches(self.folder)
        drawn = iter(Mixture(several, self.folder, 2))
        self.assertEqual([next(drawn).images.shape[1] for _ in range(3)], [96, 64, 32])

    def test_a_configuration_like_another_says_only_what_differs(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            sources = "".join(f'[[sources]]\ncache = "{c}"\nshare = 1.0\n' for c in ("one", "two"))
            (folder / "base.toml").write_text(f'name = "base"\nlicence = "c"\nseed = 3\n{sources}')
            other = folder / "other.toml"
            other.write_text('like = "base.toml"\nname = "other"\nwithout = ["two"]\n')
            base, loaded = load_config(folder / "base.toml"), load_config(other)
            self.assertEqual(loaded, replace(base, name="other", sources=base.sources[:1]))
            other.write_text('like = "base.toml"\nname = "other"\nwithout = ["three"]\n')
            with self.assertRaisesRegex(ValueError, "other.toml: without three"):
                load_config(other)

    def test_in_crops_of_nobody_every_joint_is_absent(self) -> None:
        caches(self.folder)

        def entries() -> Iterator[gather.Entry]:
            for k in range(4):
                data = cv2.imencode(".png", np.full((90, 80, 3), 60 + k, np.uint8))[1].tobytes()
                yield gather.Entry(f"{k}.png", data, (90, 80), [], "made up")

        gather.write(entries(), self.folder / "packs" / "coco_nobody", "coco_nobody", Counter())
        with mock.patch.dict(packs.NAMED, {"coco_nobody": {"0.png": "val"}}):
            cache.build(self.folder / "packs", self.folder / "none", ("coco_nobody",))
        mixture = Mixture(config(empty="none", empty_chance=1.0), self.folder, 0)
        self.assertEqual(mixture.nobody.tolist(), [1, 2, 3], "whoever judges presence is not learned from")
        batch = mixture.batch(0, 32)
        self.assertEqual(float(batch.weight.sum()), 0.0)
        self.assertAlmostEqual(float(batch.outside.min()), 0.2, places=5)

    def test_it_goes_on_where_it_was_and_an_anneal_ends_it(self) -> None:
        caches(self.folder)
        out = self.folder / "run"
        steady.train(config(), self.folder, out, minutes=0.0, workers=0)
        steady.train(config(), self.folder, out, minutes=0.0, workers=0)
        state = torch.load(out / "checkpoint.pt", weights_only=True)
        self.assertEqual((state["step"], state["crops"], state["anneal_from"]), (2, 4, -1))
        other = self.folder / "anneal"
        steady.train(config(), self.folder, other, anneal=6, begin=out / "checkpoint.pt", workers=0)
        state = torch.load(other / "checkpoint.pt", weights_only=True)
        self.assertEqual((state["crops"], state["anneal_from"]), (10, 4))
        rows = [json.loads(line) for line in (other / "log.jsonl").read_text().splitlines()]
        self.assertEqual((rows[-1]["crops"], rows[-1]["size"]), (10, 64))

    def test_a_run_that_was_stopped_while_it_warms_up_is_the_run_that_was_not(self) -> None:
        caches(self.folder)
        warming, begin, whole, broken = (
            config(warmup_crops=40),
            self.folder / "begin.npz",
            self.folder / "whole",
            self.folder / "broken",
        )
        torch.manual_seed(5)
        checkpoints.store(KeypointNet(TINY).state_dict(), 1000, begin, ["coco_subset"])
        steady.train(warming, self.folder, whole, until=1010, begin=begin, workers=0)
        for _ in range(5):
            steady.train(warming, self.folder, broken, minutes=0.0, begin=begin, workers=0)
        one, other = (torch.load(out / "checkpoint.pt", weights_only=True) for out in (whole, broken))
        self.assertEqual((one["crops"], one["warm_from"]), (1010, 1000))
        self.assertEqual((other["crops"], other["warm_from"]), (1010, 1000))
        self.assertAlmostEqual(other["optimiser"]["param_groups"][0]["lr"], 10 / 40 * warming.learning_rate)
        for kind in ("model", "ema"):
            for name, value in one[kind].items():
                self.assertTrue(torch.equal(value, other[kind][name]), f"{kind} {name}")
        del other["warm_from"], other["arithmetic"]
        torch.save(other, broken / "checkpoint.pt")
        steady.train(warming, self.folder, broken, minutes=0.0, workers=0)
        self.assertEqual(
            torch.load(broken / "checkpoint.pt", weights_only=True)["warm_from"], 0, "an old one"
        )

    def test_a_run_goes_on_in_the_arithmetic_that_it_began_in(self) -> None:
        caches(self.folder)
        out = self.folder / "run"

        def run(**options: str) -> str:
            steady.train(config(), self.folder, out, minutes=0.0, workers=0, **options)  # type: ignore[arg-type]
            rows = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
            kept = torch.load(out / "checkpoint.pt", weights_only=True)["arithmetic"]
            self.assertEqual(rows[-1]["arithmetic"], kept)
            return str(kept)

        with (
            mock.patch.object(precision, "multiplies_bf16", return_value=True),
            mock.patch.object(precision._Settled, "arithmetic", "f32"),
        ):
            self.assertEqual(run(arithmetic="bf16"), "bf16")
            precision.settle("f32")
            self.assertEqual(run(), "bf16", "whatever else would be quicker now")
            self.assertEqual(run(arithmetic="f32"), "f32", "unless it is told otherwise")

    def test_runs_to_compare_differ_in_their_sources_alone(self) -> None:
        runs = mixing.arms(
            config(sources=(Source("few", 0.6), Source("more", 0.2), Source("made", 0.2))), "made"
        )
        self.assertEqual([s.cache for s in runs["30% real"][0]], ["few", "more"])
        self.assertEqual({s.part for s in runs["30% real"][0]}, {0.3})
        mixed = {s.cache: round(s.share, 3) for s in runs["30% real, mixed"][0]}
        self.assertEqual(mixed, {"few": 0.375, "more": 0.125, "made": 0.5})
        first, second = runs["rendered, then 100% real"]
        self.assertEqual(([s.cache for s in first], [s.cache for s in second]), (["made"], ["few", "more"]))
        ids = np.arange(100)
        self.assertLess(set(some(ids, 0.1)), set(some(ids, 0.3)))

    def test_the_compact_checkpoint_is_gone_on_from(self) -> None:
        caches(self.folder)
        out, compact = self.folder / "run", self.folder / "tiny.npz"
        ema = steady.train(config(), self.folder, out, minutes=0.0, workers=0)
        checkpoints.store(ema.state_dict(), 2, compact)
        weights, crops = checkpoints.load(compact)
        self.assertEqual(crops, 2)
        for name, value in ema.state_dict().items():
            torch.testing.assert_close(weights[name], value, atol=2e-3, rtol=2e-3)
        text = checkpoints.card(
            compact, "tiny", 2, checkpoints.sources(config(), self.folder), {"crops": 2}, "go"
        )
        self.assertIn("coco_subset (6 persons); class (b)", text)
        self.assertIn("not annealed", text)
        with self.assertRaisesRegex(LicenceError, "nothing says what these weights learned from"):
            steady.train(config(), self.folder, self.folder / "on", minutes=0.0, begin=compact, workers=0)
        compact.with_suffix(".md").write_text(text)
        self.assertEqual(checkpoints.learned_from(compact), ("coco_subset",))
        steady.train(config(), self.folder, self.folder / "on", minutes=0.0, begin=compact, workers=0)
        checkpoints.store(ema.state_dict(), 2, compact, ["pelota"])
        with self.assertRaisesRegex(LicenceError, "pelota"):
            steady.train(config(), self.folder, self.folder / "other", minutes=0.0, begin=compact, workers=0)
        state = torch.load(self.folder / "on" / "checkpoint.pt", weights_only=True)
        self.assertEqual(state["crops"], 4)
        halves = checkpoints.mean({"a": torch.ones(2), "n": torch.tensor(7)}, {"a": torch.zeros(2)}, 0.25)
        self.assertEqual((halves["a"].tolist(), int(halves["n"])), ([0.25, 0.25], 7))
        mean = self.folder / "mean.npz"
        words = ["checkpoints", str(out / "checkpoint.pt"), str(mean), "--mean-with", str(compact)]
        with mock.patch.object(sys, "argv", words):
            checkpoints.main()
        self.assertEqual(checkpoints.load(mean)[1], 2)
        self.assertEqual(checkpoints.learned_from(mean), ("coco_subset", "pelota"))

    def test_what_ships_names_what_it_learned_from_and_was_measured(self) -> None:
        named = {f"{k}.png": "val" for k in range(0, 80, 12)} | {
            f"{k}.png": "calib" for k in range(7, 80, 36)
        }
        with mock.patch.dict(packs.NAMED, {"coco_more": named}):
            caches(self.folder, "coco_more", persons=80)
        config_file = self.folder / "tiny.toml"
        config_file.write_text(
            'name = "tiny"\nlicence = "b"\nbatch = 2\nsizes = [[0, 32]]\nval = ["few"]\n'
            '[[sources]]\ncache = "few"\nshare = 1.0\n'
            "[net]\nwidths = [8, 8, 8, 8, 8]\nblocks = [0, 0, 0, 0]\npyramid = [8, 8]\n"
        )
        out = self.folder / "run"
        steady.train(load_config(config_file), self.folder, out, minutes=0.0, workers=0)
        words = [
            "ship",
            str(config_file),
            "--caches",
            str(self.folder),
            "--weights",
            str(out / "checkpoint.pt"),
            "--size",
            "64",
        ]
        places = [f"--{kind}={self.folder / kind}" for kind in ("work", "models", "quant")]
        with mock.patch("sys.argv", words + places), contextlib.redirect_stdout(io.StringIO()):
            ship.main()
        manifest = tomllib.loads((self.folder / "models" / "keypoints-tiny.toml").read_text())
        network = (self.folder / "models" / manifest["file"]).read_bytes()
        self.assertEqual(manifest["sha256"], hashlib.sha256(network).hexdigest())
        card = manifest["card"]
        self.assertEqual((card["data"], card["train_pictures_seen"]), (["coco_more"], 2))
        self.assertNotIn("research", card["licence"])
        self.assertEqual({m["precision"] for m in card["metrics"]}, {"int8", "f32"})
        records = cache.load(self.folder / "few")
        self.assertEqual(card["metrics"][0]["persons"], len(records.where("val", ("coco_more",))))
        self.assertNotIn("flip_test", manifest["codec"])
        twice = [f"--models={self.folder / 'twice'}", "--looks", "tiny=2", "tiny-once=1"]
        with mock.patch("sys.argv", words + places + twice), contextlib.redirect_stdout(io.StringIO()):
            ship.main()
        looks_twice = {}
        for written in (self.folder / "twice").glob("*.toml"):
            said = tomllib.loads(written.read_text())
            self.assertEqual(said["file"], "keypoints-tiny.onnx", "one file for both")
            looks_twice[said["name"]] = said["codec"].get("flip_test", False)
        self.assertEqual(looks_twice, {"tiny": True, "tiny-once": False})
        wrong = mock.patch("sys.argv", [*words, "--looks", "tiny=3"])
        with wrong, contextlib.redirect_stderr(io.StringIO()) as told, self.assertRaises(SystemExit):
            ship.main()
        self.assertIn("'tiny=3' is not NAME=1 or NAME=2", told.getvalue())

    def test_committed_configurations_load(self) -> None:
        for path in (CONFIGS / "steady").glob("*.toml"):
            self.assertEqual(load_config(path).name, path.stem)


if __name__ == "__main__":
    unittest.main()
