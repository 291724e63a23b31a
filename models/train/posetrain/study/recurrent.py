"""Recurrent rows: Elman's network, LSTM, GRU, both directions at once, and a sequence-to-sequence model with Bahdanau's attention.

h(t) = f(x(t), h(t-1)); the previous frame's *output* may take the place of the hidden state: o(t-1), the places answered, or in
training the true ones (teacher forcing; Williams and Zipser, 1989).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from posetrain.study.alignment import Additive
from posetrain.study.row import INPUTS, PLACES, Head, Row, State, bank_of, places_now


class ElmanHidden(Row):
    """h(t) = tanh(W x(t) + U h(t-1) + b) (Elman, 1990), in layers."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.cells = nn.RNN(INPUTS, width, layers, batch_first=True)
        self.head = Head(width)

    def sequence(
        self, x: Tensor, dt: Tensor, state: State = None, truth: Tensor | None = None
    ) -> tuple[Tensor, State]:
        h, state = self.cells(x, state)
        return self.head(h), state


class ElmanOutput(Row):
    """h(t) = tanh(W x(t) + U o(t-1) + b): all that is carried is the last answer's places (Jordan, 1986)."""

    def __init__(self, width: int, layers: int, forced: bool = False) -> None:
        super().__init__()
        self.forced = forced
        self.first = nn.Linear(INPUTS + PLACES, width)
        self.deeper = nn.ModuleList(nn.Linear(width, width) for _ in range(layers - 1))
        self.head = Head(width)

    def answer(self, x: Tensor, fed: Tensor) -> Tensor:
        h = torch.tanh(self.first(torch.cat([x, fed], -1)))
        for layer in self.deeper:
            h = torch.tanh(layer(h))
        y: Tensor = self.head(h)
        return y

    def sequence(
        self, x: Tensor, dt: Tensor, state: State = None, truth: Tensor | None = None
    ) -> tuple[Tensor, State]:
        if not self.forced or truth is None:
            return super().sequence(x, dt, state)
        before = before_first(x[:, 0]) if state is None else state
        y = self.answer(x, torch.cat([before[:, None], truth[:, :-1]], 1))
        return y, truth[:, -1]

    def step(self, state: State, x: Tensor, dt: Tensor) -> tuple[Tensor, State]:
        y = self.answer(x, before_first(x) if state is None else state)
        return y, places_now(y, x)


def before_first(x: Tensor) -> Tensor:
    """What stands for the places answered before a lane's first frame: those observed in it. x [B,INPUTS]."""
    return bank_of(x)[:, 0].flatten(1)


class Gated(Row):
    """LSTM (Hochreiter and Schmidhuber, 1997) or GRU (Cho et al., 2014), with a way past the layers."""

    def __init__(self, cell: str, width: int, layers: int) -> None:
        super().__init__()
        kind = {"lstm": nn.LSTM, "gru": nn.GRU}[cell]
        self.embed = nn.Linear(INPUTS, width)
        self.cells: nn.LSTM | nn.GRU = kind(width, width, layers, batch_first=True)
        self.head = Head(width)

    def sequence(
        self, x: Tensor, dt: Tensor, state: State = None, truth: Tensor | None = None
    ) -> tuple[Tensor, State]:
        e = self.embed(x)
        h, state = self.cells(e, state)
        return self.head(e + h), state


class BidirectionalLstm(Row):
    """An LSTM each way, h(t) both of theirs (Schuster and Paliwal, 1997): sees the whole future of its lane."""

    causal = False

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.embed = nn.Linear(INPUTS, width)
        self.cells = nn.LSTM(width, width, layers, batch_first=True, bidirectional=True)
        self.head = Head(2 * width)

    def sequence(
        self, x: Tensor, dt: Tensor, state: State = None, truth: Tensor | None = None
    ) -> tuple[Tensor, State]:
        h, _ = self.cells(self.embed(x))
        return self.head(h), None


class Seq2SeqBahdanau(Row):
    """Encoder and decoder GRU with additive attention (Bahdanau et al., 2015), made causal: the decoder's step t attends to the
    encoder's last `memory` states, h(t) the newest.

    s(t) = f(s(t-1), o(t-1), c(t)), c(t) = sum_i alpha(t,i) h(i), alpha(t) = softmax_i(v . tanh(W [s(t-1); h(i)])).
    """

    def __init__(self, width: int, memory: int, forced: bool = True) -> None:
        super().__init__()
        self.forced, self.memory = forced, memory
        self.embed = nn.Linear(INPUTS, width)
        self.encoder = nn.GRU(width, width, batch_first=True)
        self.align = Additive(width)
        self.decoder = nn.GRUCell(PLACES + width, width)
        self.head = Head(2 * width)

    def sequence(
        self, x: Tensor, dt: Tensor, state: State = None, truth: Tensor | None = None
    ) -> tuple[Tensor, State]:
        if state is None:
            nothing = x.new_zeros(len(x), self.encoder.hidden_size)
            state = (None, nothing[:, None][:, :0], nothing, before_first(x[:, 0]))
        h_last, past, s, fed = state
        h, h_last = self.encoder(self.embed(x), h_last)
        h = torch.cat([past, h], 1)
        out = []
        for t in range(x.shape[1]):
            seen = h[:, : past.shape[1] + t + 1][:, -self.memory :]
            weight = self.align(s[:, None], seen).softmax(-1)
            context = (weight @ seen)[:, 0]
            s = self.decoder(torch.cat([fed, context], -1), s)
            y = self.head(torch.cat([s, context], -1))
            out.append(y)
            fed = truth[:, t] if self.forced and truth is not None else places_now(y, x[:, t])
        return torch.stack(out, 1), (h_last, h[:, -self.memory :], s, fed)
