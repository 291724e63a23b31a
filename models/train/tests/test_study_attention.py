"""Alignment and distribution functions, linear attention and relative positions against references written another way."""

from __future__ import annotations

import math
import unittest
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from posetrain.study.alignment import ALIGNMENTS, Alignment, log_positive_features
from posetrain.study.attention import Attention, ShawPosition, Span, XlPosition
from posetrain.study.distribution import DISTRIBUTIONS, LocalPredictive, entmax15, sparsemax
from posetrain.study.linear import linear_attention, orthogonal

WIDTH = 6


def one_by_one(
    score: Callable[[np.ndarray, np.ndarray, int], float], query: Tensor, keys: Tensor
) -> np.ndarray:
    """score(q, k, places back from the newest key) for every pair."""
    out = np.zeros((len(query), query.shape[1], keys.shape[1]))
    for b, i, j in np.ndindex(*out.shape):
        out[b, i, j] = score(query[b, i].double().numpy(), keys[b, j].double().numpy(), keys.shape[1] - 1 - j)
    return out


def array(v: Tensor) -> np.ndarray:
    return v.detach().double().numpy()


class Alignments(unittest.TestCase):
    def setUp(self) -> None:
        torch.manual_seed(0)
        self.query, self.keys = torch.randn(2, 3, WIDTH), torch.randn(2, 5, WIDTH)

    def reference(self, name: str, a: Alignment) -> Callable[[np.ndarray, np.ndarray, int], float]:
        p = {k: array(v) for k, v in a.state_dict().items()}
        act = np.tanh

        def concatenated(q: np.ndarray, k: np.ndarray) -> np.ndarray:
            w = np.concatenate([p["of_query.weight"], p["of_key.weight"]], 1)
            return act(w @ np.concatenate([q, k]) + p["of_query.bias"])

        def features(v: np.ndarray) -> np.ndarray:
            v, w = v / WIDTH**0.25, p["directions"]
            return np.exp(w @ v - v @ v / 2) / math.sqrt(len(w))

        table: dict[str, Callable[[np.ndarray, np.ndarray, int], float]] = {
            "cosine": lambda q, k, _: np.exp(p["log_beta"]) * q @ k / np.linalg.norm(q) / np.linalg.norm(k),
            "dot": lambda q, k, _: q @ k,
            "scaled-dot": lambda q, k, _: q @ k / math.sqrt(WIDTH),
            "general": lambda q, k, _: q @ p["weight"] @ k,
            "biased-general": lambda q, k, _: k @ (p["of_query.weight"] @ q + p["of_query.bias"]),
            "activated-general": lambda q, k, _: act(q @ p["weight"] @ k + p["bias"]),
            "additive": lambda q, k, _: p["v"] @ concatenated(q, k),
            "deep": lambda q, k, _: (
                p["last.weight"] @ act(p["deeper.weight"] @ concatenated(q, k) + p["deeper.bias"])
                + p["last.bias"]
            )[0],
            "location": lambda q, _, back: act(p["of_query.weight"] @ q + p["of_query.bias"])[back],
            "feature": lambda _, k, __: (
                p["v"] @ act(p["first.weight"] @ k + p["second.weight"] @ k**2 + p["first.bias"])
            ),
            "kernel": lambda q, k, _: np.log(features(q) @ features(k)),
        }
        return table[name]

    def test_every_function_is_its_formula(self) -> None:
        for name, make in ALIGNMENTS.items():
            with self.subTest(name):
                a = make(WIDTH)
                wanted = one_by_one(self.reference(name, a), self.query, self.keys)
                np.testing.assert_allclose(array(a(self.query, self.keys)), wanted, rtol=2e-4, atol=1e-5)

    def test_random_features_estimate_the_softmax_kernel(self) -> None:
        q, k = torch.randn(4, 8) * 0.5, torch.randn(4, 8) * 0.5
        directions = orthogonal(4096, 8)
        estimate = log_positive_features(q, directions).exp() @ log_positive_features(k, directions).exp().T
        np.testing.assert_allclose(array(estimate), array((q @ k.T).exp()), rtol=0.15)


def bisected(z: np.ndarray, power: float) -> np.ndarray:
    """max(z - tau, 0)^power with tau such that it sums to 1, found by halving."""
    low, high = z.max() - 1.0, z.max()
    for _ in range(80):
        tau = (low + high) / 2
        low, high = (tau, high) if (np.maximum(z - tau, 0) ** power).sum() > 1 else (low, tau)
    return np.maximum(z - low, 0) ** power


class Distributions(unittest.TestCase):
    def test_sparsemax_and_entmax_meet_an_independent_solver(self) -> None:
        torch.manual_seed(1)
        for size in (1, 2, 7, 40):
            for scale in (0.1, 1.0, 5.0):
                z = torch.randn(6, size, dtype=torch.float64) * scale
                for row, sparse, ent in zip(z, sparsemax(z), entmax15(z), strict=True):
                    np.testing.assert_allclose(array(sparse), bisected(array(row), 1.0), atol=1e-9)
                    np.testing.assert_allclose(array(ent), bisected(array(row) / 2, 2.0), atol=1e-9)

    def test_sparsemax_of_two_is_a_clipped_line(self) -> None:
        d = torch.linspace(-2, 2, 9)
        got = sparsemax(torch.stack([d, torch.zeros_like(d)], -1))[:, 0]
        torch.testing.assert_close(got, ((d + 1) / 2).clamp(0, 1))

    def test_gradients_of_sparse_distributions_are_right(self) -> None:
        torch.manual_seed(2)
        z = torch.randn(3, 6, dtype=torch.float64, requires_grad=True)
        for f in (sparsemax, entmax15):
            self.assertTrue(torch.autograd.gradcheck(f, (z,)))
        tied = torch.zeros(2, 5, requires_grad=True)
        (entmax15(tied).square().sum() + sparsemax(tied).square().sum()).backward()
        assert tied.grad is not None
        self.assertTrue(tied.grad.isfinite().all())

    def test_the_others_are_their_formulas(self) -> None:
        torch.manual_seed(3)
        score, query, keys = torch.randn(2, 3, 20), torch.randn(2, 3, WIDTH), torch.randn(2, 20, WIDTH)
        z, q, k = array(score), array(query), array(keys)

        def soft(v: np.ndarray) -> np.ndarray:
            e = np.exp(v - v.max(-1, keepdims=True))
            return e / e.sum(-1, keepdims=True)

        for name, make in DISTRIBUTIONS.items():
            d = make(WIDTH).eval()
            got = array(d(score, query, keys))
            wanted = {
                "softmax": soft(z),
                "sigmoid": 1 / (1 + np.exp(-z)),
                "hard": (z == z.max(-1, keepdims=True)).astype(float),
                "local-m": np.concatenate([np.zeros((2, 3, 12)), soft(z[..., -8:])], -1),
                "coda": np.tanh(z) * 2 / (1 + np.exp(np.abs(q[:, :, None] - k[:, None]).sum(-1) / WIDTH)),
            }
            if name in wanted:
                with self.subTest(name):
                    np.testing.assert_allclose(got, wanted[name], atol=1e-5)
            if isinstance(d, LocalPredictive):
                p = {n: array(v) for n, v in d.state_dict().items()}
                inner = (
                    np.tanh(q @ p["hidden.weight"].T + p["hidden.bias"]) @ p["place.weight"].T
                    + p["place.bias"]
                )
                centre = 20 / (1 + np.exp(-inner))
                near = np.exp(-((np.arange(20)[::-1] - centre) ** 2) / (2 * 4**2))
                np.testing.assert_allclose(got, soft(z) * near, atol=1e-5)

    def test_hard_attention_samples_by_the_softmax_in_training(self) -> None:
        torch.manual_seed(4)
        score = torch.tensor([0.0, 1.0, -1.0]).expand(1, 4000, 3).clone().requires_grad_()
        weight = DISTRIBUTIONS["hard"](WIDTH).train()(score, score, score)
        torch.testing.assert_close(weight.mean((0, 1)), score[0, 0].softmax(-1), atol=0.03, rtol=0)
        (weight * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
        assert score.grad is not None
        self.assertGreater(score.grad.abs().sum().item(), 0)


class Linear(unittest.TestCase):
    def test_running_sums_are_the_quadratic_form(self) -> None:
        torch.manual_seed(5)
        q, k, v = torch.rand(2, 3, 9, 5), torch.rand(2, 3, 9, 5), torch.randn(2, 3, 9, 4)
        nothing = (torch.zeros(2, 3, 5, 4), torch.zeros(2, 3, 5))
        weight = (q @ k.transpose(-1, -2)).tril()
        wanted = weight / weight.sum(-1, keepdim=True) @ v
        got, _ = linear_attention(q, k, v, nothing)
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)
        head, sums = linear_attention(q[:, :, :4], k[:, :, :4], v[:, :, :4], nothing)
        tail, _ = linear_attention(q[:, :, 4:], k[:, :, 4:], v[:, :, 4:], sums)
        torch.testing.assert_close(torch.cat([head, tail], 2), wanted, rtol=1e-4, atol=1e-5)


class Positions(unittest.TestCase):
    def attended(self, attention: Attention, first: int, time: float) -> Tensor:
        torch.manual_seed(6)
        x = torch.randn(1, 7, 8)
        count = torch.arange(first, first + 7)
        times = torch.tensor([[0.0, 1.0, 1.5, 4.0, 5.0, 7.0, 7.2]], dtype=torch.float64) + time
        bar = count[:, None] < count[None]
        out: Tensor = attention(x, x, Span(count, count, times, times), bar)
        return out

    def test_relative_positions_know_no_beginning(self) -> None:
        for position in (ShawPosition(2, 4, 8), XlPosition(2, 4, 8)):
            attention = Attention(8, 2, position)
            here, there = self.attended(attention, 0, 0.0), self.attended(attention, 5000, 1234.5)
            torch.testing.assert_close(here, there, rtol=1e-4, atol=1e-5)

    def test_they_do_tell_places_apart(self) -> None:
        """By index, the same times elsewhere; by time, other times."""
        torch.manual_seed(7)
        q = torch.randn(1, 2, 1, 4)
        for position in (ShawPosition(2, 4, 8), XlPosition(2, 4, 8)):
            count = torch.arange(3)
            span = Span(count[-1:], count, count[None, -1:].double(), count[None].double())
            score = position(q, span)
            self.assertGreater((score[..., 0] - score[..., 1]).abs().max().item(), 1e-3)


if __name__ == "__main__":
    unittest.main()
