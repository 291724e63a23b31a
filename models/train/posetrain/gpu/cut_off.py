"""People whom the picture's edge cuts off, of a whole batch at once: what `posetrain.data.cut_off` does to one."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from posetrain.data.augment import AugmentConfig
from posetrain.data.cut_off import ABOVE, BELOW, FEWEST, LEFT, LEGS, NEAR_EDGE, OFTEN, SEEN, SHOULDERS
from posetrain.keypoints.believed import Ends


@dataclass(frozen=True)
class CutOff:
    """Of persons [B] whether the picture `ends` across them: from `at` (stored pixels) along `axis` (0 x, 1 y) on, or, where `is_first`, up
    to there."""

    ends: Tensor
    axis: Tensor
    at: Tensor
    is_first: Tensor

    def strips(self, centre: Tensor, side: Tensor, flip: Tensor, others: Ends) -> Ends:
        """Where the picture ends in crops of `side` [B] round `centre` [B, 2]; `others` say so of persons who are whole."""
        part = 0.5 + (self.at - centre.gather(1, self.axis[:, None])[:, 0]) / side
        is_mirrored = flip & (self.axis == 0)
        part = torch.where(is_mirrored, 1 - part, part).clamp(0.01, 0.99)
        here = torch.nn.functional.one_hot(self.axis, 2).bool() & self.ends[:, None]
        is_first = (self.is_first != is_mirrored)[:, None]
        whole = ~self.ends[:, None]
        low = torch.where(here & is_first, part[:, None], torch.where(whole, others.low, 0.0))
        high = torch.where(here & ~is_first, part[:, None], torch.where(whole, others.high, 1.0))
        return Ends(low, high)


def drawn(joints: Tensor, config: AugmentConfig) -> tuple[CutOff, Tensor]:
    """Of persons with `joints` [B, 17, 3]: who is cut off, and which of their joints [B, 17] the picture still shows."""
    count, device = len(joints), joints.device
    labelled = joints[..., 2] > 0
    low = torch.where(labelled[..., None], joints[..., :2], torch.inf).amin(1)
    high = torch.where(labelled[..., None], joints[..., :2], -torch.inf).amax(1)
    end = torch.multinomial(torch.tensor(OFTEN, device=device), count, replacement=True)
    axis = ((end == BELOW) | (end == ABOVE)).long()
    is_first = (end == ABOVE) | (end == LEFT)
    first, last = (edge.gather(1, axis[:, None])[:, 0] for edge in (low, high))
    part = (torch.rand(count, device=device) * (SEEN[1] - SEEN[0]) + SEEN[0]) * (last - first)
    at = torch.where(is_first, last - part, first + part)
    place = torch.where(axis[:, None] == 0, joints[..., 0], joints[..., 1])
    seen = labelled & torch.where(is_first[:, None], place > at[:, None], place < at[:, None])
    few = (seen.sum(1) < FEWEST) | (seen.sum(1) == labelled.sum(1))
    is_cut = (torch.rand(count, device=device) < config.cut_off_chance) & ~few
    return CutOff(is_cut, axis, at, is_first), seen


def without_legs(joints: Tensor, shape: Tensor) -> Tensor:
    """`posetrain.data.cut_off.without_legs` [B] of stored pictures of `shape` [B, 2]."""
    labelled = joints[..., 2] > 0
    low = torch.where(labelled[..., None], joints[..., :2], torch.inf).amin(1)
    high = torch.where(labelled[..., None], joints[..., :2], -torch.inf).amax(1)
    room = shape[:, 0] - 1 - high[:, 1]
    is_near = room < NEAR_EDGE * (high - low).amax(1).clamp(min=1)
    return is_near & ~labelled[:, LEGS].any(1) & labelled[:, SHOULDERS].all(1)
