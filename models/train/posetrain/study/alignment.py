"""Alignment functions a(k, q): how well each key suits a query, before a distribution function makes weights of the scores.

`forward(query [B,Q,D], keys [B,S,D]) -> [B,Q,S]`. Names and forms as in the survey of Chaudhari et al. (2021). act is tanh.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn


class Alignment(nn.Module):
    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        raise NotImplementedError


def small(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.randn(*shape) / math.sqrt(shape[-1]))


class Cosine(Alignment):
    """beta q.k / (|q| |k|), beta learned (Graves et al., 2014)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.log_beta = nn.Parameter(torch.ones(()))

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        unit = nn.functional.normalize
        return self.log_beta.exp() * unit(query, dim=-1) @ unit(keys, dim=-1).transpose(-1, -2)


class Dot(Alignment):
    """q.k (Luong et al., 2015)."""

    def __init__(self, width: int) -> None:
        super().__init__()

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return query @ keys.transpose(-1, -2)


class ScaledDot(Alignment):
    """q.k / sqrt(d) (Vaswani et al., 2017)."""

    def __init__(self, width: int) -> None:
        super().__init__()

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return query @ keys.transpose(-1, -2) / math.sqrt(query.shape[-1])


class General(Alignment):
    """q W k (Luong et al., 2015)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = small(width, width)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return query @ self.weight @ keys.transpose(-1, -2)


class BiasedGeneral(Alignment):
    """k.(W q + b) (Sordoni et al., 2016)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.of_query = nn.Linear(width, width)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        out: Tensor = self.of_query(query) @ keys.transpose(-1, -2)
        return out


class ActivatedGeneral(Alignment):
    """act(q W k + b) (Ma et al., 2017)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight, self.bias = small(width, width), nn.Parameter(torch.zeros(()))

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return torch.tanh(query @ self.weight @ keys.transpose(-1, -2) + self.bias)


class Additive(Alignment):
    """v.act(W [q; k] + b) (concat; Bahdanau et al., 2015). W is held as its two halves."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.of_query, self.of_key = nn.Linear(width, width), nn.Linear(width, width, bias=False)
        self.v = small(width)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return torch.tanh(self.of_query(query)[:, :, None] + self.of_key(keys)[:, None]) @ self.v


class Deep(Alignment):
    """v.E(2) + b, E(2) = act(W1 E(1) + b), E(1) = act(W0 k + W q + b) (Pavlopoulos et al., 2017)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.of_query, self.of_key = nn.Linear(width, width), nn.Linear(width, width, bias=False)
        self.deeper, self.last = nn.Linear(width, width), nn.Linear(width, 1)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        first = torch.tanh(self.of_query(query)[:, :, None] + self.of_key(keys)[:, None])
        out: Tensor = self.last(torch.tanh(self.deeper(first)))[..., 0]
        return out


class LocationBased(Alignment):
    """act(W q): where to look is said by the query alone, by places back from the newest key (Luong et al., 2015)."""

    def __init__(self, width: int, memory: int = 32) -> None:
        super().__init__()
        self.of_query = nn.Linear(width, memory)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """At most `memory` keys, the newest last."""
        back: Tensor = torch.tanh(self.of_query(query)[..., : keys.shape[1]])
        return back.flip(-1)


class FeatureBased(Alignment):
    """v.act(W1 phi1(k) + W0 phi0(k) + b): by features of the keys alone (Li et al., 2019), here the key and its square."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width, bias=False)
        self.v = small(width)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        score = torch.tanh(self.first(keys) + self.second(keys.square())) @ self.v
        return score[:, None].expand(-1, query.shape[1], -1)


class GeneralisedKernel(Alignment):
    """log phi(q).phi(k), phi positive random features of the softmax kernel (Choromanski et al., 2021): a softmax of it weighs
    each key by the kernel itself."""

    def __init__(self, width: int, features: int = 64) -> None:
        super().__init__()
        self.directions: Tensor
        drawn = torch.randn(features, width, generator=torch.Generator().manual_seed(0))
        self.register_buffer("directions", drawn)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        log_q, log_k = (
            log_positive_features(v / v.shape[-1] ** 0.25, self.directions) for v in (query, keys)
        )
        return torch.logsumexp(log_q[:, :, None] + log_k[:, None], -1)


def log_positive_features(v: Tensor, directions: Tensor) -> Tensor:
    """log of exp(w.v - |v|^2/2) / sqrt(R), whose products estimate exp(q.k) without bias. v [...,D], directions [R,D]."""
    return v @ directions.T - v.square().sum(-1, keepdim=True) / 2 - math.log(len(directions)) / 2


ALIGNMENTS: dict[str, Callable[[int], Alignment]] = {
    "cosine": Cosine,
    "dot": Dot,
    "scaled-dot": ScaledDot,
    "general": General,
    "biased-general": BiasedGeneral,
    "activated-general": ActivatedGeneral,
    "additive": Additive,
    "deep": Deep,
    "location": LocationBased,
    "feature": FeatureBased,
    "kernel": GeneralisedKernel,
}
