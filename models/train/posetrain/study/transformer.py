"""Transformers: an encoder whose mask lets no frame see a later one, and an encoder-decoder, each with positions of several kinds."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from posetrain.study.attention import (
    Attention,
    Block,
    FeedForward,
    Position,
    ShawPosition,
    Span,
    XlPosition,
    fix_up,
    sinusoids,
)
from posetrain.study.recurrent import before_first
from posetrain.study.row import INPUTS, PLACES, Head, Row, State, places_now

POSITIONS = ("none", "sinusoidal", "learned", "relative-index", "relative-time")
LEARNED = 256  # frames after which learned positions begin anew: a lane has no end, a table has


def relative(kind: str, heads: int, width: int, memory: int) -> Position:
    made: dict[str, Callable[[int, int, int], Position]] = {
        "relative-index": ShawPosition,
        "relative-time": XlPosition,
    }
    return made[kind](heads, width // heads, memory) if kind in made else Position()


class AbsolutePosition(nn.Module):
    """What is added to a frame's embedding for its count since the lane began."""

    def __init__(self, kind: str, width: int) -> None:
        super().__init__()
        if kind not in POSITIONS:
            raise ValueError(f"positions are one of {', '.join(POSITIONS)}, not {kind}")
        self.kind = kind
        if kind == "learned":
            self.table = nn.Parameter(torch.randn(LEARNED, width) * 0.02)

    def forward(self, x: Tensor, count: Tensor) -> Tensor:
        if self.kind == "sinusoidal":
            return x + sinusoids(count, x.shape[-1])
        if self.kind == "learned":
            return x + self.table[count % LEARNED]
        return x


class Encoder(Row):
    """A causal encoder. What a kind may look at stands in `bar` and `kept`, how it weighs in its blocks' attention.

    `carry` false: in training it forgets everything where a segment of training ends. `norm` "none" is T-Fixup.
    """

    def __init__(
        self,
        width: int,
        layers: int,
        heads: int,
        memory: int,
        position: str = "relative-time",
        carry: bool = True,
        norm: str = "pre",
    ) -> None:
        super().__init__()
        self.width, self.heads, self.memory, self.carry = width, heads, memory, carry
        self.embed = nn.Linear(INPUTS, width)
        self.position = AbsolutePosition(position, width)
        blocks = [
            Block(self.attention(relative(position, heads, width, memory)), width, norm)
            for _ in range(layers)
        ]
        self.blocks = nn.ModuleList(blocks)
        self.head = Head(width, norm == "pre")
        if norm == "none":
            fix_up(self.embed, blocks)

    def attention(self, position: Position) -> Attention:
        return Attention(self.width, self.heads, position)

    def bar(self, query: Tensor, key: Tensor) -> Tensor:
        """query [T], key [S] -> true where not to look."""
        back = query[:, None] - key[None]
        return (back < 0) | (back > self.memory)

    def kept(self, key: Tensor, after: int) -> Tensor:
        """Which frames are kept, `after` being the next one's count."""
        return key >= after - self.memory

    def sequence(
        self, x: Tensor, dt: Tensor, state: State = None, truth: Tensor | None = None
    ) -> tuple[Tensor, State]:
        h = self.embed(x)
        if state is None:
            none = torch.zeros(0, dtype=torch.long)
            state = ([h[:, :0]] * len(self.blocks), none, dt[:, :0].double(), 0)
        states, counts, ages, after = state
        # Times count from the call's beginning: they stay small however long a lane goes on.
        time = dt.double().cumsum(1)
        now = torch.arange(after, after + x.shape[1])
        span = Span(now, torch.cat([counts, now]), time, torch.cat([-ages, time], 1))
        bar, keep = self.bar(now, span.key), self.kept(span.key, after + x.shape[1])
        h = self.position(h, now)
        kept = []
        for block, past in zip(self.blocks, states, strict=True):
            kept.append(torch.cat([past, h], 1)[:, keep])
            h = block(h, past, span, bar)
        y = self.head(h)
        if self.training and not self.carry:
            return y, None
        return y, (kept, span.key[keep], time[:, -1:] - span.key_time[:, keep], after + x.shape[1])

    def saved_macs(self) -> int:
        return len(self.blocks) * self.slots() * 2 * self.width * self.width

    def slots(self) -> int:
        """Frames kept, once a lane is long."""
        return self.memory


class EncoderDecoderTransformer(Row):
    """Encoder and decoder (Vaswani et al., 2017), made causal: the decoder's frame t reads the places answered for t-1, attends to its
    own past, then to the encoder's `memory` frames before t and to t. Taught with the true places (teacher forcing)."""

    def __init__(self, width: int, heads: int, memory: int, position: str = "relative-time") -> None:
        super().__init__()
        self.width, self.memory = width, memory
        self.embed, self.embed_fed = nn.Linear(INPUTS, width), nn.Linear(PLACES, width)
        self.position = AbsolutePosition(position, width)

        def made() -> Attention:
            return Attention(width, heads, relative(position, heads, width, memory))

        self.encoder, self.decoder = Block(made(), width), Block(made(), width)
        self.cross, self.norm_cross = made(), nn.LayerNorm(width)
        self.norm_encoded, self.norm_feed = nn.LayerNorm(width), nn.LayerNorm(width)
        self.feed = FeedForward(width, 2 * width)
        self.head = Head(width)

    def sequence(
        self, x: Tensor, dt: Tensor, state: State = None, truth: Tensor | None = None
    ) -> tuple[Tensor, State]:
        if truth is None and x.shape[1] > 1:  # it reads its own answers, one after the other
            return super().sequence(x, dt, state)
        if state is None:
            nothing = self.embed(x)[:, :0]
            none = torch.zeros(0, dtype=torch.long)
            state = ([nothing] * 3, none, dt[:, :0].double(), 0, before_first(x[:, 0]))
        (seen, encoded, answered), counts, ages, after, fed = state
        before = fed[:, None] if truth is None else torch.cat([fed[:, None], truth[:, :-1]], 1)
        time = dt.double().cumsum(1)
        now = torch.arange(after, after + x.shape[1])
        span = Span(now, torch.cat([counts, now]), time, torch.cat([-ages, time], 1))
        back = now[:, None] - span.key[None]
        bar = (back < 0) | (back > self.memory)
        e = self.position(self.embed(x), now)
        d = self.position(self.embed_fed(before), now)
        seen, answered = torch.cat([seen, e], 1), torch.cat([answered, d], 1)
        encoded = torch.cat([encoded, self.encoder(e, seen[:, : len(counts)], span, bar)], 1)
        h = self.decoder(d, answered[:, : len(counts)], span, bar)
        h = h + self.cross(self.norm_cross(h), self.norm_encoded(encoded), span, bar)
        y = self.head(h + self.feed(self.norm_feed(h)))
        fed = places_now(y[:, -1], x[:, -1]) if truth is None else truth[:, -1]
        m = self.memory
        kept = [v[:, -m:] for v in (seen, encoded, answered)]
        key_time = span.key_time[:, -m:]
        return y, (kept, span.key[-m:], time[:, -1:] - key_time, after + x.shape[1], fed)

    def saved_macs(self) -> int:
        return 3 * self.memory * 2 * self.width * self.width
