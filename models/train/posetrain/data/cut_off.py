"""People whom the picture's edge cuts off: whoever sits at a desk is so for good.

Their legs are nowhere in the crop, and a network that never learned so presses them into what is seen. Most are made of people who are
whole: the picture ends across the body, and the crop is laid round what is left. Of others the picture shows no more.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from posetrain.data.augment import AugmentConfig, placed, sample_of
from posetrain.data.cache import Records
from posetrain.data.loose import LOOSE, USUAL, Crop, loosely
from posetrain.data.packs import Floats, Pixels, joints_box

# What the picture ends before: below the line mostly, as at a desk; else above it, left or right of it.
BELOW, ABOVE, LEFT, RIGHT = range(4)
OFTEN = (0.7, 0.1, 0.1, 0.1)
# How much of the body is seen, in parts of its box; of fewer joints nobody would be followed.
SEEN = (0.25, 0.9)
FEWEST = 5
# The picture's lower edge is so near to the lowest joint, in extents, and shoulders are labelled: the legs would be beyond it.
NEAR_EDGE = 0.3
SHOULDERS, LEGS = slice(5, 7), slice(13, 17)


def without_legs(records: Records) -> npt.NDArray[np.bool_]:
    """Of each person [N] whether the picture's lower edge cuts them off above the knees: none of knees and ankles is labelled, both
    shoulders are, and the picture ends right below the lowest joint."""
    labelled = records.joints[:, :, 2] > 0
    x0, y0, x1, y1 = records.box.T
    room = records.shape[:, 0] - 1 - y1
    is_near = room < NEAR_EDGE * np.maximum(np.maximum(x1 - x0, y1 - y0), 1)
    return np.asarray(is_near & ~labelled[:, LEGS].any(axis=1) & labelled[:, SHOULDERS].all(axis=1))


def legless(crop: Crop) -> Crop:
    """The same, with knees and ankles outside."""
    outside = crop.sample.outside.copy()
    outside[LEGS] = 1
    return replace(crop, sample=replace(crop.sample, outside=outside), is_cut_off=True)


def crop_of(
    pixels: Pixels,
    joints: Floats,
    is_legless: bool,
    config: AugmentConfig,
    net: int,
    rng: np.random.Generator,
) -> Crop:
    """A crop of the person with `joints` [17, 3]: of one in `cut_off_chance` the picture ends across the body. Cameras stand upright, and
    so do these pictures' ends."""
    upright = replace(config, rotate_chance=0.0)
    if is_legless:
        return legless(loosely(pixels, joints, upright, net, rng))
    if config.cut_off_chance and rng.random() < config.cut_off_chance:
        cut = ended(pixels, joints, upright, net, rng)
        if cut is not None:
            return cut
    return loosely(pixels, joints, config, net, rng)


def ended(
    pixels: Pixels, joints: Floats, config: AugmentConfig, net: int, rng: np.random.Generator
) -> Crop | None:
    """A crop of what is left of the person where the picture ends across them; `None` where that is too little, or all there is."""
    labelled = joints[:, 2] > 0
    low, high = np.split(np.asarray(joints_box(joints), np.float64), 2)
    end, part = int(rng.choice(4, p=OFTEN)), float(rng.uniform(*SEEN))
    axis, is_first = (1 if end in (BELOW, ABOVE) else 0), end in (ABOVE, LEFT)
    at = float(high[axis] - part * (high - low)[axis] if is_first else low[axis] + part * (high - low)[axis])
    seen = labelled & ((joints[:, axis] > at) if is_first else (joints[:, axis] < at))
    if seen.sum() < FEWEST or seen.sum() == labelled.sum():
        return None
    low, high = np.split(np.asarray(joints_box(np.where(seen[:, None], joints, 0)), np.float64), 2)
    extent, (least, most) = max(*(high - low), 8.0), USUAL if rng.random() < 0.5 else LOOSE
    side = extent * float(np.exp(rng.uniform(np.log(least), np.log(most))))
    centre = (low + high) / 2 + rng.uniform(-1, 1, 2) * config.shift * side
    crop = placed(pixels, joints, centre, side, 0, config, net, rng)
    out, from_xy, to_xy = crop.pixels, np.full(2, -0.5, np.float32), np.full(2, net - 0.5, np.float32)
    place = crop.matrix[axis, axis] * at + crop.matrix[axis, 2]
    # whole pixels are in the picture or not
    edge = int(np.clip(round(float(place) + 0.5), 1, net - 1))
    along = out.transpose(1, 0, 2) if axis == 0 else out
    if is_first != (crop.flip and axis == 0):
        along[:edge] = 0
        from_xy[axis] = edge - 0.5
    else:
        along[edge:] = 0
        to_xy[axis] = edge - 0.5
    sample = sample_of(out, crop, from_xy, to_xy)
    return Crop(sample, crop.matrix, crop.flip, from_xy, to_xy, is_cut_off=True)
