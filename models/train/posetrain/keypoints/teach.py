"""Works out a teacher's maps for every person of a cache, once: CACHE/maps.npy. Resumes where it was stopped.

    python -m posetrain.keypoints.teach --cache DIR --thunder movenet_thunder_maps.onnx [--own ../keypoints-small.toml]

The teacher is MoveNet Thunder (Apache-2.0) with its inner map `weighted` as an output: heat times closeness to the regressed
pose. It sees the crop and its mirror image; the squared maps are averaged. With `--own` the maps are the mean with an own
network's, on its usual crop: better than either. CACHE/teachers.json says who taught: their licence classes count.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from posetrain.data import cache
from posetrain.data.augment import PAD, plain_crop
from posetrain.data.packs import JOINTS, MIRROR, Floats, Pixels
from posetrain.inference import session
from posetrain.keypoints.peers import Own
from posetrain.keypoints.taught import CELLS, SIDE, STRIDE

# Spread in cells, so that a coarser target cannot step over a peak.
SOFTEN = 1.2
EVERY = 200


class Teacher(Protocol):
    """`maps`: probabilities [17, 64, 64] over the square of SIDE x the joints' extent round the box (x0 y0 x1 y1)."""

    names: tuple[str, ...]

    def maps(self, pixels: Pixels, box: Floats) -> Floats: ...


class Thunder:
    names: tuple[str, ...] = ("movenet_thunder",)

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

    def maps(self, pixels: Pixels, box: Floats) -> Floats:
        return self.both(plain_crop(pixels, box, CELLS * STRIDE, SIDE)[0])

    def both(self, pixels: Pixels) -> Floats:
        """The mean with what the mirror image shows."""
        mirrored = self.one(np.ascontiguousarray(pixels[:, ::-1]))[MIRROR][:, :, ::-1]
        return np.asarray((self.one(pixels) + mirrored) / 2)


class WithOwn:
    """Thunder, once or with its mirror image, and an own network (`name`: its manifest's, looked up in the licence table), averaged."""

    def __init__(self, thunder: Teacher, own: Own, name: str) -> None:
        self.thunder, self.own = thunder, own
        self.names: tuple[str, ...] = (*thunder.names, name)

    def maps(self, pixels: Pixels, box: Floats) -> Floats:
        net = self.own.net
        crop = plain_crop(pixels, box, net, PAD)[0]
        mirrored = self.own.maps(np.ascontiguousarray(crop[:, ::-1]))[MIRROR, :, ::-1]
        p = softmax(np.stack([self.own.maps(crop), mirrored]).reshape(2, JOINTS, -1), axis=2).mean(axis=0)
        cells = net // STRIDE
        # from cells of the wider map to cells of the own one: both are centred on the box
        scale = SIDE / PAD * cells / CELLS
        shift = (cells - 1) / 2 - scale * (CELLS - 1) / 2
        moved = np.array([[scale, 0, shift], [0, scale, shift]])
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        maps = (m.reshape(cells, cells).astype(np.float32) for m in p)
        seen: Floats = np.stack([cv2.warpAffine(m, moved, (CELLS, CELLS), flags=flags) for m in maps])
        seen /= seen.sum(axis=(1, 2), keepdims=True) + 1e-12
        return np.asarray((self.thunder.maps(pixels, box) + seen) / 2, np.float32)


def stored(maps: Floats) -> npt.NDArray[np.uint8]:
    """Softened, in parts of 255 of each map's largest cell."""
    soft = np.stack([cv2.GaussianBlur(m, (0, 0), SOFTEN, borderType=cv2.BORDER_CONSTANT) for m in maps])
    return np.rint(soft / np.maximum(soft.max(axis=(1, 2), keepdims=True), 1e-9) * 255).astype(np.uint8)


def teach(folder: Path, teacher: Teacher) -> None:
    records = cache.load(folder)
    partial, at_file, count = folder / "maps.part.npy", folder / "maps.at", len(records)
    at: dict[str, Any] = {"done": 0, "teachers": [*teacher.names]}
    if at_file.exists():
        at = json.loads(at_file.read_text())
    if at["teachers"] != [*teacher.names]:
        raise SystemExit(
            f"{at_file}: {', '.join(at['teachers'])} taught the first {at['done']} persons and was stopped; "
            f"go on with the same teachers, or remove the file to begin anew with {', '.join(teacher.names)}"
        )
    first = at["done"]
    out = np.lib.format.open_memmap(partial, "r+" if first else "w+", np.uint8, (count, JOINTS, CELLS, CELLS))
    began = time.monotonic()
    for i in range(first, count):
        out[i] = stored(teacher.maps(records.picture(i), records.box[i]))
        if (i + 1) % EVERY == 0 or i + 1 == count:
            out.flush()
            at_file.write_text(json.dumps(at | {"done": i + 1}))
            print(
                f"{i + 1} of {count}, {(i + 1 - first) / (time.monotonic() - began):.1f} persons/s",
                flush=True,
            )
    # Until here the maps that were there, if any, keep the names of those who made them.
    (folder / "maps.npy").unlink(missing_ok=True)
    (folder / "teachers.json").write_text(json.dumps(teacher.names))
    partial.rename(folder / "maps.npy")
    at_file.unlink(missing_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--thunder", type=Path, required=True)
    parser.add_argument("--own", type=Path, help="manifest of an own network to average with")
    args = parser.parse_args()
    cv2.setNumThreads(1)
    thunder = Thunder(args.thunder)
    teach(args.cache, WithOwn(thunder, Own.of_manifest(args.own), args.own.stem) if args.own else thunder)


if __name__ == "__main__":
    main()
