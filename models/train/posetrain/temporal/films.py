"""Writes J-HMDB's clips as films for `posewire eval films`: pictures and labels of the whole program's evaluation.

    python -m posetrain.temporal.films --data PACKS --out FILMS [--split val]
    python -m posetrain.temporal.films --data PACKS --out FILMS --split train --tier 1    # whose labels are fit to learn from
    python -m posetrain.temporal.films --data PACKS --out FILMS --split train --tier 1 --half first    # as `data.part` halves them

FILMS/NAME/00001.jpg ... and FILMS/NAME.jsonl: a head ({"film": as the pack names it, "source": the video that it was cut from,
"complete": false, "smooth_truth": 1}), then a line a picture ({"captured_at_us", "persons": [{"id", "joints": 17 x [x, y, v]}]}).
Places are in the program's pixels, from the picture's corner. Intervals are drawn over sources; a film
without one is its own. One person a clip is labelled, others may be about, so nothing here says what a ghost is. Repeated pictures
are left out; times are those of 30 frames a second without them. Faces carry no label. The files hold pictures and labels: they stay
outside the repository.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import cv2
import numpy as np

from posetrain.data.packs import Pixels, films
from posetrain.data.source import HALVES, half_of
from posetrain.temporal.detect import BY_HAND_FRAMES, fresh

FPS = 30.0
MIN_FRAMES = 8
QUALITY = 95  # of the pictures written: they were compressed once before
# The program counts pixels from the picture's corner, packs and networks here by index: a pixel's middle is at index + CENTRE_PX there.
CENTRE_PX = 0.5


def write(
    out: Path,
    clip: str,
    pictures: list[Pixels],
    joints: np.ndarray,
    times: np.ndarray | None = None,
    source: str | None = None,
    smooth_truth: float = 0.0,
    from_corner: bool = False,
) -> None:
    """`joints` [N,17,3]: x, y as pixels' indices or, `from_corner`, from the picture's corner; COCO's visibility; joints that carry no
    label have 0 there. `times` [N], seconds: those of FPS, if not given. `source`: the video that the clip was cut from, where others
    are of it too. `smooth_truth`: frames over which labels are smoothed before motion is compared with them; 0: they are as smooth as
    the motion itself."""
    times = np.arange(len(pictures)) / FPS if times is None else times
    name = clip.replace("/", "-")
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    of = {} if source is None else {"source": source}
    lines = [json.dumps({"film": clip, **of, "complete": False, "smooth_truth": smooth_truth})]
    if not from_corner:
        joints = joints + np.array([CENTRE_PX, CENTRE_PX, 0.0]) * (joints[..., 2:] > 0)
    for i, (picture, person) in enumerate(zip(pictures, joints, strict=True)):
        cv2.imwrite(str(folder / f"{i + 1:05}.jpg"), picture[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
        persons = [{"id": 1, "joints": np.round(person, 2).tolist()}] if person[:, 2].any() else []
        lines.append(json.dumps({"captured_at_us": round(times[i] * 1e6), "persons": persons}))
    (out / f"{name}.jsonl").write_text("\n".join(lines) + "\n")


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--data", type=Path, required=True)
    p.add_argument("--out", type=Path, required=True)
    p.add_argument("--split", default="val")
    p.add_argument("--tier", type=int, help="of the labels; all, if not given")
    p.add_argument("--half", choices=HALVES, help="of the videos; all, if not given")
    args = p.parse_args()
    clips = frames = 0
    for clip, pictures, labels in films(args.data):
        if clip["split"] != args.split or args.tier not in (None, clip["tier"]):
            continue
        if args.half not in (None, half_of(clip["source_video"])):
            continue
        joints = np.array([a["keypoints"] for a in labels], np.float64).reshape(-1, 17, 3)
        joints[:, :5, 2] = 0
        keep = np.flatnonzero(fresh(pictures))
        if len(keep) < MIN_FRAMES:
            continue
        kept = [pictures[i] for i in keep]
        # J-HMDB does not say how it counts. Across, where no joint is drawn to one side by how it is defined, a network that has not met
        # it lies .2 (train) to .5 px (val) to the left of its labels, were they indices: they are taken as they stand.
        write(
            args.out,
            clip["name"],
            kept,
            joints[keep],
            source=clip["source_video"],
            smooth_truth=BY_HAND_FRAMES,
            from_corner=True,
        )
        clips, frames = clips + 1, frames + len(keep)
    print(f"{clips} films, {frames} frames in {args.out}")


if __name__ == "__main__":
    main()
