"""What temporal weights learned from goes on with them: into checkpoints, into what begins from those, into cards."""

from __future__ import annotations

import shutil
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import nn

from posetrain.data.licences import LicenceError
from posetrain.finder import presence
from posetrain.paths import CONFIGS, REPOSITORY
from posetrain.resumed import require_same
from posetrain.temporal import adapt, export, train
from posetrain.temporal.learned import learned, learned_from

MODELS = REPOSITORY / "models"
USABLE = CONFIGS / "temporal" / "usable.toml"


class Learned(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.usable: dict[str, Any] = tomllib.loads(USABLE.read_text())

    def call(self, module: Any, *words: object) -> None:
        places = ("--data", self.folder, "--errors", self.folder)
        with mock.patch.object(sys, "argv", [str(word) for word in (module.__name__, *words, *places)]):
            module.main()

    def test_usable_weights_begin_from_no_research_weights(self) -> None:
        research, work = MODELS / "temporal-xl.pwt", self.folder / "work"
        for module in (train, adapt):
            with self.assertRaisesRegex(LicenceError, r"`penn_action` is of class \(c\)"):
                self.call(module, "--config", USABLE, "--start", research, "--work", work)
        names = learned(self.usable, [MODELS / "temporal-xl-usable.pwt"])
        self.assertEqual(names, ["cmu_mocap", "still_tracks_usable", "rendered_tracks_usable"])

    def test_what_a_run_began_from_stays_in_its_checkpoints(self) -> None:
        layer = nn.Linear(1, 1)
        optimiser, last = torch.optim.AdamW(layer.parameters()), self.folder / "last.pt"
        names = learned(self.usable | {"licence": "c"}, [MODELS / "temporal-xl.pwt"])
        train.save(train.checkpoint(last, layer, layer, optimiser), 1, self.usable, names)
        self.assertIn("jhmdb", learned_from(last))
        with self.assertRaisesRegex(LicenceError, "penn_action"):
            self.call(export, "--checkpoint", last, "--models", self.folder)

    def test_a_run_of_another_configuration_is_not_taken_over(self) -> None:
        layer = nn.Linear(1, 1)
        optimiser, last = torch.optim.AdamW(layer.parameters()), self.folder / "last.pt"
        other = self.usable | {"kind": "xl", "data": self.usable["data"] | {"exact": ["others.npz"]}}
        train.save(train.checkpoint(last, layer, layer, optimiser), 9000, other, learned(self.usable))
        before = last.read_bytes()
        with self.assertRaisesRegex(SystemExit, r"another run .data\.exact \['others\.npz'\], not"):
            self.call(train, "--config", USABLE, "--work", self.folder)
        self.assertEqual(last.read_bytes(), before)
        longer = self.usable | {"train": self.usable["train"] | {"steps": 1}}
        require_same(last, longer, self.usable)

    def test_weights_of_which_nothing_says_are_refused(self) -> None:
        unknown, research = self.folder / "a.pwt", self.folder / "b.pwt"
        shutil.copy(MODELS / "temporal-xl.pwt", unknown)
        shutil.copy(MODELS / "temporal-xl.pwt", research)
        shutil.copy(MODELS / "temporal-xl-usable.toml", research.with_suffix(".toml"))
        torch.save({"mean": {}, "config": self.usable}, self.folder / "c.pt")
        for file in (unknown, research, self.folder / "c.pt"):
            with self.assertRaisesRegex(LicenceError, "nothing says what these weights learned from"):
                learned(self.usable, [file])
        with self.assertRaisesRegex(LicenceError, "is none of a, b, c"):
            learned({"data": self.usable["data"]})

    def test_no_usable_network_learns_presence_from_research_packs(self) -> None:
        words = ("--research", "--finder", "person.onnx", "--peers", ".", "--more", ".", "--data", ".")
        with (
            mock.patch.object(sys, "argv", ["presence", str(MODELS / "keypoints-small-usable.toml"), *words]),
            self.assertRaisesRegex(LicenceError, "lspet"),
        ):
            presence.main()


if __name__ == "__main__":
    unittest.main()
