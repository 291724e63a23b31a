"""Boxes x0 y0 x1 y1."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from posetrain.data.packs import Floats


def areas(boxes: Floats) -> npt.NDArray[np.float64]:
    """[N, 4] to [N]."""
    return np.asarray((boxes[:, 2:] - boxes[:, :2]).prod(axis=1), np.float64)


def common(a: Floats, b: Floats) -> npt.NDArray[np.float64]:
    """The area that each of [N, 4] shares with each of [M, 4]: [N, M]."""
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    return np.asarray(np.clip(high - low, 0, None).prod(axis=2), np.float64)


def iou(a: Floats, b: Floats) -> npt.NDArray[np.float64]:
    """[N, 4] and [M, 4] to [N, M]."""
    shared = common(a, b)
    return shared / np.maximum(areas(a)[:, None] + areas(b)[None, :] - shared, 1e-9)
