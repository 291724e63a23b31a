"""A causal Transformer-XL over observations (Dai et al., 2019), its relative position taken from real time.

Layer n at time t attends to itself and to the M observations before it. Scores are content.content +
content.position + u.content + v.position; position features of a time difference r (nominal frames) are sines and
cosines of r at wavelengths from 2 to 256 frames, and r itself. They are separable in the two times, so no [T,S] table
of features is ever built.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from posetrain.data.packs import JOINTS, MIRROR
from posetrain.temporal.frames import FEATURES, MIX

HORIZONS = 4
WAVES = 16
POSITION = 2 * WAVES + 1
LINEAR_FRAMES = 32.0
DELTA_SCALE = 0.1  # of the person's scale: keeps the first answers near the observation
SIGMA_BIAS = -3.5  # log of the first sigma, of the person's scale
INERTIA_NEAR = 0.05  # what files mean that say nothing of it
EXCHANGED_BIAS = -4.0  # of an untrained head: where the other side's joint was seen counts for little
LEAN = HORIZONS * (MIX - 1) * JOINTS
OUTPUTS = HORIZONS * JOINTS * 2 + HORIZONS * JOINTS + MIX * JOINTS + JOINTS * 3 + 1 + LEAN


@dataclass(frozen=True)
class Hyper:
    width: int = 96
    layers: int = 3
    heads: int = 4
    feed_forward: int = 256
    memory: int = 32
    norm: str = "pre"  # "pre" | "post" | "none" (T-Fixup: no norms, smaller first weights)
    carry: bool = True  # false: a transformer that forgets everything where a segment ends
    exchange: bool = False  # the anchor may also be where the joint of the other side was seen
    inertia: bool = False  # an answer goes on, in part, as the one before foretold (`posetrain.temporal.inertia`); with exchange alone
    inertia_near: float = INERTIA_NEAR  # of the scale: as far off as this what was foretold counts for half

    def __post_init__(self) -> None:
        if self.inertia and not self.exchange:
            raise ValueError("inertia = true: only beside exchange = true, whose outputs come before its own")

    @property
    def outputs(self) -> int:
        return OUTPUTS + JOINTS * (self.exchange + self.inertia)


def wave_numbers() -> Tensor:
    """[WAVES] radians a nominal frame; wavelengths 2 * 2^(7k/15) frames."""
    k = torch.arange(WAVES, dtype=torch.float64)
    return 2 * math.pi / (2 * 2 ** (7 * k / (WAVES - 1)))


def position_scores(p: Tensor, t_query: Tensor, t_key: Tensor) -> Tensor:
    """p [B,H,T,POSITION] . features(t_query[B,T] - t_key[B,S]) -> [B,H,T,S]."""
    w = wave_numbers()
    a, b = t_query[..., None] * w, t_key[..., None] * w
    sa, ca = a.sin().float()[:, None], a.cos().float()[:, None]
    key = torch.cat([b.cos(), b.sin()], -1).float()
    ps, pc, pl = p[..., :WAVES], p[..., WAVES : 2 * WAVES], p[..., 2 * WAVES]
    query = torch.cat([ps * sa + pc * ca, pc * sa - ps * ca], -1)
    r = (t_query[:, :, None] - t_key[:, None, :]).float() / LINEAR_FRAMES
    return query @ key[:, None].transpose(-1, -2) + pl[..., None] * r[:, None]


class Layer(nn.Module):
    def __init__(self, h: Hyper) -> None:
        super().__init__()
        self.h = h
        d, dh = h.width, h.width // h.heads
        self.norm_attention = nn.LayerNorm(d) if h.norm != "none" else nn.Identity()
        self.norm_feed = nn.LayerNorm(d) if h.norm != "none" else nn.Identity()
        self.query = nn.Linear(d, d, bias=False)
        self.key = nn.Linear(d, d, bias=False)
        self.value = nn.Linear(d, d, bias=False)
        self.out = nn.Linear(d, d)
        self.position = nn.Parameter(torch.randn(h.heads, dh, POSITION) * 0.05)
        self.bias_content = nn.Parameter(torch.zeros(h.heads, dh))
        self.bias_position = nn.Parameter(torch.zeros(h.heads, dh))
        # What slope a head starts with (as ALiBi's): recent observations matter more.
        with torch.no_grad():
            self.bias_position.normal_(0, 0.3)
        self.feed_in = nn.Linear(d, h.feed_forward)
        self.feed_out = nn.Linear(h.feed_forward, d)

    def forward(self, x: Tensor, memory: Tensor, t: Tensor, t_memory: Tensor, bar: Tensor) -> Tensor:
        """x [B,T,D], memory [B,M,D] (this layer's earlier inputs), bar [B,T,M+T] true where not to look."""
        h, (b, n, d) = self.h, x.shape
        both = torch.cat([memory, x], 1)
        source = self.norm_attention(both) if h.norm == "pre" else both
        q = self.query(source[:, -n:]).view(b, n, h.heads, -1).transpose(1, 2)
        k = self.key(source).view(b, -1, h.heads, d // h.heads).transpose(1, 2)
        v = self.value(source).view(b, -1, h.heads, d // h.heads).transpose(1, 2)
        content = (q + self.bias_content[:, None]) @ k.transpose(-1, -2)
        p = (q + self.bias_position[:, None]) @ self.position
        where = position_scores(p, t, torch.cat([t_memory, t], 1))
        score = (content + where) / math.sqrt(d // h.heads)
        score = score.masked_fill(bar[:, None], -1e30)
        y = self.out((score.softmax(-1) @ v).transpose(1, 2).reshape(b, n, d))
        x = self.norm_attention(x + y) if h.norm == "post" else x + y
        z = self.norm_feed(x) if h.norm == "pre" else x
        y = self.feed_out(torch.relu(self.feed_in(z)))
        return self.norm_feed(x + y) if h.norm == "post" else x + y


@dataclass
class Memory:
    """Each layer's inputs at the last M observations, their times, and which of them are real."""

    states: list[Tensor]
    times: Tensor
    valid: Tensor


@dataclass
class Answer:
    """In the person's frame. place [B,T,4,17,2], log_sigma [B,T,4,17], unit [B,T,17,3], log_metres [B,T]; inertia [B,T,17], log-odds,
    where the network has any."""

    place: Tensor
    log_sigma: Tensor
    unit: Tensor
    log_metres: Tensor
    inertia: Tensor | None = None
    inertia_near: float = INERTIA_NEAR


class TemporalXl(nn.Module):
    def __init__(self, h: Hyper) -> None:
        super().__init__()
        self.h = h
        self.embed = nn.Linear(FEATURES, h.width)
        layers = [Layer(h) for _ in range(h.layers)]
        self.layers = nn.ModuleList(layers)
        self.norm = nn.LayerNorm(h.width) if h.norm == "pre" else nn.Identity()
        self.head = nn.Linear(h.width, h.outputs)
        with torch.no_grad():
            self.head.weight.mul_(0.2)
            self.head.bias.zero_()
            for layer in layers:
                layer.out.weight.mul_(0.5)
                layer.feed_out.weight.mul_(0.5)
                if h.norm == "none":  # Huang et al., 2020, for an encoder alone
                    for part in (layer.value, layer.out, layer.feed_in, layer.feed_out):
                        part.weight.mul_(0.67 * h.layers**-0.25)

    def empty(self, lanes: int) -> Memory:
        m = self.h.memory
        return Memory(
            [torch.zeros(lanes, m, self.h.width) for _ in self.layers],
            torch.zeros(lanes, m, dtype=torch.float64),
            torch.zeros(lanes, m, dtype=torch.bool),
        )

    def forward(self, features: Tensor, bank: Tensor, times: Tensor, memory: Memory) -> tuple[Answer, Memory]:
        """features [B,T,F], bank [B,T,MIX,17,2], times [B,T] nominal frames (float64)."""
        b, n, _ = features.shape
        m = self.h.memory
        valid = torch.cat([memory.valid, torch.ones(b, n, dtype=torch.bool)], 1)
        t_all = torch.cat([memory.times, times], 1)
        back = torch.arange(m, m + n)[:, None] - torch.arange(m + n)[None]
        bar = ((back < 0) | (back > m))[None] | ~valid[:, None]
        x = self.embed(features)
        states = []
        for layer, old in zip(self.layers, memory.states, strict=True):
            states.append(torch.cat([old, x], 1)[:, -m:].detach())
            x = layer(x, old, times, memory.times, bar)
        answer = replace(read(self.head(self.norm(x)), bank), inertia_near=self.h.inertia_near)
        if not self.h.carry:
            return answer, self.empty(b)
        return answer, Memory(states, t_all[:, -m:], valid[:, -m:])


def read(y: Tensor, bank: Tensor) -> Answer:
    """What the head's outputs y [B,T,Hyper.outputs] say, bank [B,T,MIX,17,2]."""
    b, n, _ = y.shape
    delta, log_sigma, mix, unit, log_metres, lean, more = y.split(
        [HORIZONS * JOINTS * 2, HORIZONS * JOINTS, MIX * JOINTS, JOINTS * 3, 1, LEAN, y.shape[-1] - OUTPUTS],
        -1,
    )
    exchanged, inertia = more[..., :JOINTS], more[..., JOINTS:]
    mix, anchors = mix.view(b, n, MIX, JOINTS, 1), bank
    if exchanged.shape[-1]:
        mix = torch.cat([mix, exchanged.view(b, n, 1, JOINTS, 1) + EXCHANGED_BIAS], 2)
        anchors = torch.cat([bank, bank[:, :, :1, MIRROR]], 2)
    anchor = (mix.softmax(2) * anchors).sum(2)
    # Along the observation's distance from each running mean: exact where a joint moves steadily, for any speed.
    past = lean.view(b, n, HORIZONS, MIX - 1, JOINTS, 1) * (bank[:, :, :1] - bank[:, :, 1:])[:, :, None]
    place = anchor[:, :, None] + past.sum(3) + DELTA_SCALE * delta.view(b, n, HORIZONS, JOINTS, 2)
    log_sigma = (log_sigma.view(b, n, HORIZONS, JOINTS) + SIGMA_BIAS).clamp(-7.0, 1.0)
    return Answer(
        place,
        log_sigma,
        unit.view(b, n, JOINTS, 3),
        log_metres[..., 0],
        inertia if inertia.shape[-1] else None,
    )
