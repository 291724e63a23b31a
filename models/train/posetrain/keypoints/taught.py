"""A teacher's maps as soft targets: worked out once for each stored crop and its mirror image (`posetrain.keypoints.teach`),
warped with the augmentation."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from posetrain.data import cache
from posetrain.data.augment import crop_matrix
from posetrain.data.loose import Crop
from posetrain.data.packs import BODY, JOINTS, MIRROR, Floats

# A stored map's square in joints' extents, and its cells on a side; of both maps and targets a cell is STRIDE pixels.
SIDE, CELLS, STRIDE = 1.4, 64, 4
# Where a joint is labelled the teacher is believed near the label alone: standard deviation in extents.
NEAR_LABEL = 0.06
# What nobody labelled is learned where the teacher puts at least SURE of its probability within a tenth of the extent, at HALF
# the weight; of the body alone, for teachers see faces on the backs of heads.
SURE, TENTH, HALF = 0.5, 0.1, 0.5

CELL_CENTRES = np.array([[STRIDE, 0, (STRIDE - 1) / 2], [0, STRIDE, (STRIDE - 1) / 2], [0, 0, 1]])


def maps_of(folder: Path, records: cache.Records) -> npt.NDArray[np.uint8]:
    """A cache's maps, one a record [N, 17, 64, 64], left in their file. Raises `ValueError` where they are of other persons."""
    maps: npt.NDArray[np.uint8] = np.load(folder / "maps.npy", mmap_mode="r")
    if len(maps) != len(records):
        raise ValueError(
            f"{folder / 'maps.npy'} is of {len(maps)} persons, the cache of {len(records)}: posetrain.keypoints.teach makes it anew"
        )
    return maps


def map_from_target(records: cache.Records, i: int, net_from_picture: Floats) -> npt.NDArray[np.float64]:
    """[2, 3] cells of the stored map of person `i` from cells of a crop's target."""
    x0, y0, x1, y1 = (float(v) for v in records.box[i])
    stored = crop_matrix(((x0 + x1) / 2, (y0 + y1) / 2), SIDE * max(x1 - x0, y1 - y0, 1.0), CELLS * STRIDE)

    def square(matrix: Floats) -> npt.NDArray[np.float64]:
        return np.vstack([matrix, [0, 0, 1]]).astype(np.float64)

    inverse = np.linalg.inv
    whole = inverse(CELL_CENTRES) @ square(stored) @ inverse(square(net_from_picture)) @ CELL_CENTRES
    return np.asarray(whole[:2])


def warped(maps: npt.NDArray[np.uint8], records: cache.Records, i: int, crop: Crop) -> tuple[Tensor, Floats]:
    """Of person `i`: probabilities [17, net / 4, net / 4] to aim at, and how much to believe each [17], 0..1."""
    cells = crop.sample.pixels.shape[0] // STRIDE
    moved = map_from_target(records, i, crop.matrix)
    stored = maps[i][MIRROR] if crop.flip else maps[i]
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    out = np.stack([cv2.warpAffine(m, moved, (cells, cells), flags=flags) for m in stored]).astype(np.float32)
    # parts of the whole stored map, so that what lies beyond the crop is missed
    area = abs(float(np.linalg.det(moved[:, :2])))
    out *= (area / np.maximum(stored.sum(axis=(1, 2), dtype=np.float64), 1.0)).astype(np.float32)[
        :, None, None
    ]

    # what the teacher saw where the crop is black is not asked for
    at = STRIDE * np.arange(cells)[:, None] + (STRIDE - 1) / 2
    across, down = ((at > crop.low) & (at < crop.high)).T
    out *= down[:, None] & across
    x0, y0, x1, y1 = (float(v) for v in records.box[i])
    scale = float(np.sqrt(abs(np.linalg.det(crop.matrix[:, :2]))))
    extent = max(x1 - x0, y1 - y0, 1.0) * scale / STRIDE
    grid = np.arange(cells, dtype=np.float32)
    label = (crop.sample.xy + 0.5) / STRIDE - 0.5
    labelled = crop.sample.inside > 0
    dx, dy = grid - label[:, :1], grid - label[:, 1:]
    spread = max(2 * (NEAR_LABEL * extent) ** 2, 0.5)
    near = np.exp(-(dy[:, :, None] ** 2 + dx[:, None, :] ** 2) / spread)
    out = np.where(labelled[:, None, None], out * near, out)

    mass = out.sum(axis=(1, 2))
    row, column = np.divmod(out.reshape(JOINTS, -1).argmax(axis=1), cells)
    rows, columns = (np.abs(grid - at[:, None]) <= TENTH * extent for at in (row, column))
    sure = np.einsum("jh,jhw,jw->j", rows.astype(np.float32), out, columns.astype(np.float32))
    believed = np.where(labelled, np.minimum(1.0, 1.5 * mass), np.where(sure >= SURE, HALF * sure, 0))
    believed[: BODY.start] *= labelled[: BODY.start]
    believed[(crop.sample.outside > 0) | (mass < 0.05)] = 0
    target = out / np.maximum(mass, 1e-6)[:, None, None]
    return torch.from_numpy(target.astype(np.float32)), believed.astype(np.float32)
