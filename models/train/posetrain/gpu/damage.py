"""What cheap cameras, hands in the way and bad light do to a batch of crops, on the device. All take and give [B, 3, net, net] in 0..255.

As `posetrain.data.augment` does it to one crop; of a batch, whose rows are in no order, each kind of damage gets some rows.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from posetrain.data.augment import AugmentConfig
from posetrain.data.loose import GREY_CHANCE
from posetrain.gpu.views import uniform

DARK_CHANCE = 0.125
BLOCK = 8
# JPEG's own tables (ITU-T T.81, annex K) for brightness and colour at quality 50.
BRIGHTNESS = (
    (16, 11, 10, 16, 24, 40, 51, 61), (12, 12, 14, 19, 26, 58, 60, 55),
    (14, 13, 16, 24, 40, 57, 69, 56), (14, 17, 22, 29, 51, 87, 80, 62),
    (18, 22, 37, 56, 68, 109, 103, 77), (24, 35, 55, 64, 81, 104, 113, 92),
    (49, 64, 78, 87, 103, 121, 120, 101), (72, 92, 95, 98, 112, 100, 103, 99),
)  # fmt: skip
COLOUR = (
    (17, 18, 24, 47, 99, 99, 99, 99), (18, 21, 26, 66, 99, 99, 99, 99), (24, 26, 56, 99, 99, 99, 99, 99), (47, 66, 99, 99, 99, 99, 99, 99),
    (99, 99, 99, 99, 99, 99, 99, 99), (99, 99, 99, 99, 99, 99, 99, 99), (99, 99, 99, 99, 99, 99, 99, 99), (99, 99, 99, 99, 99, 99, 99, 99),
)  # fmt: skip
YCC = np.array(((0.299, 0.587, 0.114), (-0.168736, -0.331264, 0.5), (0.5, -0.418688, -0.081312)))


def blurred(images: Tensor, kernels: Tensor) -> Tensor:
    """Each picture by its own kernel [B, K, K]."""
    count, size = len(images), kernels.shape[-1]
    weight = kernels.repeat_interleave(3, dim=0)[:, None]
    flat = functional.pad(images.reshape(1, count * 3, *images.shape[2:]), [size // 2] * 4, mode="replicate")
    return functional.conv2d(flat, weight, groups=count * 3).view_as(images)


def soft(images: Tensor) -> Tensor:
    at = torch.arange(-6, 7, device=images.device, dtype=torch.float32)
    line = torch.softmax(-(at**2) / (2 * uniform(images, 0.6, 2.0, len(images), 1) ** 2), dim=1)
    return blurred(images, line[:, :, None] * line[:, None, :])


def moved(images: Tensor) -> Tensor:
    """Motion blur along a line of 3 to 10 pixels."""
    at = torch.arange(-5, 6, device=images.device, dtype=torch.float32)
    angle = uniform(images, 0, math.pi, len(images), 1, 1)
    x, y = at[None, None, :], at[None, :, None]
    along, across = x * angle.cos() + y * angle.sin(), y * angle.cos() - x * angle.sin()
    half = uniform(images, 1.5, 5.0, len(images), 1, 1)
    kernels = torch.exp(-(across**2) / 0.5) * ((half - along.abs()).clamp(-0.5, 0.5) + 0.5)
    return blurred(images, kernels / kernels.sum(dim=(1, 2), keepdim=True))


def compressed(images: Tensor) -> Tensor:
    """JPEG's rounding at quality 15 to 60, colours at full size."""
    net = images.shape[2]
    at = torch.arange(BLOCK, device=images.device, dtype=torch.float32)
    cosines = torch.cos((2 * at + 1) * at[:, None] * math.pi / (2 * BLOCK)) * math.sqrt(2 / BLOCK)
    cosines[0] /= math.sqrt(2)
    to_ycc, to_rgb = (
        torch.tensor(m, device=images.device, dtype=torch.float32) for m in (YCC, np.linalg.inv(YCC))
    )
    ycc = torch.einsum("ij,bjhw->bihw", to_ycc, images - 128)
    blocks = ycc.reshape(len(images), 3, net // BLOCK, BLOCK, net // BLOCK, BLOCK)
    waves = torch.einsum("ur,vc,bkyrxc->bkyxuv", cosines, cosines, blocks)
    quality = uniform(images, 15, 60, len(images))
    worse = torch.where(quality < 50, 50 / quality, 2 - quality / 50)
    table = torch.tensor((BRIGHTNESS, COLOUR, COLOUR), device=images.device, dtype=torch.float32)
    steps = (table * worse[:, None, None, None]).clamp(min=1)[:, :, None, None]
    waves = (waves / steps).round() * steps
    back = torch.einsum("ur,vc,bkyxuv->bkyrxc", cosines, cosines, waves).reshape(ycc.shape)
    return (torch.einsum("ij,bjhw->bihw", to_rgb, back) + 128).clamp(0, 255)


def coarse(images: Tensor) -> Tensor:
    """A camera of fewer pixels; one factor for all that are handed over together."""
    net = images.shape[2]
    small = int(net * float(torch.rand(()) * 0.4 + 0.3))
    low = functional.interpolate(images, size=small, mode="area")
    return functional.interpolate(low, size=net, mode="bilinear", align_corners=False)


def noisy(images: Tensor) -> Tensor:
    strength = torch.randint(4, 18, (len(images), 1, 1, 1), device=images.device)
    return (images + torch.randint(-1, 2, images.shape, device=images.device) * strength).clamp(0, 255)


def damaged(images: Tensor, chance: float) -> Tensor:
    """The first rows of the batch, a part of them by each kind."""
    kinds = (soft, moved, compressed, coarse, noisy)
    each = round(len(images) * chance / len(kinds))
    parts = [kind(images[k * each : (k + 1) * each]) for k, kind in enumerate(kinds)] if each else []
    return torch.cat([*parts, images[each * len(kinds) :]])


def cut_out(images: Tensor, chance: float) -> Tensor:
    """Up to three blocks of a limb's size of one colour, or of another part of the picture."""
    count, net = len(images), images.shape[2]
    at = torch.arange(net, device=images.device)
    chosen = uniform(images, 0, 1, count) < chance
    for k in range(3):
        size = torch.randint(net // 12, net // 4, (2, count, 1), device=images.device)
        first = (uniform(images, 0, 1, 2, count, 1) * (net - size)).long()
        within = (at >= first) & (at < first + size)
        block = (within[1][:, :, None] & within[0][:, None, :])[:, None]
        block = block & (chosen & (uniform(images, 0, 1, count) < 1 - k / 3))[:, None, None, None]
        shift = [int(v) for v in torch.randint(net, (2,))]
        plain = (torch.rand(count, 3, 1, 1, device=images.device) * 256).expand_as(images)
        other = torch.roll(images, shift, dims=(2, 3))
        patch = torch.where((uniform(images, 0, 1, count) < 0.5)[:, None, None, None], plain, other)
        images = torch.where(block, patch, images)
    return images


def grey(images: Tensor, chance: float = GREY_CHANCE) -> Tensor:
    chosen = (uniform(images, 0, 1, len(images)) < chance)[:, None, None, None]
    return torch.where(chosen, images.mean(dim=1, keepdim=True), images)


def coloured(images: Tensor) -> Tensor:
    """Exposure, white balance, contrast and saturation, and one picture in eight taken in the dark."""
    count = len(images)
    saturation, contrast = uniform(images, 0.4, 1.4, count, 1, 1), uniform(images, 0.65, 1.3, count, 1, 1)
    gain = uniform(images, 0.6, 1.3, count, 1) * uniform(images, 0.88, 1.12, count, 3)
    dark = uniform(images, 0, 1, count, 1) < DARK_CHANCE
    gain = torch.where(dark, gain * uniform(images, 0.2, 0.6, count, 1), gain)
    mix = saturation * torch.eye(3, device=images.device) + (1 - saturation) / 3
    mean = images.mean(dim=(1, 2, 3))[:, None]
    shift = gain * (1 - contrast[:, 0]) * mean
    out = torch.einsum("bij,bjhw->bihw", gain[:, :, None] * contrast * mix, images) + shift[:, :, None, None]
    return out.clamp(0, 255)


def spoiled(images: Tensor, config: AugmentConfig, mask: Tensor) -> Tensor:
    """All of it, in the order of a camera's day; `mask` [B, 1, net, net] is where the picture has not ended."""
    out = cut_out(damaged(images, config.damage_chance), config.cutout_chance)
    return coloured(grey(out) * mask)
