"""Works out a teacher's maps for every person of a cache, once: CACHE/maps.npy. Resumes where it was stopped.

    python -m posetrain.keypoints.teach --cache DIR --thunder movenet_thunder_maps.onnx

The teacher is MoveNet Thunder (Apache-2.0) with its inner map `weighted` as an output: heat times closeness to the regressed
pose. It sees the crop and its mirror image; the squared maps are averaged.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from posetrain.data import cache
from posetrain.data.augment import plain_crop
from posetrain.data.packs import JOINTS, MIRROR, Floats, Pixels
from posetrain.inference import session
from posetrain.keypoints.taught import CELLS, SIDE, STRIDE

# Spread in cells, so that a coarser target cannot step over a peak.
SOFTEN = 1.2
EVERY = 200


class Thunder:
    def __init__(self, path: Path) -> None:
        self.net = session(path)
        self.input = self.net.get_inputs()[0].name
        names = [o.name for o in self.net.get_outputs()]
        if "weighted" not in names:
            raise ValueError(f"{path} has no output `weighted`, only {', '.join(names)}")

    def one(self, pixels: Pixels) -> Floats:
        """Probabilities [17, 64, 64] of where each joint is in the crop [256, 256, 3]."""
        weighted = self.net.run(["weighted"], {self.input: pixels[None].astype(np.int32)})[0]
        p = np.moveaxis(np.asarray(weighted[0], np.float32), 2, 0) ** 2
        return np.asarray(p / (p.sum(axis=(1, 2), keepdims=True) + 1e-12))

    def both(self, pixels: Pixels) -> Floats:
        """The mean with what the mirror image shows."""
        mirrored = self.one(np.ascontiguousarray(pixels[:, ::-1]))[MIRROR][:, :, ::-1]
        return np.asarray((self.one(pixels) + mirrored) / 2)


def stored(maps: Floats) -> npt.NDArray[np.uint8]:
    """Softened, in parts of 255 of each map's largest cell."""
    soft = np.stack([cv2.GaussianBlur(m, (0, 0), SOFTEN, borderType=cv2.BORDER_CONSTANT) for m in maps])
    return np.rint(soft / np.maximum(soft.max(axis=(1, 2), keepdims=True), 1e-9) * 255).astype(np.uint8)


def teach(folder: Path, teacher: Thunder) -> None:
    records = cache.load(folder)
    partial, done_file, count = folder / "maps.part.npy", folder / "maps.at", len(records)
    first = int(done_file.read_text()) if done_file.exists() else 0
    mode = "r+" if first else "w+"
    out = np.lib.format.open_memmap(partial, mode, np.uint8, (count, JOINTS, CELLS, CELLS))
    began = time.monotonic()
    for i in range(first, count):
        pixels, _ = plain_crop(records.picture(i), records.box[i], CELLS * STRIDE, SIDE)
        out[i] = stored(teacher.both(pixels))
        if (i + 1) % EVERY == 0 or i + 1 == count:
            out.flush()
            done_file.write_text(str(i + 1))
            print(
                f"{i + 1} of {count}, {(i + 1 - first) / (time.monotonic() - began):.1f} persons/s",
                flush=True,
            )
    partial.rename(folder / "maps.npy")
    done_file.unlink(missing_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--thunder", type=Path, required=True)
    args = parser.parse_args()
    cv2.setNumThreads(1)
    teach(args.cache, Thunder(args.thunder))


if __name__ == "__main__":
    main()
