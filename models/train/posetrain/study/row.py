"""What every row of the study is: observations of one person in, a whole answer a frame out.

An observation x is the shipped model's: its features, then the observation and its running means (`INPUTS`). dt is the time since the
lane's last observation in nominal frames (of 30 Hz). What comes out, y, is what `posetrain.temporal.model.read` makes an answer of.
A row is written as `step` or as `sequence`, whichever is its nature; the other follows.
"""

from __future__ import annotations

import abc
import warnings
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from posetrain.data.packs import JOINTS
from posetrain.temporal.frames import FEATURES, MIX
from posetrain.temporal.model import OUTPUTS, Answer, read

PLACES = JOINTS * 2
INPUTS = FEATURES + MIX * PLACES
FRAMES_BEFORE = 104  # of a lane, where the cost of one more is counted

# What a row carries from frame to frame. None before a lane's first frame; otherwise the row's own, holding no gradient.
State = Any


def observation(features: Tensor, bank: Tensor) -> Tensor:
    """features [...,FEATURES], bank [...,MIX,17,2] -> x [...,INPUTS]."""
    return torch.cat([features, bank.flatten(-3)], -1)


def bank_of(x: Tensor) -> Tensor:
    """x [...,INPUTS] -> [...,MIX,17,2], in the person's frame."""
    return x[..., FEATURES:].unflatten(-1, (MIX, JOINTS, 2))


def places_now(y: Tensor, x: Tensor) -> Tensor:
    """The places that y [B,OUTPUTS] says for the capture of x [B,INPUTS]: [B,PLACES], in the person's frame."""
    return read(y[:, None], bank_of(x)[:, None]).place[:, 0, 0].flatten(1)


def detached(state: State) -> State:
    """The same state without its gradient."""
    if isinstance(state, Tensor):
        return state.detach()
    if isinstance(state, tuple | list):
        return type(state)(detached(part) for part in state)
    if isinstance(state, dict):
        return {name: detached(part) for name, part in state.items()}
    return state


class Row(nn.Module, abc.ABC):
    """`causal`: no output depends on a later frame. A row that is not has no `step`: it is read offline."""

    causal = True

    def sequence(
        self, x: Tensor, dt: Tensor, state: State = None, truth: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """x [B,T,INPUTS], dt [B,T] -> y [B,T,OUTPUTS] and the state after the last frame. truth [B,T,PLACES]: true places, in
        training, for rows that are taught with them (teacher forcing)."""
        out = []
        for t in range(x.shape[1]):
            y, state = self.step(state, x[:, t], dt[:, t])
            out.append(y)
        return torch.stack(out, 1), state

    def step(self, state: State, x: Tensor, dt: Tensor) -> tuple[Tensor, State]:
        """x [B,INPUTS], dt [B] -> y [B,OUTPUTS] and the state after it."""
        y, state = self.sequence(x[:, None], dt[:, None], state)
        return y[:, 0], state

    def extra_loss(self) -> Tensor:
        """What the row adds to the loss that all rows share."""
        return torch.zeros(())

    def saved_macs(self) -> int:
        """Multiply-adds of a step here that a runtime saves by keeping what it has projected."""
        return 0


class Head(nn.Module):
    """The last layer of every row: as the shipped model's, it begins near the observation. Without `norm` where the row has its own last,
    or none."""

    def __init__(self, width: int, norm: bool = True) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width) if norm else nn.Identity()
        self.out = nn.Linear(width, OUTPUTS)
        with torch.no_grad():
            self.out.weight.mul_(0.2)
            self.out.bias.zero_()

    def forward(self, h: Tensor) -> Tensor:
        y: Tensor = self.out(self.norm(h))
        return y


class Network(nn.Module):
    """A row as `posetrain.temporal` trains and measures networks. Memory: the row's state and the time of the last frame."""

    def __init__(self, row: Row) -> None:
        super().__init__()
        self.row = row

    def empty(self, lanes: int) -> tuple[State, Tensor | None]:
        return None, None

    def forward(
        self,
        features: Tensor,
        bank: Tensor,
        times: Tensor,
        memory: tuple[State, Tensor | None],
        truth: Tensor | None = None,
    ) -> tuple[Answer, tuple[State, Tensor | None]]:
        """As `TemporalXl`; truth [B,T,PLACES] in the person's frame."""
        state, last = memory
        first = times[:, :1] - 1 if last is None else last[:, None]
        dt = torch.diff(times, dim=1, prepend=first).float()
        y, state = self.row.sequence(observation(features, bank), dt, state, truth)
        return read(y, bank), (detached(state), times[:, -1])


def parameters(row: Row) -> int:
    return sum(p.numel() for p in row.parameters() if p.requires_grad)


def macs_per_frame(row: Row, frames: int = FRAMES_BEFORE) -> int:
    """Multiply-adds of matrix products for one more frame of one person after `frames` of them; offline rows: the mean of so many.
    Elementwise work is not counted."""
    x, dt = torch.zeros(1, frames, INPUTS), torch.ones(1, frames)
    # Fused recurrent kernels would hide their products from the counter.
    with (
        warnings.catch_warnings(action="ignore"),
        torch.no_grad(),
        torch.backends.mkldnn.flags(enabled=False),
    ):
        if not row.causal:
            with FlopCounterMode(display=False) as counter:
                row.sequence(x, dt)
            return int(counter.get_total_flops()) // 2 // frames
        _, state = row.sequence(x, dt)
        with FlopCounterMode(display=False) as counter:
            row.step(state, x[:, 0], dt[:, 0])
    return int(counter.get_total_flops()) // 2 - row.saved_macs()


def numbers(state: State) -> int:
    if isinstance(state, Tensor):
        return state.numel()
    if isinstance(state, dict):
        state = tuple(state.values())
    return sum(numbers(part) for part in state) if isinstance(state, tuple | list) else 0


def kept_numbers(row: Row, frames: int = FRAMES_BEFORE) -> int:
    """How many numbers a causal row keeps of one person after so many frames."""
    with torch.no_grad():
        _, state = row.sequence(torch.zeros(1, frames, INPUTS), torch.ones(1, frames))
    return numbers(state)
