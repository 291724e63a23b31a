"""What counts as one: names say what a clip, a film or a person is of, and no source is on two sides of a split."""

from __future__ import annotations

import unittest
from dataclasses import replace

import numpy as np

from posetrain.data import synthetic
from posetrain.data.packs import KNOWN_PACKS, Floats, Pixels, clip_split
from posetrain.data.source import source_of
from posetrain.keypoints import evaluate
from posetrain.temporal.noise import tuning

LAST_MAN = [
    f"{action}/TheLastManOnearth_{action}_f_cm_np1_{rest}"
    for action, rest in (
        ("run", "fr_med_48"),
        ("stand", "fr_med_24"),
        ("walk", "ri_med_2"),
        ("walk", "ba_med_25"),
    )
]


class Names(unittest.TestCase):
    def test_a_clip_of_jhmdb_is_of_its_video_whatever_it_shows(self) -> None:
        clip = "walk/a_walk_by_the_sea_walk_f_nm_np1_fr_med_1"
        for name in (clip, f"{clip}.avi", f"{clip}.avi#12", f"{clip}.avi#12:734", f"jhmdb/{clip}.avi#12"):
            self.assertEqual(source_of(name), "a_walk_by_the_sea")
        self.assertEqual({source_of(name) for name in LAST_MAN}, {"TheLastManOnearth"})
        self.assertEqual(source_of("clap/#20_Rhythm_clap_u_nm_np1_fr_goo_1.avi#3:9"), "#20_Rhythm")

    def test_stretches_of_a_file_and_persons_of_a_picture_are_of_one(self) -> None:
        film = "somebody-films-0123456789ab"
        for name in (film, f"{film}-2", f"{film}-2-00012.jpg:7", f"{film}-00012.jpg"):
            self.assertEqual(source_of(name), film)
        self.assertEqual(source_of("somebody-a-b-mp4-003.jpg:1"), "somebody-a-b-mp4")
        self.assertEqual(source_of("still-000000000692-4711"), "still-000000000692")
        for name in ("000000000692.jpg", "im00001.jpg", "rendered-20000", "walk/a"):
            self.assertEqual((source_of(name), source_of(f"{name}:3")), (name, name))


class Splits(unittest.TestCase):
    def test_a_source_is_trained_on_or_left_out_as_a_whole(self) -> None:
        films = [f"somebody-films-{k:012x}" for k in range(40)]
        parts = [{tuning(film), tuning(f"{film}-1"), tuning(f"{film}-2")} for film in films]
        self.assertEqual({len(sides) for sides in parts}, {1})
        self.assertEqual(set().union(*parts), {False, True})
        self.assertEqual({tuning(name) for name in LAST_MAN}, {False})

    def test_no_clip_of_a_video_kept_back_is_trained_on(self) -> None:
        def split(video: str, tier: int, of: str = "train") -> str | None:
            return clip_split({"split": of, "tier": tier, "source_video": video})

        self.assertEqual([split("TheLastManOnearth", tier) for tier in (1, 2)], ["calib", None])
        self.assertEqual([split("OldSchool", tier) for tier in (1, 2)], ["train", "train"])
        self.assertEqual(split("TheLastManOnearth", 1, "val"), "val")


class Intervals(unittest.TestCase):
    def test_frames_of_a_video_are_one_group(self) -> None:
        class Blind:
            def joints(self, pixels: Pixels, centre: tuple[float, float], side: float) -> Floats:
                return np.zeros((17, 2), np.float32)

        drawn = synthetic.records(len(LAST_MAN) + 1, 3)
        records = replace(
            drawn,
            pack=np.full(len(drawn), KNOWN_PACKS.index("jhmdb"), np.int8),
            split=np.full(len(drawn), 2, np.int8),
            key=np.array(
                [f"{name}.avi#{k}:{k}" for k, name in enumerate([*LAST_MAN, "sit/x_sit_u_nm_np1_"])]
            ),
        )
        groups = evaluate.measure(Blind(), records, "jhmdb").groups
        self.assertEqual(groups.tolist(), ["TheLastManOnearth"] * len(LAST_MAN) + ["x"])


if __name__ == "__main__":
    unittest.main()
