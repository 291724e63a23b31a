"""The keypoint network: dense 3x3 residual backbone and a top-down pyramid to stride 4.

Only what fused int8 operators run well: dense convolutions, ReLU, residual additions, nearest x2. Batch
norms fold into the convolutions at export. Residual blocks after He et al. 2016, pyramid after Lin et al.
2017 (additions, no concats).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from posetrain.data.packs import JOINTS


class ConvBn(nn.Module):
    """Convolution and batch norm, and ReLU where `relu`."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int = 1, relu: bool = True) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
        self.bn = nn.BatchNorm2d(outputs)
        self.relu = relu

    def forward(self, x: Tensor) -> Tensor:
        x = self.bn(self.conv(x))
        return functional.relu(x) if self.relu else x


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = ConvBn(width, width, 3)
        self.second = ConvBn(width, width, 3, relu=False)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(x + self.second(self.first(x)))


@dataclass(frozen=True)
class NetConfig:
    """`widths` at strides 2, 4, 8, 16, 32; `blocks` = residual blocks at strides 4, 8, 16, 32;
    `pyramid` = width of the maps coming down at strides 8 and 4."""

    widths: tuple[int, int, int, int, int] = (16, 32, 64, 128, 192)
    blocks: tuple[int, int, int, int] = (1, 1, 2, 2)
    pyramid: tuple[int, int] = (64, 32)


class KeypointNet(nn.Module):
    """image [B, 3, H, W] in 0..1 -> heat-map logits [B, 17, H/4, W/4]; with `auxiliary`, also those at
    H/16."""

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        w = config.widths
        self.stem = ConvBn(3, w[0], 3, 2)
        self.stages = nn.ModuleList(
            nn.Sequential(
                ConvBn(w[i], w[i + 1], 3, 2), *(Residual(w[i + 1]) for _ in range(config.blocks[i]))
            )
            for i in range(4)
        )
        p8, p4 = config.pyramid
        self.top = ConvBn(w[4], w[3], 1, relu=False)
        self.down16 = ConvBn(w[3], p8, 3)
        self.lateral8 = ConvBn(w[2], p8, 1, relu=False)
        self.smooth8 = ConvBn(p8, p8, 3)
        self.down8 = ConvBn(p8, p4, 1, relu=False)
        self.lateral4 = ConvBn(w[1], p4, 1, relu=False)
        self.smooth4 = ConvBn(p4, p4, 3)
        self.heatmaps = nn.Conv2d(p4, JOINTS, 1)
        self.auxiliary = nn.Conv2d(w[3], JOINTS, 1)
        draw_weights([self], [self.heatmaps, self.auxiliary])

    def forward(self, image: Tensor, auxiliary: bool = False) -> Tensor | tuple[Tensor, Tensor]:
        x4 = self.stages[0](self.stem(image))
        x8 = self.stages[1](x4)
        x16 = self.stages[2](x8)
        x32 = self.stages[3](x16)
        y16 = functional.relu(x16 + _up(self.top(x32)))
        y8 = self.smooth8(functional.relu(self.lateral8(x8) + _up(self.down16(y16))))
        y4 = self.smooth4(functional.relu(self.lateral4(x4) + _up(self.down8(y8))))
        maps: Tensor = self.heatmaps(y4)
        return (maps, self.auxiliary(y16)) if auxiliary else maps


def draw_weights(parts: list[nn.Module], heads: list[nn.Conv2d]) -> None:
    """Of the convolutions in `parts` as He et al. 2015 draw them; `heads` say next to nothing at first."""
    for part in parts:
        for module in part.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
    for head in heads:
        nn.init.normal_(head.weight, std=0.01)


def grow(into: KeypointNet, weights: dict[str, Tensor]) -> None:
    """Takes over the weights of a network of the same widths with more or fewer residual blocks. Blocks that it lacks begin
    as identities (the second convolution's scale is 0, as in Goyal et al. 2017), so the output is the shallower network's;
    blocks that `into` lacks are left out, which a residual network survives (Veit et al. 2016) until training mends it."""
    missing, unexpected = into.load_state_dict(weights, strict=False)
    strange = [name for name in (*missing, *unexpected) if not name.startswith("stages.")]
    if strange:
        raise ValueError(f"only residual blocks can differ from the network to start from, not {strange[0]}")
    for name in missing:
        if name.endswith("second.bn.weight"):
            nn.init.zeros_(into.get_parameter(name))


def _up(x: Tensor) -> Tensor:
    return functional.interpolate(x, scale_factor=2.0, mode="nearest")


def multiply_adds(model: nn.Module, height: int, width: int) -> int:
    """Multiply-adds of the convolutions for one picture."""
    total = 0

    def count(module: nn.Module, _: tuple[Tensor, ...], output: Tensor) -> None:
        nonlocal total
        assert isinstance(module, nn.Conv2d)
        per_output = module.in_channels // module.groups * module.kernel_size[0] * module.kernel_size[1]
        total += per_output * output.numel() // output.shape[0]

    hooks = [m.register_forward_hook(count) for m in model.modules() if isinstance(m, nn.Conv2d)]
    with torch.no_grad():
        model.eval()(torch.zeros(1, 3, height, width))
    for hook in hooks:
        hook.remove()
    return total


def used_parameters(model: nn.Module) -> int:
    """Parameters that the exported network has: the auxiliary head teaches alone."""
    return sum(p.numel() for name, p in model.named_parameters() if not name.startswith("auxiliary"))
