"""State-space rows: a linear system a channel, its state diagonal, its steps the true times between frames.

s(t) = exp(D dt A) s(t-1) + (exp(D dt A) - 1) / A B u(t), y = 2 Re(C s) + E u:
the zero-order hold of s' = A s + B u, with D the channel's rate.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from posetrain.study.row import INPUTS, Head, Row, State


class Diagonal(nn.Module):
    """S4D-Lin (Gu et al., 2022): A = -exp(a) + i b, one complex system of `order` a channel. `selective`: rate, B and C are said by
    the input (after Gu and Dao, 2023)."""

    def __init__(self, width: int, order: int, selective: bool) -> None:
        super().__init__()
        self.order, self.selective = order, selective
        self.log_decay = nn.Parameter(torch.full((width, order), math.log(0.5)))
        self.angle = nn.Parameter(math.pi * torch.arange(order).float().repeat(width, 1))
        rate = torch.rand(width) * (math.log(0.3) - math.log(0.01)) + math.log(0.01)
        self.log_rate = nn.Parameter(rate)
        self.c = nn.Parameter(torch.randn(width, order, 2) * 0.5**0.5)
        self.skip = nn.Parameter(torch.ones(width))
        if selective:
            self.said = nn.Linear(width, width + 2 * order)
            with torch.no_grad():
                self.said.weight.mul_(0.1)
                self.said.bias.zero_()
                self.said.bias[width:] = 1

    def forward(self, u: Tensor, dt: Tensor, state: Tensor | None) -> tuple[Tensor, Tensor]:
        """u [B,T,W], dt [B,T] -> y [B,T,W] and the state [B,W,order,2], real and imaginary."""
        a = torch.complex(-self.log_decay.exp(), self.angle)
        log_rate, c = self.log_rate, torch.view_as_complex(self.c)
        drive, read = u[..., None], c.expand(*u.shape, -1)
        if self.selective:
            rate, b, by = self.said(u).split([u.shape[-1], self.order, self.order], -1)
            log_rate, drive, read = log_rate + rate, drive * b[:, :, None], read * by[:, :, None]
        step = a * (log_rate.exp() * dt[..., None])[..., None]
        turn = step.exp()
        new = (turn - 1) / a * drive
        s = torch.view_as_complex(state) if state is not None else torch.zeros_like(new[:, 0])
        states = []
        for t in range(u.shape[1]):
            s = turn[:, t] * s + new[:, t]
            states.append(s)
        y = 2 * (read * torch.stack(states, 1)).sum(-1).real + self.skip * u
        return y, torch.view_as_real(s)


class StateSpace(Row):
    def __init__(self, width: int, layers: int, order: int = 8, selective: bool = False) -> None:
        super().__init__()
        self.embed = nn.Linear(INPUTS, width)
        self.systems = nn.ModuleList(Diagonal(width, order, selective) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.gates = nn.ModuleList(nn.Linear(width, 2 * width) for _ in range(layers))
        self.head = Head(width)

    def sequence(
        self, x: Tensor, dt: Tensor, state: State = None, truth: Tensor | None = None
    ) -> tuple[Tensor, State]:
        h = self.embed(x)
        after = []
        for i, (system, norm, gate) in enumerate(zip(self.systems, self.norms, self.gates, strict=True)):
            y, s = system(norm(h), dt, None if state is None else state[i])
            h = h + nn.functional.glu(gate(nn.functional.gelu(y)))
            after.append(s)
        return self.head(h), after
