"""State-space rows: a linear system a channel, its state diagonal, its steps the true times between frames.

s(t) = exp(D dt A) s(t-1) + (exp(D dt A) - 1) / A B u(t), y = 2 Re(C s) + E u:
the zero-order hold of s' = A s + B u, with D the channel's rate.
"""

from __future__ import annotations

import math
from typing import Any

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
        """u [B,T,W], dt [B,T] -> y [B,T,W] and the state [2,B,W,order], real and imaginary: of A s / B, whose drive needs no division a
        frame."""
        a_real, a_imag = -self.log_decay.exp(), self.angle
        read = torch.view_as_complex(self.c) / torch.complex(a_real, a_imag)
        # Time leads, so that a frame's numbers lie together.
        u, dt = u.transpose(0, 1), dt.transpose(0, 1)
        log_rate, drive = self.log_rate, u[..., None]
        if self.selective:
            rate, b, by = self.said(u).split([u.shape[-1], self.order, self.order], -1)
            log_rate, drive = log_rate + rate, drive * b[:, :, None]
        nothing = u.new_zeros(2, u.shape[1], *a_real.shape)
        first = nothing if state is None else state
        real, imag = scan(log_rate.exp() * dt[..., None], a_real, a_imag, drive, first)
        seen = real * read.real - imag * read.imag
        y = 2 * (seen * by[:, :, None] if self.selective else seen).sum(-1)
        return (y + self.skip * u).transpose(0, 1), torch.stack([real[-1], imag[-1]])


class Scan(torch.autograd.Function):
    """s(t) = z(t) s(t-1) + (z(t) - 1) d(t), z(t) = exp(rate(t) a), by hand in both directions: autograd over single frames, and over
    complex numbers, costs ten times that. Frames lie at irregular times, so there is no convolution that could stand for it; of the
    kinds of scan this does the least work on one thread.

    With s(t) + d(t) = z(t) (s(t-1) + d(t)) and g(t) the gradient of s(t): g(t-1) = its own + conj(z(t)) g(t), and the gradient of
    rate(t) a is g(t) conj(s(t) + d(t)).
    """

    @staticmethod
    def forward(
        ctx: Any, rate: Tensor, a_real: Tensor, a_imag: Tensor, drive: Tensor, first: Tensor
    ) -> tuple[Tensor, Tensor]:
        size, turn = (rate[..., None] * a_real).exp_(), rate[..., None] * a_imag
        z_real, z_imag = size * turn.cos(), size.mul_(turn.sin_())
        real, imag = torch.empty_like(z_real), torch.empty_like(z_real)
        before_real, before_imag = first
        for t in range(len(rate)):
            sum_real = before_real + drive[t]
            torch.mul(z_real[t], sum_real, out=real[t]).addcmul_(z_imag[t], before_imag, value=-1).sub_(
                drive[t]
            )
            torch.mul(z_real[t], before_imag, out=imag[t]).addcmul_(z_imag[t], sum_real)
            before_real, before_imag = real[t], imag[t]
        ctx.save_for_backward(rate, a_real, a_imag, drive, z_real, z_imag, real, imag)
        return real, imag

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        rate, a_real, a_imag, drive, z_real, z_imag, real, imag = ctx.saved_tensors
        g_real, g_imag = (g.clone(memory_format=torch.contiguous_format) for g in grads)
        of_drive = torch.empty_like(g_real)
        for t in range(len(rate) - 1, -1, -1):
            back_real = (z_real[t] * g_real[t]).addcmul_(z_imag[t], g_imag[t])
            back_imag = (z_real[t] * g_imag[t]).addcmul_(z_imag[t], g_real[t], value=-1)
            torch.sub(back_real, g_real[t], out=of_drive[t])
            if t:
                g_real[t - 1].add_(back_real)
                g_imag[t - 1].add_(back_imag)
        full = real + drive
        of_real = (g_real * full).addcmul_(g_imag, imag)
        of_imag = full.mul_(g_imag).addcmul_(g_real, imag, value=-1)
        of_rate = (of_real * a_real).addcmul_(of_imag, a_imag).sum(-1)
        of_a_real, of_a_imag = (v.mul_(rate[..., None]).sum((0, 1)) for v in (of_real, of_imag))
        if drive.shape[-1] == 1:
            of_drive = of_drive.sum(-1, keepdim=True)
        return of_rate, of_a_real, of_a_imag, of_drive, torch.stack([back_real, back_imag])


def scan(rate: Tensor, a_real: Tensor, a_imag: Tensor, drive: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
    """rate [T,B,W], a [W,N], drive [T,B,W,N] or [T,B,W,1], first [2,B,W,N] -> s [T,B,W,N], real and imaginary."""
    real, imag = Scan.apply(rate, a_real, a_imag, drive, first)
    return real, imag


class StateSpace(Row):
    def __init__(self, width: int, layers: int, order: int = 8, selective: bool = False) -> None:
        super().__init__()
        self.embed = nn.Linear(INPUTS, width)
        self.systems = nn.ModuleList(Diagonal(width, order, selective) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.gates = nn.ModuleList(nn.Linear(width, 2 * width) for _ in range(layers))
        self.head = Head(width)

    def diagonals(self) -> list[Diagonal]:
        return [system for system in self.systems if isinstance(system, Diagonal)]

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
