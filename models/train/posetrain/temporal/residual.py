"""What was seen shows through the answer where it goes on lying beside it: `crates/temporal/src/learned/residual.rs` says why.

For commands that measure and fit: training knows nothing of it.
"""

from __future__ import annotations

import numpy as np

from posetrain.data.packs import MIRROR

FRAMES = 4.0  # the mean reaches back so far, nominal frames
NEAR = 0.08  # of the scale: what lies so far off counts for half
SURE = (0.3, 0.6)  # of a joint's score: up to the first it counts for nothing, from the second on for all


def show_through(
    place: np.ndarray,
    xy: np.ndarray,
    score: np.ndarray,
    times: np.ndarray,
    scale_px: np.ndarray,
    share: float,
) -> np.ndarray:
    """place [B,T,4,17,2] px, xy [B,T,17,2] px as seen, score [B,T,17], times [B,T] nominal frames, scale_px [B,T]: the places moved by
    `share` of the mean distance from them of what was seen; every horizon alike."""
    if share <= 0:
        return place
    off = xy - place[:, :, 0]
    own, other = np.square(off).sum(-1), np.square(xy - place[:, :, 0, MIRROR]).sum(-1)
    sure = np.clip((score - SURE[0]) / (SURE[1] - SURE[0]), 0, 1)
    # seen where the other side is told: for nothing
    believed = (sure > 0) & ((own < other) | (np.arange(len(MIRROR)) == MIRROR))
    near = np.square(NEAR * scale_px)[..., None]
    part = np.where(believed[..., None], (sure / (1 + own / near))[..., None] * off, 0.0)
    mean, out = np.zeros_like(part[:, 0]), place.copy()
    for t in range(place.shape[1]):
        dt = times[:, t] - times[:, t - 1] if t else np.ones(len(times))
        mean = mean + (1 - np.exp(-dt / FRAMES))[:, None, None] * (part[:, t] - mean)
        out[:, t] += share * mean[:, None]
    return out
