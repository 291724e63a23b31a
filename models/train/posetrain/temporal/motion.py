"""True motion for training: CMU mocap seen by virtual cameras, Penn Action labels, J-HMDB labels.

A `Truth` holds lanes of clean 2D places at the observation times and at the model's horizons, in pixels, and for mocap
the hip-centred 3D pose in metres of the camera's axes (x right, y down, z away).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from posetrain.data.packs import MIRROR

AHEAD_FRAMES = np.array([0.0, 1.5, 3.0, 4.5])  # 0, 50, 100, 150 ms in nominal frames
PENN_TO_COCO = np.array([-1, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16])


@dataclass
class Truth:
    times: np.ndarray  # [B,T] nominal frames
    xy: np.ndarray  # [B,T,4,17,2] px
    valid: np.ndarray  # [B,T,4,17] bool: the place is known
    xyz: np.ndarray  # [B,T,17,3] metres, hip-centred
    lifted: np.ndarray  # [B] bool: xyz is known
    extent: np.ndarray  # [B,T] px, longer side of the joints' box


def load_mocap(data: Path, split: str) -> list[np.ndarray]:
    """Sequences [F,17,3] float32 metres at 60 fps, y up."""
    index = json.loads((data / "cmu_mocap/index.json").read_text())
    z = np.load(data / "cmu_mocap/cmu_mocap.npz")
    root, rel, scale, off = z["root"], z["rel_delta"], z["rel_scale"], z["offset"]
    out = []
    for s, a, b in zip(index["sequences"], off[:-1], off[1:], strict=True):
        if s["split"] == split and b - a >= 45:
            places = np.cumsum(rel[a:b], axis=0, dtype=np.int16) * scale + root[a:b, None]
            out.append(places[:, :17].astype(np.float32))
    return out


def load_penn(data: Path) -> list[tuple[np.ndarray, np.ndarray]]:
    """Official train sequences: ([F,17,2] px, [F,17] valid); labels smoothed over hidden joints' guesses by leaving them out."""
    with np.load(data / "penn_action/penn_action.npz") as packed:
        z = dict(packed)  # read once: each look into the file unpacks the whole array
    out = []
    for a, b, train in zip(z["offset"][:-1], z["offset"][1:], z["train"], strict=True):
        if train != 1 or b - a < 30:
            continue
        xy, vis = z["xy"][a:b] * z["xy_scale"], z["visibility"][a:b] > 0
        full, ok = np.zeros((b - a, 17, 2), np.float32), np.zeros((b - a, 17), bool)
        for k, j in enumerate(PENN_TO_COCO):
            if j >= 0:
                full[:, j], ok[:, j] = smooth(xy[:, k], vis[:, k], 1.0), vis[:, k]
        if ok[:, 5:].mean() > 0.7:
            out.append((full, ok))
    return out


def smooth(xy: np.ndarray, ok: np.ndarray, sigma: float) -> np.ndarray:
    """Gaussian over time that counts only frames where `ok`; xy [F,2], ok [F]."""
    r = np.arange(-int(3 * sigma + 0.5), int(3 * sigma + 0.5) + 1)
    w = np.exp(-0.5 * (r / sigma) ** 2)

    def blur(v: np.ndarray) -> np.ndarray:
        return np.convolve(v, w)[len(r) // 2 : len(r) // 2 + len(v)]

    n = blur(ok.astype(float))
    s = np.stack([blur(xy[:, i] * ok) for i in range(2)], -1)
    return np.where(n[:, None] > 1e-6, s / np.maximum(n, 1e-6)[:, None], xy).astype(np.float32)


def sample_times(rng: np.random.Generator, lanes: int, steps: int) -> np.ndarray:
    """Capture times in nominal frames: 10-60 fps, driver jitter, dropped frames."""
    fps = rng.choice([10, 12, 15, 20, 24, 25, 30, 30, 30, 30, 50, 60, 60, 60], lanes)
    dt = np.repeat((30.0 / fps)[:, None], steps, 1)
    dt *= 1 + rng.uniform(0, 0.04, (lanes, 1)) * rng.standard_normal((lanes, steps)).clip(-3, 3)
    drop = rng.choice([0.0, 0.0, 0.0, 0.05, 0.1, 0.3, 0.5], (lanes, 1))
    dt *= 1 + rng.geometric(1 - drop * np.ones((1, steps)), (lanes, steps)) - 1
    return np.cumsum(dt, 1) - dt[:, :1]


def at_times(places: np.ndarray, t60: np.ndarray) -> np.ndarray:
    """Linear interpolation; t60 in frames of `places`, reflected at both ends so that any length can be asked for."""
    n = len(places) - 1
    t = np.abs(np.mod(t60 + n, 2 * n) - n)
    i = np.minimum(t.astype(int), n - 1)
    w = (t - i).astype(np.float32).reshape(*t.shape, *([1] * (places.ndim - 1)))
    return places[i] * (1 - w) + places[i + 1] * w


class Mocap:
    def __init__(self, data: Path, split: str) -> None:
        self.sequences = load_mocap(data, split)
        n = np.array([len(s) for s in self.sequences], float)
        self.weight = n / n.sum()

    def lanes(self, rng: np.random.Generator, times: np.ndarray) -> Truth:
        b, t = times.shape
        xyz = np.zeros((b, t, 4, 17, 3), np.float32)
        for i in range(b):
            s = self.sequences[rng.choice(len(self.sequences), p=self.weight)]
            speed = rng.uniform(0.7, 1.3)
            start = rng.uniform(0, len(s))
            p = at_times(s, start + 2 * speed * (times[i][:, None] + AHEAD_FRAMES))
            if rng.random() < 0.5:
                p = p[..., MIRROR, :] * np.array([-1, 1, 1], np.float32)
            xyz[i] = p * rng.uniform(0.85, 1.1)
        return look(rng, times, xyz)


def look(rng: np.random.Generator, times: np.ndarray, xyz: np.ndarray) -> Truth:
    """A still camera a lane, aimed near the person's mean place; xyz [B,T,4,17,3] metres, y up."""
    b, t = times.shape
    yaw, up = rng.uniform(0, 2 * np.pi, b), np.deg2rad(rng.uniform(-8, 35, b))
    roll = np.deg2rad(rng.normal(0, 3, b))
    c, s, zero, one = np.cos, np.sin, np.zeros(b), np.ones(b)

    def m(*rows: tuple[np.ndarray, ...]) -> np.ndarray:
        return np.stack([np.stack(row, -1) for row in rows], -2)

    turn = m((c(yaw), zero, s(yaw)), (zero, one, zero), (-s(yaw), zero, c(yaw)))
    tilt = m((one, zero, zero), (zero, c(up), -s(up)), (zero, s(up), c(up)))
    spin = m((c(roll), -s(roll), zero), (s(roll), c(roll), zero), (zero, zero, one))
    flip = np.diag([1.0, -1.0, -1.0])  # y up, z to the viewer -> y down, z away
    rotate = (spin @ flip @ tilt @ turn).astype(np.float32)
    hips = xyz[..., [11, 12], :].mean(-2, keepdims=True)
    aim = hips.mean((1, 2), keepdims=True)
    view = np.einsum("bij,bthkj->bthki", rotate, xyz - aim)
    radius = np.abs(view[..., 2]).max((1, 2, 3))
    away = radius * rng.uniform(1.05, 1.5, b) + rng.uniform(1.5, 6.0, b)
    focal = 320 / np.tan(np.deg2rad(rng.uniform(50, 80, b)) / 2)
    depth = view[..., 2] + away[:, None, None, None]
    xy = view[..., :2] / depth[..., None] * focal[:, None, None, None, None].astype(np.float32)
    xy = xy + np.array([320, 240], np.float32)
    now = view[:, :, 0]
    now = now - now[:, :, [11, 12]].mean(2, keepdims=True)
    return Truth(
        times,
        xy.astype(np.float32),
        np.ones((b, t, 4, 17), bool),
        now.astype(np.float32),
        np.ones(b, bool),
        extent(xy[:, :, 0], np.ones((b, t, 17), bool)),
    )


class Penn:
    def __init__(self, data: Path) -> None:
        self.sequences = load_penn(data)

    def lanes(self, rng: np.random.Generator, times: np.ndarray) -> Truth:
        b, t = times.shape
        xy, ok = np.zeros((b, t, 4, 17, 2), np.float32), np.zeros((b, t, 4, 17), bool)
        for i in range(b):
            s, v = self.sequences[rng.integers(len(self.sequences))]
            t60 = rng.uniform(0, len(s)) + rng.uniform(0.7, 1.2) * (times[i][:, None] + AHEAD_FRAMES)
            xy[i], ok[i] = at_times(s, t60), at_times(v.astype(np.float32), t60) > 0.99
            if rng.random() < 0.5:
                xy[i], ok[i] = xy[i][..., MIRROR, :] * np.array([-1, 1], np.float32), ok[i][..., MIRROR]
        xy += np.where(xy.min((1, 2, 3, 4)) < 0, 700, 0)[:, None, None, None, None]
        return Truth(
            times,
            xy,
            ok,
            np.zeros((b, t, 17, 3), np.float32),
            np.zeros(b, bool),
            extent(xy[:, :, 0], ok[:, :, 0]),
        )


def extent(xy: np.ndarray, ok: np.ndarray) -> np.ndarray:
    """Longer side of the box round the joints that are `ok`; [B,T]."""
    k = ok[..., None]
    low, high = np.where(k, xy, np.inf).min(-2), np.where(k, xy, -np.inf).max(-2)
    e = (high - low).max(-1)
    e = np.where(np.isfinite(e), e, np.nan)
    fill = np.nan_to_num(np.nanmean(np.where(np.isfinite(e), e, np.nan), 1, keepdims=True), nan=100.0)
    return np.maximum(np.where(np.isfinite(e), e, fill), 4.0).astype(np.float32)


def join(parts: list[Truth]) -> Truth:
    return Truth(*(np.concatenate([getattr(p, f) for p in parts]) for f in Truth.__dataclass_fields__))
