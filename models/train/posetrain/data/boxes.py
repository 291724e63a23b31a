"""Boxes x0 y0 x1 y1."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from posetrain.data.packs import Floats


def iou(a: Floats, b: Floats) -> npt.NDArray[np.float64]:
    """[N, 4] and [M, 4] to [N, M]."""
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    common = np.clip(high - low, 0, None).prod(axis=2)
    area_a, area_b = (a[:, 2:] - a[:, :2]).prod(axis=1), (b[:, 2:] - b[:, :2]).prod(axis=1)
    return np.asarray(common / np.maximum(area_a[:, None] + area_b[None, :] - common, 1e-9), np.float64)
