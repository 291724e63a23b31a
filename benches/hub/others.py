"""What other programs make of the same tracks, each by its own defaults: one function a program, from a film's tracks to places.

A function answers (as triangulated, as handed out in the end): frames × persons × 17 × 3 in metres, NaN where the program says
nothing. All are given the cameras' true places and are told who is who by the truth.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from causes import MIRROR, Film
from films import CAMERAS, FPS, SIZE

from posetrain.data.packs import LIMBS

#: Below that a joint counts as not seen; Pose2Sim's default, and the plain transform's.
MIN_SCORE = 0.3


def straight(film: Film) -> Any:
    """What was seen, without what the lens bends: pixels of a camera without distortion."""
    seen = film.seen.copy()
    for c, lens in enumerate(film.lenses):
        seen[:, c, ..., :2] = lens.rays(seen[:, c, ..., :2]) * lens.f + lens.c
    seen[~(seen[..., 2] > MIN_SCORE)] = np.nan
    return seen


def matrices(film: Film) -> list[tuple[Any, Any, Any]]:
    """Of each camera K, R and t, as OpenCV has them."""
    out = []
    for lens, (turn, eye) in zip(film.lenses, film.places, strict=True):
        k = np.array([[lens.f[0], 0, lens.c[0]], [0, lens.f[1], lens.c[1]], [0, 0, 1.0]])
        out.append((k, turn, -turn @ eye))
    return out


def camera_group(film: Film) -> Any:
    """anipose's."""
    import cv2
    from aniposelib.cameras import Camera, CameraGroup

    return CameraGroup(
        [
            Camera(matrix=k, dist=np.zeros(5), rvec=cv2.Rodrigues(r)[0].ravel(), tvec=t)
            for k, r, t in matrices(film)
        ]
    )


def anipose(film: Film) -> tuple[Any, Any]:
    """aniposelib: direct linear transform of joints with scores above .3, then its optimisation over the whole take (smooth, bones of one
    length)."""
    group = camera_group(film)
    seen = straight(film)
    frames, _, people = seen.shape[:3]
    plain = np.full((frames, people, 17, 3), np.nan)
    whole = plain.copy()
    for p in range(people):
        # cameras × frames × joints × 2
        points = np.ascontiguousarray(np.moveaxis(seen[:, :, p, :, :2], 1, 0))
        scores = np.nan_to_num(np.moveaxis(seen[:, :, p, :, 2], 1, 0))
        found = group.triangulate(points.reshape(CAMERAS, -1, 2))
        plain[:, p] = np.asarray(found).reshape(frames, 17, 3)
        whole[:, p] = group.optim_points(points, plain[:, p].copy(), constraints=LIMBS, scores=scores)
    return plain, whole


def pose2sim(film: Film) -> tuple[Any, Any]:
    """Pose2Sim: weighed direct linear transform, cameras left out and sides exchanged until rays meet within 15 px, gaps of up to 20 frames
    filled, a Butterworth filter of 6 Hz there and back; its own defaults but for the sides, which it exchanges only when told to."""
    import pandas as pd
    from Pose2Sim.filtering import butterworth_filter_1d
    from Pose2Sim.triangulation import triangulation_from_best_cameras
    from scipy.interpolate import interp1d

    config = {
        "triangulation": {
            "reproj_error_threshold_triangulation": 15,
            "min_cameras_for_triangulation": 2,
            "handle_LR_swap": True,
        },
        "filtering": {"butterworth": {"order": 4, "cut_off_frequency": 6}},
    }
    projections = [k @ np.hstack([r, t[:, None]]) for k, r, t in matrices(film)]
    seen = straight(film)
    frames, _, people = seen.shape[:3]
    plain = np.full((frames, people, 17, 3), np.nan)
    for f, p, j in persons_joints(film):
        own, other = seen[f, :, p, j, :3].T, seen[f, :, p, MIRROR[j], :3].T
        if np.isfinite(own[2]).sum() >= 2:
            plain[f, p, j] = triangulation_from_best_cameras(config, own, other, projections, {})[0]
    whole = plain.copy()
    for p, j, axis in itertools.product(range(people), range(17), range(3)):
        col = plain[:, p, j, axis].copy()
        known = np.flatnonzero(np.isfinite(col))
        if len(known) < 4:
            continue
        fill = interp1d(known, col[known], kind="linear")
        for a, b in itertools.pairwise(known):
            if 1 < b - a <= 20:
                col[a:b] = fill(np.arange(a, b))
        whole[:, p, j, axis] = butterworth_filter_1d(config, FPS, pd.Series(col)).to_numpy()
    return plain, whole


def persons_joints(film: Film) -> Iterator[tuple[int, int, int]]:
    frames, _, people = film.seen.shape[:3]
    return itertools.product(range(frames), range(people), range(17))


def openpose(film: Film) -> tuple[Any, Any]:
    """OpenPose 1.7's 3D module, which answers frame by frame and knows no filter, written anew from what its documentation and source
    say: its licence is not for commercial use. Joints with scores above .35, 8 px and more from the picture's edge, in three of four
    cameras; direct linear transform; the camera without which rays meet much better is left out; Huber's loss of 2 px; what then lies
    far from its rays is not said."""
    from scipy.optimize import least_squares

    most_px = 25 * np.sqrt(SIZE[0] * SIZE[1] / 1_310_720)
    projections = np.stack([k @ np.hstack([r, t[:, None]]) for k, r, t in matrices(film)])
    seen = straight(film)
    inside = ((film.seen[..., :2] > 8) & (film.seen[..., :2] < np.array(SIZE) - 8)).all(-1)
    good = inside & (seen[..., 2] > 0.35)

    def off(x: Any, p: Any, at: Any) -> Any:
        on = p @ np.append(x, 1.0)
        return on[:, :2] / on[:, 2:] - at

    def far(x: Any, p: Any, at: Any) -> float:
        return float(np.linalg.norm(off(x, p, at), axis=1).mean())

    def huber(x: Any, p: Any, at: Any) -> Any:
        r = off(x, p, at)
        squared = np.maximum((r**2).sum(1), 1e-12)
        cost = np.where(squared <= 4, squared, 4 * np.sqrt(squared) - 4)
        return (r * np.sqrt(cost / squared)[:, None]).ravel()

    def direct(p: Any, at: Any) -> Any:
        x = np.linalg.svd((at[:, :, None] * p[:, 2:] - p[:, :2]).reshape(-1, 4))[2][-1]
        return x[:3] / x[3]

    plain = np.full(film.truth.shape, np.nan)
    whole, errors = plain.copy(), np.full(film.truth.shape[:-1], np.nan)
    for f, person, j in persons_joints(film):
        views = np.flatnonzero(good[f, :, person, j])
        if len(views) < max(2, min(4, CAMERAS - 1)):
            continue
        p, at = projections[views], seen[f, views, person, j, :2]
        x = direct(p, at)
        error = far(x, p, at)
        plain[f, person, j] = x
        if len(views) >= 4 and error > 0.5 * most_px:
            without = [(np.delete(p, k, 0), np.delete(at, k, 0)) for k in range(len(views))]
            best = min(without, key=lambda w: far(direct(*w), *w))
            if far(direct(*best), *best) < 0.9 * error:
                p, at = best
                x = direct(p, at)
                error = far(x, p, at)
        if 3 < error < 1.5 * most_px:
            x = least_squares(huber, x, args=(p, at), method="lm", ftol=1e-4, xtol=1e-6).x
            error = far(x, p, at)
        whole[f, person, j], errors[f, person, j] = x, error
    known = np.isfinite(errors)
    mean = np.where(known, errors, 0).sum(-1, keepdims=True) / np.maximum(known.sum(-1, keepdims=True), 1)
    whole[~((errors < most_px) & (errors < 5 * mean))] = np.nan
    return plain, whole


def freemocap(film: Film) -> tuple[Any, Any]:
    """FreeMoCap 1.8's defaults with the library that its triangulation is a copy of (it is under the AGPL itself): anipose's direct
    linear transform where three cameras see a joint, gaps filled in a straight line, a Butterworth filter of 7 Hz there and back."""
    import pandas as pd
    from scipy.signal import butter, filtfilt

    seen = straight(film)
    seen[np.broadcast_to((np.isfinite(seen[..., 0]).sum(1, keepdims=True) < 3)[..., None], seen.shape)] = (
        np.nan
    )
    group = camera_group(film)
    frames, _, people = seen.shape[:3]
    plain = np.full(film.truth.shape, np.nan)
    whole = plain.copy()
    low = butter(4, 7 / (0.5 * FPS), btype="low")
    for p in range(people):
        points = np.ascontiguousarray(np.moveaxis(seen[:, :, p, :, :2], 1, 0)).reshape(CAMERAS, -1, 2)
        plain[:, p] = np.asarray(group.triangulate(points)).reshape(frames, 17, 3)
        for j in range(17):
            filled = pd.DataFrame(plain[:, p, j]).interpolate(axis=0).to_numpy(copy=True)
            filled[~np.isfinite(filled)] = np.nanmean(filled)
            whole[:, p, j] = filtfilt(*low, filled, axis=0)
    return plain, whole


def easymocap(film: Film, checkout: Path) -> tuple[Any, Any]:
    """EasyMocap's `detect_triangulate` from its own checkout (its licence is for research alone): triangulation that leaves out
    cameras and joints farther off than 25 px, then a mean of five frames, weighed by scores."""
    sys.path.insert(0, str(checkout))
    from myeasymocap.operations.smooth import Smooth
    from myeasymocap.operations.triangulate import SimpleTriangulate

    seen = np.nan_to_num(straight(film)[..., :3])
    cameras = matrices(film)
    given = {
        "K": np.stack([k for k, _, _ in cameras]),
        "R": np.stack([r for _, r, _ in cameras]),
        "T": np.stack([t[:, None] for _, _, t in cameras]),
        "P": np.stack([k @ np.hstack([r, t[:, None]]) for k, r, t in cameras]),
        "dist": np.zeros((CAMERAS, 1, 5)),
    }
    triangulate, smooth = SimpleTriangulate("iterative"), Smooth(5)
    answers = []
    for p in range(seen.shape[2]):
        found = np.stack([triangulate(list(frame[:, p]), given)["keypoints3d"] for frame in seen])
        answers.append((found, smooth(found)["keypoints3d"]))
    plain, whole = (np.stack([a[k] for a in answers], axis=1) for k in (0, 1))
    return tuple(np.where(x[..., 3:] > 0, x[..., :3], np.nan) for x in (plain, whole))  # type: ignore[return-value]
