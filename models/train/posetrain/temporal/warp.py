"""People of other builds, poses and labels: a lane seen through glass that is not flat.

A lane's truth and what was seen of it pass through one smooth, still warp of the picture, another each time: limbs are longer, poses
other, labels elsewhere, errors and motion are as they were. So nobody of the few hundred who were filmed or recorded stands twice
alike, and nothing but what is seen says how this person stands. (By itself it changed little: docs/lab/temporal-inertia.md.)
"""

from __future__ import annotations

import numpy as np

from posetrain.temporal.motion import Truth

WAVES = 6
LENGTHS = (0.6, 3.0)  # of a wave, parts of the person's extent
STRONGEST = 0.35  # standard deviation of how much longer or shorter things are, at most


def waves(rng: np.random.Generator, lanes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of WAVES waves a lane, the person's extent being the unit: shift [B,WAVES,2] at the crest, turns [B,WAVES,2] a unit of way, phase
    [B,WAVES]."""
    low, high = np.log(LENGTHS)
    length = np.exp(rng.uniform(low, high, (lanes, WAVES)))
    along, aside = rng.uniform(0, 2 * np.pi, (2, lanes, WAVES))
    strength = (
        rng.uniform(0.1, 1, (lanes, 1)) * STRONGEST * rng.normal(0, 1, (lanes, WAVES)) / np.sqrt(WAVES / 2)
    )
    shift = (strength * length / (2 * np.pi))[..., None] * np.stack([np.cos(aside), np.sin(aside)], -1)
    turns = 2 * np.pi / length[..., None] * np.stack([np.cos(along), np.sin(along)], -1)
    return shift, turns, rng.uniform(0, 2 * np.pi, (lanes, WAVES))


def warp(rng: np.random.Generator, share: float, truth: Truth, xy: np.ndarray) -> None:
    """Warps that share of the lanes, their truth at every horizon and what was seen, xy [B,T,17,2] px; in place. What they are in
    space nobody knows then."""
    which = np.flatnonzero(rng.random(len(xy)) < share)
    shift, turns, phase = waves(rng, len(which))
    truth.lifted[which] = False
    for i, lane in enumerate(which):
        extent = float(np.median(truth.extent[lane]))
        for places in (truth.xy[lane], xy[lane]):
            crest = np.sin(places @ (turns[i].T / extent).astype(np.float32) + phase[i].astype(np.float32))
            places += crest @ (shift[i] * extent).astype(np.float32)
