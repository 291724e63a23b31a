"""What is measured of every row, on the same clips: `posetrain.temporal.compare`'s figures and what the study adds to them.

Without files of clips, lanes are drawn: motion capture of the val part under virtual cameras at 30 Hz, with the stated error model
and fixed seeds. Their truth is exact.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from posetrain.study.row import Network
from posetrain.temporal.answers import answers, held, places_px, sigma_px
from posetrain.temporal.clip_set import Clip, ClipSet
from posetrain.temporal.clips import hidden_for, lanes_as_clips
from posetrain.temporal.compare import SMOOTHNESS, measured
from posetrain.temporal.frames import MIN_SCORE
from posetrain.temporal.motion import Mocap
from posetrain.temporal.noise import made_up

LANES, FRAMES, HIDDEN_FRAMES = 24, 120, 10
DRAWN = "mocap-stated-val"


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
    covers: float  # share of coordinates within the 68 % interval, as trained: no factor fitted


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


def figures(network: Network, clips: ClipSet, smoothness: float) -> Figures:
    near, inside, count = 0, 0, 0

    def answer(clip: Clip) -> tuple[np.ndarray, None]:
        nonlocal near, inside, count
        f, a = answers(network, clip.times[None], clip.xy[None], clip.score[None], smoothness)
        place, sigma = places_px(f, a)[0], sigma_px(f, a)[0, :, 0]
        off = np.abs(place[:, 0] - np.nan_to_num(clip.truth))
        near += int((np.linalg.norm(off, axis=-1) < 0.05 * clip.extent_px[:, None])[clip.known].sum())
        inside += int((off <= sigma[..., None])[clip.known].sum())
        count += int(clip.known.sum())
        return place, None

    mpjpe, pck10, accel, lag, ahead, _ = map(float, measured(answer, clips))
    return Figures(smoothness, mpjpe, pck10, near / count, accel, lag, ahead, inside / (2 * count))


def hidden_error(network: Network | None, whole: ClipSet, hidden: ClipSet) -> float:
    """Distance from the truth of joints that are hidden for HIDDEN_FRAMES, % of the extent; without a network, of their last place."""
    off = []
    for i, clip in enumerate(hidden.clips):
        before = whole.clips[i % len(whole.clips)]
        seen = clip.score >= MIN_SCORE
        gone = ~seen & (before.score >= MIN_SCORE)
        if network is None:
            place = held(clip.xy, seen)
        else:
            f, a = answers(network, clip.times[None], clip.xy[None], clip.score[None], 0.0)
            place = places_px(f, a)[0, :, 0]
        off.append((np.linalg.norm(place - before.truth, axis=-1) / before.extent_px[:, None])[gone])
    return float(100 * np.concatenate(off).mean())


def curve(network: Network, clips: ClipSet) -> list[dict[str, float]]:
    """Figures at each smoothness: Accel against lag."""
    return [asdict(figures(network, clips, s)) for s in SMOOTHNESS]
