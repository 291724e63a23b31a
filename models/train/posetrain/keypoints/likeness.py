"""Whether somebody may be one of those whom the project is judged by: nothing gathered from elsewhere may show them."""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from posetrain.data import cache
from posetrain.data.augment import PAD, crop_matrix, warp
from posetrain.data.gather import Git
from posetrain.data.packs import Floats, Pixels, joints_box
from posetrain.keypoints import lsp

# Persons' crops in grey cells whose correlation is higher may be one picture. By a script that was not kept nine in ten copies are whose
# box is 3 % off, and one stranger in a hundred.
SIGNATURE_PX, SAME_PICTURE = 20, 0.82


def signature(pixels: Pixels, box: Floats) -> Floats:
    """The person's surroundings as SIGNATURE_PX^2 grey cells of mean 0 and length 1."""
    centre, side = (box[:2] + box[2:]) / 2, PAD * float(max(box[2:] - box[:2]))
    crop = warp(
        pixels, crop_matrix((float(centre[0]), float(centre[1])), side, 4 * SIGNATURE_PX), 4 * SIGNATURE_PX
    )
    grey = cv2.cvtColor(crop, cv2.COLOR_RGB2GRAY).astype(np.float32)
    cells = cv2.resize(grey, (SIGNATURE_PX, SIGNATURE_PX), interpolation=cv2.INTER_AREA).ravel()
    cells = cells - cells.mean()
    return np.asarray(cells / max(float(np.linalg.norm(cells)), 1e-6), np.float32)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`--val` and `--lsp`, which `Judged.told` reads."""
    parser.add_argument(
        "--val", type=Path, action="append", required=True, help="cache whose val part is not to be met again"
    )
    parser.add_argument(
        "--lsp",
        required=True,
        help="git directory of the original Leeds Sports Pose, whose test part is not to be met again",
    )


@dataclass(frozen=True)
class Judged:
    """Signatures [N, cells] of the persons that nothing may be learned from."""

    signatures: Floats

    @classmethod
    def of(cls, caches: list[Path], leeds: Git) -> Judged:
        """The val parts of caches, and the test part of Leeds."""
        out = []
        for folder in caches:
            records = cache.load(folder)
            out += [
                signature(records.picture(i), records.box[i])
                for i in range(len(records))
                if records.split[i] == cache.SPLITS.index("val")
            ]
        out += [signature(p.pixels, np.array(joints_box(p.joints))) for p in lsp.people(leeds, Counter())]
        return cls(np.stack(out))

    @classmethod
    def told(cls, args: argparse.Namespace) -> Judged:
        return cls.of(args.val, Git.named(args.lsp))

    def __len__(self) -> int:
        return len(self.signatures)

    def has(self, pixels: Pixels, box: Floats) -> bool:
        """Whether the person in `box` (x0 y0 x1 y1) may be one of them."""
        likeness = self.signatures @ signature(pixels, box) if len(self) else np.zeros(1)
        return float(likeness.max()) > SAME_PICTURE
