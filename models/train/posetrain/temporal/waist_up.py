"""Writes films of rendered people who are cut off at the picture's edge, for `posewire eval films`: whoever sits before a camera.

    cargo build --release -p people
    python -m posetrain.temporal.waist_up --people ../../target/release/people --out FILMS [--films 40] [--seed 600]

Films of the other kinds show nearly everybody whole. Before a desk's camera the lower edge cuts a person between chest and
knees for good: the network presses the joints that are out of the picture into its lower part, and everything that is measured in
parts of the person's size is measured in parts of what is seen. So a person is rendered whole, at twice the usual size, and a window of
each film is kept: it does not move, as nobody moves a desk's camera. Labels outside of the window are left out. The form is that of
`posetrain.temporal.films`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np

from posetrain.data.packs import FACE, JOINTS, Floats, Pixels
from posetrain.keypoints.sides import HIPS, SHOULDERS
from posetrain.temporal.films import CENTRE_PX, write

RENDERED = (1280, 960)
SIZES = ((640, 480), (640, 480), (320, 240))
# Where the lower edge cuts, in trunks (eyes to hips) below the eyes: from the chest to the knees; and the room above the eyes.
CUT, ABOVE = (0.6, 1.6), (0.15, 0.5)
# A window that is enlarged more than this shows nothing that a camera would.
LARGEST_ZOOM = 2.5
# Of a window's width, by which the person may stand beside its middle.
BESIDE = 0.15


def frames_of(film: Path) -> Iterator[Pixels]:
    """RGB pictures of a YUV4MPEG2 film of `people film`: full range, BT.601, 4:2:0."""
    data = film.read_bytes()
    width, height = RENDERED
    size = width * height * 3 // 2
    at = data.index(b"\n") + 1
    while at < len(data):
        at = data.index(b"\n", at) + 1
        planes = np.frombuffer(data, np.uint8, size, at)
        at += size
        y = planes[: width * height].reshape(height, width)
        u, v = planes[width * height :].reshape(2, height // 2, width // 2)
        ycrcb = np.stack([y, cv2.resize(v, RENDERED), cv2.resize(u, RENDERED)], axis=-1)
        yield np.asarray(cv2.cvtColor(ycrcb, cv2.COLOR_YCrCb2RGB), np.uint8)


def window(rng: np.random.Generator, joints: Floats, size: tuple[int, int]) -> Floats | None:
    """Film from rendered picture, [2, 3], places counted from the corner; joints [frames, 17, 3]. `None`: too small to be shown so."""
    eyes = float(np.median(joints[:, FACE, 1].min(axis=1)))
    trunk = float(np.median(joints[:, HIPS, 1].mean(axis=1))) - eyes
    top, bottom = eyes - rng.uniform(*ABOVE) * trunk, eyes + rng.uniform(*CUT) * trunk
    zoom = size[1] / max(bottom - top, 1.0)
    if trunk <= 0 or zoom > LARGEST_ZOOM * size[1] / 480:
        return None
    middle = float(np.median(joints[:, SHOULDERS, 0])) + rng.uniform(-BESIDE, BESIDE) * size[0] / zoom
    return np.array([[zoom, 0, size[0] / 2 - zoom * middle], [0, zoom, -zoom * top]], np.float32)


def cut(
    pictures: Iterator[Pixels], joints: Floats, matrix: Floats, size: tuple[int, int]
) -> tuple[list[Pixels], Floats]:
    """The window of each picture, and the joints in it, from its corner; those outside carry no label."""
    # twice too large, then averaged: warps sample, and small windows would be jagged
    twice, by_index = (2 * size[0], 2 * size[1]), 2 * matrix
    by_index[:, 2] += CENTRE_PX * by_index[:, :2].sum(axis=1) - CENTRE_PX
    large = (cv2.warpAffine(p, by_index, twice, flags=cv2.INTER_LINEAR) for p in pictures)
    shown = [np.asarray(cv2.resize(p, size, interpolation=cv2.INTER_AREA), np.uint8) for p in large]
    places = joints[..., :2] @ matrix[:, :2].T + matrix[:, 2]
    inside = ((places >= 0) & (places <= np.array(size))).all(axis=-1)
    return shown, np.concatenate([places, (joints[..., 2] * inside)[..., None]], axis=-1)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--people", type=Path, required=True, help="the renderer, built from crates/people")
    p.add_argument("--out", type=Path, required=True)
    p.add_argument("--films", type=int, default=40)
    p.add_argument("--seconds", type=float, default=6.0)
    p.add_argument("--seed", type=int, default=600, help="of the first film; the others follow")
    args = p.parse_args()
    for seed in range(args.seed, args.seed + args.films):
        rng = np.random.default_rng(seed)
        size = SIZES[int(rng.integers(len(SIZES)))]
        with tempfile.TemporaryDirectory() as folder:
            film = Path(folder) / "film.y4m"
            command = [args.people, "film", "--persons", "1", "--seconds", str(args.seconds), "--damage"]
            command += ["--size", "{}x{}".format(*RENDERED), "--seed", str(seed), "--out", film]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            rows = [json.loads(line) for line in film.with_suffix(".jsonl").read_text().splitlines()]
            persons = [row["persons"] for row in rows if "persons" in row]
            if not all(persons):
                print(f"{seed}: somebody leaves the picture")
                continue
            joints = np.array([one[0]["keypoints"] for one in persons], np.float32).reshape(-1, JOINTS, 3)
            matrix = window(rng, joints, size)
            if matrix is None:
                print(f"{seed}: too far away")
                continue
            pictures, labels = cut(frames_of(film), joints, matrix, size)
        write(args.out, f"waist-up-{seed}", pictures, labels, from_corner=True)
    print(f"{len(list(args.out.glob('*.jsonl')))} films in {args.out}")


if __name__ == "__main__":
    main()
