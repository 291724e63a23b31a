"""A network that is asked about every crop as it was before it was spoiled or cut off: a learner that is shown something new keeps what
that network knew (Li and Hoiem 2018), and is believed to know where nobody labelled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from posetrain.keypoints.believed import Ends, Labels, believed
from posetrain.keypoints.mixture import TaughtBatch
from posetrain.keypoints.taught import STRIDE
from posetrain.keypoints.train import to_input
from posetrain.precision import reduced

Teacher = Callable[[Tensor], Tensor]


@torch.no_grad()
def taught(batch: TaughtBatch, teacher: Teacher) -> TaughtBatch:
    """The batch with what `teacher` says of its `unspoiled` crops as soft targets, in the places and by the weights that
    `posetrain.keypoints.believed` gives them. Raises `ValueError` where it has none."""
    asked = batch.unspoiled
    if asked is None:
        raise ValueError("a configuration without `teachers` draws no crops to ask a teacher about")
    net = batch.images.shape[1]
    with reduced():
        said = teacher(to_input(asked.images))
    seen = Labels(
        ends=Ends((asked.low + 0.5) / net, (asked.high + 0.5) / net),
        xy=batch.xy,
        inside=batch.weight > 0,
        outside=batch.outside > 0,
    )
    alone = torch.zeros(len(batch.xy), dtype=torch.bool)
    target, belief = believed(said, seen, asked.extent / STRIDE, net // STRIDE, STRIDE, alone)
    belief = belief * (asked.taught > 0)[:, None]
    part = torch.where(seen.inside, asked.taught[:, None] * belief, belief)
    return replace(
        batch, weight=batch.weight * (1 - part), taught=target, taught_weight=part * asked.believes
    )
