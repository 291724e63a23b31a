"""Distribution functions p: from alignment scores to attention's weights.

`forward(score [B,Q,S], query [B,Q,D], keys [B,S,D]) -> [B,Q,S]`. Keys are in order of time, the newest last.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn


def sparsemax(z: Tensor) -> Tensor:
    """The point of the simplex nearest to z, along the last axis (Martins and Astudillo, 2016), by its closed form: max(z - tau, 0)."""
    down = z.sort(-1, descending=True).values
    rank = torch.arange(1, z.shape[-1] + 1, dtype=z.dtype)
    total = down.cumsum(-1)
    support = (1 + rank * down > total).sum(-1, keepdim=True)
    tau = (total.gather(-1, support - 1) - 1) / support
    return (z - tau).clamp_min(0)


def entmax15(z: Tensor) -> Tensor:
    """alpha-entmax with alpha = 1.5 (Peters et al., 2019): max(z/2 - tau, 0)^2 summing to 1, exactly, by sorting."""
    half = (z - z.amax(-1, keepdim=True)) / 2
    down = half.sort(-1, descending=True).values
    rank = torch.arange(1, z.shape[-1] + 1, dtype=z.dtype)
    mean, mean_square = down.cumsum(-1) / rank, down.square().cumsum(-1) / rank
    # tau solves sum over the first `rank` of (half - tau)^2 = 1; the floor keeps the root's slope finite where none does.
    root = ((1 - rank * (mean_square - mean.square())) / rank).clamp_min(1e-12).sqrt()
    tau = mean - root
    support = (tau <= down).sum(-1, keepdim=True)
    return (half - tau.gather(-1, support - 1)).clamp_min(0).square()


class Distribution(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()

    def forward(self, score: Tensor, query: Tensor, keys: Tensor) -> Tensor:
        raise NotImplementedError


class Softmax(Distribution):
    """Over all keys kept: soft, global attention."""

    def forward(self, score: Tensor, query: Tensor, keys: Tensor) -> Tensor:
        return score.softmax(-1)


class Sparsemax(Distribution):
    def forward(self, score: Tensor, query: Tensor, keys: Tensor) -> Tensor:
        return sparsemax(score)


class Entmax15(Distribution):
    def forward(self, score: Tensor, query: Tensor, keys: Tensor) -> Tensor:
        return entmax15(score)


class Sigmoid(Distribution):
    """Each key by itself; the weights need not sum to 1."""

    def forward(self, score: Tensor, query: Tensor, keys: Tensor) -> Tensor:
        return score.sigmoid()


class Hard(Distribution):
    """One key (Xu et al., 2015): in training sampled from the softmax, its gradient the softmax's own (straight-through Gumbel;
    Jang et al., 2017); otherwise the likeliest."""

    def forward(self, score: Tensor, query: Tensor, keys: Tensor) -> Tensor:
        if self.training:
            return nn.functional.gumbel_softmax(score, hard=True)
        return nn.functional.one_hot(score.argmax(-1), score.shape[-1]).to(score.dtype)


class LocalMonotonic(Distribution):
    """local-m (Luong et al., 2015): softmax over the newest `reach` keys, what a causal window round the present is."""

    reach = 8

    def forward(self, score: Tensor, query: Tensor, keys: Tensor) -> Tensor:
        out = score.new_zeros(score.shape)
        out[..., -self.reach :] = score[..., -self.reach :].softmax(-1)
        return out


class LocalPredictive(Distribution):
    """local-p (Luong et al., 2015): softmax times a Gaussian of deviation `reach`/2 about a place that the query says,
    p = S sigmoid(v.tanh(W q)), counted back from the newest of S keys."""

    reach = 8

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.hidden, self.place = nn.Linear(width, width), nn.Linear(width, 1)

    def forward(self, score: Tensor, query: Tensor, keys: Tensor) -> Tensor:
        count = score.shape[-1]
        centre = count * torch.sigmoid(self.place(torch.tanh(self.hidden(query))))
        back = torch.arange(count - 1, -1, -1, dtype=score.dtype)
        near = (-(back - centre).square() / (2 * (self.reach / 2) ** 2)).exp()
        return score.softmax(-1) * near


class Coda(Distribution):
    """Compositional de-attention (Tay et al., 2019): tanh(E) * sigmoid(N), E the scores, N minus the L1 distance of query and key,
    here its mean over the width, and the gate doubled so that it is 1 where they agree (as in the paper). Weights may be negative."""

    def forward(self, score: Tensor, query: Tensor, keys: Tensor) -> Tensor:
        far = torch.cdist(query, keys, p=1) / query.shape[-1]
        return torch.tanh(score) * 2 * torch.sigmoid(-far)


DISTRIBUTIONS: dict[str, Callable[[int], Distribution]] = {
    "softmax": Softmax,
    "sparsemax": Sparsemax,
    "entmax15": Entmax15,
    "sigmoid": Sigmoid,
    "hard": Hard,
    "local-m": LocalMonotonic,
    "local-p": LocalPredictive,
    "coda": Coda,
}
