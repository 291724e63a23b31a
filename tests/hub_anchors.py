#!/usr/bin/env python3
"""The room's people beside what other programs make of the same tracks: anipose's and Pose2Sim's triangulation, from their own packages.

    python3 -m venv anchors
    anchors/bin/pip install --no-deps aniposelib Pose2Sim
    anchors/bin/pip install anytree c3d filterpy jax matplotlib numba numpy opencv-python-headless pandas python-osc rtoml scipy \
        statsmodels toml tqdm
    anchors/bin/python tests/hub_anchors.py FOLDER --lines L      FOLDER and L as with `hub_causes.py`

All get the same joints of the same pictures and the true places of the cameras. Both packages see the whole take before they
answer, and are told who is who by the truth; the hub is told neither. anipose: direct linear transform of joints with scores above
.3, then its optimisation over the whole take (smooth, bones of one length, its own defaults). Pose2Sim: weighed direct linear
transform, cameras left out and sides exchanged until rays meet within 15 px, gaps of up to 20 frames filled, a Butterworth filter of
6 Hz there and back: its own defaults but for the sides, which it exchanges only when told to. Neither's source is part of Posewire.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from hub_causes import (
    BEGIN_S,
    MIRROR,
    THREE_S,
    WALK_S,
    Film,
    dlt,
    errors,
    load,
    table,
    told,
    write_take,
)
from hub_films import CAMERAS, FPS, between, room_file, true_places, true_room

#: Below that a joint counts as not seen; Pose2Sim's default, and the plain transform's.
LEAST_SCORE = 0.3
#: COCO's joints of arms, legs, shoulders, hips and flanks.
BONES = [
    (5, 7),
    (7, 9),
    (6, 8),
    (8, 10),
    (11, 13),
    (13, 15),
    (12, 14),
    (14, 16),
    (5, 6),
    (11, 12),
    (5, 11),
    (6, 12),
]


def straight(film: Film) -> Any:
    """What was seen, without what the lens bends: pixels of a camera without distortion."""
    seen = film.seen.copy()
    for c, lens in enumerate(film.lenses):
        seen[:, c, ..., :2] = lens.rays(seen[:, c, ..., :2]) * lens.f + lens.c
    seen[~(seen[..., 2] > LEAST_SCORE)] = np.nan
    return seen


def matrices(film: Film) -> list[tuple[Any, Any, Any]]:
    """Of each camera K, R and t, as OpenCV has them."""
    out = []
    for lens, (turn, eye) in zip(film.lenses, film.places, strict=True):
        k = np.array([[lens.f[0], 0, lens.c[0]], [0, lens.f[1], lens.c[1]], [0, 0, 1.0]])
        out.append((k, turn, -turn @ eye))
    return out


def anipose(film: Film) -> tuple[Any, Any]:
    """Its triangulation, and that after its optimisation."""
    import cv2
    from aniposelib.cameras import Camera, CameraGroup

    group = CameraGroup(
        [
            Camera(matrix=k, dist=np.zeros(5), rvec=cv2.Rodrigues(r)[0].ravel(), tvec=t)
            for k, r, t in matrices(film)
        ]
    )
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
        whole[:, p] = group.optim_points(points, plain[:, p].copy(), constraints=BONES, scores=scores)
    return plain, whole


def pose2sim(film: Film) -> tuple[Any, Any]:
    """Its triangulation, and that after filling and filtering."""
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
    for f, p, j in itertools.product(range(frames), range(people), range(17)):
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


def report(film: Film, work: Path) -> None:
    begin = int(BEGIN_S * FPS)
    rows: list[tuple[str, Any]] = [
        ("plain DLT", (dlt(film, film.seen, film.places) - film.truth)[begin:] * 1e3)
    ]
    for name, make in (("anipose", anipose), ("Pose2Sim", pose2sim)):
        at = time.process_time()
        plain, whole = make(film)
        print(f"{film.name}: {name} took {time.process_time() - at:.0f} s of processor time", file=sys.stderr)
        rows.append((f"{name}, triangulated", (plain - film.truth)[begin:] * 1e3))
        rows.append((f"{name}, whole", (whole - film.truth)[begin:] * 1e3))
    take = work / f"{film.name}-measured.take.jsonl"
    write_take(film, take, "measured")
    room = work / "true.toml"
    room.write_text(true_room(film.folder, film.name))
    to = between(true_places(film.folder, film.name), room_file(work, room.name))
    got = errors(film, told(film, take, room, []), to)
    rows.append(("hub, live", got["off"][got["frame"] >= begin]))
    print(f"\n{film.name}: mean distance from the truth, mm\n")
    table(rows)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--lines", default="lines", help="where in FOLDER the trackers' lines are kept")
    parser.add_argument("--film", choices=["walk", "three"], action="append", help="only these")
    args = parser.parse_args()
    folder = args.folder.resolve()
    work = folder / "causes"
    work.mkdir(exist_ok=True)
    for name, persons, seconds in (("three", 3, THREE_S), ("walk", 1, WALK_S)):
        if args.film is None or name in args.film:
            report(load(folder, folder / args.lines, name, persons, seconds), work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
