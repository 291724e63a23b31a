"""Who is asked about every crop: `large`, the tutor, or both at once, each also about the crop's mirror image."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from posetrain.data.packs import MIRROR
from posetrain.gpu.compiled import half_precision, quicker
from posetrain.gpu.tutor import Tutor, is_tutor
from posetrain.keypoints import checkpoints
from posetrain.keypoints.net import KeypointNet, NetConfig

# What `large` is made of.
LARGE = NetConfig(widths=(16, 32, 64, 128, 192), blocks=(0, 2, 3, 2), pyramid=(64, 32))


def network(weights: dict[str, Tensor], net: NetConfig, device: torch.device) -> KeypointNet | Tutor:
    """A network with its weights: a tutor's, or those of `net`'s structure."""
    model = Tutor() if is_tutor(weights) else KeypointNet(net)
    model.load_state_dict(weights)
    # cuDNN takes a minute to prepare convolutions of a channel each where channels come last
    layout = torch.contiguous_format if is_tutor(weights) else torch.channels_last
    return model.to(device).to(memory_format=layout)


class Panel:
    """All teachers' maps of a crop and of its mirror image: the logarithm of the mean of their probabilities."""

    def __init__(self, models: list[nn.Module]) -> None:
        self.models = models
        self.mirror = torch.from_numpy(MIRROR).to(next(models[0].parameters()).device)

    def __call__(self, images: Tensor) -> Tensor:
        both, total = torch.cat([images, images.flip(3)]), torch.zeros((), device=images.device)
        for model in self.models:
            maps = model(both).float()
            p = maps.flatten(2).softmax(2).view_as(maps)
            total = total + p[: len(images)] + p[len(images) :, self.mirror].flip(3)
        return torch.log(total.clamp(min=1e-9))


def panel(files: list[Path], device: torch.device) -> Panel:
    """Of compact checkpoints."""
    return Panel([network(checkpoints.load(file)[0], LARGE, device).eval() for file in files])


def asked_quicker(
    teacher: Callable[[Tensor], Tensor], count: int, net: int, device: torch.device
) -> Callable[[Tensor], Tensor]:
    """The teacher, compiled where that is worth it for batches of `count` crops of `net` pixels."""
    images = torch.rand(count, 3, net, net, device=device).contiguous(memory_format=torch.channels_last)

    @torch.no_grad()
    def ask(look: Callable[[Tensor], Tensor]) -> None:
        with half_precision(device):
            look(images)

    return quicker("the teachers", teacher, ask)
