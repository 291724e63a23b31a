"""Labels from a teacher's maps: the persons of a cache as it sees them, for packs without labels or with a weaker teacher's.

    python -m posetrain.keypoints.teach --cache CACHE --thunder FILE --own ../keypoints-small.toml
    python -m posetrain.keypoints.relabel --cache CACHE [--sheet FILE]

Joints in CACHE/index.npz are replaced where at least SURE of the map's probability lies within a tenth of the extent, and
unlabelled elsewhere, as are faces of persons seen from behind; the labels that were there stay in CACHE/index-before.npz. Persons that
are not trained on keep theirs: networks are measured and calibrated on those.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
import torch

from posetrain.data import cache
from posetrain.data.augment import crop_matrix, plain_crop
from posetrain.data.packs import FACE, JOINTS, LIMBS, Floats, Pixels
from posetrain.keypoints.codec import HeatmapCodec
from posetrain.keypoints.sides import HIPS, SHOULDERS, TURNED
from posetrain.keypoints.taught import CELLS, SIDE, STRIDE, maps_of

SURE = 0.6
GREEN, RED, BLUE = (0, 220, 0), (255, 60, 0), (0, 200, 255)


def seen_by_teacher(maps: npt.NDArray[np.uint8], box: Floats) -> Floats:
    """maps [17, 64, 64] of the person in `box` (x0 y0 x1 y1) -> x, y in the record's pixels and the probability near [17, 3]."""
    logits = torch.from_numpy(np.log(maps[None].astype(np.float32) + 1e-3))
    xy, feature = HeatmapCodec(STRIDE).decode_batch(logits)
    x0, y0, x1, y1 = (float(v) for v in box)
    matrix = crop_matrix(((x0 + x1) / 2, (y0 + y1) / 2), SIDE * max(x1 - x0, y1 - y0, 1.0), CELLS * STRIDE)
    places = np.linalg.solve(matrix[:, :2], (xy[0].numpy() - matrix[:, 2]).T).T
    return np.concatenate([places, torch.sigmoid(feature[0]).numpy()[:, None]], axis=1).astype(np.float32)


def from_behind(joints: Floats) -> bool:
    """Whether the left shoulder is clearly on the viewer's left of the trunk, whichever way up that is, and hips do not differ."""
    if not (joints[[*SHOULDERS, *HIPS], 2] > 0).all():
        return False
    up = joints[SHOULDERS, :2].mean(axis=0) - joints[HIPS, :2].mean(axis=0)
    to_the_left = np.array([up[1], -up[0]]) / max(float(np.linalg.norm(up)), 1e-6)
    extent = float(np.ptp(joints[joints[:, 2] > 0, :2], axis=0).max())
    shoulders, hips = (float((joints[a, :2] - joints[b, :2]) @ to_the_left) for a, b in (SHOULDERS, HIPS))
    return shoulders > TURNED * extent and hips > -TURNED * extent


def labels(found: Floats, shape: npt.NDArray[np.int32], sure: float = SURE) -> Floats:
    """Joints [17, 3] with v = 2 where whoever saw them is `sure` and the place lies in the picture. A person seen from behind has no
    face: networks see one on the backs of heads."""
    inside = ((found[:, :2] >= 0) & (found[:, :2] <= shape[::-1] - 1)).all(axis=1)
    kept = inside & (found[:, 2] >= sure)
    joints = np.concatenate([found[:, :2], np.full((JOINTS, 1), 2)], axis=1)
    joints = np.where(kept[:, None], joints, 0).astype(np.float32)
    if from_behind(joints):
        joints[FACE] = 0
    return joints


def drawn(pixels: Pixels, box: Floats, joints: Floats, size: int = 180) -> Pixels:
    """The person with left limbs green and right limbs red, to be looked at."""
    out, matrix = plain_crop(pixels, box, size, SIDE)
    out = np.ascontiguousarray(out)
    at = [tuple(int(v) for v in p) for p in joints[:, :2] @ matrix[:, :2].T + matrix[:, 2]]
    for a, b in LIMBS:
        if joints[a, 2] > 0 and joints[b, 2] > 0:
            colour = BLUE if a % 2 != b % 2 else GREEN if a % 2 else RED
            cv2.line(out, at[a], at[b], colour, 1, cv2.LINE_AA)
    for j in range(JOINTS):
        if joints[j, 2] > 0:
            cv2.circle(out, at[j], 2, (255, 255, 255), -1)
    return out


def sheet(records: cache.Records, joints: Floats, path: Path, count: int = 60, columns: int = 12) -> None:
    ids = np.random.default_rng(0).permutation(len(records))[: count // columns * columns]
    tiles = [drawn(records.picture(i), records.box[i], joints[i]) for i in ids]
    rows = [np.hstack(tiles[k : k + columns]) for k in range(0, len(tiles), columns)]
    cv2.imwrite(str(path), np.vstack(rows)[:, :, ::-1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--sheet", type=Path, help="PNG file of some persons with their new labels")
    args = parser.parse_args()
    records = cache.load(args.cache)
    maps = maps_of(args.cache, records)
    joints = np.stack(
        [labels(seen_by_teacher(maps[i], records.box[i]), records.shape[i]) for i in range(len(records))]
    )
    before = args.cache / "index-before.npz"
    if not before.exists():
        (args.cache / "index.npz").rename(before)
    with np.load(before) as kept:
        index = {name: kept[name] for name in kept.files}
    if not np.array_equal(index["key"], records.key):
        raise SystemExit(f"{before} is of other persons than the cache: remove it, to keep the labels of now")
    joints = np.where((records.split == cache.SPLITS.index("train"))[:, None, None], joints, index["joints"])
    # the box stays as it was: maps are worked out round it
    np.savez(args.cache / "index.npz", **(index | {"joints": joints}))
    had, has = (index["joints"][:, :, 2] > 0).sum(), (joints[:, :, 2] > 0).sum()
    print(f"{len(records)} persons: {had} joints were labelled, {has} are")
    if args.sheet:
        sheet(records, joints, args.sheet)


if __name__ == "__main__":
    main()
