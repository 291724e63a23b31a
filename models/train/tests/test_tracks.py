"""Error tracks of films with exact truth: from the program's lines to lanes."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch

from posetrain.temporal import clip_set, tracks
from posetrain.temporal.calibrate import of_bank
from posetrain.temporal.export import between, licence
from posetrain.temporal.learned import sources
from posetrain.temporal.model import Hyper, TemporalXl
from posetrain.temporal.motion import Mocap, Truth
from posetrain.temporal.noise import Bank, Real, tuning
from posetrain.temporal.train import Lanes, read_start
from posetrain.temporal.weights import pwt

SPEED = 3.0  # px a frame
OFF = 2.0  # px to the right of the truth


def track(film: str, answered: list[bool], rate: float = 30.0) -> dict[str, Any]:
    """Somebody who walks steadily to the right, seen OFF px from where they are; wrist 9 is hidden, ankle 16 out of the picture."""
    frames = len(answered)
    joints = np.random.default_rng(0).uniform(0, 80, (17, 2))
    place = joints + np.arange(frames)[:, None, None] * [SPEED * 30 / rate, 0]
    visible = np.full((frames, 17, 1), 2.0)
    visible[:, 9], visible[:, 16] = 1, 0
    observed = np.concatenate([place + np.array([OFF, 0]), np.full((frames, 17, 1), 0.75)], -1)
    return {
        "film": film,
        "id": 1,
        "smooth_truth": 0.0,
        "captured_at_us": [round(t * 1e6 / rate) for t in range(frames)],
        "extent_px": [80.0] * frames,
        "truth": np.concatenate([place, visible], -1).tolist(),
        "truth_3d_m": np.random.default_rng(1).normal(0, 1, (frames, 17, 3)).tolist(),
        "observed": [o.tolist() if yes else None for o, yes in zip(observed, answered, strict=True)],
        "track_id": [7 if yes else None for yes in answered],
    }


def name_of_training() -> str:
    return next(f"rendered {i}" for i in range(99) if not tuning(f"rendered-{i}"))


class Tracks(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def write(self, of: dict[str, Any], name: str = "bank.npz") -> Path:
        """By the command, as it is called."""
        lines, out = self.folder / "tracks.jsonl", self.folder / name
        lines.write_text(json.dumps(of) + "\n")
        said = ["tracks", "--tracks", str(lines), "--out", str(out)]
        with mock.patch.object(sys, "argv", said), contextlib.redirect_stdout(io.StringIO()):
            tracks.main()
        return out

    def test_a_clip_begins_with_an_answer_and_ends_where_somebody_is_given_up(self) -> None:
        answered = (
            [False] * 5 + [True] * 12 + [False] * 20 + [True] * 8 + [False] * 40 + [True] * 11 + [False] * 3
        )
        z = np.load(self.write(track("rendered 1, 1 persons", answered)))
        self.assertEqual(z["offset"].tolist(), [0, 40, 51])
        self.assertEqual(z["name"].tolist(), ["rendered-1"] * 2)
        self.assertEqual(float(z["labels_late"]), 0)
        missed = np.arange(12, 32)
        self.assertTrue((z["score"][missed] == 0).all() and (z["error"][missed] == 0).all())
        self.assertTrue((z["score"][:12] == 0.75).all())
        np.testing.assert_allclose(z["error"][0, 3], [OFF / 80, 0], atol=1e-5)
        self.assertTrue(z["known"][0, :5].all(), "faces are known")
        self.assertEqual((bool(z["known"][0, 9]), bool(z["seen"][0, 9])), (True, False))
        self.assertFalse(z["known"][:, 16].any())
        self.assertTrue((z["error"][:, 16] == 0).all(), "what lies outside the picture has no error")
        np.testing.assert_allclose(z["xyz"][:, [11, 12]].mean(1), 0, atol=1e-6)

    def test_a_set_of_clips_asks_for_whatever_lies_in_the_picture(self) -> None:
        answered = [True] * 12 + [False] * 40 + [True] * 11
        set_of = clip_set.read(self.write(track("rendered 1, 1 persons", answered), "rendered-own-val.json"))
        self.assertEqual(
            (set_of.name, set_of.error_model, set_of.smooth_truth), ("rendered-own-val", "keypoints", 0)
        )
        first, second = set_of.clips
        self.assertEqual((len(first.times), len(second.times), second.times[0]), (12, 11, 0))
        self.assertTrue(first.known[:, :16].all() and not first.known[:, 16].any())
        np.testing.assert_allclose(first.xy[:, 3] - first.truth[:, 3], [[OFF, 0]] * 12, atol=2e-3)

    def test_sigma_is_fitted_on_rendered_films_that_training_leaves_out_too(self) -> None:
        """A model whose sigma is one part of the scale, of people who are seen OFF px from where they are."""
        left_out = next(f"rendered {i}" for i in range(99) if tuning(f"rendered-{i}"))
        path = self.write(track(left_out, [True] * 30))
        asked: list[int] = []

        def ratios_of(truth: Truth, xy: np.ndarray, score: np.ndarray) -> list[np.ndarray]:
            asked.append(truth.times.shape[1])
            off = np.abs(xy - truth.xy[:, :, 0])[truth.valid[:, :, 0]].ravel()
            return [off, off[:0]]

        (film,) = of_bank(path, tuning, str, ratios_of).items()
        self.assertEqual((film[0], asked), (left_out.replace(" ", "-"), [30]))
        self.assertAlmostEqual(float(film[1][0].max()), OFF, delta=1e-3)
        self.assertEqual(of_bank(path, lambda name: not tuning(name), str, ratios_of), {})

    def test_times_are_frames_of_30_hz(self) -> None:
        z = np.load(self.write(track("rendered 1, 1 persons", [True] * 12, rate=10.0)))
        np.testing.assert_allclose(z["time"], 3.0 * np.arange(12), atol=1e-3)

    def test_films_labelled_by_hand_have_the_rows_of_a_detector(self) -> None:
        by_hand = track("walk/a", [True] * 6 + [False] * 2 + [True] * 6) | {
            "smooth_truth": 1.0,
            "truth_3d_m": None,
        }
        for frame in by_hand["truth"]:
            for face in frame[:5]:
                face[2] = 0.0
        z = np.load(self.write(by_hand))
        self.assertFalse({"xyz", "labels_late"} & set(z))
        self.assertEqual(z["name"].tolist(), ["walk/a"], "so the split by film is that of the other files")
        off = np.linalg.norm(z["error"], axis=-1)
        np.testing.assert_allclose(off[2:4, 5:16], OFF / 80, atol=0.02)
        self.assertLess(
            off[2:4, :5].max(), OFF / 80, "a face has no label: what it shakes, which is not at all"
        )
        self.assertTrue((off[6:8] == 0).all() and (z["score"][6:8] == 0).all())
        Real([self.folder / "bank.npz"], 0.17, 0.1).lanes(np.random.default_rng(3), 2, 20)
        with self.assertRaisesRegex(SystemExit, "temporal.clips"):
            self.write(by_hand, "clips.json")
        both = [track("rendered 1, 1 persons", [True] * 12), by_hand]
        with self.assertRaisesRegex(SystemExit, "of their own"):
            tracks.bank(both)

    def test_labels_that_are_smooth_already_are_what_is_learned(self) -> None:
        film = track("walk/a", [True] * 14) | {"smooth_truth": 0.0, "truth_3d_m": None}
        for t, frame in enumerate(film["truth"]):
            frame[9][0] += 10.0 * (t % 2)
        z = np.load(self.write(film))
        self.assertNotIn("xyz", z)
        np.testing.assert_array_equal(z["smoothed"], z["label"])
        np.testing.assert_allclose(z["error"][:, 9, 0], (z["xy"] - z["label"])[:, 9, 0] / 80, atol=1e-3)

    def test_broken_lines_are_refused(self) -> None:
        lines = self.folder / "cut.jsonl"
        lines.write_text('{"film": "a", "id')
        with self.assertRaisesRegex(SystemExit, "line 1"):
            list(tracks.read([lines]))
        with self.assertRaisesRegex(SystemExit, "nobody"):
            self.write(track("a", [True] * 5))

    def test_lanes_run_forward_and_their_truth_is_where_the_person_is(self) -> None:
        path = self.write(track(name_of_training(), [True] * 300))
        exact = Real([path], 0.0, 0.0, forward=True)
        truth, xy, score = exact.lanes(np.random.default_rng(3), 6, 60)
        self.assertTrue(truth.lifted.all())
        self.assertTrue((score == 0.75).all())
        ankles = truth.valid[..., 15:].any((1, 2)).sum(-1)
        self.assertTrue((ankles == 1).all(), "one lies outside the picture, mirrored or not")
        self.assertTrue(truth.valid[:, :40, :, :15].all(), "no lane turns round: the future is known")
        for lane in range(6):
            off = np.linalg.norm(xy[lane, :, 3] - truth.xy[lane, :, 0, 3], axis=-1)
            np.testing.assert_allclose(off, OFF, atol=1e-3)
            # Where it will be after 1.5 nominal frames lies ahead by the speed of the lane.
            step = truth.xy[lane, 1:40, 0, 3] - truth.xy[lane, :39, 0, 3]
            ahead = truth.xy[lane, :39, 1, 3] - truth.xy[lane, :39, 0, 3]
            speed = np.linalg.norm(step, axis=-1) / np.diff(truth.times[lane, :40])
            np.testing.assert_allclose(np.linalg.norm(ahead, axis=-1) / 1.5, speed, rtol=1e-2)

    def test_each_file_is_drawn_from_as_often_as_any(self) -> None:
        names = [f"walk/{i}" for i in range(99) if not tuning(f"walk/{i}")][:11]
        films = [track(name, [True] * 20) | {"smooth_truth": 0.0, "truth_3d_m": None} for name in names]
        for name, part in (("one", films[:1]), ("ten", films[1:])):
            np.savez(self.folder / f"{name}.npz", allow_pickle=False, **tracks.bank(part))
        weight = Real([self.folder / "one.npz", self.folder / "ten.npz"], 0.0, 0.0).weight
        np.testing.assert_allclose(weight, [0.5] + [0.05] * 10)

    def test_short_clips_turn_round_and_nothing_is_known_of_the_future_there(self) -> None:
        path = self.write(track(name_of_training(), [True] * 30))
        truth, _, _ = Real([path], 0.0, 0.0, forward=True).lanes(np.random.default_rng(3), 2, 60)
        self.assertTrue(truth.valid[:, :, 0, 3].all())
        self.assertFalse(truth.valid[:, 26:29, 3, 3].any())

    def test_a_bank_replays_faces_and_shows_nothing_outside_the_picture(self) -> None:
        path = self.write(track(name_of_training(), [True] * 60))
        rng = np.random.default_rng(0)
        still = np.full((2, 40, 4, 17, 2), 50, np.float32)
        times = np.tile(np.arange(40.0), (2, 1))
        ok = np.ones((2, 40, 4, 17), bool)
        truth = Truth(times, still, ok, np.zeros((2, 40, 17, 3)), np.ones(2, bool), np.full((2, 40), 100.0))
        xy, score = Bank([path], lambda _: True).lanes(rng, truth)
        self.assertGreater(
            float(np.abs(xy[:, :, 1, 0] - 50).min()), 1.5, "an eye is off by what was measured"
        )
        outside = score == 0
        self.assertTrue((outside.sum(-1) == 1).all(), "one ankle of each pose")
        self.assertTrue((outside[..., 15] | outside[..., 16]).all(), "mirrored or not")

    def test_lanes_of_a_run_take_their_share_of_exact_ones(self) -> None:
        path = self.write(track(name_of_training(), [True] * 300))
        walk = np.random.default_rng(0).normal(0, 1, (300, 17, 3)).astype(np.float32)
        data = {
            "lanes": 8,
            "segment": 12,
            "segments": 2,
            "exact_share": 0.5,
            "exact": [path.name],
            "errors": [],
        }
        data |= {"real_share": 0.4, "penn_share": 0.0, "bank_share": 1.0, "labels_late": 0.2, "real_lag": 0.1}
        with mock.patch("posetrain.temporal.motion.load_mocap", return_value=[walk]):
            self.assertIsInstance(Mocap(self.folder, "train"), Mocap)
            lanes = Lanes({"data": data}, self.folder, self.folder)
            self.assertIsNone(Lanes({"data": data}, self.folder, None).bank, "all errors are made up")
            with self.assertRaisesRegex(SystemExit, "lacks nobody.npz"):
                Lanes({"data": data | {"errors": ["nobody.npz"]}}, self.folder, self.folder)
        truth, x = lanes.draw(np.random.default_rng(0))
        self.assertEqual(x["features"].shape[:2], (8, 24))
        ankles = x["valid"][4:, :, :, 15:].any(1).any(1).sum(-1)
        self.assertTrue((ankles == 1).all(), "the exact lanes stand last and know one ankle")
        self.assertTrue(x["valid"][:4].all())
        self.assertFalse(x["real"].any(), "their labels trail nothing")
        self.assertEqual(len(truth.times), 8)

    def test_weights_between_two_runs_are_their_mix(self) -> None:
        old, new = {"a": torch.zeros(3)}, {"a": torch.full((3,), 4.0)}
        self.assertEqual(between(old, new, 0.25)["a"].tolist(), [1.0] * 3)
        with self.assertRaisesRegex(SystemExit, "--share"):
            between(old, new, 1.5)

    def test_cards_name_what_was_learned_from_and_its_class(self) -> None:
        mixed = sources(
            {"penn_share": 0.1, "errors": ["jhmdb-own-train.npz"], "exact": ["rendered-small-train.npz"]}
        )
        self.assertEqual(mixed, ["cmu_mocap", "penn_action", "jhmdb", "rendered_tracks"])
        self.assertIn("(penn_action, jhmdb, rendered_tracks)", licence(mixed))
        self.assertEqual(sources({"penn_share": 0.0, "errors": []}), ["cmu_mocap"])
        self.assertIn("any use", licence(["cmu_mocap"]))
        usable = sources({"penn_share": 0.0, "errors": [], "exact": ["rendered-small-usable-train.npz"]})
        self.assertEqual(usable, ["cmu_mocap", "rendered_tracks_usable"])
        self.assertTrue(licence(usable).startswith("Weights: MIT or Apache-2.0"))
        acted = sources({"penn_share": 0.0, "errors": [], "acted": ["actors-small-train.npz"]})
        self.assertEqual(acted, ["cmu_mocap", "acted_tracks"])
        self.assertIn("(acted_tracks)", licence(acted))
        free = sources({"penn_share": 0.0, "errors": [], "acted": ["free-actors-small-usable-train.npz"]})
        self.assertEqual(free, ["cmu_mocap", "acted_tracks_usable"])

    def test_a_run_begins_from_shipped_weights_as_from_a_checkpoint(self) -> None:
        hyper = Hyper(width=16, layers=1, heads=2, feed_forward=8, memory=4)
        state = TemporalXl(hyper).state_dict()
        knobs = {"lead_frames": torch.tensor([0.3]), "sigma_scale": torch.tensor([1.1, 1.2])}
        (self.folder / "a.pwt").write_bytes(pwt(hyper, state | knobs))
        torch.save({"mean": state}, self.folder / "a.pt")
        for file in ("a.pwt", "a.pt"):
            again = read_start(self.folder / file)
            self.assertEqual(again.keys(), state.keys())
            for name, value in state.items():
                torch.testing.assert_close(again[name], value)


if __name__ == "__main__":
    unittest.main()
