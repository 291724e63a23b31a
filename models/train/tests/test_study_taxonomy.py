"""Co-, hierarchical, multi-representational and multi-dimensional attention against their definitions, frame by frame in loops."""

from __future__ import annotations

import unittest
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from posetrain.study.row import INPUTS
from posetrain.study.taxonomy import (
    LIMBS,
    Attended,
    CoAttention,
    Hierarchical,
    MultiDimensional,
    MultiRepresentational,
    places_of,
    scores_of,
    velocities_of,
)
from posetrain.temporal.frames import frame

WIDTH, MEMORY, FRAMES = 6, 4, 7
Array = np.ndarray


def soft(z: Array) -> Array:
    e = np.exp(z - z.max(0))
    return np.asarray(e / e.sum(0))


def array(v: Tensor) -> Array:
    return v.detach().double().numpy()


def weights_of(row: Attended) -> dict[str, Array]:
    return {name: array(v) for name, v in row.state_dict().items()}


def co(row: Attended, x: Tensor, h: Array) -> Array:
    """h [S,D]: what is seen, the newest last; x [INPUTS]."""
    assert isinstance(row, CoAttention)
    p, j = weights_of(row), array(row.joints(x))
    c = np.array([[np.tanh(a @ p["affinity"] @ b) for b in h] for a in j])
    to_joints, to_frames = j @ p["of_joints.weight"].T, h @ p["of_frames.weight"].T
    a = soft(np.tanh(to_joints + c @ to_frames) @ p["w_joints"])
    b = soft(np.tanh(to_frames + c.T @ to_joints) @ p["w_frames"])
    return np.concatenate([a @ j, b @ h])


def level(p: dict[str, Array], name: str, v: Array) -> Array:
    u = np.tanh(v @ p[f"{name}.hidden.weight"].T + p[f"{name}.hidden.bias"])
    return np.asarray(soft(u @ p[f"{name}.query"]) @ v)


def hierarchical(row: Attended, x: Tensor, h: Array) -> Array:
    return level(weights_of(row), "of_frame", h)


def representations(row: Attended, x: Tensor, h: Array) -> Array:
    p = weights_of(row)
    parts = [h[:, i * WIDTH : (i + 1) * WIDTH] for i in range(3)]
    c = np.array([soft(k @ k[-1] / WIDTH**0.5) @ k for k in parts])
    return np.asarray(soft(c @ p["weigh.weight"][0] + p["weigh.bias"]) @ c)


def dimensions(row: Attended, x: Tensor, h: Array) -> Array:
    p = weights_of(row)
    inner = h @ p["of_key.weight"].T + p["of_query.weight"] @ h[-1] + p["of_query.bias"]
    z = np.where(inner > 0, inner, np.exp(np.minimum(inner, 0)) - 1) @ p["score.weight"].T
    return np.array([soft(z[:, k]) @ h[:, k] for k in range(WIDTH)])


CONTEXTS: dict[Callable[[int, int], Attended], Callable[[Attended, Tensor, Array], Array]] = {
    CoAttention: co,
    Hierarchical: hierarchical,
    MultiRepresentational: representations,
    MultiDimensional: dimensions,
}


class Contexts(unittest.TestCase):
    def test_every_context_is_its_formula(self) -> None:
        """Of a window that is filling and of one that is full."""
        torch.manual_seed(0)
        x = torch.randn(1, FRAMES, INPUTS)
        back = torch.arange(FRAMES)[:, None] - torch.arange(FRAMES)[None]
        for make, reference in CONTEXTS.items():
            row = make(WIDTH, MEMORY)
            h = torch.randn(1, FRAMES, row.states)
            got = array(row.attend(x, h, (back < 0) | (back >= MEMORY)))[0]
            for t in range(FRAMES):
                with self.subTest(type(row).__name__, frame=t):
                    seen = array(h[0, max(0, t - MEMORY + 1) : t + 1])
                    np.testing.assert_allclose(got[t], reference(row, x[0, t], seen), rtol=1e-4, atol=1e-5)

    def test_a_body_is_made_of_limbs_and_these_of_joints(self) -> None:
        torch.manual_seed(1)
        row = Hierarchical(WIDTH, MEMORY)
        x = torch.randn(INPUTS)
        p, joints = weights_of(row), array(row.joints(x))
        limbs = np.array([level(p, "of_joint", joints[list(limb)]) for limb in LIMBS])
        np.testing.assert_allclose(array(row.body(x)), level(p, "of_limb", limbs), rtol=1e-4, atol=1e-5)

    def test_every_joint_belongs_to_a_limb(self) -> None:
        self.assertEqual({joint for limb in LIMBS for joint in limb}, set(range(17)))


class Representations(unittest.TestCase):
    def seen(self, shift: float, step: float, score: float) -> Tensor:
        body = np.random.default_rng(0).uniform(100, 200, (17, 2))
        xy = body + np.arange(3)[None, :, None, None] * step
        xy[:, :, 0] += shift
        f = frame(np.arange(3.0)[None], xy, np.full((1, 3, 17), score), np.zeros(1))
        return torch.cat([torch.from_numpy(f.features), torch.from_numpy(f.bank).flatten(-3)], -1)[0, -1]

    def test_each_reads_what_it_is_named_after(self) -> None:
        base = self.seen(0, 0, 0.5)
        surer = self.seen(0, 0, 0.9)
        torch.testing.assert_close(places_of(surer), places_of(base))
        torch.testing.assert_close(velocities_of(surer), velocities_of(base))
        self.assertGreater((scores_of(surer) - scores_of(base)).abs().max().item(), 0.3)
        self.assertEqual(velocities_of(base).abs().max().item(), 0, "nobody moved")
        self.assertGreater(velocities_of(self.seen(0, 5, 0.5)).abs().max().item(), 0.1)
        moved = self.seen(30, 0, 0.5)
        self.assertGreater((places_of(moved) - places_of(base)).abs().max().item(), 0.1)
        torch.testing.assert_close(scores_of(moved), scores_of(base))


if __name__ == "__main__":
    unittest.main()
