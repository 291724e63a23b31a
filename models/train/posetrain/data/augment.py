"""Camera-like augmentation of one cached crop: one warp in OpenCV, cheap damage in bytes, colour on the
whole batch.

`image_from_net`: image = net * scale + offset, pixel centres at integers. A crop of side s centred on c
maps to net pixels by scale = s / net and offset = c - scale * (net - 1) / 2; outside the picture is
black.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from posetrain.data.packs import JOINTS, MIRROR, Floats, Pixels

# Crop side over the longer extent of the joints, at training, on the device and in every comparison with
# peers.
PAD = 1.25
UPPER = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
LOWER = np.array([11, 12, 13, 14, 15, 16])


@dataclass(frozen=True)
class AugmentConfig:
    """`scale` and `shift` are what a tracker does to its crop from one frame to the next (relative to the
    crop's side); rotation stands for leaning cameras and acrobatic poses, which the packs have too few
    of. `aspect` is an input's width over its height, at most 1: a narrower input is the middle of the square
    crop, which then is as wide as it takes for the person to fit. `cut_off_chance`: how often the picture
    ends across the body (`posetrain.data.cut_off`)."""

    scale: float = 0.25
    shift: float = 0.12
    rotate_degrees: float = 40.0
    rotate_chance: float = 0.6
    half_body_chance: float = 0.12
    damage_chance: float = 0.30
    cutout_chance: float = 0.30
    cut_off_chance: float = 0.0
    aspect: float = 1.0


@dataclass(frozen=True)
class Sample:
    pixels: Pixels  # [net, net * aspect, 3]
    xy: Floats  # [17, 2] net pixels
    inside: Floats  # [17] 1 where labelled and in the crop
    outside: Floats  # [17] 1 where labelled and out of the crop


def crop_matrix(
    centre: tuple[float, float], side: float, net: int, angle: float = 0.0, flip: bool = False
) -> Floats:
    """[2, 3] net-from-image affine of a square crop, rotated by `angle` radians, mirrored where `flip`."""
    scale = net / side
    cos, sin = np.cos(angle) * scale, np.sin(angle) * scale
    linear = np.array([[cos, -sin], [sin, cos]])
    if flip:
        linear[:, 0] *= -1.0
        # mirror about the crop's centre: x -> -x before rotating
    offset = np.full(2, (net - 1) / 2) - linear @ np.asarray(centre)
    return np.concatenate([linear, offset[:, None]], axis=1).astype(np.float32)


def plain_crop(
    pixels: Pixels, box: npt.ArrayLike, net: int, pad: float = PAD, aspect: float = 1.0
) -> tuple[Pixels, Floats]:
    """The device's crop of `box` (x0 y0 x1 y1): net pixels [net, net * aspect, 3] and the net-from-image affine."""
    x0, y0, x1, y1 = (float(v) for v in np.asarray(box))
    matrix = crop_matrix(((x0 + x1) / 2, (y0 + y1) / 2), pad * max((x1 - x0) / aspect, y1 - y0, 1.0), net)
    out, left = middle(warp(pixels, matrix, net), aspect)
    matrix[0, 2] -= left
    return out, matrix


def middle(pixels: Pixels, aspect: float) -> tuple[Pixels, int]:
    """The middle columns of a square crop, and how many are cut off on the left."""
    left = (pixels.shape[0] - round(pixels.shape[0] * aspect)) // 2
    return pixels[:, left : pixels.shape[1] - left], left


def warp(pixels: Pixels, matrix: Floats, net: int) -> Pixels:
    out = cv2.warpAffine(
        pixels, matrix, (net, net), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT, borderValue=0
    )
    return np.asarray(out, np.uint8)


def move_joints(joints: Floats, matrix: Floats) -> Floats:
    return np.asarray(joints[:, :2] @ matrix[:, :2].T + matrix[:, 2], np.float32)


def damage(pixels: Pixels, rng: np.random.Generator) -> Pixels:
    """What cheap cameras do: softness, motion blur, compression, low resolution."""
    net = pixels.shape[0]
    kind = int(rng.integers(5))
    if kind == 0:
        return np.asarray(cv2.GaussianBlur(pixels, (0, 0), float(rng.uniform(0.6, 2.0))), np.uint8)
    if kind == 1:
        length = int(rng.integers(3, 10))
        kernel = np.zeros((length, length), np.float32)
        kernel[length // 2] = 1.0 / length
        turn = cv2.getRotationMatrix2D(((length - 1) / 2, (length - 1) / 2), float(rng.uniform(0, 180)), 1.0)
        kernel = np.asarray(cv2.warpAffine(kernel, turn, (length, length)), np.float32)
        return np.asarray(cv2.filter2D(pixels, -1, kernel / max(float(kernel.sum()), 1e-3)), np.uint8)
    if kind == 2:
        ok, data = cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(15, 60))])
        assert ok
        return np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8)
    if kind == 3:
        small = int(net * rng.uniform(0.3, 0.7))
        low = cv2.resize(pixels, (small, small), interpolation=cv2.INTER_AREA)
        return np.asarray(cv2.resize(low, (net, net), interpolation=cv2.INTER_LINEAR), np.uint8)
    noise = rng.integers(-1, 2, pixels.shape, np.int16) * int(rng.integers(4, 18))
    return np.clip(pixels.astype(np.int16) + noise, 0, 255).astype(np.uint8)


def cut_out(pixels: Pixels, rng: np.random.Generator) -> None:
    """Blocks of one colour or of another part of the picture, over a limb's size: hidden joints are
    learned from them."""
    net = pixels.shape[0]
    for _ in range(int(rng.integers(1, 4))):
        w, h = (int(v) for v in rng.integers(net // 12, net // 4, 2))
        x, y = int(rng.integers(0, net - w)), int(rng.integers(0, net - h))
        if rng.random() < 0.5:
            pixels[y : y + h, x : x + w] = rng.integers(0, 256, 3, np.uint8)
        else:
            u, v = int(rng.integers(0, net - w)), int(rng.integers(0, net - h))
            pixels[y : y + h, x : x + w] = pixels[v : v + h, u : u + w].copy()


@dataclass(frozen=True)
class Placed:
    """A crop as drawn. `matrix` [2, 3] is net-from-picture; `flip` says that it mirrors, so that joints changed sides."""

    pixels: Pixels  # [net, net, 3]
    xy: Floats  # [17, 2] net pixels
    labelled: npt.NDArray[np.bool_]
    matrix: Floats
    flip: bool


def placed(
    pixels: Pixels,
    joints: Floats,
    centre: npt.NDArray[np.floating[Any]],
    side: float,
    steepest: float,
    config: AugmentConfig,
    net: int,
    rng: np.random.Generator,
) -> Placed:
    """The square of `side` round `centre`, turned by `steepest` degrees at most, mirrored half the time, then damaged."""
    angle = 0.0
    if rng.random() < config.rotate_chance:
        angle = float(np.clip(rng.normal(0, config.rotate_degrees / 2), -steepest, steepest)) * np.pi / 180
    flip = bool(rng.random() < 0.5)
    matrix = crop_matrix((float(centre[0]), float(centre[1])), side, net, angle, flip)
    out = warp(pixels, matrix, net)
    xy, labelled = move_joints(joints, matrix), joints[:, 2] > 0
    if flip:
        xy, labelled = xy[MIRROR], labelled[MIRROR]
    if rng.random() < config.damage_chance:
        out = damage(out, rng)
    if rng.random() < config.cutout_chance:
        cut_out(out, rng)
    return Placed(out, xy, labelled, matrix, flip)


def sample_of(pixels: Pixels, crop: Placed, low: npt.ArrayLike, high: npt.ArrayLike) -> Sample:
    """`pixels` of the crop with its joints, of which those from `low` to `high`, net pixels, are inside."""
    within = ((crop.xy > np.asarray(low)) & (crop.xy < np.asarray(high))).all(axis=1)
    inside, outside = ((crop.labelled & where).astype(np.float32) for where in (within, ~within))
    return Sample(pixels, crop.xy, inside, outside)


def augmented(
    pixels: Pixels, joints: Floats, config: AugmentConfig, net: int, rng: np.random.Generator
) -> Sample:
    """One training sample from a cached crop and its joints [17, 3]."""
    labelled = joints[:, 2] > 0
    focus = labelled
    if rng.random() < config.half_body_chance:
        part = np.zeros(JOINTS, bool)
        part[UPPER if rng.random() < 0.6 else LOWER] = True
        if (part & labelled).sum() >= 4:
            focus = part & labelled
    points = joints[focus, :2]
    low, high = points.min(axis=0), points.max(axis=0)
    width, height = (high - low).tolist()
    side = PAD * max(width / config.aspect, height, 8.0)
    side *= float(np.exp(rng.uniform(np.log(1 - config.scale), np.log(1 + config.scale))))
    centre = (low + high) / 2 + rng.uniform(-config.shift, config.shift, 2) * side
    crop = placed(pixels, joints, centre, side, 90, config, net, rng)
    out, left = middle(crop.pixels, config.aspect)
    crop.xy[:, 0] -= left
    return sample_of(out, crop, -0.5, np.array(out.shape[1::-1]) - 0.5)


def empty_crop(pixels: Pixels, net: int, rng: np.random.Generator) -> Pixels:
    """A square part of a picture without people, as a mistaken find would be cropped."""
    height, width = pixels.shape[:2]
    side = min(height, width) * float(rng.uniform(0.6, 1.3))
    centre = (float(rng.uniform(0.25, 0.75)) * width, float(rng.uniform(0.25, 0.75)) * height)
    return warp(pixels, crop_matrix(centre, side, net, flip=bool(rng.random() < 0.5)), net)


def coloured(pixels: npt.NDArray[np.uint8], rng: np.random.Generator) -> Tensor:
    """Exposure, white balance, contrast and saturation of a batch [B, H, W, 3], a draw a picture, in bytes."""
    out = np.empty_like(pixels)
    for row, image in zip(out, pixels, strict=True):
        row[:] = cv2.transform(image, colour_matrix(float(np.mean(cv2.mean(image)[:3])), rng))
    return torch.from_numpy(out)


def colour_matrix(mean: float, rng: np.random.Generator) -> Floats:
    """[3, 4] affine of a picture's colours; `mean` of all its bytes is what contrast leaves alone before exposure."""
    saturation, contrast = rng.uniform(0.4, 1.4), rng.uniform(0.65, 1.3)
    gain = rng.uniform(0.6, 1.3) * rng.uniform(0.88, 1.12, 3)
    # one picture in eight is taken in the dark
    if rng.random() < 0.125:
        gain = gain * rng.uniform(0.2, 0.6)
    linear = contrast * (saturation * np.eye(3) + (1 - saturation) / 3)
    shift = np.full((3, 1), (1 - contrast) * mean)
    return np.asarray(gain[:, None] * np.hstack([linear, shift]), np.float32)
