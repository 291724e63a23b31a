"""SmoothNet (Zeng et al., 2022): residual layers along time, the same for every coordinate, over a window of frames.

Retrained on the same lanes and losses as all rows, and asked for one frame of its window (the original answers all of them): `ahead` = 0
the newest, so that it is causal, or one with so many later frames in the window, an offline row. It reads places alone; sigma and the
3D pose, which it does not know, are constants.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from posetrain.data.packs import JOINTS
from posetrain.study.row import PLACES, Row, State, bank_of
from posetrain.temporal.frames import MIX
from posetrain.temporal.model import HORIZONS, OUTPUTS

ANCHORED = 30.0  # a mix's logit that leaves nothing to the others: the anchor is the observation


class SmoothNet(Row):
    def __init__(self, window: int, hidden: int, blocks: int = 3, ahead: int = 0) -> None:
        super().__init__()
        self.window, self.ahead = window, ahead
        self.causal = ahead == 0
        inner = max(hidden // 2, 1)
        self.embed = nn.Linear(window, hidden)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(hidden, inner), nn.LeakyReLU(0.2), nn.Linear(inner, hidden))
            for _ in range(blocks)
        )
        self.out = nn.Linear(hidden, HORIZONS)
        self.rest = nn.Parameter(torch.zeros(OUTPUTS - HORIZONS * PLACES))
        self.anchor: Tensor
        anchor = torch.zeros(OUTPUTS - HORIZONS * PLACES)
        mix = HORIZONS * JOINTS
        anchor[mix : mix + JOINTS] = ANCHORED
        known = torch.ones_like(anchor)
        known[mix : mix + MIX * JOINTS] = 0
        known[-HORIZONS * (MIX - 1) * JOINTS :] = 0
        self.known: Tensor
        self.register_buffer("anchor", anchor)
        self.register_buffer("known", known)
        with torch.no_grad():
            self.out.weight.mul_(0.2)
            self.out.bias.zero_()

    def sequence(
        self, x: Tensor, dt: Tensor, state: State = None, truth: Tensor | None = None
    ) -> tuple[Tensor, State]:
        observed = bank_of(x)[:, :, 0].flatten(2)
        past = observed[:, :1].repeat(1, self.window - 1, 1) if state is None or not self.causal else state
        later = observed[:, -1:].repeat(1, self.ahead, 1)
        both = torch.cat([past[:, self.ahead :], observed, later], 1)
        windows = both.unfold(1, self.window, 1)
        # Places as they differ from the frame that is answered: still poses are one, wherever they stand.
        middle = windows[..., self.window - 1 - self.ahead, None]
        h = nn.functional.leaky_relu(self.embed(windows - middle), 0.2)
        for block in self.blocks:
            h = h + block(h)
        delta = self.out(h).transpose(-1, -2).flatten(2)
        rest = (self.rest * self.known + self.anchor).expand(*x.shape[:2], -1)
        y = torch.cat([delta, rest], -1)
        return y, both[:, both.shape[1] - self.window + 1 :] if self.causal else None
