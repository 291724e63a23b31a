"""The other axes along which attention is told apart (Chaudhari et al., 2021), each as one row: the sequences that attend to each
other, the levels, the representations, and the dimensions of a single representation.

All four are one skeleton: states h(i) of a recurrent encoder, a context c(t) that attention makes of the newest `memory` of them, and
s(t) = GRU(s(t-1), [e(t); c(t)]); the answer reads s(t) and c(t). What differs is c. A lane holds one person: attention between two
persons has no data here.
"""

from __future__ import annotations

import abc
import math

import torch
from torch import Tensor, nn

from posetrain.data.packs import JOINTS
from posetrain.study.alignment import small
from posetrain.study.attention import BARRED
from posetrain.study.row import INPUTS, Head, Row, State, bank_of
from posetrain.temporal.frames import FEATURES, GLOBAL, MIX, PER_JOINT

PER_TOKEN = PER_JOINT + MIX * 2
# Limbs by the numbers of their joints: head, arms, legs, and the trunk, which shares its joints with them.
LIMBS = ((0, 1, 2, 3, 4), (5, 7, 9), (6, 8, 10), (11, 13, 15), (12, 14, 16), (5, 6, 11, 12))


def joints_of(x: Tensor) -> Tensor:
    """x [...,INPUTS] -> [...,17,PER_TOKEN]: what is known of each joint alone."""
    features = x[..., : FEATURES - GLOBAL].unflatten(-1, (JOINTS, PER_JOINT))
    bank = bank_of(x).transpose(-3, -2).flatten(-2)
    return torch.cat([features, bank], -1)


class Joints(nn.Module):
    """One token a joint, with a learned vector that says which."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embed = nn.Linear(PER_TOKEN, width)
        self.which = nn.Parameter(torch.randn(JOINTS, width) * 0.1)

    def forward(self, x: Tensor) -> Tensor:
        """x [...,INPUTS] -> [...,17,D]."""
        out: Tensor = self.embed(joints_of(x)) + self.which
        return out


class Attended(Row, abc.ABC):
    """The skeleton. `states` and `contexts` are the numbers in h(i) and c(t)."""

    def __init__(self, width: int, memory: int, states: int, contexts: int) -> None:
        super().__init__()
        self.memory, self.states = memory, states
        self.embed = nn.Linear(INPUTS, width)
        self.decoder = nn.GRU(width + contexts, width, batch_first=True)
        self.head = Head(width + contexts)

    @abc.abstractmethod
    def encode(self, x: Tensor, e: Tensor, last: State) -> tuple[Tensor, State]:
        """x [B,T,INPUTS], e [B,T,D] -> h [B,T,states] and what goes on from there."""

    @abc.abstractmethod
    def attend(self, x: Tensor, h: Tensor, bar: Tensor) -> Tensor:
        """x [B,T,INPUTS], h [B,S,states] the newest last, bar [T,S] true where not to look -> c [B,T,contexts]."""

    def sequence(
        self, x: Tensor, dt: Tensor, state: State = None, truth: Tensor | None = None
    ) -> tuple[Tensor, State]:
        e = self.embed(x)
        last, past, s = (None, x.new_zeros(len(x), 0, self.states), None) if state is None else state
        h, last = self.encode(x, e, last)
        h = torch.cat([past, h], 1)
        back = torch.arange(past.shape[1], h.shape[1])[:, None] - torch.arange(h.shape[1])[None]
        context = self.attend(x, h, (back < 0) | (back >= self.memory))
        out, s = self.decoder(torch.cat([e, context], -1), s)
        return self.head(torch.cat([out, context], -1)), (last, h[:, 1 - self.memory :], s)


def mix(score: Tensor, bar: Tensor, values: Tensor) -> Tensor:
    """score [B,T,S], values [B,S,D] -> [B,T,D]."""
    return score.masked_fill(bar, BARRED).softmax(-1) @ values


class CoAttention(Attended):
    """Parallel co-attention (Lu et al., 2016) between this frame's joints J and the frames h before it and itself.

    C = tanh(J U h'); H_J = tanh(J W_J + C (h W_h)), H_h = tanh(h W_h + C' (J W_J)); weights softmax(H w) on either side;
    c = [sum_j a_j J_j; sum_i b_i h_i].
    """

    def __init__(self, width: int, memory: int) -> None:
        super().__init__(width, memory, width, 2 * width)
        self.joints = Joints(width)
        self.encoder = nn.GRU(width, width, batch_first=True)
        self.affinity = small(width, width)
        self.of_joints, self.of_frames = (nn.Linear(width, width, bias=False) for _ in range(2))
        self.w_joints, self.w_frames = small(width), small(width)

    def encode(self, x: Tensor, e: Tensor, last: State) -> tuple[Tensor, State]:
        return self.encoder(e, last)

    def attend(self, x: Tensor, h: Tensor, bar: Tensor) -> Tensor:
        j = self.joints(x)
        affinity = torch.tanh(torch.einsum("btjd,bsd->btjs", j @ self.affinity, h))
        affinity = affinity.masked_fill(bar[:, None], 0)
        joints, frames = self.of_joints(j), self.of_frames(h)
        of_joints = torch.tanh(joints + torch.einsum("btjs,bsd->btjd", affinity, frames)) @ self.w_joints
        of_frames = torch.tanh(frames[:, None] + affinity.transpose(-1, -2) @ joints) @ self.w_frames
        some = (of_joints.softmax(-1)[..., None, :] @ j)[..., 0, :]
        return torch.cat([some, mix(of_frames, bar, h)], -1)

    def saved_macs(self) -> int:
        return (self.memory - 1) * self.of_frames.weight.numel()


class Level(nn.Module):
    """Attention with a learned query, u.tanh(W v + b), as every level of a hierarchical network has it (Yang et al., 2016)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.hidden, self.query = nn.Linear(width, width), small(width)

    def forward(self, v: Tensor) -> Tensor:
        """[...,D] -> [...]: scores."""
        return torch.tanh(self.hidden(v)) @ self.query


class Hierarchical(Attended):
    """Hierarchical attention (Yang et al., 2016): joints make limbs, limbs a body, and a GRU over bodies gives the states that make
    the context. limb_l = sum over its joints of softmax(score(J_j)) J_j, body = sum_l softmax(score(limb_l)) limb_l,
    c = sum_i softmax(score(h_i)) h_i, each score with weights of its level."""

    def __init__(self, width: int, memory: int) -> None:
        super().__init__(width, memory, width, width)
        self.joints = Joints(width)
        self.of_joint, self.of_limb, self.of_frame = Level(width), Level(width), Level(width)
        self.encoder = nn.GRU(width, width, batch_first=True)
        self.apart: Tensor
        apart = torch.ones(len(LIMBS), JOINTS, dtype=torch.bool)
        for limb, joints in enumerate(LIMBS):
            apart[limb, list(joints)] = False
        self.register_buffer("apart", apart)

    def body(self, x: Tensor) -> Tensor:
        """x [...,INPUTS] -> [...,D]."""
        j = self.joints(x)
        score = self.of_joint(j)[..., None, :].expand(*j.shape[:-2], *self.apart.shape)
        limbs = score.masked_fill(self.apart, BARRED).softmax(-1) @ j
        out: Tensor = (self.of_limb(limbs).softmax(-1)[..., None, :] @ limbs)[..., 0, :]
        return out

    def encode(self, x: Tensor, e: Tensor, last: State) -> tuple[Tensor, State]:
        return self.encoder(self.body(x), last)

    def attend(self, x: Tensor, h: Tensor, bar: Tensor) -> Tensor:
        return mix(self.of_frame(h)[:, None].expand(-1, len(bar), -1), bar, h)

    def saved_macs(self) -> int:
        return (self.memory - 1) * self.of_frame.hidden.weight.numel()


def places_of(x: Tensor) -> Tensor:
    """Of every joint its place, and whether it is seen: [...,17*3]."""
    return joints_of(x)[..., [0, 1, 2]].flatten(-2)


def velocities_of(x: Tensor) -> Tensor:
    """Of every joint its step since the last frame and its way from the running means: [...,17*6]."""
    return joints_of(x)[..., 4:10].flatten(-2)


def scores_of(x: Tensor) -> Tensor:
    """Of every joint whether it is seen, its score and for how long it has not been: [...,17*3]."""
    return joints_of(x)[..., [2, 3, 10]].flatten(-2)


REPRESENTATIONS = (places_of, velocities_of, scores_of)


class MultiRepresentational(Attended):
    """Places, velocities and scores encoded and attended apart, c_r(t) = sum_i softmax(h_r(t).h_r(i) / sqrt(d)) h_r(i), and joined by
    weights of their own, c = sum_r softmax_r(w.c_r + b) c_r (Kiela et al., 2018)."""

    def __init__(self, width: int, memory: int) -> None:
        parts = [r(torch.zeros(INPUTS)).numel() for r in REPRESENTATIONS]
        super().__init__(width, memory, len(parts) * width, width)
        self.embeds = nn.ModuleList(nn.Linear(part, width) for part in parts)
        self.encoders = nn.ModuleList(nn.GRU(width, width, batch_first=True) for _ in parts)
        self.weigh = nn.Linear(width, 1)

    def encode(self, x: Tensor, e: Tensor, last: State) -> tuple[Tensor, State]:
        out, after = [], []
        parts = zip(REPRESENTATIONS, self.embeds, self.encoders, last or [None] * 3, strict=True)
        for part, embed, encoder, before in parts:
            h, state = encoder(embed(part(x)), before)
            out.append(h)
            after.append(state)
        return torch.cat(out, -1), after

    def attend(self, x: Tensor, h: Tensor, bar: Tensor) -> Tensor:
        contexts = []
        for keys in h.chunk(len(REPRESENTATIONS), -1):
            query = keys[:, -len(bar) :]
            score = query @ keys.transpose(-1, -2) / math.sqrt(keys.shape[-1])
            contexts.append(mix(score, bar, keys))
        c = torch.stack(contexts, -2)
        out: Tensor = (self.weigh(c).softmax(-2) * c).sum(-2)
        return out


class MultiDimensional(Attended):
    """A weight a feature (Shen et al., 2018): z(t,i) = W act(W_1 h(i) + W_2 h(t) + b_1) + b has as many numbers as h, each of
    which is made weights over i on its own: c_k(t) = sum_i softmax_i(z_k(t,i)) h_k(i). act is ELU, as there."""

    def __init__(self, width: int, memory: int) -> None:
        super().__init__(width, memory, width, width)
        self.encoder = nn.GRU(width, width, batch_first=True)
        self.of_key, self.of_query = nn.Linear(width, width, bias=False), nn.Linear(width, width)
        self.score = nn.Linear(width, width, bias=False)  # b falls out of the softmax

    def encode(self, x: Tensor, e: Tensor, last: State) -> tuple[Tensor, State]:
        return self.encoder(e, last)

    def attend(self, x: Tensor, h: Tensor, bar: Tensor) -> Tensor:
        query = self.of_query(h[:, -len(bar) :])
        z = self.score(nn.functional.elu(self.of_key(h)[:, None] + query[:, :, None]))
        weight = z.masked_fill(bar[..., None], BARRED).softmax(2)
        return (weight * h[:, None]).sum(2)

    def saved_macs(self) -> int:
        return (self.memory - 1) * self.of_key.weight.numel()
