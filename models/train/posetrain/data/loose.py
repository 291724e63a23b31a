"""Crops as trackers, finders and users give them: tight and loose, beside the person, with limbs and heads cut off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posetrain.data.augment import (
    LOWER,
    UPPER,
    AugmentConfig,
    Sample,
    placed,
    sample_of,
)
from posetrain.data.packs import JOINTS, Floats, Pixels, joints_box

# Crop sides in joints' extents: half of the crops lie about what the tracker asks for, the others anywhere in LOOSE.
LOOSE = (0.8, 1.75)
USUAL = (1.05, 1.4)
# How often the picture ends inside the crop, how often there is no colour in it, and the widest strip that is missing.
EDGE_CHANCE, GREY_CHANCE, WIDEST_EDGE = 0.12, 0.08, 0.2


@dataclass(frozen=True)
class Crop:
    """`matrix` [2, 3] is net-from-picture; `flip` says that it mirrors, so that joints changed sides. What lies beyond `low` and
    `high`, (x, y) in net pixels, was blackened as where a picture ends. `is_cut_off`: the picture ends across the body, so that what is
    outside can be nowhere in the crop."""

    sample: Sample
    matrix: Floats
    flip: bool
    low: Floats
    high: Floats
    is_cut_off: bool = False


def loosely(
    pixels: Pixels, joints: Floats, config: AugmentConfig, net: int, rng: np.random.Generator
) -> Crop:
    """A crop of the person with `joints` [17, 3], at least one of them labelled. Joints beyond the crop or beyond the picture's
    end inside it are labelled as outside: absent, wherever they would be."""
    x0, y0, x1, y1 = joints_box(_aimed_at(joints, config.half_body_chance, rng))
    extent = max(x1 - x0, y1 - y0, 8.0)
    low, high = USUAL if rng.random() < 0.5 else LOOSE
    side = extent * float(np.exp(rng.uniform(np.log(low), np.log(high))))
    # a loose crop may sit further off than a tight one without losing the person
    reach = config.shift * side + 0.35 * max(0.0, side - extent) * float(rng.random() < 0.3)
    centre = np.array([(x0 + x1) / 2, (y0 + y1) / 2]) + rng.uniform(-1, 1, 2) * reach
    crop = placed(pixels, joints, centre, side, 100, config, net, rng)
    out = crop.pixels
    if rng.random() < GREY_CHANCE:
        out = np.repeat(out.mean(axis=2, keepdims=True).astype(np.uint8), 3, axis=2)
    from_xy, to_xy = np.full(2, -0.5, np.float32), np.full(2, net - 0.5, np.float32)
    if rng.random() < EDGE_CHANCE:
        from_xy, to_xy = _end_picture(out, rng)
    return Crop(sample_of(out, crop, from_xy, to_xy), crop.matrix, crop.flip, from_xy, to_xy)


def _aimed_at(joints: Floats, half_body_chance: float, rng: np.random.Generator) -> Floats:
    """The joints that the crop is drawn round: all of them, or now and then the upper or the lower body's."""
    if rng.random() >= half_body_chance:
        return joints
    part = np.isin(np.arange(JOINTS), UPPER if rng.random() < 0.75 else LOWER)
    half = np.where(part[:, None], joints, 0).astype(np.float32)
    return half if (half[:, 2] > 0).sum() >= 4 else joints


def _end_picture(pixels: Pixels, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Blackens a strip along one side, as where the picture ends inside the crop; says what is left: from, to in net pixels."""
    net = pixels.shape[0]
    wide = int(net * rng.uniform(0.03, WIDEST_EDGE))
    low, high = np.full(2, -0.5, np.float32), np.full(2, net - 0.5, np.float32)
    axis = int(rng.integers(2))
    view = pixels.transpose(1, 0, 2) if axis == 0 else pixels
    if rng.random() < 0.5:
        view[:wide] = 0
        low[axis] += wide
    else:
        view[net - wide :] = 0
        high[axis] -= wide
    return low, high
