"""Filters without weights beside the study's rows, on the same clips: One-Euro, exponential, a constant-velocity Kalman filter, and a
Gaussian after Hampel's rejection at a fixed lag.

Each filters every coordinate of a clip [T,17,2] px by itself; sizes are in parts of the person's extent. A joint that is not seen is
held where it was, but for the Kalman filter, which goes on. `ahead` of the Gaussian: later frames that it waits for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np

from posetrain.study.measure import Reader, figures, hidden_error, last_place
from posetrain.temporal.answers import held
from posetrain.temporal.clip_set import Clip, ClipSet
from posetrain.temporal.frames import MIN_SCORE
from posetrain.temporal.motion import AHEAD_FRAMES

ADDED_LAGS = (0.2, 0.1, 0.35, 0.5, 1.0)  # frames; tables quote the first
TITLES = {
    "one-euro": "One-Euro",
    "exponential": "exponential",
    "kalman": "Kalman, constant velocity",
    **{f"hampel-gaussian-{n}": f"Hampel and Gaussian, {n} frames late" for n in (0, 1, 2, 4)},
}

Filter = Callable[[Clip, np.ndarray], tuple[np.ndarray, np.ndarray]]


def still(place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return place, np.zeros_like(place)


@dataclass(frozen=True)
class OneEuro:
    """Casiez et al. (2012): a low pass whose cut-off grows with the speed. Cut-offs in cycles a frame; speeds in extents a frame."""

    min_cutoff: float
    beta: float
    speed_cutoff: float = 1 / 30

    def __call__(self, clip: Clip, xy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        out, speed = xy.copy(), np.zeros_like(xy[0])
        for t in range(1, len(xy)):
            dt = clip.times[t] - clip.times[t - 1]
            now = (xy[t] - out[t - 1]) / clip.extent_px[t] / dt
            speed = speed + self.gain(self.speed_cutoff, dt) * (now - speed)
            out[t] += (self.gain(self.min_cutoff + self.beta * np.abs(speed), dt) - 1) * (xy[t] - out[t - 1])
        return still(out)

    @staticmethod
    def gain(cutoff: float | np.ndarray, dt: float) -> np.ndarray:
        return np.asarray(1 / (1 + 1 / (2 * np.pi * np.asarray(cutoff) * dt)))


@dataclass(frozen=True)
class Exponential:
    """A running mean that forgets with a time constant in frames."""

    frames: float

    def __call__(self, clip: Clip, xy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        out = xy.copy()
        for t in range(1, len(xy)):
            keep = np.exp(-(clip.times[t] - clip.times[t - 1]) / self.frames)
            out[t] = keep * out[t - 1] + (1 - keep) * xy[t]
        return still(out)


@dataclass(frozen=True)
class Kalman:
    """Constant velocity, driven by white acceleration of that deviation (extents a frame^1.5), seen with noise of that deviation."""

    drive: float
    noise: float

    def __call__(self, clip: Clip, xy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        seen = clip.score >= MIN_SCORE
        place, speed = xy[0].copy(), np.zeros_like(xy[0])
        r = self.noise**2
        p = np.zeros((xy.shape[1], 2, 2)) + np.diag([r, 1e-2])
        places, speeds = [place], [speed]
        for t in range(1, len(xy)):
            dt = clip.times[t] - clip.times[t - 1]
            step = np.array([[1, dt], [0, 1]])
            p = step @ p @ step.T + self.drive**2 * np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
            place = place + dt * speed
            gain = np.where(seen[t, :, None], p[:, :, 0] / (p[:, :1, 0] + r), 0)
            off = xy[t] - place
            place, speed = place + gain[:, :1] * off, speed + gain[:, 1:] * off
            p = p - gain[:, :, None] * p[:, None, 0]
            places.append(place)
            speeds.append(speed)
        return np.stack(places), np.stack(speeds)


@dataclass(frozen=True)
class HampelGaussian:
    """What lies further from the window's median than 3 times its scaled median deviation is taken for the median (Hampel); then a
    Gaussian mean over the window, which ends `ahead` frames after the frame that is answered."""

    sigma: float
    ahead: int

    def __call__(self, clip: Clip, xy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        before = max(int(3 * self.sigma + 0.5), 2)
        padded = np.concatenate([xy[:1].repeat(before, 0), xy, xy[-1:].repeat(self.ahead, 0)])
        window = np.lib.stride_tricks.sliding_window_view(padded, before + 1 + self.ahead, 0)
        middle = np.median(window, -1, keepdims=True)
        spread = 1.4826 * np.median(np.abs(window - middle), -1, keepdims=True)
        clean = np.where(np.abs(window - middle) > 3 * spread, middle, window)
        weight = np.exp(-0.5 * (np.arange(-before, self.ahead + 1) / self.sigma) ** 2)
        return still(clean @ (weight / weight.sum()))


def grids() -> dict[str, list[Filter]]:
    """The settings tried, by the row's name."""
    drives, noises = (1e-3, 3e-3, 1e-2, 3e-2), (0.01, 0.02, 0.05)
    return {
        "one-euro": [OneEuro(c, b) for c, b in product((0.01, 0.03, 0.1, 0.3), (0.0, 1.0, 3.0, 10.0, 30.0))],
        "exponential": [Exponential(f) for f in (0.25, 0.35, 0.5, 0.7, 1.0, 1.5, 2.0)],
        "kalman": [Kalman(a, n) for a, n in product(drives, noises)],
        **{
            f"hampel-gaussian-{n}": [HampelGaussian(s, n) for s in (0.4, 0.6, 0.8, 1.0, 1.5, 2.0)]
            for n in (0, 1, 2, 4)
        },
    }


def reader(f: Filter) -> Reader:
    """The filter as rows are measured. It has one setting: smoothness says nothing."""

    def read(clip: Clip, smoothness: float) -> tuple[np.ndarray, None]:
        place, speed = f(clip, held(clip.xy, clip.score >= MIN_SCORE).astype(float))
        return place[:, None] + AHEAD_FRAMES[None, :, None, None] * speed[:, None], None

    return read


def tuned(settings: list[Filter], tune: ClipSet) -> list[Filter]:
    """For each of ADDED_LAGS the setting that shakes least on `tune` within it and a point of PCK.1 of the raw answer's; where none is,
    the setting of least lag."""
    raw = figures(last_place, tune, 0.0)
    rows = [(f, figures(reader(f), tune, 0.0)) for f in settings]
    best = []
    for lag in ADDED_LAGS:
        fit = [
            (f, v) for f, v in rows if v.lag_frames - raw.lag_frames <= lag and v.pck10 >= raw.pck10 - 0.01
        ]
        best.append(
            min(fit, key=lambda r: r[1].accel) if fit else min(rows, key=lambda r: abs(r[1].lag_frames))
        )
    return [f for f, _ in best]


def result(name: str, tune: ClipSet, sets: list[ClipSet], hidden: tuple[ClipSet, ClipSet]) -> dict[str, Any]:
    """What `posetrain.study.run` keeps of a row; its curves go over ADDED_LAGS, not over smoothness."""
    chosen = tuned(grids()[name], tune)
    return {
        "row": name,
        "title": TITLES[name],
        "group": "classic",
        "budget": "none",
        "seed": 1,
        "causal": not any(isinstance(f, HampelGaussian) and f.ahead for f in chosen),
        "parameters": 0,
        "macs_per_frame": 0,
        "settings": [repr(f) for f in chosen],
        "curves": {clips.name: [asdict(figures(reader(f), clips, 0.0)) for f in chosen] for clips in sets},
        "hidden": hidden_error(reader(chosen[0]), *hidden),
        "hidden_held": hidden_error(last_place, *hidden),
    }
