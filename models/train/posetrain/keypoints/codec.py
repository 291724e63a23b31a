"""The heat-map codec: one object behind targets, loss and decoder, so that they cannot drift apart.

Conventions (mirrored by the runtime and held together by tests/golden/heatmap_codec.json):
- pixel centres lie at integers; cell (i, j) of the map is centred on net pixel ((i + 0.5) * stride - 0.5,
  ...);
- a map holds logits; softmax over the whole map is the probability of where the joint is;
- the place is the one of most expected hits: three squares of cells, nearly as large as the circles that
  PCK.05, PCK.1 and PCK.2 count as hits, lie round every cell; a cell's hits are the sum of the
  probabilities in its squares (what reaches beyond the map holds none); the place is the first cell in
  row-major order whose hits come within TIE of the most, moved on either axis to the top of the parabola
  through the hits there and at its two neighbours: by half a cell at most, not at all at the map's edge or
  where the top is FLAT. Between two places that are as likely and near each other, this lies in between,
  where the largest cell is the one or the other by chance;
- m = probability in the middle square round that cell, clamped to [MASS_MIN, 1 - MASS_MIN];
  feature f = ln(m / (1 - m)); score = sigmoid(a_j + b_j * f); sigma in net pixels = exp(c_j + d_j * f).

The loss is cross-entropy against a Gaussian on the map, as in SimCC (Li et al. 2022) but in two dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from posetrain.data.augment import PAD
from posetrain.data.packs import Floats

# Keeps the feature within about +-9.2 so that a saturated map cannot make a score of exactly 0 or 1.
MASS_MIN = 1e-4
# Sums that differ by less may differ by rounding alone; and less of a curve has no top to speak of.
TIE = 1e-5
FLAT = 1e-3
# Parts of the person's extent that count as near: those of PCK.05, PCK.1 and PCK.2.
NEAR = (0.05, 0.1, 0.2)


@dataclass(frozen=True)
class HeatmapCodec:
    """`sigma_cells` is the Gaussian's standard deviation at training; 1.5 cells of 4 px is 4 % of the
    person's extent, about the spread of the labels themselves."""

    stride: int = 4
    sigma_cells: float = 1.5

    @staticmethod
    def windows(cells: int) -> tuple[int, ...]:
        """Sides in cells of the squares whose probability is added up, for a map of `cells` on its longer side: a crop
        shows PAD times the person's extent."""
        return tuple(2 * max(0, round(near * cells / PAD - 0.5)) + 1 for near in NEAR)

    def targets(self, xy: Tensor, cells: tuple[int, int]) -> tuple[Tensor, Tensor]:
        """xy [B, J, 2] net px, cells = (rows, columns) -> normalised Gaussians over rows [B, J, rows] and
        columns."""
        centre = (xy + 0.5) / self.stride - 0.5

        def axis(values: Tensor, count: int) -> Tensor:
            grid = torch.arange(count, dtype=torch.float32, device=xy.device)
            return torch.softmax(-((grid - values[..., None]) ** 2) / (2 * self.sigma_cells**2), dim=-1)

        return axis(centre[..., 1], cells[0]), axis(centre[..., 0], cells[1])

    def loss(self, logits: Tensor, xy: Tensor, weight: Tensor, outside: Tensor) -> Tensor:
        """Mean cross-entropy over the joints. weight [B, J] is 0 for what is not labelled; joints labelled
        but outside the crop (`outside` [B, J], a weight) are pulled to the flat map, which decodes to a
        score near 0."""
        logits = logits.float()
        rows, columns = self.targets(xy, (logits.shape[2], logits.shape[3]))
        total = torch.logsumexp(logits.flatten(2), dim=2)
        inside = total - torch.einsum("bjh,bjhw,bjw->bj", rows, logits, columns)
        flat = total - logits.mean(dim=(2, 3))
        return (weight * inside + outside * flat).sum() / (weight.sum() + outside.sum()).clamp(min=1.0)

    def taught_loss(self, logits: Tensor, target: Tensor, weight: Tensor) -> Tensor:
        """Mean cross-entropy against a teacher's probabilities [B, J, H, W], joints weighted as in `loss`."""
        each = -(target * logits.float().flatten(2).log_softmax(dim=2).view_as(target)).sum(dim=(2, 3))
        return (weight * each).sum() / weight.sum().clamp(min=1.0)

    def decode(self, heatmaps: Floats) -> tuple[Floats, Floats]:
        """heatmaps [J, H, W] logits -> positions [J, 2] in net pixels and features [J]."""
        xy, feature = self.decode_batch(torch.from_numpy(heatmaps[None]).double())
        return xy[0].numpy().astype(np.float32), feature[0].numpy().astype(np.float32)

    def decode_batch(self, heatmaps: Tensor) -> tuple[Tensor, Tensor]:
        """The same for [B, J, H, W] at once: positions [B, J, 2] and features [B, J]."""
        rows, columns = heatmaps.shape[2:]
        logits = heatmaps if heatmaps.dtype == torch.float64 else heatmaps.float()
        p = logits.flatten(2).softmax(dim=2).view_as(logits)
        squares = [_within(p, side) for side in self.windows(max(rows, columns))]
        hits = sum(squares[1:], squares[0])
        flat = hits.flatten(2)
        earlier_first = torch.arange(rows * columns, 0, -1)
        cell = ((flat >= flat.amax(dim=2, keepdim=True) * (1 - TIE)) * earlier_first).argmax(
            dim=2, keepdim=True
        )
        row, column = cell // columns, cell % columns
        down = _top(flat, cell, row, rows, columns)
        right = _top(flat, cell, column, columns, 1)
        xy = torch.cat([column + right, row + down], dim=2)
        mass = squares[1].flatten(2).gather(2, cell)[..., 0].clamp(MASS_MIN, 1 - MASS_MIN)
        return (xy + 0.5) * self.stride - 0.5, torch.log(mass / (1 - mass))

    def peaks(self, heatmaps: Tensor) -> Tensor:
        """Centres [B, J, 2] in net pixels of the largest cells: the likelier one of two places, never between."""
        peak = heatmaps.flatten(2).argmax(dim=2)
        columns = heatmaps.shape[3]
        return (torch.stack((peak % columns, peak // columns), dim=2) + 0.5) * self.stride - 0.5


def _within(p: Tensor, side: int) -> Tensor:
    """Sums over the square of `side` cells round each; beyond the edge there is nothing."""
    return functional.avg_pool2d(p, side, stride=1, padding=side // 2, divisor_override=1)


def _top(flat: Tensor, cell: Tensor, at: Tensor, count: int, step: int) -> Tensor:
    """How far from `cell` [B, J, 1] the parabola's top lies on the axis where neighbours are `step` apart."""
    here = flat.gather(2, cell)
    before = flat.gather(2, (cell - step).clamp(min=0))
    after = flat.gather(2, (cell + step).clamp(max=flat.shape[2] - 1))
    curve = 2 * here - before - after
    has_top = (at > 0) & (at < count - 1) & (curve > FLAT * here)
    shift = (after - before) / (2 * torch.where(has_top, curve, torch.ones_like(curve)))
    return torch.where(has_top, shift.clamp(-0.5, 0.5), torch.zeros_like(shift))
