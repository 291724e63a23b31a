"""Batches drawn from several caches, as a configuration's shares say, with a teacher's maps where a cache has them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

from posetrain.data import cache
from posetrain.data.augment import coloured, empty_crop, warp
from posetrain.data.cut_off import crop_of, without_legs
from posetrain.data.licences import of_letter, require
from posetrain.data.loose import Crop
from posetrain.data.packs import JOINTS, KNOWN_PACKS, Floats, Pixels, joints_box
from posetrain.keypoints.steady_config import Source, SteadyConfig
from posetrain.keypoints.taught import STRIDE, maps_of, warped
from posetrain.keypoints.train import JOINT_WEIGHT


@dataclass
class Unspoiled:
    """What a teacher is asked about (`posetrain.keypoints.asked`): `images` uint8 [B, net, net, 3] are the same crops before they were
    spoiled, the picture beyond `low` to `high` [B, 2] (x, y; net pixels) included; persons' `extent` [B] in net pixels; `taught` [B]: the
    part of a labelled joint's loss that is the teacher's; `believes` [B, 17]: weights of all joints, labelled or not."""

    images: Tensor
    low: Tensor
    high: Tensor
    extent: Tensor
    taught: Tensor
    believes: Tensor


@dataclass
class TaughtBatch:
    """`taught` [B, 17, net / 4, net / 4] are probabilities, `taught_weight` [B, 17] is 0 where there are none."""

    images: Tensor  # uint8 [B, net, net, 3]
    xy: Tensor
    weight: Tensor
    outside: Tensor
    taught: Tensor | None = None
    taught_weight: Tensor | None = None
    unspoiled: Unspoiled | None = None


def teachers_of(config: SteadyConfig, source: Source, caches: Path) -> list[str]:
    """Who made the maps that a source is taught by, or is asked about each crop: weights learn from what its teachers saw."""
    if config.teachers:
        return list(config.teachers) if source.taught else []
    path = caches / source.cache / "teachers.json"
    names: list[str] = json.loads(path.read_text()) if source.taught else []
    return names


class Whole:
    """The crops of a batch of `size` as they were, gathered row by row; pictures of nobody are no teacher's matter."""

    def __init__(self, size: int, net: int) -> None:
        self.images = np.zeros((size, net, net, 3), np.uint8)
        self.low, self.high = np.full((size, 2), -0.5, np.float32), np.full((size, 2), net - 0.5, np.float32)
        self.extent, self.taught = np.ones(size, np.float32), np.zeros(size, np.float32)
        self.believes = np.zeros((size, JOINTS), np.float32)

    def put(self, row: int, picture: Pixels, joints: Floats, crop: Crop, source: Source) -> None:
        net = self.images.shape[1]
        x0, y0, x1, y1 = joints_box(joints)
        scale = float(np.sqrt(abs(np.linalg.det(crop.matrix[:, :2]))))
        self.images[row] = warp(picture, crop.matrix, net)
        self.low[row], self.high[row] = crop.low, crop.high
        self.extent[row], self.taught[row] = max(x1 - x0, y1 - y0, 1.0) * scale, source.taught
        self.believes[row] = JOINT_WEIGHT * source.weight

    def unspoiled(self) -> Unspoiled:
        return Unspoiled(**{name: torch.from_numpy(value) for name, value in vars(self).items()})


def some(ids: npt.NDArray[np.int64], part: float) -> npt.NDArray[np.int64]:
    """A part of `ids`, always the same; a smaller part lies within every larger one."""
    return np.random.default_rng(17).permutation(ids)[: max(1, round(part * len(ids)))]


def enough_joints(records: cache.Records) -> npt.NDArray[np.bool_]:
    return np.asarray((records.joints[:, :, 2] > 0).sum(axis=1) >= cache.MIN_JOINTS)


class Mixture(IterableDataset[TaughtBatch]):
    """Endless; batch k depends on (seed, k) and the configuration alone.

    Raises `LicenceError` where a cache holds a pack of a worse class than the configuration allows, `ValueError` where a teacher's maps are
    of other persons."""

    def __init__(self, config: SteadyConfig, caches: Path, first: int) -> None:
        self.config, self.first = config, first
        self.records = [cache.load(caches / s.cache) for s in config.sources]
        allowed = of_letter(config.licence)
        self.empty = cache.load(caches / config.empty) if config.empty else None
        for records in (*self.records, *([self.empty] if self.empty else [])):
            require((KNOWN_PACKS[p] for p in np.unique(records.pack)), allowed)
        for source in config.sources:
            require(teachers_of(config, source, caches), allowed)
        train = cache.SPLITS.index("train")
        self.nobody = np.flatnonzero(self.empty.split == train) if self.empty else np.zeros(0, np.int64)
        # without crops that the picture's end cuts off, nobody says what is beyond it
        is_told = config.augment.cut_off_chance > 0
        self.legless = [without_legs(records) & is_told for records in self.records]
        # a relabelled cache has persons of whom the teacher was sure of next to nothing
        self.ids = [
            some(
                np.flatnonzero(
                    (records.split == train) & enough_joints(records) & (cut if source.legless else True)
                ),
                source.part,
            )
            for records, cut, source in zip(self.records, self.legless, config.sources, strict=True)
        ]
        self.maps = [
            maps_of(caches / source.cache, records) if source.taught and not config.teachers else None
            for records, source in zip(self.records, config.sources, strict=True)
        ]
        share = np.array([s.share for s in config.sources])
        self.share = share / share.sum()

    def batch(self, k: int, net: int) -> TaughtBatch:
        config, size = self.config, self.config.batch
        rng = np.random.default_rng((config.seed, k))
        images, xy = np.empty((size, net, net, 3), np.uint8), np.empty((size, JOINTS, 2), np.float32)
        weight, outside, taught_weight = np.zeros((3, size, JOINTS), np.float32)
        cells = net // STRIDE
        taught = torch.zeros(size, JOINTS, cells, cells) if any(m is not None for m in self.maps) else None
        whole = Whole(size, net) if config.teachers else None
        for row in range(size):
            if self.empty is not None and rng.random() < config.empty_chance:
                images[row] = empty_crop(self.empty.picture(rng.choice(self.nobody)), net, rng)
                xy[row], outside[row] = 0, config.empty_weight
                continue
            s = int(rng.choice(len(self.share), p=self.share))
            source, records, maps, i = (
                config.sources[s],
                self.records[s],
                self.maps[s],
                int(rng.choice(self.ids[s])),
            )
            picture, joints = records.picture(i), records.joints[i]
            crop = crop_of(picture, joints, bool(self.legless[s][i]), config.augment, net, rng)
            sample, believes = crop.sample, JOINT_WEIGHT * source.weight
            images[row], xy[row] = sample.pixels, sample.xy
            weight[row] = sample.inside * believes
            outside[row] = sample.outside * (1.0 if crop.is_cut_off else config.outside_weight)
            if whole is not None:
                whole.put(row, picture, joints, crop, source)
            if maps is not None and taught is not None:
                taught[row], believed = warped(maps, records, i, crop)
                part = np.where(sample.inside > 0, source.taught * believed, believed)
                taught_weight[row] = part * believes
                weight[row] *= 1 - part
        return TaughtBatch(
            coloured(images, rng),
            torch.from_numpy(xy),
            torch.from_numpy(weight),
            torch.from_numpy(outside),
            taught,
            None if taught is None else torch.from_numpy(taught_weight),
            None if whole is None else whole.unspoiled(),
        )

    def __iter__(self) -> Iterator[TaughtBatch]:
        cv2.setNumThreads(1)
        torch.set_num_threads(1)
        worker = get_worker_info()
        k, step = (self.first + worker.id, worker.num_workers) if worker else (self.first, 1)
        while True:
            yield self.batch(k, self.config.size(k * self.config.batch))
            k += step
