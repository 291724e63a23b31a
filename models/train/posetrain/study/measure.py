"""What is measured of every row, on the same clips: `posetrain.temporal.compare`'s figures and what the study adds to them.

Without files of clips, lanes are drawn: motion capture of the val part under virtual cameras at 30 Hz, with the stated error model
and fixed seeds. Their truth is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from posetrain.study.row import Network
from posetrain.temporal.answers import answers, held, places_px, sigma_px
from posetrain.temporal.clip_set import Clip, ClipSet
from posetrain.temporal.clips import hidden_for, lanes_as_clips
from posetrain.temporal.compare import measured
from posetrain.temporal.frames import MIN_SCORE
from posetrain.temporal.model import HORIZONS
from posetrain.temporal.motion import Mocap
from posetrain.temporal.noise import made_up

LANES, FRAMES, HIDDEN_FRAMES = 24, 120, 10
DRAWN = "mocap-stated-val"

# A clip and a smoothness -> places [T,4,17,2] px, and sigma [T,17] px where it is said.
Reader = Callable[[Clip, float], tuple[np.ndarray, np.ndarray | None]]


@dataclass(frozen=True)
class Figures:
    """In % of the person's extent where nothing else is said."""

    smoothness: float
    mpjpe: float
    pck10: float
    pck05: float
    accel: float
    lag_frames: float
    ahead_100ms: float
    covers: float | None  # share of coordinates within the 68 % interval, as trained: no factor fitted


def drawn(data: Path, split: str, lanes: int = LANES, frames: int = FRAMES) -> tuple[ClipSet, ClipSet]:
    """Clips, and the same with groups of joints hidden for HIDDEN_FRAMES at a time."""
    rng = np.random.default_rng(5 if split == "val" else 6)
    truth = Mocap(data, split).lanes(rng, np.tile(np.arange(float(frames)), (lanes, 1)))
    xy, score = made_up(rng, truth)
    name = DRAWN.replace("val", split)
    return (
        ClipSet(name, "keypoints", 0.0, lanes_as_clips(truth, xy, score)),
        ClipSet(
            f"{name}-hidden{HIDDEN_FRAMES}", "keypoints", 0.0, hidden_for(HIDDEN_FRAMES, truth, xy, score)
        ),
    )


def reader(network: Network) -> Reader:
    def read(clip: Clip, smoothness: float) -> tuple[np.ndarray, np.ndarray]:
        f, a = answers(network, clip.times[None], clip.xy[None], clip.score[None], smoothness)
        return places_px(f, a)[0], sigma_px(f, a)[0, :, 0]

    return read


def figures(read: Reader, clips: ClipSet, smoothness: float) -> Figures:
    near, inside = [], []

    def answer(clip: Clip) -> tuple[np.ndarray, None]:
        place, sigma = read(clip, smoothness)
        off = np.abs(place[:, 0] - np.nan_to_num(clip.truth))
        near.append((np.linalg.norm(off, axis=-1) < 0.05 * clip.extent_px[:, None])[clip.known])
        if sigma is not None:
            inside.append((off <= sigma[..., None])[clip.known].ravel())
        return place, None

    mpjpe, pck10, accel, lag, ahead, _ = map(float, measured(answer, clips))
    covers = float(np.concatenate(inside).mean()) if inside else None
    return Figures(smoothness, mpjpe, pck10, float(np.concatenate(near).mean()), accel, lag, ahead, covers)


def hidden_error(read: Reader, whole: ClipSet, hidden: ClipSet) -> float:
    """Distance from the truth of joints that are hidden for HIDDEN_FRAMES, % of the extent."""
    off = []
    for i, clip in enumerate(hidden.clips):
        before = whole.clips[i % len(whole.clips)]
        gone = (clip.score < MIN_SCORE) & (before.score >= MIN_SCORE)
        place = read(clip, 0.0)[0][:, 0]
        off.append((np.linalg.norm(place - before.truth, axis=-1) / before.extent_px[:, None])[gone])
    return float(100 * np.concatenate(off).mean())


def last_place(clip: Clip, smoothness: float) -> tuple[np.ndarray, None]:
    """What a detector said, every joint held where it was last seen."""
    return np.repeat(held(clip.xy, clip.score >= MIN_SCORE)[:, None], HORIZONS, 1), None
