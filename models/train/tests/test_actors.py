"""Films of people who move, labelled by those who see what comes after: sides that go on, places without outliers, one scene."""

from __future__ import annotations

import io
import json
import os
import tempfile
import unittest
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from unittest import mock

import cv2
import numpy as np

from posetrain.data import gather, packs
from posetrain.keypoints import likeness
from posetrain.temporal import actors, films
from tests.test_filmed import PLACES, Colours, figure
from tests.test_sources import repository

TIMES = (np.arange(20) / 30).astype(np.float32)  # seconds
NOBODY = likeness.Judged(np.zeros((0, likeness.SIGNATURE_PX**2), np.float32))


def walking(frames: int) -> packs.Floats:
    """The figure, with right limbs 40 px beside left ones, three pixels further each frame, seen surely; [frames, 17, 3]."""
    xy = PLACES + np.where(np.arange(packs.JOINTS) % 2 == 0, 40.0, 0.0)[:, None] * (1, 0)
    xy = xy + 3.0 * np.arange(frames)[:, None, None] * (1, 0)
    return np.concatenate([xy, np.full((frames, packs.JOINTS, 1), 0.9)], axis=-1).astype(np.float32)


class Truth(unittest.TestCase):
    def test_frames_whose_sides_are_exchanged_are_put_right(self) -> None:
        seen = walking(20)
        seen[7:10] = seen[7:10][:, packs.MIRROR]
        exchanged = actors.sides(seen[:, :, :2], 140.0)
        self.assertEqual(np.flatnonzero(exchanged).tolist(), [7, 8, 9])
        self.assertFalse(actors.sides(walking(20)[:, :, :2], 140.0).any())
        labels = actors.truth(seen, (400, 400), TIMES)
        np.testing.assert_allclose(labels[5:15, :, :2], walking(20)[5:15, :, :2], atol=0.6)

    def test_who_turns_round_is_not_turned_back(self) -> None:
        seen = walking(20)
        seen[10:] = seen[10:][:, packs.MIRROR]
        # the limbs are where the other side's were, from one frame to the next: as likely a mistake of ten frames as of ten others
        self.assertIn(int(actors.sides(seen[:, :, :2], 140.0).sum()), (0, 10))

    def test_a_joint_that_jumps_for_a_frame_stays_and_one_that_is_unsure_has_no_label(self) -> None:
        seen = walking(20)
        seen[9, 9, :2] += 80
        seen[4:8, 10, 2] = 0.2
        labels = actors.truth(seen, (400, 400), TIMES)
        np.testing.assert_allclose(labels[9, 9, :2], walking(20)[9, 9, :2], atol=4)
        self.assertEqual(np.flatnonzero(labels[:, 10, 2] == 0).tolist(), [4, 5, 6, 7])
        self.assertTrue((labels[:, 11, 2] == 2).all())
        outside = actors.truth(seen, (400, 110), TIMES)
        self.assertTrue((outside[outside[:, :, 0] > 109][:, 2] == 0).all())
        self.assertTrue((outside[:, :, 2] == 0).any())

    def test_what_swings_fast_keeps_its_way_at_any_rate_of_frames(self) -> None:
        for rate, kept in ((15.0, 0.75), (30.0, 0.88), (60.0, 0.9)):
            times = (np.arange(int(3 * rate)) / rate).astype(np.float32)
            seen = np.repeat(walking(1), len(times), axis=0)
            seen[:, 9, 0] += 20 * np.sin(2 * np.pi * 2.0 * times)
            swing = actors.truth(seen, (400, 400), times)[5:-5, 9, 0]
            self.assertGreater(float(np.ptp(swing)) / 40, kept, f"{rate} frames a second")


class Written(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def film(self, pictures: list[packs.Pixels]) -> bytes:
        path = self.folder / "film.avi"
        height, width = pictures[0].shape[:2]
        writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 25, (width, height))
        for picture in pictures:
            writer.write(picture[:, :, ::-1])
        writer.release()
        return path.read_bytes()

    def test_frames_again_are_left_out_with_their_times_and_a_cut_ends_the_film(self) -> None:
        moving = [figure(2.0 * k) for k in range(20)]
        ((shown, times),) = actors.shown(
            self.film([*moving[:10], moving[9], moving[9], *moving[10:]]), ".avi"
        )
        self.assertEqual(len(shown), 20)
        np.testing.assert_allclose(np.diff(times)[[8, 9, 10]], [0.04, 0.12, 0.04], atol=1e-3)
        white = [np.full_like(moving[0], 255 - k) for k in range(10)]
        ((shown, _),) = actors.shown(self.film([*moving, *white]), ".avi")
        self.assertEqual(len(shown), 20)
        self.assertEqual(list(actors.shown(self.film(moving[:5]), ".avi")), [])

    def test_a_long_film_is_cut_into_stretches(self) -> None:
        film = self.film([figure(0.5 * k) for k in range(3 * actors.LONGEST)])
        parts = list(actors.shown(film, ".avi", stretches=2))
        self.assertEqual([len(frames) for frames, _ in parts], [actors.LONGEST] * 2)
        self.assertEqual([float(times[0]) for _, times in parts], [0.0, 0.0])
        self.assertEqual(len(list(actors.shown(film, ".avi"))), 1)

    def test_films_of_a_repository_are_followed_and_written(self) -> None:
        name = "somebody+films"
        files = {
            "a.avi": self.film([figure(2.0 * k) for k in range(30)]),
            "b.avi": self.film([np.zeros((240, 200, 3), np.uint8) + k for k in range(30)]),
            "c.avi": b"no film",
            "d.avi": b"no film",
        }
        git = repository(self.folder / name, files)
        counts: Counter[str] = Counter()
        with mock.patch.dict(actors.FILMS, {name: gather.Held(r"\.avi$")}):
            made = list(actors.films(git, Colours(), Colours(), NOBODY, set(), counts))
        self.assertEqual(
            counts,
            {
                "written": 1,
                "of nobody to be sure of": 1,
                "too short, or not held": 1,
                "the same file again": 1,
            },
        )
        film, person, joints, times = made[0]
        self.assertEqual((len(person.pictures), len(joints), len(times)), (30, 30, 30))
        body = joints[15, packs.BODY]
        np.testing.assert_allclose(body[:, :2], (PLACES + np.array([30, 0]))[packs.BODY], atol=4)
        films.write(self.folder / "out", film, person.pictures, joints, times)
        lines = (self.folder / "out" / f"{film}.jsonl").read_text().splitlines()
        self.assertEqual(len(lines), 31)
        self.assertEqual(json.loads(lines[2])["captured_at_us"], 40_000)

    def test_a_run_stopped_within_a_film_follows_its_other_stretches_when_it_goes_on(self) -> None:
        name = "somebody+films"
        frames = [figure(0.5 * (k % actors.LONGEST)) for k in range(2 * actors.LONGEST)]
        git = repository(self.folder / name, {"a.avi": self.film(frames)})
        path = self.folder / "followed.txt"
        with mock.patch.dict(actors.FILMS, {name: gather.Held(r"\.avi$", stretches=2)}):

            def following() -> Generator[str, None, None]:
                done, counts = actors.Done(path), Counter[str]()
                for film, *_ in actors.films(git, Colours(), Colours(), NOBODY, done, counts):
                    yield film

            stopped = following()
            first = next(stopped)
            stopped.close()
            again = list(following())
            self.assertEqual(again, [first, f"{first}-1"])
            self.assertEqual(list(following()), [], "the film is done")

    def test_a_folder_whose_films_were_smoothed_otherwise_is_refused(self) -> None:
        films.write(self.folder, "old", [figure(0.0)], np.zeros((1, packs.JOINTS, 3)), smooth_truth=1.0)
        self.assertTrue(actors.smoothed_otherwise(self.folder / "old.jsonl"))
        films.write(self.folder, "new", [figure(0.0)], np.zeros((1, packs.JOINTS, 3)))
        self.assertFalse(actors.smoothed_otherwise(self.folder / "new.jsonl"))
        words = [
            "actors",
            "--git",
            str(self.folder / "somebody+films" / "repo"),
            "--thunder",
            "T",
            "--own",
            "O",
        ]
        words += ["--val", "V", "--lsp", "L", "--out", str(self.folder)]
        with (
            mock.patch("sys.argv", words),
            mock.patch.dict(actors.FILMS, {"somebody+films": gather.Held(r"\.avi$")}),
            mock.patch("posetrain.temporal.actors.Thunder"),
            mock.patch("posetrain.keypoints.filmed.Quick"),
            mock.patch("posetrain.temporal.actors.WithOwn"),
            mock.patch("posetrain.temporal.actors.Own.of_manifest"),
            mock.patch("posetrain.temporal.actors.Judged.told"),
            mock.patch("sys.stderr", new_callable=io.StringIO) as said,
            self.assertRaises(SystemExit),
        ):
            actors.main()
        self.assertIn("old.jsonl", said.getvalue())

    def test_films_of_before_there_was_a_list_are_left_alone_but_for_the_last(self) -> None:
        path = self.folder / "followed.txt"
        self.assertEqual(actors.Done(path), set())
        first, second, last = (12 * digit for digit in "123")
        names = (f"a-{first}", f"a-{second}-1", f"b-{last}", f"b-{last}-1", "baseball-of-j-hmdb")
        for written_s, name in enumerate(names):
            (self.folder / f"{name}.jsonl").touch()
            os.utime(self.folder / f"{name}.jsonl", (written_s, written_s))
        self.assertEqual(actors.Done(path), {first, second})
        actors.Done(path).add("4" * 12)
        self.assertEqual(actors.Done(path), {first, second, "4" * 12})

    def test_whom_the_project_is_judged_by_is_in_no_film(self) -> None:
        name = "somebody+films"
        frames = [figure(2.0 * k) for k in range(30)]
        git = repository(self.folder / name, {"a.avi": self.film(frames)})
        with mock.patch.dict(actors.FILMS, {name: gather.Held(r"\.avi$")}):
            (_, _, joints, _), *_ = actors.films(git, Colours(), Colours(), NOBODY, set(), Counter())
            box = np.concatenate([joints[0, :, :2].min(axis=0), joints[0, :, :2].max(axis=0)])
            judged = likeness.Judged(likeness.signature(frames[0], box)[None])
            counts: Counter[str] = Counter()
            self.assertEqual(list(actors.films(git, Colours(), Colours(), judged, set(), counts)), [])
        self.assertEqual(counts["of somebody like one that the project is judged by"], 1)


if __name__ == "__main__":
    unittest.main()
