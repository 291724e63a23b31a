"""Person crops decoded once into a flat file, so that training never waits for JPEGs.

A record keeps the picture's region of `REGION` x the joints' extent (what rotation, jitter and half
bodies can reach), clipped to the picture; what lies outside is filled at warp time, as on the device.
`python -m posetrain.data.cache --help`.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from posetrain.data.packs import (
    EMPTY_PACKS,
    JOINTS,
    KNOWN_PACKS,
    PACKS,
    PSEUDO,
    Floats,
    Person,
    Picture,
    Pixels,
    ReadReport,
    joints_box,
    read_pack,
)

REGION = 2.2
# A net crop shows the extent on 154 px (192 / 1.25); finer source pixels than this only cost memory.
TRAIN_EXTENT_PX = 190.0
MIN_EXTENT_PX = 40.0
EMPTY_PX = 400
MIN_JOINTS = 5
SPLITS = ("train", "calib", "val")
# What others work out from the persons of a cache, row by row: a teacher's maps and labels (`posetrain.keypoints.teach`, `.relabel`).
DERIVED = ("maps.npy", "maps.part.npy", "maps.at", "teachers.json", "index-before.npz")


@dataclass(frozen=True)
class Records:
    """Index of the cache: N persons. `joints` [N, 17, 3] and `box` [N, 4] (x0 y0 x1 y1 of the joints) in
    crop pixels."""

    pixels: npt.NDArray[np.uint8]
    offset: npt.NDArray[np.int64]
    shape: npt.NDArray[np.int32]
    joints: Floats
    box: Floats
    pack: npt.NDArray[np.int8]
    split: npt.NDArray[np.int8]
    tier: npt.NDArray[np.int8]
    key: npt.NDArray[np.str_]

    def __len__(self) -> int:
        return len(self.offset)

    def picture(self, i: int | np.integer[Any]) -> Pixels:
        h, w = (int(v) for v in self.shape[i])
        start = int(self.offset[i])
        return self.pixels[start : start + h * w * 3].reshape(h, w, 3)

    def where(self, split: str, packs: tuple[str, ...] = PACKS) -> npt.NDArray[np.int64]:
        wanted = np.isin(self.pack, [KNOWN_PACKS.index(p) for p in packs])
        return np.flatnonzero(wanted & (self.split == SPLITS.index(split)))


def crop_person(picture: Picture, person: Person) -> tuple[Pixels, Floats] | None:
    """Region and joints in its pixels, or None for a person too small or with too few joints to learn
    from."""
    if int((person.joints[:, 2] > 0).sum()) < MIN_JOINTS:
        return None
    x0, y0, x1, y1 = joints_box(person.joints)
    extent = max(x1 - x0, y1 - y0)
    if extent < MIN_EXTENT_PX:
        return None
    height, width = picture.pixels.shape[:2]
    cx, cy, half = (x0 + x1) / 2, (y0 + y1) / 2, REGION * extent / 2
    left, top = max(0, int(cx - half)), max(0, int(cy - half))
    right, bottom = min(width, int(cx + half) + 1), min(height, int(cy + half) + 1)
    if right - left < 8 or bottom - top < 8:
        return None
    pixels = picture.pixels[top:bottom, left:right]
    joints = person.joints.copy()
    labelled = joints[:, 2] > 0
    joints[:, :2] -= (left, top)
    # val keeps the stored pixels: figures are taken on what the pack holds
    scale = 1.0 if picture.split == "val" else min(1.0, TRAIN_EXTENT_PX / extent)
    if scale < 1.0:
        size = (max(8, round(pixels.shape[1] * scale)), max(8, round(pixels.shape[0] * scale)))
        sx, sy = size[0] / pixels.shape[1], size[1] / pixels.shape[0]
        pixels = np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), np.uint8)
        joints[:, 0] = (joints[:, 0] + 0.5) * sx - 0.5
        joints[:, 1] = (joints[:, 1] + 0.5) * sy - 0.5
    joints[~labelled] = 0
    return np.ascontiguousarray(pixels), joints


NOBODY = Person(0, np.zeros((JOINTS, 3), np.float32), (0, 0, 0, 0))


def whole(picture: Picture) -> tuple[Pixels, Floats]:
    """A picture of nobody, at most EMPTY_PX on its longer side."""
    height, width = picture.pixels.shape[:2]
    scale = min(1.0, EMPTY_PX / max(height, width))
    size = (max(8, round(width * scale)), max(8, round(height * scale)))
    pixels = np.asarray(cv2.resize(picture.pixels, size, interpolation=cv2.INTER_AREA), np.uint8)
    return np.ascontiguousarray(pixels), NOBODY.joints


def build(data: Path, out: Path, packs: tuple[str, ...] = PACKS, splits: tuple[str, ...] = SPLITS) -> None:
    out.mkdir(parents=True, exist_ok=True)
    rows: dict[str, list[object]] = {
        k: [] for k in ("offset", "shape", "joints", "box", "pack", "split", "tier", "key")
    }
    report, offset = ReadReport(), 0
    with (out / "pixels.part").open("wb") as pixels_file:
        for pack in packs:
            for picture in read_pack(data, pack, report):
                if picture.split not in splits:
                    continue
                for person in [NOBODY] if pack in EMPTY_PACKS else picture.persons:
                    cut = whole(picture) if pack in EMPTY_PACKS else crop_person(picture, person)
                    if cut is None:
                        report.counts["person too small or with too few joints"] += 1
                        continue
                    pixels, joints = cut
                    pixels_file.write(pixels.tobytes())
                    for name, value in (
                        ("offset", offset),
                        ("shape", pixels.shape[:2]),
                        ("joints", joints),
                        ("box", joints_box(joints) if joints.any() else (0, 0, *pixels.shape[1::-1])),
                        ("pack", KNOWN_PACKS.index(pack)),
                        ("split", SPLITS.index(picture.split)),
                        ("tier", person.tier),
                        ("key", f"{picture.key}:{person.annotation_id}"),
                    ):
                        rows[name].append(value)
                    offset += pixels.size
                    report.counts[f"{pack} {picture.split}"] += 1
    forget(out)
    np.savez(
        out / "index.npz",
        offset=np.asarray(rows["offset"], np.int64),
        shape=np.asarray(rows["shape"], np.int32),
        joints=np.asarray(rows["joints"], np.float32),
        box=np.asarray(rows["box"], np.float32),
        pack=np.asarray(rows["pack"], np.int8),
        split=np.asarray(rows["split"], np.int8),
        tier=np.asarray(rows["tier"], np.int8),
        key=np.asarray(rows["key"]),
    )
    (out / "pixels.part").rename(out / "pixels.bin")
    for name, count in sorted(report.counts.items()):
        print(f"{count:7d} {name}")
    print(f"{offset / 1e9:.2f} GB in {out}")


def forget(folder: Path) -> None:
    """Removes what was worked out from the persons of a cache, who are about to be others."""
    for name in DERIVED:
        (folder / name).unlink(missing_ok=True)


def load(path: Path) -> Records:
    index = np.load(path / "index.npz")
    pixels = np.memmap(path / "pixels.bin", np.uint8, "r")
    return Records(pixels, **{k: index[k] for k in index.files})


def is_pseudo(records: Records) -> npt.NDArray[np.bool_]:
    return np.isin(records.pack, [PACKS.index(p) for p in PSEUDO])


def main() -> None:
    parser = argparse.ArgumentParser(description="Decode the packs into one crop cache.")
    parser.add_argument("--data", type=Path, required=True, help="folder with the packs")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--pack", action="append", choices=KNOWN_PACKS, help="this pack alone; may be given again"
    )
    parser.add_argument(
        "--split", action="append", choices=SPLITS, help="this split alone; may be given again"
    )
    args = parser.parse_args()
    build(args.data, args.out, tuple(args.pack or PACKS), tuple(args.split or SPLITS))


if __name__ == "__main__":
    main()
