"""The person finder: network, targets, loss and decoder of an anchor-free centre detector (after
CenterNet, Zhou 2019).

Conventions (mirrored by the runtime):
- input: the whole picture scaled by s = min(width / w, height / h) of the network's `Size` into the top left corner, black elsewhere;
  image = net * (1 / s) + (0.5 / s - 0.5), pixel centres at integers;
- outputs at stride 8: `centre` [1, 1, R, C] logits and `box` [1, 4, R, C]; cell (i, j) is centred on net
  pixel (j + 0.5) * 8 - 0.5, (i + 0.5) * 8 - 0.5; box = distances from there to the left, top, right and
  bottom side in units of 8 px, negative ones taken as 0;
- score = sigmoid(centre); cells below the threshold dropped, then greedy suppression by IoU, best first.
"""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from posetrain.data.boxes import iou
from posetrain.data.packs import Floats
from posetrain.keypoints.net import ConvBn, KeypointNet, Residual

STRIDE = 8
NMS_IOU = 0.5
# A cell learns the box where it lies this near the person's centre, on the scale of the Gaussian's height.
BOX_CELLS = 0.4


class Size(NamedTuple):
    """Of a network's input, net pixels; both sides are multiples of 32, the deepest stride.

    288 x 224 leaves eight rows of a picture in 4:3 black, as most cameras give them; a wider one leaves more of the bottom black, an
    upright one the right. A person of a fourteenth of the picture's height covers two cells."""

    width: int = 288
    height: int = 224

    @classmethod
    def of(cls, text: str) -> Size:
        """Of `WIDTHxHEIGHT`, a command's argument."""
        try:
            width, height = (int(side) for side in text.split("x"))
        except ValueError as error:
            raise ArgumentTypeError(f"{text} is no WIDTHxHEIGHT, such as 288x224") from error
        if min(width, height) < 32 or width % 32 or height % 32:
            raise ArgumentTypeError(f"{text}: both sides must be multiples of 32")
        return cls(width, height)

    def __str__(self) -> str:
        return f"{self.width}x{self.height}"


class FinderNet(nn.Module):
    """image [B, 3, H, W] in 0..1 -> centre logits [B, 1, H/8, W/8] and side distances [B, 4, H/8, W/8]."""

    def __init__(self, widths: tuple[int, int, int, int, int] = (16, 32, 64, 128, 192)) -> None:
        super().__init__()
        w = widths
        self.stem = nn.Sequential(ConvBn(3, w[0], 3, 2), ConvBn(w[0], w[1], 3, 2))
        self.stage8 = nn.Sequential(ConvBn(w[1], w[2], 3, 2), Residual(w[2]))
        self.stage16 = nn.Sequential(ConvBn(w[2], w[3], 3, 2), Residual(w[3]))
        self.stage32 = nn.Sequential(ConvBn(w[3], w[4], 3, 2), Residual(w[4]))
        self.top16 = ConvBn(w[4], w[3], 1, relu=False)
        self.top8 = ConvBn(w[3], w[2], 1, relu=False)
        self.smooth = ConvBn(w[2], w[2], 3)
        self.centre = nn.Conv2d(w[2], 1, 1)
        self.box = nn.Conv2d(w[2], 4, 1)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        for head, bias in ((self.centre, -4.0), (self.box, 3.0)):
            nn.init.normal_(head.weight, std=0.01)
            assert head.bias is not None
            nn.init.constant_(head.bias, bias)

    def start_from(self, keypoints: KeypointNet) -> None:
        """Takes over the backbone of a trained keypoint network of the same widths, as deep as this one: it knows
        people."""
        stages = [cast(nn.Sequential, stage) for stage in keypoints.stages]
        for mine, theirs in (
            (self.stem[0], keypoints.stem),
            (self.stem[1], stages[0][0]),
            (self.stage8, stages[1][: len(self.stage8)]),
            (self.stage16, stages[2][: len(self.stage16)]),
            (self.stage32, stages[3][: len(self.stage32)]),
            (self.top16, keypoints.top),
            (self.smooth, keypoints.smooth8),
        ):
            mine.load_state_dict(theirs.state_dict())

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        x8 = self.stage8(self.stem(image))
        x16 = self.stage16(x8)
        y16 = functional.relu(x16 + _up(self.top16(self.stage32(x16))))
        y8 = self.smooth(functional.relu(x8 + _up(self.top8(y16))))
        return self.centre(y8), self.box(y8)


def _up(x: Tensor) -> Tensor:
    return functional.interpolate(x, scale_factor=2.0, mode="nearest")


def cell_centres(cells: int) -> Floats:
    return np.asarray((np.arange(cells) + 0.5) * STRIDE - 0.5, np.float32)


def targets(boxes: Floats, ignore: Floats, size: Size) -> tuple[Floats, Floats, Floats, Floats]:
    """boxes, ignore [N, 4] x0 y0 x1 y1 in net pixels -> heat [R, C], side distances [4, R, C] in cells,
    weight of the box loss [R, C], and 0 in cells [R, C] of which nothing is known."""
    xs, ys = cell_centres(size.width // STRIDE), cell_centres(size.height // STRIDE)
    cells = (len(ys), len(xs))
    heat = np.zeros(cells, np.float32)
    sides = np.ones((4, *cells), np.float32)
    known = np.ones(cells, np.float32)
    for x0, y0, x1, y1 in ignore:
        inside = ((ys >= y0) & (ys <= y1))[:, None] & ((xs >= x0) & (xs <= x1))[None, :]
        known[inside] = 0
    for x0, y0, x1, y1 in boxes:
        cx, cy = (x0 + x1) / 2, (y0 + y1) / 2
        sx, sy = max((x1 - x0) / 8, STRIDE / 2), max((y1 - y0) / 8, STRIDE / 2)
        bump = np.exp(-((xs[None, :] - cx) ** 2) / (2 * sx**2) - ((ys[:, None] - cy) ** 2) / (2 * sy**2))
        row, column = int(np.abs(ys - cy).argmin()), int(np.abs(xs - cx).argmin())
        bump[row, column] = 1.0
        better = bump > heat
        distances = np.stack(
            np.broadcast_arrays(xs[None, :] - x0, ys[:, None] - y0, x1 - xs[None, :], y1 - ys[:, None])
        )
        sides[:, better] = np.maximum(distances / STRIDE, 0.05)[:, better]
        heat = np.maximum(heat, bump)
        known[bump > BOX_CELLS] = 1
    return heat, sides, np.where(heat > BOX_CELLS, heat, 0).astype(np.float32), known


def loss(centre: Tensor, box: Tensor, heat: Tensor, sides: Tensor, weight: Tensor, known: Tensor) -> Tensor:
    """Focal loss of the centres (Law & Deng 2018) and generalised IoU of the boxes (Rezatofighi 2019)."""
    logit = centre.float()[:, 0]
    positive = (heat >= 1).float()
    p = torch.sigmoid(logit)
    hit = positive * (1 - p) ** 2 * functional.softplus(-logit)
    miss = known * (1 - positive) * (1 - heat) ** 4 * p**2 * functional.softplus(logit)
    count = positive.sum().clamp(min=1)
    guess = box.float().clamp(min=0.02)
    width, height = guess[:, 0] + guess[:, 2], guess[:, 1] + guess[:, 3]
    true_width, true_height = sides[:, 0] + sides[:, 2], sides[:, 1] + sides[:, 3]
    low, high = torch.minimum(guess, sides), torch.maximum(guess, sides)
    common = (low[:, 0] + low[:, 2]) * (low[:, 1] + low[:, 3])
    union = width * height + true_width * true_height - common
    hull = (high[:, 0] + high[:, 2]) * (high[:, 1] + high[:, 3])
    giou = common / union - (hull - union) / hull
    boxes = (weight * (1 - giou)).sum() / weight.sum().clamp(min=1)
    # a clamped side has no gradient: this pulls it back
    sunk = (functional.relu(0.02 - box.float()).sum(dim=1) * weight).sum() / weight.sum().clamp(min=1)
    return (hit.sum() + miss.sum()) / count + 2.0 * boxes + 0.1 * sunk


def decode(centre: Floats, box: Floats, threshold: float) -> tuple[Floats, Floats]:
    """centre [R, C], box [4, R, C] -> boxes [N, 4] in net pixels and scores [N], best first."""
    score = 1 / (1 + np.exp(-centre.astype(np.float64)))
    rows, columns = np.nonzero(score >= threshold)
    x, y = cell_centres(centre.shape[1])[columns], cell_centres(centre.shape[0])[rows]
    left, top, right, bottom = np.maximum(box[:, rows, columns], 0) * STRIDE
    boxes = np.stack([x - left, y - top, x + right, y + bottom], axis=1).astype(np.float32)
    scores = score[rows, columns].astype(np.float32)
    order = np.argsort(-scores, kind="stable")
    kept: list[int] = []
    for i in order:
        if not kept or iou(boxes[i : i + 1], boxes[kept]).max() <= NMS_IOU:
            kept.append(int(i))
    return boxes[kept], scores[kept]
