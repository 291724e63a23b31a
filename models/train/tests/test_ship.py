"""What a network's card says of how it was made."""

from __future__ import annotations

import argparse
import unittest
from pathlib import Path

from posetrain.keypoints.ship import at_hand, command, trained_for
from posetrain.keypoints.steady_config import Source, SteadyConfig


def told(**other: object) -> argparse.Namespace:
    plain: dict[str, object] = {
        "config": Path("configs/steady/large.toml"),
        "weights": Path("work/run/checkpoint.pt"),
        "size": 224,
        "begun_with": None,
        "mean_with": None,
        "share": 0.5,
        "looks": None,
        "of": [],
        "settle": 0,
    }
    return argparse.Namespace(**plain | other)


class Shipping(unittest.TestCase):
    def test_the_command_on_the_card_names_all_that_the_file_hangs_on(self) -> None:
        self.assertEqual(
            command(told()),
            "python -m posetrain.keypoints.ship configs/steady/large.toml --caches DIR --weights checkpoint.pt --size 224",
        )
        whole = command(
            told(
                begun_with=Path("../keypoints-base.toml"),
                mean_with=Path("checkpoints/before.npz"),
                share=0.25,
                looks=[("base", False), ("twice", True)],
                of=["coco"],
                settle=6000,
            )
        )
        for part in (
            "--from keypoints-base.toml",
            "--mean-with before.npz --share 0.25",
            "--looks base=1 twice=2",
            "--of coco",
            "--settle 6000",
        ):
            self.assertIn(part, whole)

    def test_caches_at_hand_are_looked_at_and_no_teacher_is_asked(self) -> None:
        config = SteadyConfig(
            "any",
            "c",
            (Source("coco", 0.5, taught=0.4), Source("found", 0.5)),
            teachers=("keypoints-large",),
        )
        self.assertIs(at_hand(config, []), config)
        kept = at_hand(config, ["coco"])
        self.assertEqual([(s.cache, s.taught) for s in kept.sources] + list(kept.teachers), [("coco", 0.0)])
        with self.assertRaisesRegex(SystemExit, "--of other"):
            at_hand(config, ["other"])

    def test_minutes_of_finished_weights_are_counted_once(self) -> None:
        self.assertEqual(trained_for(400.0, {"train_minutes": 657.0}, []), 1057.0)
        self.assertEqual(trained_for(400.0, {"train_minutes": 1057.0}, ["coco"]), 1057.0)
        self.assertEqual(trained_for(400.0, {"data": []}, []), 400.0)


if __name__ == "__main__":
    unittest.main()
