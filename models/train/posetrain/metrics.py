"""PCK, object keypoint similarity's simpler cousin: a joint counts where it lies within t of the person's
extent."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from posetrain.data.packs import BODY, Floats, joints_box

Counts = npt.NDArray[np.float64]


def distances(xy_net: Floats, joints: Floats, matrix: Floats) -> tuple[Counts, Counts]:
    """Distance of the twelve body joints to the label as a part of the extent (longer side of the labelled
    joints' box), and 1 where labelled. xy_net [17, 2] net pixels; joints [17, 3] and `matrix` net-from-
    image as the label has them."""
    scale = float(np.sqrt(abs(np.linalg.det(matrix[:, :2]))))
    x0, y0, x1, y1 = joints_box(joints)
    extent = max(x1 - x0, y1 - y0) * scale
    truth = joints[:, :2] @ matrix[:, :2].T + matrix[:, 2]
    error = np.linalg.norm(xy_net - truth, axis=1) / extent
    return error[BODY].astype(np.float64), (joints[BODY, 2] > 0).astype(np.float64)


def pck(xy_net: Floats, joints: Floats, matrix: Floats, threshold: float) -> tuple[Counts, Counts]:
    """Hits and labelled joints of one person, [12] each."""
    error, labelled = distances(xy_net, joints, matrix)
    return (error <= threshold) * labelled, labelled


def bootstrap(
    hits: Counts, counts: Counts, groups: npt.NDArray[np.str_], seed: int = 0, rounds: int = 1000
) -> tuple[float, float]:
    """95 % interval of sum(hits) / sum(counts) when whole groups (pictures, videos) are drawn with
    replacement."""
    _, index = np.unique(groups, return_inverse=True)
    size = int(index.max()) + 1
    hit = np.bincount(index, hits, size)
    count = np.bincount(index, counts, size)
    draws = np.random.default_rng(seed).integers(0, size, (rounds, size))
    values = hit[draws].sum(axis=1) / np.maximum(count[draws].sum(axis=1), 1)
    low, high = np.quantile(values, (0.025, 0.975))
    return float(low), float(high)
