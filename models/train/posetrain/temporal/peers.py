"""Networks of equal size that the temporal model is compared with; same inputs, same answers, same training.

Gru: three recurrent layers that carry their state. Lifter: sees one frame alone (places, seen, scores), for the 3D pose.
The transformer without memory is `TemporalXl` with `carry = false`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from posetrain.data.packs import JOINTS
from posetrain.temporal.frames import FEATURES, PER_JOINT
from posetrain.temporal.model import OUTPUTS, Answer, Hyper, TemporalXl, read


class Gru(nn.Module):
    """Width chosen so that parameters are within 3 % of the transformer's."""

    def __init__(self, h: Hyper) -> None:
        super().__init__()
        width = round(1.22 * h.width)
        self.shape = (h.layers, width)
        self.embed = nn.Linear(FEATURES, width)
        self.cells = nn.GRU(width, width, h.layers, batch_first=True)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, OUTPUTS)
        with torch.no_grad():
            self.head.weight.mul_(0.2)
            self.head.bias.zero_()

    def empty(self, lanes: int) -> Tensor:
        return torch.zeros(self.shape[0], lanes, self.shape[1])

    def forward(self, features: Tensor, bank: Tensor, times: Tensor, memory: Tensor) -> tuple[Answer, Tensor]:
        x = self.embed(features)
        y, state = self.cells(x, memory)
        return read(self.head(self.norm(x + y)), bank), state.detach()


class Lifter(nn.Module):
    """Residual blocks on one frame's places, whether seen, and scores; nothing of the past reaches it."""

    def __init__(self, h: Hyper) -> None:
        super().__init__()
        self.keep: Tensor
        keep = torch.zeros(FEATURES)
        for j in range(JOINTS):
            keep[j * PER_JOINT : j * PER_JOINT + 4] = 1
        self.register_buffer("keep", keep)
        self.embed = nn.Linear(FEATURES, h.width)
        inner = h.feed_forward + 2 * h.width  # the attention's weights go to the blocks
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(h.width), nn.Linear(h.width, inner), nn.ReLU(), nn.Linear(inner, h.width)
            )
            for _ in range(h.layers)
        )
        self.norm = nn.LayerNorm(h.width)
        self.head = nn.Linear(h.width, OUTPUTS)

    def empty(self, lanes: int) -> None:
        return None

    def forward(self, features: Tensor, bank: Tensor, times: Tensor, memory: None) -> tuple[Answer, None]:
        places = features.view(*features.shape[:2], -1)
        x = self.embed(places * self.keep)
        for block in self.blocks:
            x = x + block(x)
        return read(self.head(self.norm(x)), bank), None


class Causal(Protocol):
    """What is asked to answer a stream: a network with a memory of its own kind."""

    def empty(self, lanes: int) -> Any: ...

    def __call__(self, features: Tensor, bank: Tensor, times: Tensor, memory: Any) -> tuple[Answer, Any]: ...


Network = TemporalXl | Gru | Lifter
KINDS: dict[str, Callable[[Hyper], Network]] = {
    "xl": TemporalXl,
    "window": TemporalXl,
    "gru": Gru,
    "lifter": Lifter,
}
