"""Self-attention over a window of the past, in parts that transformers of every kind are put together from.

Frames of a lane are counted from 0. `seen_from(query [T], key [S])` says which of them may look where; what is kept between two calls
is what `kept` says. Scores and weights are a kind's own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from posetrain.temporal.model import POSITION, position_scores

BARRED = -1e30


@dataclass(frozen=True)
class Span:
    """What queries and keys of one call are: their count since the lane began and their time in nominal frames."""

    query: Tensor  # [T] int
    key: Tensor  # [S] int
    query_time: Tensor  # [B,T] float64
    key_time: Tensor  # [B,S] float64


class Position(nn.Module):
    """Relative positions: what is added to the scores [B,H,T,S] of queries q [B,H,T,dh]. None at all, of itself."""

    def forward(self, q: Tensor, span: Span) -> Tensor:
        return q.new_zeros(())


class ShawPosition(Position):
    """q.w(i-j), one learned vector a distance in frames, shared by heads (Shaw et al., 2018)."""

    def __init__(self, heads: int, head_width: int, memory: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(memory + 1, head_width) * 0.1)

    def forward(self, q: Tensor, span: Span) -> Tensor:
        back = (span.query[:, None] - span.key[None]).clamp(0, len(self.table) - 1)
        by_distance = q @ self.table.T
        return by_distance.gather(-1, back.expand(*q.shape[:3], -1))


class XlPosition(Position):
    """The Transformer-XL's terms (Dai et al., 2019), (q + v).W r(i-j), with r of real time as the shipped model has it."""

    def __init__(self, heads: int, head_width: int, memory: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(heads, head_width, POSITION) * 0.05)
        self.bias = nn.Parameter(torch.randn(heads, head_width) * 0.3)

    def forward(self, q: Tensor, span: Span) -> Tensor:
        p = (q + self.bias[:, None]) @ self.weight
        return position_scores(p, span.query_time, span.key_time)


class Attention(nn.Module):
    """Softmax attention with heads. `forward(x [B,T,D], source [B,S,D], span, bar)`; bar [T,S] or [H,T,S], true where not to look."""

    def __init__(self, width: int, heads: int, position: Position | None = None) -> None:
        super().__init__()
        self.heads = heads
        self.position = position or Position()
        self.query, self.key, self.value = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.out = nn.Linear(width, width)
        self.content_bias = nn.Parameter(torch.zeros(heads, width // heads))
        with torch.no_grad():
            self.out.weight.mul_(0.5)

    def split(self, v: Tensor) -> Tensor:
        """[B,T,D] -> [B,H,T,D/H]."""
        return v.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x: Tensor, source: Tensor, span: Span, bar: Tensor) -> Tensor:
        q, k = self.split(self.query(x)), self.split(self.key(source))
        score = (q + self.content_bias[:, None]) @ k.transpose(-1, -2) + self.position(q, span)
        score = score / math.sqrt(q.shape[-1])
        mixed = self.weights(score, q, k, span, bar) @ self.split(self.value(source))
        y: Tensor = self.out(mixed.transpose(1, 2).flatten(-2))
        return y

    def weights(self, score: Tensor, q: Tensor, k: Tensor, span: Span, bar: Tensor) -> Tensor:
        return score.masked_fill(bar, BARRED).softmax(-1)


class FeedForward(nn.Sequential):
    def __init__(self, width: int, inner: int) -> None:
        last = nn.Linear(inner, width)
        with torch.no_grad():
            last.weight.mul_(0.5)
        super().__init__(nn.Linear(width, inner), nn.ReLU(), last)


NORMS = ("pre", "post", "none")


class Block(nn.Module):
    """Attention, then a feed-forward layer, each with a layer norm before it (Pre-LN; Xiong et al., 2020), after its sum with what went
    in (Post-LN; Vaswani et al., 2017), or none."""

    def __init__(self, attention: Attention, width: int, norm: str = "pre") -> None:
        super().__init__()
        if norm not in NORMS:
            raise ValueError(f"norm is one of {', '.join(NORMS)}, not {norm}")
        self.attention, self.norm = attention, norm
        self.norm_attention, self.norm_feed = (
            nn.Identity() if norm == "none" else nn.LayerNorm(width) for _ in range(2)
        )
        self.feed = FeedForward(width, 2 * width)

    def forward(self, x: Tensor, past: Tensor, span: Span, bar: Tensor) -> Tensor:
        """past [B,S-T,D]: this block's earlier inputs."""
        if self.norm == "post":
            x = self.norm_attention(x + self.attention(x, torch.cat([past, x], 1), span, bar))
            z: Tensor = self.norm_feed(x + self.feed(x))
            return z
        source = self.norm_attention(torch.cat([past, x], 1))
        x = x + self.attention(source[:, past.shape[1] :], source, span, bar)
        y: Tensor = x + self.feed(self.norm_feed(x))
        return y


def fix_up(embed: nn.Linear, blocks: Sequence[Block]) -> None:
    """T-Fixup for an encoder alone (Huang et al., 2020): Xavier's weights, those of values, outputs and feed-forward layers smaller by
    0.67 N^(-1/4), N blocks, so that first updates stay small without layer norms and without a warm-up."""
    nn.init.xavier_uniform_(embed.weight)
    with torch.no_grad():
        for block in blocks:
            a, layers = block.attention, [m for m in block.feed if isinstance(m, nn.Linear)]
            for part in (a.query, a.key, a.value, a.out, *layers):
                nn.init.xavier_uniform_(part.weight)
            for part in (a.value, a.out, *layers):
                part.weight.mul_(0.67 * len(blocks) ** -0.25)


def sinusoids(count: Tensor, width: int) -> Tensor:
    """[T] -> [T,width] (Vaswani et al., 2017)."""
    rate = torch.exp(-math.log(10000.0) * torch.arange(0, width, 2) / width)
    angle = count[:, None] * rate
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)
