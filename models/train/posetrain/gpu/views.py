"""Augmented crops of a whole batch at once, on the device: what `posetrain.data.loose` does to one, and the same crop for a teacher.

`image_from_net` [B, 2, 3]: place in a stored picture from a net pixel, pixel centres at integers. What lies outside is black.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from posetrain.data.augment import LOWER, UPPER, AugmentConfig
from posetrain.data.cut_off import LEGS
from posetrain.data.loose import EDGE_CHANCE, LOOSE, USUAL, WIDEST_EDGE
from posetrain.data.packs import JOINTS, MIRROR
from posetrain.gpu.cut_off import CutOff, drawn, without_legs
from posetrain.gpu.store import Store
from posetrain.keypoints.believed import Ends, Labels

MAX_DEGREES = 100.0


def uniform(like: Tensor, low: float, high: float, *shape: int) -> Tensor:
    return torch.rand(shape, device=like.device) * (high - low) + low


@dataclass(frozen=True)
class Aim:
    """Where crops lie: middle [B, 2] and side [B] in stored pixels, turned by `angle` [B] radians, mirrored where `flip` [B]; `cut_off`: of
    whom the picture ends across the body. Without, nobody, and nobody's legs are beyond it."""

    centre: Tensor
    side: Tensor
    angle: Tensor
    flip: Tensor
    cut_off: CutOff | None = None

    def image_from_net(self, net: int) -> Tensor:
        """[B, 2, 3] for crops of `net` pixels."""
        scale = self.side / net
        cos, sin = torch.cos(self.angle) * scale, torch.sin(self.angle) * scale
        mirror = torch.where(self.flip, -1.0, 1.0)
        # the inverse of `data.augment.crop_matrix`: mirrored first, then turned
        linear = torch.stack([torch.stack([mirror * cos, mirror * sin], 1), torch.stack([-sin, cos], 1)], 1)
        offset = self.centre - linear.sum(dim=2) * (net - 1) / 2
        return torch.cat([linear, offset[..., None]], dim=2)

    def in_net(self, places: Tensor, net: int) -> Tensor:
        """Places [B, J, 2] of stored pictures in net pixels."""
        matrix = self.image_from_net(net)
        # turned and mirrored alone, so the inverse is the transpose but for the scale
        inverse = matrix[:, :, :2].transpose(1, 2) * (net / self.side)[:, None, None] ** 2
        return torch.einsum("bij,bnj->bni", inverse, places - matrix[:, None, :, 2])


def aimed(joints: Tensor, config: AugmentConfig) -> Aim:
    """Crops as trackers, finders and users give them, of persons with `joints` [B, 17, 3]: `posetrain.data.loose.loosely`."""
    count, labelled = len(joints), joints[..., 2] > 0
    part = torch.zeros(2, JOINTS, dtype=torch.bool, device=joints.device)
    part[0, torch.from_numpy(UPPER).to(joints.device)] = True
    part[1, torch.from_numpy(LOWER).to(joints.device)] = True
    half = labelled & part[(uniform(joints, 0, 1, count) >= 0.75).long()]
    is_half = (uniform(joints, 0, 1, count) < config.half_body_chance) & (half.sum(1) >= 4)
    focus = torch.where(is_half[:, None], half, labelled)
    cut = None
    if config.cut_off_chance > 0:
        cut, seen = drawn(joints, config)
        focus = torch.where(cut.ends[:, None], seen, focus)
    focus = focus[..., None]
    low = torch.where(focus, joints[..., :2], torch.inf).amin(1)
    high = torch.where(focus, joints[..., :2], -torch.inf).amax(1)
    extent = (high - low).amax(1).clamp(min=8.0)
    usual = uniform(joints, 0, 1, count) < 0.5
    draw = uniform(joints, 0, 1, count)

    def between(limits: tuple[float, float]) -> Tensor:
        return torch.exp(draw * math.log(limits[1] / limits[0]) + math.log(limits[0]))

    side = extent * torch.where(usual, between(USUAL), between(LOOSE))
    far = uniform(joints, 0, 1, count) * (uniform(joints, 0, 1, count) < 0.3)
    reach = config.shift * side + 0.35 * (side - extent).clamp(min=0) * far
    centre = (low + high) / 2 + uniform(joints, -1, 1, count, 2) * reach[:, None]
    turned = uniform(joints, 0, 1, count) < config.rotate_chance
    degrees = torch.randn(count, device=joints.device) * config.rotate_degrees / 2
    if cut is not None:
        turned &= ~cut.ends
    angle = degrees.clamp(-MAX_DEGREES, MAX_DEGREES).deg2rad() * turned
    return Aim(centre, side, angle, uniform(joints, 0, 1, count) < 0.5, cut)


def of_nobody(shape: Tensor) -> Aim:
    """Square parts of pictures without people of `shape` [B, 2]: `posetrain.data.augment.empty_crop`."""
    count, size = len(shape), shape.float()
    side = size.amin(1) * uniform(size, 0.6, 1.3, count)
    centre = size.flip(1) * uniform(size, 0.25, 0.75, count, 2)
    return Aim(centre, side, torch.zeros_like(side), uniform(size, 0, 1, count) < 0.5)


def sampled(pixels: Tensor, offset: Tensor, shape: Tensor, image_from_net: Tensor, net: int) -> Tensor:
    """Crops [B, 3, net, net] in 0..255, bilinear."""
    grid = torch.arange(net, device=pixels.device, dtype=torch.float32)
    m = image_from_net[:, :, :, None, None]
    x = m[:, 0, 0] * grid + m[:, 0, 1] * grid[:, None] + m[:, 0, 2]
    y = m[:, 1, 0] * grid + m[:, 1, 1] * grid[:, None] + m[:, 1, 2]
    left, top = x.floor(), y.floor()
    rows, columns = shape[:, 0, None, None], shape[:, 1, None, None]
    out = torch.zeros((*x.shape, 3), device=pixels.device)
    for dy in (0, 1):
        for dx in (0, 1):
            column, row = (left + dx).long(), (top + dy).long()
            inside = (column >= 0) & (column < columns) & (row >= 0) & (row < rows)
            part = (1 - (x - column).abs()) * (1 - (y - row).abs()) * inside
            at = offset[:, None, None] + row.clamp(min=0).minimum(rows - 1) * columns
            at = at + column.clamp(min=0).minimum(columns - 1)
            out = out + pixels[at].float() * part[..., None]
    return out.permute(0, 3, 1, 2)


Sampler = Callable[[Tensor, Tensor, Tensor, Tensor, int], Tensor]


def all_of(count: int, like: Tensor) -> Ends:
    """No strip is missing of any crop."""
    return Ends(torch.zeros(count, 2, device=like.device), torch.ones(count, 2, device=like.device))


def ends(count: int, like: Tensor) -> Ends:
    """A strip along one side is missing of EDGE_CHANCE of the crops."""
    wide = uniform(like, 0.03, WIDEST_EDGE, count) * (uniform(like, 0, 1, count) < EDGE_CHANCE)
    at = torch.randint(4, (count,), device=like.device)
    strips = wide[:, None] * torch.nn.functional.one_hot(at, 4)
    return Ends(strips[:, :2], 1 - strips[:, 2:])


@dataclass(frozen=True, kw_only=True)
class Views(Labels):
    """`images` [B, 3, net, net] in 0..255 before damage; `is_cut_off` [B]: what is outside can be nowhere in the crop."""

    aim: Aim
    images: Tensor
    is_cut_off: Tensor


def viewed(
    store: Store, ids: Tensor, aim: Aim, net: int, sample: Sampler = sampled, is_ended: bool = True
) -> Views:
    """Crops of persons where `aim` lies, of `net` pixels; the picture ends inside some of them, unless not `is_ended`."""
    joints, offset, shape = store.joints[ids], store.offset[ids], store.shape[ids]
    images = sample(store.pixels, offset, shape, aim.image_from_net(net), net)
    xy, labelled = aim.in_net(joints[..., :2], net), joints[..., 2] > 0
    mirror = torch.from_numpy(MIRROR).to(ids.device)
    flip = aim.flip[:, None]
    xy = torch.where(flip[..., None], xy[:, mirror], xy)
    labelled = torch.where(flip, labelled[:, mirror], labelled)
    end = ends(len(ids), images) if is_ended else all_of(len(ids), images)
    is_cut_off = torch.zeros(len(ids), dtype=torch.bool, device=ids.device)
    is_legless = is_cut_off
    if cut := aim.cut_off:
        is_legless = without_legs(joints, shape)
        is_cut_off = cut.ends | is_legless
        if is_ended:
            end = cut.strips(aim.centre, aim.side, aim.flip, end)
    part = (xy + 0.5) / net
    legs = torch.zeros(JOINTS, dtype=torch.bool, device=ids.device)
    legs[LEGS] = True
    within = ((part > end.low[:, None]) & (part < end.high[:, None])).all(dim=2)
    return Views(
        aim=aim,
        ends=end,
        images=images * end.mask(net),
        xy=xy,
        inside=labelled & within,
        outside=(labelled & ~within) | (is_legless[:, None] & legs),
        is_cut_off=is_cut_off,
    )
