"""What a keypoint network gets wrong, put on true motion. All sizes are parts of the person's extent.

Two sources: a stated model (`made_up`), and tracks of real error measured by `posetrain.temporal.detect` and replayed (`Bank`).
Occlusions and drop-outs are laid over both.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from posetrain.data.packs import MIRROR
from posetrain.data.source import source_of
from posetrain.temporal.motion import AHEAD_FRAMES, Truth

# Spread of a good detector's error: faces are sharp, hips are vague, wrists move.
SIGMA = np.array([10, 10, 10, 12, 12, 16, 16, 20, 20, 26, 26, 24, 24, 22, 22, 26, 26]) / 1000
ARMS, LEGS, FACE = [5, 6, 7, 8, 9, 10], [11, 12, 13, 14, 15, 16], [0, 1, 2, 3, 4]
GROUPS = [
    [7, 9],
    [8, 10],
    [9],
    [10],
    [13, 15],
    [14, 16],
    [15],
    [16],
    LEGS,
    [13, 14, 15, 16],
    ARMS,
    FACE,
    list(range(17)),
]
# A video in several folders of J-HMDB, which their hashes would part.
TRAINED_ON = frozenset({"TheLastManOnearth"})


def correlated(
    rng: np.random.Generator, times: np.ndarray, tail: tuple[int, ...], frames: npt.ArrayLike
) -> np.ndarray:
    """Unit-variance Ornstein-Uhlenbeck noise [B,T,*tail] with a time constant a lane, `frames` [B]."""
    b, t = times.shape
    out = rng.standard_normal((b, t, *tail)).astype(np.float32)
    for i in range(1, t):
        k = np.exp(-(times[:, i] - times[:, i - 1]) / np.asarray(frames)).reshape(b, *([1] * len(tail)))
        out[:, i] = k * out[:, i - 1] + np.sqrt(1 - k * k) * out[:, i]
    return out


def events(rng: np.random.Generator, steps: int, rate: float, longest: int) -> list[tuple[int, int]]:
    """[start, stop) of about rate * steps events; mostly short."""
    n = rng.poisson(rate * steps)
    start = rng.integers(0, steps, n)
    long = np.minimum(rng.geometric(1 / 3.0, n), longest)
    return [(int(a), int(min(a + c, steps))) for a, c in zip(start, long, strict=True)]


def made_up(rng: np.random.Generator, truth: Truth) -> tuple[np.ndarray, np.ndarray]:
    """Observations ([B,T,17,2] px, score [B,T,17]) by the stated model."""
    true, times = truth.xy[:, :, 0], truth.times
    b, t = times.shape
    shape = (17, 2)
    level = (0.75 * np.exp(rng.normal(0, 0.45, b))).astype(np.float32)[:, None, None, None]
    burst = np.exp(0.5 * correlated(rng, times, (17, 1), np.full(b, 6.0)) - 0.1)
    share = rng.dirichlet([2.0, 2.0, 1.5], b).astype(np.float32) ** 0.5
    e = share[:, 0, None, None, None] * rng.standard_normal((b, t, *shape)).astype(np.float32)
    e += share[:, 1, None, None, None] * correlated(rng, times, shape, rng.uniform(1, 5, b))
    e += share[:, 2, None, None, None] * correlated(rng, times, shape, rng.uniform(10, 40, b))
    e *= level * burst * SIGMA[:, None].astype(np.float32) * 1.2
    whole = 0.006 * level * correlated(rng, times, (1, 2), rng.uniform(0.5, 3, b))
    xy = true + (e + whole) * truth.extent[..., None, None]
    for i in range(b):
        for a, z in events(rng, t, 10 ** rng.uniform(-2.6, -1.0), 12):  # one joint lands elsewhere
            j = rng.integers(17)
            if rng.random() < 0.6:
                to = true[i, a:z, MIRROR[j] if rng.random() < 0.6 else rng.integers(17)]
            else:
                to = true[i, a:z, j] + rng.normal(0, 0.2, 2) * truth.extent[i, a:z, None]
            xy[i, a:z, j] = to + (xy[i, a:z, j] - true[i, a:z, j])
        for a, z in events(rng, t, 10 ** rng.uniform(-3.2, -1.6), 15):  # left and right change places
            group = [ARMS, LEGS, ARMS + LEGS + FACE][rng.integers(3)]
            xy[i, a:z][:, group] = xy[i, a:z][:, MIRROR[group]]
    return xy, confidence(rng, truth, xy)


def confidence(rng: np.random.Generator, truth: Truth, xy: np.ndarray) -> np.ndarray:
    """Scores that fall with the error, with a bias and a slope a lane."""
    b = len(xy)
    off = np.linalg.norm(xy - truth.xy[:, :, 0], axis=-1) / truth.extent[..., None]
    slope, bias = rng.uniform(8, 25, (b, 1, 1)), rng.normal(2.2, 0.8, (b, 1, 1))
    wander = 0.7 * correlated(rng, truth.times, (17,), np.full(b, 4.0))
    return 1 / (1 + np.exp(-(bias - slope * np.minimum(off, 0.3) + wander)))


def hide(rng: np.random.Generator, truth: Truth, xy: np.ndarray, score: np.ndarray) -> None:
    """Occlusions of 1-30 frames of limbs or the whole person, single drop-outs, and the picture's edge; in place."""
    b, t = truth.times.shape
    for i in range(b):
        for _ in range(rng.poisson(t * 10 ** rng.uniform(-2.3, -1.3))):
            a, n = rng.integers(t), rng.integers(1, 31)
            group = GROUPS[rng.integers(len(GROUPS))]
            z = min(a + n, t)
            if len(group) == 17 or rng.random() < 0.6:
                score[i, a:z, group] = 0
            else:  # guessed by the network, with little confidence
                drift = np.cumsum(rng.normal(0, 0.02, (z - a, len(group), 2)), 0) + rng.normal(
                    0, 0.06, (1, len(group), 2)
                )
                xy[i, a:z][:, group] += drift * truth.extent[i, a:z, None, None]
                score[i, a:z][:, group] *= rng.uniform(0.1, 0.5)
        if rng.random() < 0.5:
            score[i][rng.random((t, 17)) < rng.uniform(0, 0.06)] = 0
        heights, known = truth.xy[i, :, 0, :, 1], truth.valid[i, :, 0]
        if rng.random() < 0.15 and known.any():  # the lower edge of the picture
            low, high = np.percentile(heights[known], [10, 95])
            score[i][heights > rng.uniform(0.5 * (low + high), high)] = 0


def cut_off(rng: np.random.Generator, share: float, truth: Truth, score: np.ndarray) -> None:
    """Of that share of the lanes the picture shows no legs from the first frame to the last, and of half of these no hips, as at a desk; in
    place. Nothing is asked for there: what was never seen is absent."""
    for i in np.flatnonzero(rng.random(len(score)) < share):
        beyond = slice(11 if rng.random() < 0.5 else 13, 17)
        score[i, :, beyond] = 0
        truth.valid[i, :, :, beyond] = False


def begin_exchanged(rng: np.random.Generator, share: float, xy: np.ndarray, score: np.ndarray) -> None:
    """That share of the lanes begins with left for right, for up to a second, less sure than after it; in place. A memory that begins
    wrong has to believe what is seen later and stays. From one to the other a network goes over by and by: its answer lies between two
    hypotheses."""
    for i in np.flatnonzero(rng.random(len(xy)) < share):
        n, over = int(rng.integers(1, 24)), int(rng.integers(1, 8))
        turned = np.clip((n - np.arange(n + over)) / over + 1, 0, 1).astype(np.float32)[: len(xy[i])]
        n = len(turned)
        other = xy[i, :n][:, MIRROR]
        xy[i, :n] += turned[:, None, None] * (other - xy[i, :n])
        less = 1 - turned[:, None] * rng.uniform(0, 0.5)
        score[i, :n] = np.where(turned[:, None] > 0.5, score[i, :n][:, MIRROR], score[i, :n]) * less


def tuning(clip: str) -> bool:
    """A fifth of the train sources is kept from training: settings, the lead and sigma's scale are chosen on them. Hashed is the source
    with J-HMDB's folder before it, so that films left out of the weights that a run goes on from are left out of it too."""
    source = source_of(clip)
    return source not in TRAINED_ON and zlib.crc32(f"{clip.partition(source)[0]}{source}".encode()) % 5 == 0


def times_of(bank: dict[str, np.ndarray], begin: int, end: int) -> np.ndarray:
    """[F] nominal frames: when the pictures of a bank's clip were taken. Films of `posetrain.temporal.tracks` say. Clips of
    `posetrain.temporal.detect` are without the pictures that J-HMDB repeats: what is left moves evenly, so it is counted as evenly spaced,
    whatever gaps the file has."""
    return bank["time"][begin:end].astype(float) if "seen" in bank else np.arange(end - begin, dtype=float)


def later(xy: np.ndarray, frames: float) -> np.ndarray:
    """Places [F,...] as they are `frames` later, by linear interpolation; the last stays."""
    at = np.minimum(np.arange(len(xy)) + frames, len(xy) - 1)
    low = at.astype(int)
    w = (at - low).astype(np.float32).reshape(-1, *([1] * (xy.ndim - 1)))
    return xy[low] * (1 - w) + xy[np.minimum(low + 1, len(xy) - 1)] * w


class Real:
    """What a real detector said of real clips (`posetrain.temporal.detect`), beside the labels: lanes run a clip forth and back.

    Labels made by hand trail their film by `late` frames, backwards as forwards, so the truth is read that much later in the film. An
    answer `lag` frames behind the film is what is asked for: closer to the labels, which is where it will be measured.

    Of exact truth (`posetrain.temporal.tracks`) neither holds, and clips are long: `forward` lanes begin where they do not have
    to turn round, longer clips are drawn more often, and some lose every second frame or two of three. That share of the lanes which is
    `hurried` goes two or three times as fast as the film: most people who are filmed move slowly.
    """

    def __init__(
        self, paths: list[Path], late: float, lag: float, forward: bool = False, hurried: float = 0.0
    ) -> None:
        self.lag, self.forward, self.hurried = lag, forward, hurried
        self.clips: list[dict[str, np.ndarray]] = []
        weights: list[float] = []
        for p in paths:
            z, before = dict(np.load(p)), len(self.clips)
            for a, b, tier, name in zip(z["offset"][:-1], z["offset"][1:], z["tier"], z["name"], strict=True):
                if tier == 1 and b - a >= 10 and not tuning(str(name)):
                    c = {k: z[k][a:b] for k in ("xy", "score", "smoothed", "known", "extent")}
                    c["time"] = times_of(z, a, b)
                    if "xyz" in z:
                        c["xyz"] = z["xyz"][a:b]
                    self.clips.append(c | {"smoothed": later(c["smoothed"], late)})
            of_file = self.clips[before:]
            weights += [float(len(c["time"])) if forward else 1 / len(of_file) for c in of_file]
        self.weight = np.array(weights) / max(sum(weights), 1e-9)

    def walk(
        self, rng: np.random.Generator, frames: int, steps: int, faster: int = 1
    ) -> tuple[np.ndarray, np.ndarray]:
        """Which frames of a clip a lane passes through [steps], forth and back, and how often it has turned round [steps]."""
        if self.forward:
            every = int(rng.choice([1, 1, 1, 2, 3]))
            every = every if frames // every >= steps // 2 else 1
            n = (frames - 1) // every
            k = np.arange(steps) + rng.integers(0, max(n + 1 - steps, 0) + 1)
        else:
            every, n = faster, (frames - 1) // faster
            k = np.arange(steps) + rng.integers(0, 2 * n)
        return every * np.abs(np.mod(k + n, 2 * n) - n), k // n

    def lanes(self, rng: np.random.Generator, lanes: int, steps: int) -> tuple[Truth, np.ndarray, np.ndarray]:
        times, ext = np.zeros((lanes, steps)), np.zeros((lanes, steps), np.float32)
        true, ok = np.zeros((lanes, steps, 4, 17, 2), np.float32), np.zeros((lanes, steps, 4, 17), bool)
        xy, score = np.zeros((lanes, steps, 17, 2), np.float32), np.zeros((lanes, steps, 17), np.float32)
        xyz, lifted = np.zeros((lanes, steps, 17, 3), np.float32), np.zeros(lanes, bool)
        for i in range(lanes):
            c = self.clips[rng.choice(len(self.clips), p=self.weight)]
            faster = int(rng.integers(2, 4)) if self.hurried and rng.random() < self.hurried else 1
            k, leg = self.walk(rng, len(c["time"]), steps, faster)
            gap = np.abs(np.diff(c["time"][k], prepend=c["time"][k[0]])) * rng.uniform(0.8, 1.25) / faster
            times[i] = np.cumsum(gap)
            for h, ahead in enumerate(AHEAD_FRAMES):
                at = np.interp(times[i] + ahead - self.lag, times[i], np.arange(steps))
                lo, w = np.floor(at).astype(int), (at % 1)[:, None, None]
                hi = np.minimum(lo + 1, steps - 1)
                true[i, :, h] = c["smoothed"][k[lo]] * (1 - w) + c["smoothed"][k[hi]] * w
                same = (leg[hi] == leg) & (times[i] + ahead <= times[i][-1])
                ok[i, :, h] = (
                    c["known"][k[lo]] & c["known"][k[hi]] & (same if h else np.ones(steps, bool))[:, None]
                )
            xy[i], score[i], ext[i] = c["xy"][k], c["score"][k], c["extent"][k]
            if "xyz" in c:
                xyz[i], lifted[i] = c["xyz"][k], True
            if rng.random() < 0.5:
                flip = np.array([-1, 1], np.float32)
                true[i], ok[i] = true[i][:, :, MIRROR] * flip, ok[i][:, :, MIRROR]
                xy[i], score[i] = xy[i][:, MIRROR] * flip, score[i][:, MIRROR]
                xyz[i] = xyz[i][:, MIRROR] * np.array([-1, 1, 1], np.float32)
            tilt = rng.normal(0, 0.2)  # radians: few clips, so none is shown twice alike
            turn = np.array([[np.cos(tilt), -np.sin(tilt)], [np.sin(tilt), np.cos(tilt)]], np.float32)
            true[i], xy[i] = true[i] @ turn, xy[i] @ turn
            xyz[i, ..., :2] = xyz[i, ..., :2] @ turn
        return Truth(times, true, ok, xyz, lifted, ext), xy, score


class Bank:
    """Error tracks of a real detector: offset [F,17,2] (parts of the extent), score [F,17], known [F,17], frame by frame whatever
    their rate. Every file counts alike, however many tracks it holds."""

    def __init__(self, paths: list[Path], keep: Callable[[str], bool]) -> None:
        self.files: list[list[tuple[np.ndarray, np.ndarray]]] = []
        for p in paths:
            z = dict(np.load(p))
            tracks = []
            if (
                z.get("labels_late") == 0
            ):  # exact, faces too: what is not known lies outside the picture, where nothing is seen
                z["score"] = np.where(z["known"], z["score"], np.float32(0))
            for a, b, tier, name in zip(z["offset"][:-1], z["offset"][1:], z["tier"], z["name"], strict=True):
                if tier == 1 and keep(
                    str(name)
                ):  # the other clips' labels may be off by more than the detector
                    tracks.append((z["error"][a:b], z["score"][a:b]))
            if tracks:
                self.files.append(tracks)

    def lanes(self, rng: np.random.Generator, truth: Truth) -> tuple[np.ndarray, np.ndarray]:
        b, t = truth.times.shape
        xy, score = truth.xy[:, :, 0].copy(), np.zeros((b, t, 17), np.float32)
        for i in range(b):
            at = 0
            while at < t:  # one track after another, each mirrored or not
                tracks = self.files[rng.integers(len(self.files))]
                e, s = tracks[rng.integers(len(tracks))]
                k = rng.uniform(0, len(e) - 1) + np.arange(t - at)
                stop = min(t - at, int(rng.integers(20, 80)))
                n = len(e) - 1
                k = np.abs(np.mod(k[:stop].astype(int) + n, 2 * n) - n)
                ee, ss = e[k], s[k]
                if rng.random() < 0.5:
                    ee, ss = ee[:, MIRROR] * np.array([-1, 1], np.float32), ss[:, MIRROR]
                xy[i, at : at + stop] += (
                    ee * rng.uniform(0.8, 1.2) * truth.extent[i, at : at + stop, None, None]
                )
                score[i, at : at + stop] = ss
                at += stop
        return xy, score
