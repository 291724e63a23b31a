"""What is measured of every row, on the same clips: `posetrain.temporal.compare`'s figures and what the study adds to them.

Without files of clips, lanes are drawn: motion capture of the val part under virtual cameras at 30 Hz, with the stated error model
and fixed seeds. Their truth is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from posetrain.data.packs import MIRROR
from posetrain.study.row import Network
from posetrain.temporal.answers import held, places_px, sigma_px
from posetrain.temporal.clip_set import Clip, ClipSet
from posetrain.temporal.clips import hidden_for, lanes_as_clips
from posetrain.temporal.compare import measured
from posetrain.temporal.frames import MIN_SCORE, Framed, frame
from posetrain.temporal.model import HORIZONS
from posetrain.temporal.motion import Mocap, smooth
from posetrain.temporal.noise import made_up

LANES, FRAMES, HIDDEN_FRAMES = 24, 120, 10
WRONG, STILL, APART = 0.1, 0.005, 0.1  # of the extent; as the runtime's own measures have the first two
PAIRS = np.array([(5, 6), (7, 8), (9, 10), (11, 12), (13, 14), (15, 16)])  # left and right
DRAWN = "mocap-stated-val"

# A clip and a smoothness -> places [T,4,17,2] px, and sigma [T,17] px where it is said.
Reader = Callable[[Clip, float], tuple[np.ndarray, np.ndarray | None]]


@dataclass(frozen=True)
class Figures:
    """In % of the person's extent where nothing else is said. None: there was nothing to count."""

    smoothness: float
    mpjpe: float
    pck10: float
    pck05: float
    accel: float
    jitter: float | None  # step from frame to frame where the truth stands still
    lag_frames: float
    ahead_100ms: float
    covers: float | None  # share of coordinates within the 68 % interval, as trained: no factor fitted
    repaired: float | None  # % of the joints that were wrong as observed that are right
    broken: float | None  # % of the joints that were right that are wrong
    limbs_repaired: (
        float | None
    )  # % of the pairs of left and right that were swapped as observed that are not
    limbs_broken: float | None  # % of those that were not that are


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


class Framings:
    """What a network reads of a clip, worked out once: smoothness is the last of the features and is set anew each time."""

    def __init__(self) -> None:
        self.known: dict[
            int, tuple[Clip, Framed]
        ] = {}  # by the clip's identity, which stays as the clip is held

    def of(self, clip: Clip, smoothness: float) -> Framed:
        if id(clip) not in self.known:
            f = frame(clip.times[None], clip.xy[None], clip.score[None], np.zeros(1))
            self.known[id(clip)] = (clip, f)
        f = self.known[id(clip)][1]
        f.features[..., -1] = smoothness
        return f


def reader(network: Network, framings: Framings) -> Reader:
    def read(clip: Clip, smoothness: float) -> tuple[np.ndarray, np.ndarray]:
        f = framings.of(clip, smoothness)
        with torch.no_grad():
            a, _ = network(*map(torch.from_numpy, (f.features, f.bank, clip.times[None])), network.empty(1))
        return places_px(f, a)[0], sigma_px(f, a)[0, :, 0]

    return read


def truth_of(clip: Clip, clips: ClipSet) -> np.ndarray:
    """[T,17,2] px, zero where it is not known, labels made by hand smoothed as the set says."""
    truth = np.nan_to_num(clip.truth)
    if not clips.smooth_truth:
        return truth
    return np.stack([smooth(truth[:, j], clip.known[:, j], clips.smooth_truth) for j in range(17)], 1)


def swapped(place: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """[T,17,2] -> [T,PAIRS] where a pair lies nearer to the truth with its left and right exchanged."""
    straight, crossed = (
        np.linalg.norm(place[:, PAIRS] - t[:, PAIRS], axis=-1).sum(-1) for t in (truth, truth[:, MIRROR])
    )
    return np.asarray(crossed < straight)


@dataclass
class Counts:
    """Sums over clips: what each mean is of."""

    total: float = 0.0
    count: int = 0

    def add(self, values: np.ndarray) -> None:
        self.total += float(values.sum())
        self.count += values.size

    def mean(self) -> float | None:
        return self.total / self.count if self.count else None

    def percent(self) -> float | None:
        return 100 * self.total / self.count if self.count else None


def figures(read: Reader, clips: ClipSet, smoothness: float) -> Figures:
    near, inside, jitter, repaired, broken, limbs_repaired, limbs_broken = (Counts() for _ in range(7))

    def answer(clip: Clip) -> tuple[np.ndarray, None]:
        place, sigma = read(clip, smoothness)
        now, truth, known, extent = place[:, 0], truth_of(clip, clips), clip.known, clip.extent_px[:, None]
        off = np.abs(now - truth)
        far = np.linalg.norm(off, axis=-1) / extent
        near.add((far < WRONG / 2)[known])
        if sigma is not None:
            inside.add((off <= sigma[..., None])[known])
        still = np.linalg.norm(np.diff(truth, axis=0), axis=-1) < STILL * extent[1:]
        steps = np.linalg.norm(np.diff(now, axis=0), axis=-1) / extent[1:]
        jitter.add(steps[still & known[1:] & known[:-1]])
        observed = held(clip.xy, clip.score >= MIN_SCORE)
        was_wrong = np.linalg.norm(observed - truth, axis=-1) / extent >= WRONG
        repaired.add((far < WRONG)[known & was_wrong])
        broken.add((far >= WRONG)[known & ~was_wrong])
        # Where a pair's joints lie on each other nothing tells left from right.
        apart = np.linalg.norm(truth[:, PAIRS[:, 0]] - truth[:, PAIRS[:, 1]], axis=-1) > APART * extent
        told, was, now_swapped = (
            apart & known[:, PAIRS].all(-1),
            swapped(observed, truth),
            swapped(now, truth),
        )
        limbs_repaired.add(~now_swapped[told & was])
        limbs_broken.add(now_swapped[told & ~was])
        return place, None

    mpjpe, pck10, accel, lag, ahead, _ = map(float, measured(answer, clips))
    return Figures(
        smoothness=smoothness,
        mpjpe=mpjpe,
        pck10=pck10,
        pck05=near.total / near.count,
        accel=accel,
        jitter=jitter.percent(),
        lag_frames=lag,
        ahead_100ms=ahead,
        covers=inside.mean(),
        repaired=repaired.percent(),
        broken=broken.percent(),
        limbs_repaired=limbs_repaired.percent(),
        limbs_broken=limbs_broken.percent(),
    )


def accel_at(curve: Sequence[Mapping[str, float]], lag: float) -> float:
    """Accel where the curve over smoothness has that lag; NaN beyond its ends."""
    points = sorted((point["lag_frames"], point["accel"]) for point in curve)
    lags, accel = zip(*points, strict=True)
    return float(np.interp(lag, lags, accel, left=np.nan, right=np.nan))


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
