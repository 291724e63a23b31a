"""The keypoint network: codec, sides, scores, a whole small run, resuming; needs no data."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import tomllib
import unittest
from dataclasses import asdict, replace
from pathlib import Path
from unittest import mock

import numpy as np
import torch

from posetrain.data import packs, synthetic
from posetrain.data.augment import plain_crop
from posetrain.inference import as_input, session
from posetrain.keypoints import make, peers, quantise, scores, sides, train
from posetrain.keypoints.calibrate import Calibration, expected_calibration_error, fit
from posetrain.keypoints.codec import HeatmapCodec
from posetrain.keypoints.config import Run, configured
from posetrain.keypoints.evaluate import Measured, errors_of_scores, with_errors, with_row
from posetrain.keypoints.manifest import ABOUT_ERRORS
from posetrain.keypoints.net import KeypointNet, NetConfig
from posetrain.paths import REPOSITORY
from posetrain.resumed import as_kept, completed, require_same


class Codec(unittest.TestCase):
    def test_target_decodes_to_its_position(self) -> None:
        codec = HeatmapCodec()
        xy = torch.tensor([[[30.2, 41.7], [64.0, 80.9]]])
        rows, columns = codec.targets(xy, (40, 40))
        maps = torch.log(rows[:, :, :, None] * columns[:, :, None, :] + 1e-12)
        found, _ = codec.decode_batch(maps)
        self.assertLess(float((found - xy).abs().max()), 0.6)

    def test_one_by_one_equals_batch(self) -> None:
        maps = np.random.default_rng(0).normal(0, 3, (5, 17, 24, 20)).astype(np.float32)
        codec = HeatmapCodec()
        xy, feature = codec.decode_batch(torch.from_numpy(maps))
        for i in range(5):
            one_xy, one_feature = codec.decode(maps[i])
            np.testing.assert_allclose(one_xy, xy[i].numpy(), atol=1e-3)
            np.testing.assert_allclose(one_feature, feature[i].numpy(), atol=1e-3)

    def test_loss_is_least_at_the_target(self) -> None:
        codec = HeatmapCodec()
        xy = torch.tensor([[[30.0, 40.0]]])
        rows, columns = codec.targets(xy, (20, 20))
        right = torch.log(rows[:, :, :, None] * columns[:, :, None, :] + 1e-12)
        one, none = torch.ones(1, 1), torch.zeros(1, 1)
        best = codec.loss(right, xy, one, none)
        self.assertLess(float(best), float(codec.loss(right, xy + 8, one, none)))
        self.assertLess(float(best), float(codec.loss(torch.zeros_like(right), xy, one, none)))

    def test_taught_loss_is_least_at_the_teacher(self) -> None:
        codec, weight = HeatmapCodec(), torch.tensor([[1.0, 0.0]])
        maps = torch.from_numpy(np.random.default_rng(1).normal(0, 2, (1, 2, 8, 8)).astype(np.float32))
        target = maps.flatten(2).softmax(2).view_as(maps)
        at_teacher = codec.taught_loss(maps, target, weight)
        self.assertLess(float(at_teacher), float(codec.taught_loss(maps * 1.1, target, weight)))
        self.assertLess(float(at_teacher), float(codec.taught_loss(maps * 0.9, target, weight)))
        other = torch.cat([maps[:, :1], -maps[:, 1:]], 1)
        self.assertEqual(float(codec.taught_loss(other, target, weight)), float(at_teacher), "not labelled")

    def test_golden_vectors_are_this_codec(self) -> None:
        golden = json.loads((REPOSITORY / "tests" / "golden" / "heatmap_codec.json").read_text())
        codec = HeatmapCodec(stride=golden["stride"])
        for case in golden["cases"]:
            self.assertEqual(list(codec.windows(max(case["rows"], case["columns"]))), golden["windows"])
            maps = np.asarray(case["logits"], np.float32).reshape(1, case["rows"], case["columns"])
            xy, feature = codec.decode(maps)
            np.testing.assert_allclose(
                [*xy[0], feature[0]], [case["x"], case["y"], case["feature"]], atol=1e-3
            )


class Sides(unittest.TestCase):
    """Persons of 100 px in upright pictures, facing the camera: their left is on the picture's right."""

    @staticmethod
    def person(mirrored: bool = False) -> np.ndarray:
        joints = np.zeros((17, 3), np.float32)
        for pair, (across, down) in enumerate(((20, 20), (25, 40), (30, 60), (15, 60), (15, 80), (15, 110))):
            joints[5 + 2 * pair] = [50 + across, down, 2]
            joints[6 + 2 * pair] = [50 - across, down, 2]
        return joints[packs.MIRROR] if mirrored else joints

    def test_backs_are_told_from_fronts_and_lying_persons(self) -> None:
        lying = self.person(mirrored=True)
        lying[:, :2] = lying[:, 1::-1]
        persons = np.stack([self.person(), self.person(mirrored=True), lying])
        np.testing.assert_array_equal(sides.from_behind(persons, np.full(3, 100.0)), [False, True, False])

    def test_labels_are_doubted_only_where_all_joints_fit_the_other_way_round(self) -> None:
        labels = np.stack([self.person()] * 3)
        found = np.stack([self.person()[:, :2], self.person(mirrored=True)[:, :2], self.person()[:, :2]])
        found[2, 9:11] = found[2, [10, 9]]  # one pair of wrists alone
        np.testing.assert_array_equal(sides.exchanged(found, labels, np.full(3, 100.0)), [False, True, False])

    def test_backs_are_drawn_as_much_more_often_as_asked(self) -> None:
        records = synthetic.records(40, seed=3)
        ids = records.where("train")
        records.joints[ids] = self.person()
        records.joints[ids[0]] = self.person(mirrored=True)
        records.box[ids] = [0, 0, 100, 100]
        share = sides.shares(records, ids, {}, back_repeat=3.0)
        np.testing.assert_allclose(share[0] / share[1:], 3.0)
        np.testing.assert_allclose(share.sum(), 1.0)


class Scores(unittest.TestCase):
    def test_fitted_scores_are_calibrated(self) -> None:
        rng = np.random.default_rng(1)
        f = rng.normal(0, 2, (3000, 17)).astype(np.float32)
        hit = rng.random(f.shape) < 1 / (1 + np.exp(-(0.5 + 0.8 * f)))
        distance = np.where(hit, 3.0, 40.0).astype(np.float32)
        fitted = fit(f, distance, np.full(3000, 100, np.float32), np.ones(f.shape, bool))
        self.assertLess(expected_calibration_error(fitted.score(f).ravel(), hit.ravel().astype(float)), 0.02)


class WholeRun(unittest.TestCase):
    def test_smoke_trains_exports_quantises_and_writes_a_manifest(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder)
            config = configured("smoke")
            records = synthetic.records(config.synthetic_figures, config.seed)
            train.train(config, records, work / "run", Run(1, 1, 0, config.budget_minutes, 1))
            rows = [json.loads(line) for line in (work / "run" / "log.jsonl").read_text().splitlines()]
            self.assertGreater(rows[-1]["coco_subset@0.2"], rows[0]["coco_subset@0.2"])
            make.finish(config, records, work / "run" / "final.pt", work, work, work, 4)
            written = tomllib.loads((work / "keypoints-smoke.toml").read_text())
            self.assertEqual(written["codec"]["kind"], "heatmap")
            self.assertEqual(len(written["codec"]["score"]["a"]), 17)
            quantise.check(work / "keypoints-smoke.onnx")
            # int8 places joints as f32 does
            crops = np.stack(
                [plain_crop(records.picture(i), records.box[i], config.input)[0] for i in range(8)]
            )
            f32, int8 = (
                quantise_run(work / n, crops) for n in ("keypoints-smoke-f32.onnx", "keypoints-smoke.onnx")
            )
            self.assertLess(float(np.abs(f32 - int8).mean()), 0.05 * float(np.abs(f32).mean()) + 0.5)

    def test_resumed_run_goes_on(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            config = configured("smoke")
            records = synthetic.records(64, config.seed)
            out = Path(folder)
            train.train(config, records, out, Run(1, 1, 0, 0.05, 1))
            first = torch.load(out / "checkpoint.pt", weights_only=True)
            train.train(config, records, out, Run(1, 1, 0, 0.1, 1))
            second = torch.load(out / "checkpoint.pt", weights_only=True)
            self.assertGreater(second["step"], first["step"])
            self.assertGreater(second["spent"], first["spent"])

    def test_a_checkpoint_of_another_configuration_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            config = configured("smoke")
            records = synthetic.records(64, config.seed)
            run = Run(1, 1, 0, 0.05, 1)
            train.train(config, records, Path(folder), run)
            other = replace(config, auxiliary=config.auxiliary + 1)
            with self.assertRaisesRegex(SystemExit, "of another run .auxiliary"):
                train.train(other, records, Path(folder), run)

    def test_a_checkpoint_of_before_a_field_counts_as_of_its_default(self) -> None:
        config = replace(configured("smoke"), repeat={})
        before = as_kept(asdict(config))
        del before["empty_chance"], before["augment"]["aspect"]
        require_same(Path("old.pt"), completed(before, config), asdict(config))
        for name, other in (
            ("empty_chance", replace(config, empty_chance=0.5)),
            ("augment.aspect", replace(config, augment=replace(config.augment, aspect=0.75))),
            ("repeat.pelota", replace(config, repeat={"pelota": 0.5})),
        ):
            with self.assertRaisesRegex(SystemExit, f"of another run .*{name}"):
                require_same(Path("old.pt"), completed(before, config), asdict(other))


def quantise_run(path: Path, crops: np.ndarray) -> np.ndarray:
    s = session(path)
    return np.stack([s.run(None, {"image": as_input(c)})[0][0] for c in crops])


class Network(unittest.TestCase):
    def test_map_is_a_quarter_of_the_input(self) -> None:
        net = KeypointNet(NetConfig(widths=(8, 16, 16, 16, 16), blocks=(0, 1, 1, 1), pyramid=(16, 16))).eval()
        self.assertEqual(tuple(net(torch.zeros(1, 3, 96, 64)).shape), (1, 17, 24, 16))

    def test_what_the_mirror_shows_is_turned_back_with_sides_exchanged(self) -> None:
        net = KeypointNet(NetConfig(widths=(8, 16, 16, 16, 16), blocks=(0, 1, 1, 1), pyramid=(16, 16)))
        torch.nn.init.normal_(net.heatmaps.weight)
        image = torch.from_numpy(np.random.default_rng(2).random((2, 3, 64, 96), np.float32))
        seen = train.seen_in_mirror(net, image.flip(3))
        plain = net.eval()(image).flatten(2).softmax(2).view(2, 17, 16, 24)
        wanted = plain[:, torch.from_numpy(packs.MIRROR.copy())].flip(3)
        torch.testing.assert_close(seen, wanted)
        self.assertGreater(float((seen - plain).abs().max()), 1e-4)


class Shipped(unittest.TestCase):
    def test_the_flip_test_is_taken_from_the_manifest(self) -> None:
        shipped = REPOSITORY / "models" / "keypoints-nano.toml"
        self.assertFalse(peers.Own.of_manifest(shipped).flip_test)
        with tempfile.TemporaryDirectory() as folder:
            twice = Path(folder) / shipped.name
            twice.write_text(shipped.read_text().replace("stride = 4", "stride = 4\nflip_test = true"))
            shutil.copy(shipped.with_suffix(".onnx"), folder)
            self.assertTrue(peers.Own.of_manifest(twice).flip_test)


class Peers(unittest.TestCase):
    def test_ultralights_cells_are_pixels_whose_index_is_a_multiple_of_four(self) -> None:
        maps = np.zeros((1, 17, 64, 48), np.float32)
        maps[:, :, 6, 4] = 1
        system = object.__new__(peers.Ultralight)
        system.session = mock.Mock(run=mock.Mock(return_value=[maps]))
        # Of a picture as large as the network's input, net pixels are the picture's.
        xy = system.joints(np.zeros((256, 192, 3), np.uint8), (95.5, 127.5), 192.0)
        np.testing.assert_allclose(xy, np.tile((16.0, 24.0), (17, 1)))


class Cards(unittest.TestCase):
    def test_errors_of_scores_are_told_of_each_pack_where_one_makes_up_for_another(self) -> None:
        half = Calibration(*(np.zeros(17) for _ in range(4)))

        def of(share: float) -> Measured:
            error = np.where(np.arange(100)[:, None] < 100 * share, 0.0, 0.5) * np.ones((100, 12))
            return Measured(
                error, np.ones_like(error), np.zeros((100, 17), np.float32), np.arange(100).astype(str)
            )

        errors = tomllib.loads(errors_of_scores({"lspet": of(0.4), "jhmdb": of(0.6)}, half))
        self.assertEqual(errors, {"ece": 0.0, "ece_of": {"lspet": 0.1, "jhmdb": 0.1}})

    def test_errors_bring_the_comment_that_says_what_they_are(self) -> None:
        head, lines = "parameters = 1\n", "ece = 0.5\nece_of = { lspet = 0.25 }"
        whole = f"{head}{ABOUT_ERRORS}\n{lines}\n"
        older = ABOUT_ERRORS.partition(": of all packs")[0]
        for before in ("", f"{older}\n", f"{ABOUT_ERRORS}\n"):
            self.assertEqual(with_errors(f"{head}{before}ece = 0.1\n", lines), whole)
        self.assertEqual(with_errors(whole, lines), whole)

    def test_what_was_measured_again_takes_the_place_of_one_row(self) -> None:
        text = (REPOSITORY / "models" / "keypoints-nano.toml").read_text()
        text = re.sub(r"^(pck_\d+ = )\[([\d.]+)\]$", r"\1[\2, 0.0, 1.0]", text, flags=re.MULTILINE)
        before = tomllib.loads(text)["card"]["metrics"]
        at = [i for i, m in enumerate(before) if (m["precision"], m["pack"]) == ("int8", "jhmdb")]
        self.assertEqual(len(at), 1)
        persons = before[at[0]]["persons"]
        error = np.where(np.arange(persons)[:, None] % 4 == 0, 0.5, 0.06) * np.ones((persons, 12))
        groups = np.array([f"film {i % 7}" for i in range(persons)])
        measured = Measured(error, np.ones_like(error), np.zeros((persons, 17), np.float32), groups)
        after = tomllib.loads(with_row(text, "jhmdb", measured))["card"]["metrics"]
        row = after.pop(at[0])
        self.assertEqual(row["pck_05"], [0, 0, 0])
        value, low, high = row["pck_1"]
        self.assertAlmostEqual(value, 0.75, delta=0.01)
        self.assertLess(low, value)
        self.assertLess(value, high)
        rest = before[: at[0]] + before[at[0] + 1 :]
        f32 = next(m for m in rest if (m["precision"], m["pack"]) == ("f32", "jhmdb"))
        # its intervals were those of another measure
        f32 |= {key: value[:1] for key, value in f32.items() if key.startswith("pck")}
        self.assertEqual(after, rest)
        with self.assertRaisesRegex(SystemExit, "no row of 1085 persons of coco_more"):
            with_row(text, "coco_more", measured)


class Films(unittest.TestCase):
    def test_a_film_of_many_clips_counts_as_one(self) -> None:
        keys = np.array(
            [
                f"{action}/{film}_{action}_f_nm_np1_fr_med_{clip}.avi#{k}:{k}"
                for film in ("a", "b")
                for clip, action in enumerate(("jump", "run"))
                for k in range(30)
            ]
        )
        chosen = keys[make.thinned(keys, 8)]
        for film in ("a", "b"):
            frames = [str(k) for k in chosen if f"/{film}_" in str(k)]
            self.assertEqual(len(frames), 8)
            self.assertEqual({k.split("/")[0] for k in frames}, {"jump", "run"})
        self.assertEqual(len(make.thinned(keys[:3], 8)), 3)
        self.assertEqual([str(k)[:6] for k in keys[make.thinned(keys, 1)]], ["run/a_", "run/b_"])


class Refitted(unittest.TestCase):
    def test_a_manifest_takes_new_numbers_and_keeps_all_else(self) -> None:
        for name in ("small", "nano", "base", "large", "small-usable", "base-usable"):
            text = (REPOSITORY / f"models/keypoints-{name}.toml").read_text()
            with self.subTest(name):
                said = tomllib.loads(text)
                fitted = Calibration(*(np.full(17, k / 4) for k in range(4)))
                new = tomllib.loads(scores.rewritten(text, fitted, "ece = 0.5\nece_of = { lspet = 0.25 }"))
                for k, (part, key) in enumerate(
                    (("score", "a"), ("score", "b"), ("sigma", "c"), ("sigma", "d"))
                ):
                    self.assertEqual(new["codec"][part].pop(key), [k / 4] * 17)
                    said["codec"][part].pop(key)
                self.assertEqual((new["card"].pop("ece"), new["card"].pop("ece_of")), (0.5, {"lspet": 0.25}))
                said["card"].pop("ece")
                said["card"].pop("ece_of", None)
                self.assertEqual(new, said)


class Weights(unittest.TestCase):
    def test_finished_weights_are_the_mean_with_those_begun_with_where_asked(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder)

            def run(name: str, value: float) -> Path:
                path = work / f"keypoints-{name}" / "final.pt"
                path.parent.mkdir()
                ema = {"w": torch.full((2,), value), "batches": torch.tensor(int(value))}
                torch.save({"ema": ema}, path)
                return path

            config = configured("small")
            self.assertTrue(config.mean_with_start)
            run(config.start, 1.0)
            checkpoint = run("small", 4.0)
            mean = make.finished(checkpoint, config, work)
            self.assertEqual((mean["w"].tolist(), int(mean["batches"])), ([2.5, 2.5], 4))
            alone = make.finished(checkpoint, replace(config, mean_with_start=False), work)
            self.assertEqual(alone["w"].tolist(), [4.0, 4.0])


if __name__ == "__main__":
    unittest.main()
