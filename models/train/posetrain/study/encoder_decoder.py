"""One small encoder-decoder for all alignment and distribution functions: only what lies between query and weights differs.

Encoder: a GRU over the observations, h(i). Decoder: s(t) = f(s(t-1), [e(t); c(t)]), where e is the embedded observation and
c(t) = sum_i p(a(h(i), s(t-1))) h(i) over the newest `memory` states. The answer reads s(t) and c(t).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from posetrain.study.alignment import ALIGNMENTS
from posetrain.study.distribution import DISTRIBUTIONS
from posetrain.study.row import INPUTS, Head, Row, State


class EncoderDecoder(Row):
    def __init__(self, width: int, memory: int, alignment: str, distribution: str) -> None:
        super().__init__()
        self.memory = memory
        self.embed = nn.Linear(INPUTS, width)
        self.encoder = nn.GRU(width, width, batch_first=True)
        self.align = ALIGNMENTS[alignment](width)
        self.distribute = DISTRIBUTIONS[distribution](width)
        self.decoder = nn.GRUCell(2 * width, width)
        self.head = Head(2 * width)

    def sequence(
        self, x: Tensor, dt: Tensor, state: State = None, truth: Tensor | None = None
    ) -> tuple[Tensor, State]:
        e = self.embed(x)
        if state is None:
            nothing = torch.zeros_like(e[:, 0])
            state = (None, nothing[:, None][:, :0], nothing)
        h_last, past, s = state
        h, h_last = self.encoder(e, h_last)
        h = torch.cat([past, h], 1)
        out = []
        for t in range(x.shape[1]):
            seen = h[:, : past.shape[1] + t + 1][:, -self.memory :]
            query = s[:, None]
            context = (self.distribute(self.align(query, seen), query, seen) @ seen)[:, 0]
            s = self.decoder(torch.cat([e[:, t], context], -1), s)
            out.append(torch.cat([s, context], -1))
        return self.head(torch.stack(out, 1)), (h_last, h[:, -self.memory :], s)
