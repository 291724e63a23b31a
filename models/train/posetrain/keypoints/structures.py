"""Other structures to compare the committed one with (`posetrain.keypoints.compare`): none of them ships.

All take image [B, 3, H, W] in 0..1, have the same stem, pyramid and head, and about as many multiply-adds; what differs is the
trunk or the head.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from posetrain.data.packs import JOINTS
from posetrain.keypoints.net import ConvBn, KeypointNet, NetConfig

# The committed network's, one residual block less a stride: cheap enough to train many times.
DENSE = NetConfig(widths=(16, 32, 64, 128, 192), blocks=(0, 1, 2, 1), pyramid=(64, 32))


class Depthwise(nn.Module):
    """Depthwise convolution, batch norm, ReLU."""

    def __init__(self, width: int, kernel: int = 3, stride: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(width, width, kernel, stride, kernel // 2, groups=width, bias=False)
        self.bn = nn.BatchNorm2d(width)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.bn(self.conv(x)))


class Inverted(nn.Module):
    """MobileNetV2's block (Sandler et al. 2018): widen, depthwise, narrow; a residual where shapes allow."""

    def __init__(self, inputs: int, outputs: int, stride: int, widen: int, kernel: int = 3) -> None:
        super().__init__()
        hidden = inputs * widen
        self.body = nn.Sequential(
            ConvBn(inputs, hidden, 1),
            Depthwise(hidden, kernel, stride),
            ConvBn(hidden, outputs, 1, relu=False),
        )
        self.same = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.body(x)
        return x + y if self.same else y


def dense() -> KeypointNet:
    return KeypointNet(DENSE)


def depthwise_low() -> KeypointNet:
    """Dense down to stride 8; at strides 16 and 32 blocks of 5x5 depthwise and 1x1, as many as cost the same."""
    net = KeypointNet(DENSE)
    net.stages[2] = nn.Sequential(ConvBn(64, 128, 3, 2), *(Inverted(128, 128, 1, 3, 5) for _ in range(6)))
    net.stages[3] = nn.Sequential(ConvBn(128, 192, 3, 2), *(Inverted(192, 192, 1, 3, 5) for _ in range(3)))
    return net


def mobilenet() -> KeypointNet:
    """MobileNetV2's trunk, widened sixfold as published, 0.75 of its channels but the pyramid's own at its taps."""
    net = KeypointNet(DENSE)

    def stage(inputs: int, outputs: int, count: int) -> nn.Sequential:
        return nn.Sequential(
            Inverted(inputs, outputs, 2, 6), *(Inverted(outputs, outputs, 1, 6) for _ in range(count - 1))
        )

    net.stages = nn.ModuleList([stage(16, 24, 2), stage(24, 32, 3), stage(32, 72, 7), stage(72, 128, 4)])
    net.top = ConvBn(128, 72, 1, relu=False)
    net.down16 = ConvBn(72, 64, 3)
    net.lateral8 = ConvBn(32, 64, 1, relu=False)
    net.lateral4 = ConvBn(24, 32, 1, relu=False)
    net.auxiliary = nn.Conv2d(72, JOINTS, 1)
    return net


class SimccNet(nn.Module):
    """The dense trunk with SimCC's head (Li et al. 2022): a map a joint at stride 8, flattened, one linear layer an axis, shared
    by the joints, to `BINS` classes a pixel. image -> logits over x [B, 17, W * BINS] and over y [B, 17, H * BINS]."""

    BINS = 2

    def __init__(self, size: int) -> None:
        super().__init__()
        trunk = KeypointNet(DENSE)
        del trunk.down8, trunk.lateral4, trunk.smooth4, trunk.heatmaps, trunk.auxiliary
        self.trunk = trunk
        self.joints = nn.Conv2d(64, JOINTS, 1)
        cells = (size // 8) ** 2
        self.x = nn.Linear(cells, size * self.BINS)
        self.y = nn.Linear(cells, size * self.BINS)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        t = self.trunk
        x8 = t.stages[1](t.stages[0](t.stem(image)))
        x16 = t.stages[2](x8)
        y16 = functional.relu(x16 + _up(t.top(t.stages[3](x16))))
        y8 = t.smooth8(functional.relu(t.lateral8(x8) + _up(t.down16(y16))))
        flat = self.joints(y8).flatten(2)
        return self.x(flat), self.y(flat)


def simcc_loss(axes: tuple[Tensor, Tensor], xy: Tensor, weight: Tensor, sigma_px: float = 6.0) -> Tensor:
    """Cross-entropy with a Gaussian an axis, of the heat map's own width."""
    total = torch.zeros(())
    for axis, logits in enumerate(axes):
        logits = logits.float()
        place = (torch.arange(logits.shape[2]) + 0.5) / SimccNet.BINS - 0.5
        aim = torch.softmax(-((place - xy[..., axis, None]) ** 2) / (2 * sigma_px**2), dim=-1)
        total = total - (weight * (aim * functional.log_softmax(logits, dim=-1)).sum(-1)).sum()
    return total / weight.sum().clamp(min=1.0)


def simcc_decode(axes: tuple[Tensor, Tensor]) -> Tensor:
    """Net pixels [B, 17, 2] of the best class an axis."""
    return torch.stack([(a.float().argmax(2) + 0.5) / SimccNet.BINS - 0.5 for a in axes], dim=2)


def _up(x: Tensor) -> Tensor:
    return functional.interpolate(x, scale_factor=2.0, mode="nearest")
