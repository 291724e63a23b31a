"""Efficient transformers whose attention looks at fewer of the past frames: by place, by a learned span, by score or by hash."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from posetrain.study.attention import BARRED, Attention, Position, Span
from posetrain.study.row import FRAMES_BEFORE
from posetrain.study.transformer import Encoder


class Blockwise(Encoder):
    """Local attention of the Image Transformer (Parmar et al., 2018), 1D: frames lie in blocks; one looks at its own block and at the
    `memory` frames before that."""

    def __init__(self, width: int, layers: int, heads: int, memory: int, block: int = 16) -> None:
        super().__init__(width, layers, heads, memory)
        self.block = block

    def bar(self, query: Tensor, key: Tensor) -> Tensor:
        first = query - query % self.block - self.memory
        return (key[None] > query[:, None]) | (key[None] < first[:, None])

    def kept(self, key: Tensor, after: int) -> Tensor:
        return key >= after - after % self.block - self.memory

    def slots(self) -> int:
        """As many as where `macs_per_frame` looks: the block fills and empties."""
        return self.memory + FRAMES_BEFORE % self.block


class Strided(Encoder):
    """Sparse Transformer, strided (Child et al., 2019): half of the heads see the last `stride` frames, the others every
    `stride`-th frame of `memory`."""

    def __init__(self, width: int, layers: int, heads: int, memory: int, stride: int = 8) -> None:
        super().__init__(width, layers, heads, memory)
        self.stride = stride

    def bar(self, query: Tensor, key: Tensor) -> Tensor:
        back = query[:, None] - key[None]
        out = (back < 0) | (back > self.memory)
        near, far = out | (back >= self.stride), out | (back % self.stride != 0)
        return torch.stack([near if h % 2 == 0 else far for h in range(self.heads)])


class SpanAttention(Attention):
    """A head's weights are multiplied by clamp((RAMP + z - distance) / RAMP, 0, 1), z its learned span, and made to sum to 1 again."""

    RAMP = 8.0

    def __init__(self, width: int, heads: int, position: Position, memory: int) -> None:
        super().__init__(width, heads, position)
        self.memory = memory
        self.share = nn.Parameter(torch.full((heads,), 0.5))

    def weights(self, score: Tensor, q: Tensor, k: Tensor, span: Span, bar: Tensor) -> Tensor:
        back = span.query[:, None] - span.key[None]
        reach = self.share.clamp(0, 1)[:, None, None] * self.memory
        mask = ((self.RAMP + reach - back) / self.RAMP).clamp(0, 1)
        weight = super().weights(score, q, k, span, bar) * mask
        return weight / (weight.sum(-1, keepdim=True) + 1e-8)


class AdaptiveSpan(Encoder):
    """Adaptive attention span (Sukhbaatar et al., 2019): every head learns how far it looks, and pays for it in the loss."""

    PRICE = 2e-3

    def attention(self, position: Position) -> Attention:
        return SpanAttention(self.width, self.heads, position, self.memory)

    def extra_loss(self) -> Tensor:
        shares = [m.share.clamp(0, 1) for m in self.modules() if isinstance(m, SpanAttention)]
        return self.PRICE * torch.cat(shares).mean()


class SlidingGlobal(Encoder):
    """Longformer (Beltagy et al., 2020), causal: a sliding window, and the lane's first `tokens` frames kept for ever, which all see."""

    def __init__(self, width: int, layers: int, heads: int, memory: int, tokens: int = 4) -> None:
        super().__init__(width, layers, heads, memory)
        self.tokens = tokens

    def bar(self, query: Tensor, key: Tensor) -> Tensor:
        back = query[:, None] - key[None]
        return (back < 0) | ((back > self.memory) & (key >= self.tokens)[None])

    def kept(self, key: Tensor, after: int) -> Tensor:
        return super().kept(key, after) | (key < self.tokens)

    def slots(self) -> int:
        return self.memory + self.tokens


class TopKAttention(Attention):
    """The softmax over a query's k best scores, the rest zero."""

    KEPT = 8

    def weights(self, score: Tensor, q: Tensor, k: Tensor, span: Span, bar: Tensor) -> Tensor:
        score = score.masked_fill(bar, BARRED)
        least = score.topk(min(self.KEPT, score.shape[-1]), -1).values[..., -1:]
        return score.masked_fill(score < least, BARRED).softmax(-1)


class TopK(Encoder):
    """Explicit sparse transformer (Zhao et al., 2019)."""

    def attention(self, position: Position) -> Attention:
        return TopKAttention(self.width, self.heads, position)


class HashedAttention(Attention):
    """Queries and keys are one projection; a frame looks at those of its bucket in any of the rounds, and at itself only where it finds
    no other. Keys have length 1 times the root of the width, so that scores are of the usual size.

    A bucket is the largest of [xR; -xR], R fixed random rotations. Which frames may be seen is worked out in full here: it says how
    well the model does, not how fast its hash tables would be.
    """

    BUCKETS, ROUNDS = 4, 2

    def __init__(self, width: int, heads: int, position: Position) -> None:
        super().__init__(width, heads, position)
        self.key = self.query
        self.rotations: Tensor
        drawn = torch.randn(
            self.ROUNDS, width // heads, self.BUCKETS // 2, generator=torch.Generator().manual_seed(0)
        )
        self.register_buffer("rotations", drawn)

    def forward(self, x: Tensor, source: Tensor, span: Span, bar: Tensor) -> Tensor:
        q, k = self.split(self.query(x)), self.split(self.key(source))
        unit = nn.functional.normalize(k, dim=-1)
        score = (q + self.content_bias[:, None]) @ unit.transpose(-1, -2) + self.position(q, span) / q.shape[
            -1
        ] ** 0.5
        mixed = self.weights(score, q, k, span, bar) @ self.split(self.value(source))
        y: Tensor = self.out(mixed.transpose(1, 2).flatten(-2))
        return y

    def weights(self, score: Tensor, q: Tensor, k: Tensor, span: Span, bar: Tensor) -> Tensor:
        of_query, of_key = self.bucket(q), self.bucket(k)
        apart = (of_query[..., :, None, :] != of_key[..., None, :, :]).all(-1)
        itself = span.query[:, None] == span.key[None]
        score = score.masked_fill(apart | bar, BARRED)
        return score.masked_fill(itself, BARRED / 2).softmax(-1)

    def bucket(self, v: Tensor) -> Tensor:
        """[B,H,T,dh] -> [B,H,T,ROUNDS]."""
        turned = torch.einsum("bhtd,rdk->bhtrk", v, self.rotations)
        return torch.cat([turned, -turned], -1).argmax(-1)


class Reformer(Encoder):
    """Attention by locality-sensitive hashing (Kitaev et al., 2020)."""

    def attention(self, position: Position) -> Attention:
        return HashedAttention(self.width, self.heads, position)
