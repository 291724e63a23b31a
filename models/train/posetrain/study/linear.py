"""Efficient transformers that never form a frame-by-frame table of scores: Performer, Linformer, FNet, Fastformer.

The Performer's sums run on, so it is causal. The others mix a whole stretch of frames: offline rows, read a block of `BLOCK` at a time.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from posetrain.study.alignment import log_positive_features
from posetrain.study.attention import FeedForward, sinusoids
from posetrain.study.row import INPUTS, Head, Row, State

BLOCK = 48


def linear_attention(
    q: Tensor, k: Tensor, v: Tensor, before: tuple[Tensor, Tensor]
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Causal attention with weights q(t).k(i) / sum_i q(t).k(i), i <= t; q, k [B,H,T,R] not negative, v [B,H,T,D]. `before`: the sums
    of k v [B,H,R,D] and of k [B,H,R] over earlier frames. Time and memory grow with T, not with its square."""
    products = before[0][:, :, None] + (k[..., None] * v[..., None, :]).cumsum(2)
    total = before[1][:, :, None] + k.cumsum(2)
    out = (q[..., None, :] @ products)[..., 0, :]
    out = out / ((q * total).sum(-1, keepdim=True) + 1e-6)
    return out, (products[:, :, -1], total[:, :, -1])


class Favor(nn.Module):
    """FAVOR+ with positive orthogonal features (Choromanski et al., 2021): weighs the whole past, no frame of it forgotten."""

    def __init__(self, width: int, heads: int, features: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.out = nn.Linear(width, width)
        self.directions: Tensor
        self.register_buffer("directions", orthogonal(features, width // heads))
        with torch.no_grad():
            self.out.weight.mul_(0.5)

    def features(self, v: Tensor) -> Tensor:
        """[B,T,D] -> [B,H,T,R], positive."""
        v = v.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        return log_positive_features(v / v.shape[-1] ** 0.25, self.directions).exp()

    def forward(
        self, x: Tensor, before: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        q, k = self.features(self.query(x)), self.features(self.key(x))
        v = self.value(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        if before is None:
            before = (
                x.new_zeros(*k.shape[:2], k.shape[-1], v.shape[-1]),
                x.new_zeros(*k.shape[:2], k.shape[-1]),
            )
        mixed, after = linear_attention(q, k, v, before)
        return self.out(mixed.transpose(1, 2).flatten(-2)), after


def orthogonal(features: int, width: int) -> Tensor:
    """[features,width]: directions orthogonal to each other within every `width` of them, of lengths as a Gaussian's."""
    drawn = torch.Generator().manual_seed(0)
    blocks = []
    for _ in range(-(-features // width)):
        q, r = torch.linalg.qr(torch.randn(width, width, generator=drawn))
        blocks.append(q * r.diagonal().sign())  # without the signs they are not spread evenly
    return torch.cat(blocks)[:features] * torch.randn(features, width, generator=drawn).norm(dim=-1)[:, None]


class Mixed(nn.Module):
    """A block of an offline row: `mix` over the frames, then a feed-forward layer; Pre-LN."""

    def __init__(self, mix: nn.Module, width: int) -> None:
        super().__init__()
        self.mix = mix
        self.norm_mix, self.norm_feed = nn.LayerNorm(width), nn.LayerNorm(width)
        self.feed = FeedForward(width, 2 * width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.mix(self.norm_mix(x))
        y: Tensor = x + self.feed(self.norm_feed(x))
        return y


class Performer(Row):
    def __init__(self, width: int, layers: int, heads: int, features: int = 32) -> None:
        super().__init__()
        self.embed = nn.Linear(INPUTS, width)
        self.attention = nn.ModuleList(Favor(width, heads, features) for _ in range(layers))
        self.feed = nn.ModuleList(FeedForward(width, 2 * width) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers))
        self.head = Head(width)

    def sequence(
        self, x: Tensor, dt: Tensor, state: State = None, truth: Tensor | None = None
    ) -> tuple[Tensor, State]:
        h = self.embed(x)
        after = []
        for i, (attend, feed) in enumerate(zip(self.attention, self.feed, strict=True)):
            y, sums = attend(self.norms[2 * i](h), None if state is None else state[i])
            h = h + y
            h = h + feed(self.norms[2 * i + 1](h))
            after.append(sums)
        return self.head(h), after


class LowRank(nn.Module):
    """Linformer (Wang et al., 2020): keys and values of a block's frames are projected to `rank` of each before the softmax."""

    def __init__(self, width: int, heads: int, rank: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.out = nn.Linear(width, width)
        self.shorten_keys, self.shorten_values = (
            nn.Parameter(torch.randn(rank, BLOCK) / BLOCK**0.5) for _ in range(2)
        )

    def forward(self, x: Tensor) -> Tensor:
        n = x.shape[1]

        def split(v: Tensor) -> Tensor:
            return v.unflatten(-1, (self.heads, -1)).transpose(1, 2)

        q = split(self.query(x))
        k, v = (
            split(self.shorten_keys[:, :n] @ self.key(x)),
            split(self.shorten_values[:, :n] @ self.value(x)),
        )
        weight = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).softmax(-1)
        y: Tensor = self.out((weight @ v).transpose(1, 2).flatten(-2))
        return y


class Fourier(nn.Module):
    """FNet (Lee-Thorp et al., 2022): the real part of the Fourier transform over frames and width, scaled to keep variance."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.fft.fft2(x, norm="ortho").real


class AdditivePooling(nn.Module):
    """Fastformer (Wu et al., 2021): queries are pooled to one, it times the keys pooled to one, and that times the values."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key = (
            nn.Linear(width, width, bias=False) for _ in range(2)
        )  # value is the query's, as in the paper
        self.of_query, self.of_key = (nn.Linear(width, heads, bias=False) for _ in range(2))
        self.of_value, self.out = nn.Linear(width, width), nn.Linear(width, width)

    def pooled(self, v: Tensor, score: nn.Module) -> Tensor:
        """[B,T,D] -> [B,1,D], every head weighing the frames by its own score."""
        weight = (score(v) / (v.shape[-1] / self.heads) ** 0.5).softmax(1)
        by_head = v.unflatten(-1, (self.heads, -1))
        return (weight[..., None] * by_head).sum(1, keepdim=True).flatten(-2)

    def forward(self, x: Tensor) -> Tensor:
        q, k = self.query(x), self.key(x)
        p = self.pooled(q, self.of_query) * k
        u = self.pooled(p, self.of_key) * q
        y: Tensor = self.out(self.of_value(u) + q)
        return y


class OfflineMixer(Row):
    """Blocks of BLOCK frames, mixed as a whole; positions are sinusoids of the count within the block."""

    causal = False

    def __init__(self, mix: str, width: int, layers: int, heads: int = 4, rank: int = 12) -> None:
        super().__init__()
        made: dict[str, Callable[[], nn.Module]] = {
            "linformer": lambda: LowRank(width, heads, rank),
            "fnet": Fourier,
            "fastformer": lambda: AdditivePooling(width, heads),
        }
        self.embed = nn.Linear(INPUTS, width)
        self.blocks = nn.Sequential(*(Mixed(made[mix](), width) for _ in range(layers)))
        self.head = Head(width)

    def sequence(
        self, x: Tensor, dt: Tensor, state: State = None, truth: Tensor | None = None
    ) -> tuple[Tensor, State]:
        h = self.embed(x)
        h = h + sinusoids(torch.arange(x.shape[1]) % BLOCK, h.shape[-1])
        out = [self.blocks(part) for part in h.split(BLOCK, 1)]
        return self.head(torch.cat(out, 1)), None
