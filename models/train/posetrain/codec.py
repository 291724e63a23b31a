"""The heat-map codec: one object behind targets, loss and decoder, so that they cannot drift apart.

Conventions (mirrored by the runtime and held together by tests/golden/heatmap_codec.json):
- pixel centres lie at integers; cell (i, j) of the map is centred on net pixel ((i + 0.5) * stride - 0.5,
  ...);
- a map holds logits; softmax over the whole map is the probability of where the joint is;
- the peak is the first cell in row-major order with the largest logit; the window is the `window` x
  `window` cells around it, clipped at the map's edge; x and y are the expectation of the cell centres under
  the softmax restricted to the window;
- m = sum of exp over the window / sum of exp over the map, clamped to [MASS_MIN, 1 - MASS_MIN];
  feature f = ln(m / (1 - m)); score = sigmoid(a_j + b_j * f); sigma in net pixels = exp(c_j + d_j * f).

The loss is cross-entropy against a Gaussian on the map, as in SimCC (Li et al. 2022) but in two dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from posetrain.packs import Floats

# Keeps the feature within about +-9.2 so that a saturated map cannot make a score of exactly 0 or 1.
MASS_MIN = 1e-4


@dataclass(frozen=True)
class HeatmapCodec:
    """`sigma_cells` is the Gaussian's standard deviation at training; 1.5 cells of 4 px is 4 % of the
    person's extent, about the spread of the labels themselves. `window` covers +-2 cells."""

    stride: int = 4
    sigma_cells: float = 1.5
    window: int = 5

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
        joints = heatmaps.shape[0]
        xy = np.zeros((joints, 2), np.float32)
        feature = np.zeros(joints, np.float32)
        half = self.window // 2
        for j in range(joints):
            logits = heatmaps[j].astype(np.float64)
            peak_row, peak_column = np.unravel_index(int(logits.argmax()), logits.shape)
            weights = np.exp(logits - logits[peak_row, peak_column])
            top, left = max(0, int(peak_row) - half), max(0, int(peak_column) - half)
            part = weights[top : int(peak_row) + half + 1, left : int(peak_column) + half + 1]
            inside = part.sum()
            row = (part.sum(axis=1) * np.arange(top, top + part.shape[0])).sum() / inside
            column = (part.sum(axis=0) * np.arange(left, left + part.shape[1])).sum() / inside
            xy[j] = ((column + 0.5) * self.stride - 0.5, (row + 0.5) * self.stride - 0.5)
            mass = float(np.clip(inside / weights.sum(), MASS_MIN, 1 - MASS_MIN))
            feature[j] = np.log(mass / (1 - mass))
        return xy, feature

    def decode_batch(self, heatmaps: Tensor) -> tuple[Tensor, Tensor]:
        """The same for [B, J, H, W] at once, f32: positions [B, J, 2] and features [B, J]."""
        batch, joints, rows, columns = heatmaps.shape
        logits = heatmaps.float().flatten(2)
        peak = logits.argmax(dim=2)
        peak_row, peak_column = peak // columns, peak % columns
        weights = torch.exp(logits - logits.amax(dim=2, keepdim=True)).view(batch, joints, rows, columns)
        half = self.window // 2
        row_index = torch.arange(rows).view(1, 1, rows)
        column_index = torch.arange(columns).view(1, 1, columns)
        row_in = ((row_index - peak_row[..., None]).abs() <= half).float()
        column_in = ((column_index - peak_column[..., None]).abs() <= half).float()
        part = weights * row_in[..., :, None] * column_in[..., None, :]
        inside = part.sum(dim=(2, 3))
        row = (part.sum(dim=3) * row_index).sum(dim=2) / inside
        column = (part.sum(dim=2) * column_index).sum(dim=2) / inside
        xy = torch.stack(((column + 0.5) * self.stride - 0.5, (row + 0.5) * self.stride - 0.5), dim=2)
        mass = (inside / weights.sum(dim=(2, 3))).clamp(MASS_MIN, 1 - MASS_MIN)
        return xy, torch.log(mass / (1 - mass))
