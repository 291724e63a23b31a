"""The person-centred frame in which the temporal model sees and answers.

`crates/temporal/src/learned/frame.rs` is the same arithmetic for one person; `posetrain.temporal.golden` holds them together.
Everything here is causal: row t depends on rows 0..=t. Lanes (persons) are the leading axis.

The frame follows the person slowly (time constants below), so that it adds little jitter of its own, and a joint that
is not seen stays where it was *in the frame*, so that it neither pulls the centre nor loses the person's motion.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from posetrain.data.packs import JOINTS

MIN_SCORE = 0.05  # below this a joint counts as not seen
FIRST_SCORE = 0.2  # and below this, one that was never seen before: of legs beyond the picture's edge a network says something, too
MAX_PLACE_PX = 1e5  # no camera has such pixels: beyond it, or not finite, a joint counts as not seen
NOMINAL_US = 1e6 / 30  # times inside the model are in frames of 30 Hz
CENTRE_FRAMES = 7.5  # time constants, nominal frames
SCALE_FRAMES = 30.0
MEAN_FRAMES = (2.0, 6.0)
SCALE_OF_RMS = 3.0  # rms distance from the centre -> about the longer side of a standing person
MIN_SCALE_PX = 8.0
FIRST_SCALE_PX = 64.0  # until four joints are known
FULL_WEIGHT_SCORE = 0.3
PER_JOINT = 11
GLOBAL = 6
FEATURES = JOINTS * PER_JOINT + GLOBAL
MIX = 1 + len(MEAN_FRAMES)

F = np.float32


@dataclass
class Framed:
    """What the network reads, and what turns its answer into pixels. Shapes [lanes, time, ...]."""

    features: np.ndarray  # [B,T,FEATURES]
    bank: np.ndarray  # [B,T,MIX,17,2] observation and its running means, in the frame
    centre_px: np.ndarray  # [B,T,2]
    scale_px: np.ndarray  # [B,T]
    present: np.ndarray  # [B,T,17] bool
    times: np.ndarray  # [B,T] nominal frames since the lane began (float64)


@dataclass
class FrameState:
    """One lane axis of running state; `step` takes one observation a lane."""

    lanes: int
    count: np.ndarray = field(init=False)
    centre: np.ndarray = field(init=False)
    log_scale: np.ndarray = field(init=False)
    held: np.ndarray = field(init=False)
    means: np.ndarray = field(init=False)
    seen: np.ndarray = field(init=False)
    age: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        b = self.lanes
        self.count = np.zeros(b, F)
        self.centre = np.zeros((b, 2), F)
        self.log_scale = np.full(b, np.log(F(FIRST_SCALE_PX)), F)
        self.held = np.zeros((b, JOINTS, 2), F)
        self.means = np.zeros((b, len(MEAN_FRAMES), JOINTS, 2), F)
        self.seen = np.zeros((b, JOINTS), bool)
        self.age = np.zeros((b, JOINTS), F)

    def step(
        self, dt: np.ndarray, xy: np.ndarray, score: np.ndarray, smooth: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """dt [B] nominal frames since the last observation (1 at the first), xy [B,17,2] px, score [B,17]."""
        xy = xy.astype(F)
        with np.errstate(invalid="ignore"):
            present = (score >= MIN_SCORE) & np.isfinite(xy).all(-1) & (np.abs(xy) < MAX_PLACE_PX).all(-1)
        present &= self.seen | (score >= FIRST_SCORE)
        xy = np.where(present[..., None], xy, F(0))
        score = np.where(present, score, F(0)).astype(F)
        dt = dt.astype(F)

        scale = np.exp(self.log_scale)
        filled = np.where(present[..., None], xy, self.centre[:, None] + scale[:, None, None] * self.held)
        known = (present | self.seen).astype(F)
        n_known = np.maximum(known.sum(1), F(1))
        mean = (filled * known[..., None]).sum(1) / n_known[:, None]
        rms = np.sqrt((((filled - mean[:, None]) ** 2).sum(-1) * known).sum(1) / n_known)
        some = present.any(1)
        self.count = self.count + some
        first = some & (self.count == 1)
        once = 1 / np.maximum(self.count, F(1))
        a_centre = np.maximum(1 - np.exp(-dt / F(CENTRE_FRAMES)), once)
        a_scale = np.maximum(1 - np.exp(-dt / F(SCALE_FRAMES)), once)
        old_centre, old_log_scale = self.centre, self.log_scale
        self.centre = np.where(
            some[:, None], self.centre + a_centre[:, None] * (mean - self.centre), self.centre
        )
        to = np.log(np.maximum(F(SCALE_OF_RMS) * rms, F(MIN_SCALE_PX))) - self.log_scale
        to = np.where(first, to, np.clip(to, F(-0.5), F(0.5)))
        self.log_scale = np.where(
            some & (n_known >= 4), self.log_scale + a_scale * to, self.log_scale
        ).astype(F)
        scale = np.exp(self.log_scale)

        at = np.clip((xy - self.centre[:, None]) / scale[:, None, None], F(-3), F(3))
        at = np.where(present[..., None], at, self.held)
        again = present & self.seen
        move = np.where(again[..., None], at - self.held, F(0))
        since = self.age + dt[:, None]
        for b, frames in enumerate(MEAN_FRAMES):
            gain = (1 - np.exp(-since / F(frames))) * np.minimum(score / F(FULL_WEIGHT_SCORE), F(1))
            m = self.means[:, b]
            m = np.where(again[..., None], m + gain[..., None] * (at - m), m)
            self.means[:, b] = np.where((present & ~self.seen)[..., None], at, m)
        self.held = at
        self.age = np.where(present, F(0), since)
        self.seen = self.seen | present

        drift = np.where((some & ~first)[:, None], (self.centre - old_centre) / scale[:, None], F(0))
        swell = np.where(some & ~first, self.log_scale - old_log_scale, F(0))

        def clip(v: np.ndarray) -> np.ndarray:
            return np.clip(v, F(-6), F(6))

        joints = np.concatenate(
            [
                clip(4 * at),
                present[..., None].astype(F),
                score[..., None],
                clip(20 * move),
                clip(20 * (at - self.means[:, 0])),
                clip(20 * (at - self.means[:, 1])),
                np.minimum(self.age / F(15), F(4))[..., None],
            ],
            -1,
        )
        whole = np.stack(
            [
                np.log(np.clip(dt, F(0.05), F(60))),
                clip(20 * drift[:, 0]),
                clip(20 * drift[:, 1]),
                clip(20 * swell),
                some.astype(F),
                smooth.astype(F),
            ],
            -1,
        )
        features = np.concatenate([joints.reshape(self.lanes, -1), whole], -1).astype(F)
        bank = np.concatenate([at[:, None], self.means], 1).astype(F)
        return features, bank, self.centre.astype(F), scale.astype(F), present


def frame(times: np.ndarray, xy: np.ndarray, score: np.ndarray, smooth: np.ndarray) -> Framed:
    """times [B,T] nominal frames (float64, rising), xy [B,T,17,2] px, score [B,T,17], smooth [B] 0..=1."""
    b, t = times.shape
    state = FrameState(b)
    out = []
    for i in range(t):
        dt = np.ones(b) if i == 0 else times[:, i] - times[:, i - 1]
        f, bank, c, s, p = state.step(dt, xy[:, i], score[:, i], smooth)
        out.append((f, bank.copy(), c, s, p))
    f, bank, c, s, p = (np.stack(v, 1) for v in zip(*out, strict=True))
    return Framed(f, bank, c, s, p, times)
