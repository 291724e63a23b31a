"""Committed files have the sums that stand beside them: networks and checkpoints in their cards, networks in their quantisation's notes."""

from __future__ import annotations

import hashlib
import re
import tomllib
import unittest
from pathlib import Path

from posetrain.paths import REPOSITORY, TRAIN
from posetrain.temporal.weights import CURVE, read_pwt

MODELS, CHECKPOINTS = REPOSITORY / "models", TRAIN / "checkpoints"


def stated() -> list[tuple[Path, Path, str]]:
    """Who says it, of which file, and the sum."""
    out = []
    for card in [*MODELS.glob("*.toml"), *CHECKPOINTS.glob("*.toml")]:
        said = tomllib.loads(card.read_text())
        out.append((card, card.with_name(said["file"]), said["sha256"]))
    for note in (REPOSITORY / "calib" / "quant").glob("*.toml"):
        said = tomllib.loads(note.read_text())
        out.append((note, MODELS / said["model"], said["sha256"]))
    for card in CHECKPOINTS.glob("*.md"):
        for digest in re.findall(r"^- sha256 ([0-9a-f]{64}), ", card.read_text(), re.MULTILINE):
            out.append((card, card.with_suffix(".npz"), digest))
    return out


class Cards(unittest.TestCase):
    def test_every_stated_sum_is_the_files(self) -> None:
        found = stated()
        for card, file, digest in found:
            self.assertEqual(hashlib.sha256(file.read_bytes()).hexdigest(), digest, card)
        files = {file for _, file, _ in found}
        for kept in (p for p in CHECKPOINTS.iterdir() if p.suffix in (".npz", ".onnx", ".pwt")):
            self.assertIn(kept, files, "no card states its sum")

    def test_shipped_smoothers_know_how_sure_joints_of_an_unknown_detector_are(self) -> None:
        for name in ("temporal-xl", "temporal-xl-usable"):
            shipped = read_pwt(MODELS / f"{name}.pwt", "a detector that nobody has named")
            self.assertIsNotNone(shipped.curve, f"{name}: no {CURVE}")


if __name__ == "__main__":
    unittest.main()
