"""An answer that goes on, in part, as the answer before foretold.

A network that answers each frame by itself shakes by what it makes of that frame's noise, however much it remembers. Here the place of
a joint lies between what the network says now and what it said of now a frame ago: by the answer before and the network's own motion
from it. How much the latter counts is said by the network for each joint and frame, and falls with the distance between the two: what
jumps is believed. A Kalman filter whose model and gain are learned (KalmanNet, Revach et al., 2022), with neither in closed form.

`crates/temporal/src/learned/inertia.rs` is the same arithmetic for one person.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from posetrain.temporal.model import Answer

LONGEST_FRAMES = 4.5  # nobody goes on as they did for longer
HORIZON_FRAMES = 1.5  # between two horizons


@dataclass
class Before:
    """The last answer of each lane: at [B,17,2] px, moved [B,17,2] px a nominal frame, times [B] nominal frames."""

    at: Tensor
    moved: Tensor
    times: Tensor


def go_on(
    place_px: Tensor, inertia: Tensor, scale_px: Tensor, times: Tensor, before: Before | None, near: float
) -> tuple[Tensor, Before]:
    """place_px [B,T,4,17,2], inertia [B,T,17] log-odds, scale_px [B,T], times [B,T]; every horizon is shifted alike. What comes before
    the first frame of a lane is `None`. Where what was foretold lies `near` of the scale off it counts for half as much."""
    share = torch.sigmoid(inertia)
    moves = (place_px[:, :, 1] - place_px[:, :, 0]) / HORIZON_FRAMES
    shifts = []
    for t in range(place_px.shape[1]):
        now = place_px[:, t, 0]
        if before is None:
            shift = torch.zeros_like(now)
        else:
            dt = (times[:, t] - before.times).clamp(0, LONGEST_FRAMES).to(now.dtype)[:, None, None]
            shift = before.at + dt * before.moved - now
            near_px = near * scale_px[:, t, None]
            shift = (share[:, t] / (1 + shift.square().sum(-1) / near_px.square()))[..., None] * shift
        shifts.append(shift)
        before = Before(now + shift, moves[:, t], times[:, t])
    assert before is not None
    last = Before(before.at.detach(), before.moved.detach(), before.times)
    return place_px + torch.stack(shifts, 1)[:, :, None], last


def with_inertia(
    a: Answer, centre_px: Tensor, scale_px: Tensor, times: Tensor, before: Before | None
) -> tuple[Answer, Before | None]:
    """The answer as it goes on from `before`, in the person's frame as it came, centre_px [B,T,2]; one that has no inertia is left as it
    is."""
    if a.inertia is None:
        return a, None
    scale, centre = scale_px[:, :, None, None, None], centre_px[:, :, None, None]
    place_px, last = go_on(a.place * scale + centre, a.inertia, scale_px, times, before, a.inertia_near)
    return replace(a, place=(place_px - centre) / scale), last
