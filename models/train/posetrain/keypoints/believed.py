"""What of a teacher's answers about a batch of crops is learned: where, and by how much each is believed; of one crop's stored maps
`posetrain.keypoints.taught` has the same."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from posetrain.data.packs import BODY, JOINTS
from posetrain.keypoints.taught import HALF, NEAR_LABEL, SURE, TENTH


@dataclass(frozen=True)
class Ends:
    """Where the picture ends inside a crop of `net` pixels: kept from `low` [B, 2] to `high` [B, 2] (x, y), in parts of the crop's side."""

    low: Tensor
    high: Tensor

    def mask(self, net: int) -> Tensor:
        """[B, 1, net, net] True where the picture is."""
        at = (torch.arange(net, device=self.low.device) + 0.5) / net
        x = (at > self.low[:, :1]) & (at < self.high[:, :1])
        y = (at > self.low[:, 1:]) & (at < self.high[:, 1:])
        return (y[:, :, None] & x[:, None, :])[:, None]


@dataclass(frozen=True, kw_only=True)
class Labels:
    """`xy` [B, 17, 2] net pixels, `inside` and `outside` [B, 17] booleans, of crops in which the picture ends at `ends`."""

    ends: Ends
    xy: Tensor
    inside: Tensor
    outside: Tensor


def believed(
    maps: Tensor, views: Labels, extent: Tensor, cells: int, stride: float, alone: Tensor
) -> tuple[Tensor, Tensor]:
    """Of a teacher's logits over the crops: probabilities [B, 17, cells, cells] to aim at, and how much to believe each joint's,
    0..1. `extent` [B] is the person's, in cells; `alone` [B]: labels do not count."""
    p = maps.float().flatten(2).softmax(2).view_as(maps)
    if p.shape[2] != cells:
        p = functional.interpolate(p, size=cells, mode="bilinear", antialias=True, align_corners=False)
        p = p / p.sum(dim=(2, 3), keepdim=True).clamp(min=1e-6)
    p = p * views.ends.mask(cells)
    grid = torch.arange(cells, device=p.device, dtype=torch.float32)
    label = (views.xy + 0.5) / stride - 0.5
    counts = views.inside & ~alone[:, None]
    spread = (2 * (NEAR_LABEL * extent) ** 2).clamp(min=0.5)[:, None, None]
    across = torch.exp(-((grid - label[..., :1]) ** 2) / spread)
    down = torch.exp(-((grid - label[..., 1:]) ** 2) / spread)
    near = down[..., :, None] * across[..., None, :]
    p = torch.where(counts[..., None, None], p * near, p)
    mass = p.sum(dim=(2, 3))
    peak = p.flatten(2).argmax(2)
    row, column = peak // cells, peak % cells
    reach = (TENTH * extent)[:, None, None]
    rows = ((grid - row[..., None]).abs() <= reach).float()
    columns = ((grid - column[..., None]).abs() <= reach).float()
    sure = torch.einsum("bjh,bjhw,bjw->bj", rows, p, columns)
    # a pose of the teacher's alone is believed as a labelled one, where it is sure
    belief = torch.where(alone[:, None], 1.0, HALF) * torch.where(sure >= SURE, sure, 0.0)
    belief = torch.where(counts, (1.5 * mass).clamp(max=1.0), belief)
    body = torch.zeros(JOINTS, dtype=torch.bool, device=p.device)
    body[BODY] = True
    wanted = body | views.inside
    belief = torch.where(wanted & ~views.outside & (mass >= 0.05), belief, 0.0)
    return p / mass.clamp(min=1e-6)[..., None, None], belief
