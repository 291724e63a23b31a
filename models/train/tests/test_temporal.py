"""Labels that trail their film, the files of clips and weights, and how answers are read."""

from __future__ import annotations

import copy
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch

from posetrain.data.packs import MIRROR
from posetrain.paths import REPOSITORY
from posetrain.temporal import between, clip_set, detect, weights
from posetrain.temporal.answers import SHIPPED_SMOOTHNESS, held, places_px
from posetrain.temporal.calibrate import of_bank
from posetrain.temporal.clip_set import Clip, ClipSet
from posetrain.temporal.frames import MIX, frame
from posetrain.temporal.model import OUTPUTS, Answer, Hyper, TemporalXl, read
from posetrain.temporal.motion import Truth
from posetrain.temporal.noise import Real, begin_exchanged, cut_off, hide, later
from posetrain.temporal.warp import warp


class Crops(unittest.TestCase):
    def test_after_the_first_no_label_says_where_to_look(self) -> None:
        rng = np.random.default_rng(0)
        pictures = [rng.integers(0, 255, (60, 80, 3), np.uint8) for _ in range(10)]
        labels = [
            {"keypoints": [30.0, 30.0, 2.0] * 17, "bbox": [20.0 + t, 10.0, 20.0, 40.0]} for t in range(10)
        ]
        clip = {"split": "val", "name": "a", "tier": 1}
        asked: list[tuple[float, float, float]] = []

        def detector(_: object, centre: np.ndarray, side: float) -> tuple[np.ndarray, np.ndarray]:
            asked.append((float(centre[0]), float(centre[1]), side))
            lost = len(asked) == 4
            corners = np.array([[10, 20], [30, 50]] * 9, np.float32)[:17]
            return corners, np.full(17, 0.1 if lost else 0.9, np.float32)

        with mock.patch.object(detect, "films", lambda _: [(clip, pictures, labels)]):
            detect.run(detector, Path(), "val")
        self.assertEqual(asked[0], (30, 30, 50), "the first crop is given")
        self.assertEqual(asked[1], (20, 35, 42))
        self.assertEqual(asked[4], (40, 30, 80), "lost: the whole picture, not the labelled box")
        self.assertEqual(asked[5], (20, 35, 42))


class Labels(unittest.TestCase):
    def bank(self, xy: np.ndarray, smoothed: np.ndarray, every: float = 1.0, **more: Any) -> Path:
        """A bank of one film, a frame after so many nominal frames, seen at xy [T,17,2] where the labels say `smoothed`."""
        path = Path(self.enterContext(tempfile.TemporaryDirectory())) / "z.npz"
        frames = len(xy)
        np.savez(
            path,
            offset=[0, frames],
            tier=[1],
            name=["film_run_f_nm_x"],
            time=every * np.arange(frames, dtype=np.float32),
            xy=xy,
            score=np.ones((frames, 17)),
            smoothed=smoothed,
            known=np.ones((frames, 17), bool),
            extent=np.full(frames, 80.0),
            label=smoothed,
            error=xy - smoothed,
            **more,
        )
        return path

    def test_later_moves_along_a_steady_motion_and_stays_at_its_end(self) -> None:
        xy = np.arange(6, dtype=np.float32)[:, None, None] * np.ones((6, 17, 2), np.float32)
        self.assertTrue(np.allclose(later(xy, 0.25)[:5, 3, 1], np.arange(5) + 0.25))
        self.assertEqual(later(xy, 0.25)[5, 0, 0], 5)

    def test_a_detector_without_error_is_behind_nothing_either_way(self) -> None:
        """A detector that is exact, labels 0.2 frame late: the truth that lanes are given lies `lag` behind what was seen."""
        frames, speed, late, lag = 40, 3.0, 0.2, 0.1
        at = np.arange(frames, dtype=np.float32)
        joints = np.random.default_rng(0).uniform(0, 80, (17, 2)).astype(np.float32)
        xy = joints + speed * at[:, None, None]
        path = self.bank(xy, xy - late * speed)
        real = Real([path], late, lag)
        self.assertTrue(real.clips, "the film of this name is one that training learns from")
        truth, seen, _ = real.lanes(np.random.default_rng(1), 4, 60)
        for lane in range(4):
            step = np.diff(seen[lane, :, 0], axis=0)
            dt = np.diff(truth.times[lane])
            behind = (
                np.einsum("ti,ti->t", seen[lane, 1:, 0] - truth.xy[lane, 1:, 0, 0], step)
                / np.maximum((step**2).sum(-1), 1e-9)
                * dt
            )
            # In frames of the lane's own clock; where the film turns round or ends the motion is none.
            inner = behind[2:-2]
            self.assertAlmostEqual(float(np.median(inner)), lag, delta=0.03)

    def test_a_hurried_lane_goes_two_or_three_frames_of_the_film_at_a_time(self) -> None:
        frames, speed = 61, 3.0
        at = np.arange(frames, dtype=np.float32)
        xy = np.ones((frames, 17, 2), np.float32) * speed * at[:, None, None]
        path = self.bank(xy, xy)
        steps = {}
        for hurried in (0.0, 1.0):
            truth, seen, _ = Real([path], 0.0, 0.0, hurried=hurried).lanes(np.random.default_rng(2), 8, 20)
            moved = np.linalg.norm(np.diff(seen[:, :, 0], axis=1), axis=-1) / (speed * np.sqrt(2))
            steps[hurried] = {int(v) for v in np.rint(np.median(moved, axis=1))}
            gaps = np.diff(truth.times, axis=1)
            self.assertTrue((gaps > 0.79).all() and (gaps < 1.26).all(), "the camera is as fast as it was")
        self.assertEqual(steps, {0.0: {1}, 1.0: {2, 3}})

    def test_only_films_say_when_their_frames_were_taken(self) -> None:
        """J-HMDB's pictures are repeated now and then, and `detect` leaves those out: what is left moves evenly."""
        xy = np.zeros((40, 17, 2), np.float32)
        for more, gap in (({}, 1.0), ({"seen": np.ones((40, 17), bool)}, 2.0)):
            path = self.bank(xy, xy, every=2.0, **more)
            (clip,) = Real([path], 0.0, 0.0).clips
            np.testing.assert_allclose(np.diff(clip["time"]), gap)
            (clip_between,) = between.load(path, everything=True)
            np.testing.assert_allclose(np.diff(clip_between.times), gap)
            asked: list[np.ndarray] = []

            def of(truth: Truth, *_: np.ndarray, asked: list[np.ndarray] = asked) -> list[np.ndarray]:
                asked.append(truth.times[0])
                return [truth.times]

            of_bank(path, lambda _: True, str, of)
            np.testing.assert_allclose(np.diff(asked[0]), gap)

    def test_the_lower_edge_of_the_picture_is_drawn_by_joints_that_somebody_labelled(self) -> None:
        lanes, frames = 60, 200
        heights = np.r_[np.zeros(5), np.linspace(100, 200, 12)]  # the face of nobody knows where
        xy = np.zeros((lanes, frames, 17, 2), np.float32)
        xy[..., 1] = heights
        valid = np.ones((lanes, frames, 4, 17), bool)
        valid[..., :5] = False
        truth = Truth(
            np.tile(np.arange(float(frames)), (lanes, 1)),
            xy[:, :, None].repeat(4, 2),
            valid,
            np.zeros((lanes, frames, 17, 3), np.float32),
            np.zeros(lanes, bool),
            np.full((lanes, frames), 100.0, np.float32),
        )
        score = np.ones((lanes, frames, 17), np.float32)
        hide(np.random.default_rng(5), truth, xy, score)
        gone = (score == 0).all(1)
        self.assertFalse(gone[:, heights < 145].any(), "the cut is at the middle of the body or below it")
        self.assertTrue(1 < gone.any(1).sum() < 20)


class Sides(unittest.TestCase):
    def test_of_a_lane_cut_off_no_leg_is_seen_or_asked_for(self) -> None:
        rng = np.random.default_rng(3)
        b, t = 60, 20
        truth = Truth(
            times=np.tile(np.arange(t, dtype=np.float64), (b, 1)),
            xy=np.zeros((b, t, 4, 17, 2), np.float32),
            valid=np.ones((b, t, 4, 17), bool),
            xyz=np.zeros((b, t, 17, 3), np.float32),
            lifted=np.zeros(b, bool),
            extent=np.ones((b, t), np.float32),
        )
        score = np.ones((b, t, 17))
        cut_off(rng, 0.5, truth, score)
        unseen = (score == 0).all(axis=1)
        counts = unseen.sum(axis=1)
        self.assertEqual(set(counts.tolist()), {0, 4, 6}, "knees and ankles; hips, too")
        self.assertTrue(18 < (counts > 0).sum() < 42, "half of the lanes")
        self.assertTrue(unseen[counts > 0][:, 13:].all())
        np.testing.assert_array_equal(truth.valid.any(axis=(1, 2)), ~unseen)

    def test_a_joint_that_was_never_surely_seen_moves_nothing(self) -> None:
        rng = np.random.default_rng(4)
        times = np.arange(30, dtype=np.float64)[None]
        xy = rng.uniform(0, 200, (1, 30, 17, 2)).astype(np.float32)
        seen = {}
        for said in (0.0, 0.19, 0.2):
            score = np.full((1, 30, 17), 0.9, np.float32)
            score[:, :, 13:] = said
            seen[said] = frame(times, xy, score, np.full(1, 0.5))
        np.testing.assert_array_equal(seen[0.0].features, seen[0.19].features)
        self.assertFalse(seen[0.19].present[..., 13:].any())
        self.assertTrue(seen[0.2].present.all())
        self.assertTrue((seen[0.0].features != seen[0.2].features).any())

    def test_a_lane_that_begins_exchanged_is_right_after_a_second(self) -> None:
        rng = np.random.default_rng(2)
        was, sure = rng.uniform(0, 99, (40, 50, 17, 2)).astype(np.float32), rng.random((40, 50, 17))
        xy, score = was.copy(), sure.copy()
        begin_exchanged(rng, 0.5, xy, score)
        changed = (xy != was).any((2, 3))
        self.assertTrue(8 < changed.any(1).sum() < 32, "half of the lanes")
        self.assertFalse(changed[:, 31:].any())
        self.assertTrue((np.diff(changed.astype(int), axis=1) <= 0).all(), "from the first frame on")
        np.testing.assert_allclose(xy[changed[:, 0], 0], was[changed[:, 0], 0][:, MIRROR], atol=1e-4)
        # On the way over a joint lies between its own place and that of the other side.
        low, high = np.minimum(was, was[:, :, MIRROR]), np.maximum(was, was[:, :, MIRROR])
        self.assertTrue(((xy >= low - 1e-3) & (xy <= high + 1e-3)).all())
        self.assertTrue((score <= np.maximum(sure, sure[:, :, MIRROR])).all())

    def test_a_head_may_anchor_a_joint_where_that_of_the_other_side_was_seen(self) -> None:
        bank = torch.from_numpy(np.random.default_rng(3).random((1, 1, MIX, 17, 2), np.float32))
        y = torch.zeros(1, 1, Hyper(exchange=True).outputs)
        y[..., OUTPUTS + 9] = 50.0  # the left wrist is where the right one was seen
        place, plain = read(y, bank).place[0, 0, 0], read(y[..., :OUTPUTS], bank).place[0, 0, 0]
        torch.testing.assert_close(place[9], bank[0, 0, 0, MIRROR[9]])
        self.assertLess(float((place - plain)[8].abs().max()), 0.01, "of itself it hardly counts")


class Glass(unittest.TestCase):
    def lanes(self, share: float) -> tuple[Truth, Truth, np.ndarray, np.ndarray]:
        """Truth and what was seen, 3 px beside it, before and after."""
        rng = np.random.default_rng(4)
        xy = (300 + 90 * rng.normal(size=(60, 5, 1, 17, 2))).repeat(4, 2).astype(np.float32)
        truth = Truth(
            np.tile(np.arange(5.0), (60, 1)),
            xy,
            np.ones(xy.shape[:-1], bool),
            np.zeros((60, 5, 17, 3), np.float32),
            np.ones(60, bool),
            np.full((60, 5), 300.0, np.float32),
        )
        seen = xy[:, :, 0] + np.float32(3)
        was, saw = copy.deepcopy(truth), seen.copy()
        warp(rng, share, truth, seen)
        return was, truth, saw, seen

    def test_truth_and_what_was_seen_are_warped_alike(self) -> None:
        was, truth, saw, seen = self.lanes(1.0)
        moved, shown = truth.xy - was.xy, seen - saw
        np.testing.assert_allclose(moved[:, :, 0], moved[:, :, 3], atol=1e-3)  # every horizon
        far = np.linalg.norm(moved, axis=-1)
        self.assertTrue(2 < far.mean() < 40, f"parts of a person of 300 px, not {far.mean():.1f} px")
        # 3 px apart they move nearly alike, or the error that was measured would be another
        self.assertLess(float(np.linalg.norm(shown - moved[:, :, 0], axis=-1).max()), 5.0)
        self.assertLess(float(np.linalg.norm(shown - moved[:, :, 0], axis=-1).mean()), 1.0)
        self.assertFalse(truth.lifted.any())

    def test_the_other_lanes_stay_as_they_are(self) -> None:
        was, truth, saw, seen = self.lanes(0.5)
        same = (truth.xy == was.xy).all((1, 2, 3, 4))
        self.assertTrue(15 < same.sum() < 45)
        np.testing.assert_array_equal((seen == saw).all((1, 2, 3)), same)
        np.testing.assert_array_equal(truth.lifted, same)


class Files(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_a_clip_set_is_read_as_it_was_written(self) -> None:
        rng = np.random.default_rng(0)
        truth = rng.uniform(0, 99, (3, 17, 2)).round(3)
        truth[1, 4] = np.nan
        clip = Clip(
            name="a",
            times=np.array([0.0, 1.0, 2.5]),
            extent_px=np.array([80.0, 81.5, 82.0]),
            xy=rng.uniform(0, 99, (3, 17, 2)).astype(np.float32).round(3),
            score=rng.random((3, 17)).astype(np.float32).round(3),
            truth=truth,
            truth_m=None,
            source="film",
        )
        clip_set.write(self.folder / "set.json", ClipSet("set", "keypoints", 1.0, [clip]))
        again = clip_set.read(self.folder / "set.json")
        self.assertEqual((again.name, again.error_model, again.smooth_truth), ("set", "keypoints", 1.0))
        (got,) = again.clips
        self.assertFalse(got.known[1, 4])
        self.assertIsNone(got.truth_m)
        self.assertEqual(got.source, "film")
        np.testing.assert_allclose(got.times, clip.times, atol=1e-4)
        for field in ("extent_px", "xy", "score", "truth"):
            np.testing.assert_allclose(getattr(got, field), getattr(clip, field), err_msg=field)

    def test_weights_are_read_as_they_were_written(self) -> None:
        for exchange in (False, True):
            self.weights_are_read(
                Hyper(width=16, layers=1, heads=2, feed_forward=8, memory=4, exchange=exchange)
            )

    def weights_are_read(self, hyper: Hyper) -> None:
        model = TemporalXl(hyper)
        knobs = {"lead_frames": torch.tensor([0.3]), "sigma_scale": torch.tensor([1.1, 1.2])}
        of_detector = {"error_model.keypoints": torch.tensor([0.1, 1.0, 1.0])}
        path = self.folder / "small.pwt"
        path.write_bytes(weights.pwt(hyper, model.state_dict() | knobs | of_detector))
        again = weights.read_pwt(path)
        self.assertAlmostEqual(again.lead, 0.3, places=6)
        np.testing.assert_allclose(again.widen, [1.1, 1.2], rtol=1e-6)
        for name, value in model.state_dict().items():
            torch.testing.assert_close(again.model.state_dict()[name], value)


class Answers(unittest.TestCase):
    def test_the_smoothness_that_ships_is_the_runtimes(self) -> None:
        said = (REPOSITORY / "crates/temporal/src/learned/mod.rs").read_text()
        self.assertIn(f"DEFAULT_SMOOTHNESS: f32 = {SHIPPED_SMOOTHNESS};", said)

    def test_a_joint_that_is_not_seen_is_held_where_it_was(self) -> None:
        xy = np.arange(4, dtype=np.float32)[:, None, None] * np.ones((4, 17, 2), np.float32)
        seen = np.ones((4, 17), bool)
        seen[1:3, 7] = False
        still = held(xy, seen)
        self.assertEqual(still[:, 7, 0].tolist(), [0, 0, 0, 3])
        self.assertEqual(still[:, 8, 0].tolist(), [0, 1, 2, 3])

    def test_places_are_read_ahead_along_the_horizons(self) -> None:
        """One lane whose answers move by one part of the scale from each horizon to the next."""
        ahead = torch.arange(4, dtype=torch.float32)[:, None, None] * torch.ones(1, 1, 4, 17, 2)
        nothing = torch.zeros(1, 1, 4, 17)
        answer = Answer(ahead, nothing, torch.zeros(1, 1, 17, 3), torch.zeros(1, 1))
        framed = frame(np.zeros((1, 1)), np.full((1, 1, 17, 2), 50.0), np.ones((1, 1, 17)), np.zeros(1))
        now, led = (places_px(framed, answer, lead)[0, 0, :, 0, 0] for lead in (0.0, 0.75))
        np.testing.assert_allclose(led - now, 0.5 * framed.scale_px[0, 0], rtol=1e-5)


if __name__ == "__main__":
    unittest.main()
