"""A network's answers to whole lanes, in pixels and metres: what training's commands measure, as the runtime reads it."""

from __future__ import annotations

import numpy as np
import torch

from posetrain.temporal.frames import Framed, frame
from posetrain.temporal.inertia import HORIZON_FRAMES, go_on
from posetrain.temporal.model import Answer
from posetrain.temporal.peers import Causal
from posetrain.temporal.residual import show_through

# As in crates/temporal: the score, and the distance in parts of the person's scale, that make an answer `measured`.
MEASURED_SCORE, BELIEVED = 0.2, 0.1
# A joint that is not measured is absent where its widened sigma is more than this part of the scale, unseen or seen.
LOST_SIGMA, VAGUE_SIGMA = 0.15, 0.4
SHIPPED_SMOOTHNESS = 0.1  # what the runtime asks for unless told otherwise
SIGMA_OF_SPREAD = 1.139  # 68 % of a Laplace distribution lie within so many of its scales


def answers(
    model: Causal, times: np.ndarray, xy: np.ndarray, score: np.ndarray, smoothness: float
) -> tuple[Framed, Answer]:
    """times [B,T] nominal frames, xy [B,T,17,2] px, score [B,T,17]; lanes begin with an empty memory."""
    f = frame(times, xy, score, np.full(len(xy), smoothness))
    with torch.no_grad():
        a, _ = model(
            torch.from_numpy(f.features),
            torch.from_numpy(f.bank),
            torch.from_numpy(times),
            model.empty(len(xy)),
        )
    return f, a


def places_px(f: Framed, a: Answer, lead: float = 0.0) -> np.ndarray:
    """[B,T,4,17,2]: each horizon's places, read `lead` frames ahead, going on from the frame before where the network has inertia."""
    place: np.ndarray = a.place.numpy() * f.scale_px[:, :, None, None, None] + f.centre_px[:, :, None, None]
    further = np.concatenate([np.diff(place, axis=2), place[:, :, 3:] - place[:, :, 2:3]], 2)
    place = place + lead / HORIZON_FRAMES * further
    if a.inertia is None:
        return place
    scale_px, times = torch.from_numpy(f.scale_px), torch.from_numpy(f.times)
    return go_on(torch.from_numpy(place), a.inertia, scale_px, times, None, a.inertia_near)[0].numpy()


def told_px(
    model: Causal,
    times: np.ndarray,
    xy: np.ndarray,
    score: np.ndarray,
    smoothness: float,
    lead: float,
    shown: float,
) -> np.ndarray:
    """[T,17,2] places for the capture as the device tells them, of one stream of times [T], xy [T,17,2] px, score [T,17]; `shown`: how
    much of what is seen shows through."""
    f, a = answers(model, times[None], xy[None], score[None], smoothness)
    told = show_through(places_px(f, a, lead), xy[None], score[None], times[None], f.scale_px, shown)
    return np.asarray(told[0, :, 0])


def sigma_px(f: Framed, a: Answer) -> np.ndarray:
    """[B,T,4,17], not widened yet."""
    return SIGMA_OF_SPREAD * a.log_sigma.exp().numpy() * f.scale_px[:, :, None, None]


def metres(a: Answer) -> np.ndarray:
    """[B,T,17,3], hip-centred."""
    return a.unit.numpy() * a.log_metres.clamp(-3, 2).exp().numpy()[..., None, None]


def is_measured(f: Framed, place: np.ndarray, xy: np.ndarray, score: np.ndarray) -> np.ndarray:
    """[B,T,17] where the places for the capture [B,T,17,2] say what was seen."""
    near = np.linalg.norm(place - xy, axis=-1) <= BELIEVED * f.scale_px[:, :, None]
    return near & (score >= MEASURED_SCORE)


def is_predicted(
    f: Framed, sigma: np.ndarray, measured: np.ndarray, seen: np.ndarray, widen: float
) -> np.ndarray:
    """[B,T,17] what is told of joints that are not `measured`, though not in every frame `seen`: those once seen, and sure enough when
    their sigma [B,T,17] px is widened. All [B,T,17]."""
    once = np.maximum.accumulate(seen, 1)
    part = widen * sigma / f.scale_px[:, :, None]
    return ~measured & once & (part <= np.where(seen, VAGUE_SIGMA, LOST_SIGMA))


def held(xy: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Places [T,17,2] of one stream where every joint that is not `seen` [T,17] stays where it was."""
    out = xy.copy()
    for t in range(1, len(out)):
        out[t] = np.where(seen[t, :, None], out[t], out[t - 1])
    return out
