"""Writes films of a window that moves over a still, for `posewire eval films`: real people, exact places, labels that anybody may use.

    python -m posetrain.temporal.stills --data PACKS --pack coco_more --out FILMS [--films 1600] [--seed 1]

What rendered films lack is how a network errs on real people in clothes and rooms: the same way in every frame, until the
window has moved. For a temporal model that may not learn from research films they are made of COCO's stills. The window pans,
zooms, rolls and shakes as a hand-held camera does; whole films are dim, blurred, noisy or compressed. Nobody in them moves by
themselves: that is what mocap and rendered lanes are for. The form is that of `posetrain.temporal.films`, labels outside the
window left out; pictures of the train part alone. The files hold pictures and labels: they stay outside the repository.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import cv2
import numpy as np

from posetrain.data.packs import Floats, Picture, Pixels, ReadReport, joints_box, read_pack
from posetrain.data.source import source_of
from posetrain.temporal.films import write

FRAMES = 36
MIN_JOINTS, MIN_PX = 11, 90  # labelled joints of the person whom the window is about, and their extent
SIZES = ((320, 240), (320, 240), (320, 240), (480, 360), (240, 320))


def course(rng: np.random.Generator, frames: int, slow: float, shake: float) -> np.ndarray:
    """A smooth walk of about `slow` in all, from nothing, and a hand's tremor of `shake` a frame; [frames]."""
    t = np.arange(frames) / 30
    walk = np.zeros(frames)
    for k in range(1, 4):
        far, hertz, phase = slow / k * rng.normal(), rng.uniform(0.1, 0.5) * k, rng.random()
        walk += far * np.sin(2 * np.pi * (hertz * t + phase))
    tremor = np.convolve(rng.normal(0, shake, frames + 2), [0.25, 0.5, 0.25], "valid")
    return np.asarray(walk - walk[0] + tremor)


def windows(rng: np.random.Generator, joints: Floats, size: tuple[int, int], frames: int) -> np.ndarray:
    """Film from picture, [frames,2,3]: the person of these joints fills a third to nearly all of the window, seldom is cut off."""
    x0, y0, x1, y1 = joints_box(joints)
    extent = max(x1 - x0, y1 - y0)
    zoom = min(size) * rng.uniform(0.4, 1.05) / extent * np.exp(course(rng, frames, 0.15, 0.001))
    roll = rng.normal(0, 0.06) + course(rng, frames, 0.05, 0.002)
    beside = rng.normal(0, 0.12, 2) * extent
    x = (x0 + x1) / 2 + beside[0] + extent * course(rng, frames, 0.25, 0.002)
    y = (y0 + y1) / 2 + beside[1] + extent * course(rng, frames, 0.15, 0.002)
    c, s = zoom * np.cos(roll), zoom * np.sin(roll)
    out = np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], 1)
    moved = (np.array(size) - 1) / 2 - np.einsum("fij,fj->fi", out, np.stack([x, y], -1))
    return np.concatenate([out, moved[..., None]], 2)


def damage(rng: np.random.Generator, pictures: list[Pixels]) -> list[Pixels]:
    """A bad film, two times in three: the same in every frame but for its noise. On good ones a network errs little on people it has
    learned from; film of strangers is small, dark and compressed."""
    coarse = rng.uniform(1.5, 5) if rng.random() < 0.45 else 1.0
    light = rng.uniform(0.25, 1.1) if rng.random() < 0.5 else 1.0
    blur = rng.uniform(0.5, 2.5) if rng.random() < 0.4 else 0.0
    noise = rng.uniform(2, 20) if rng.random() < 0.4 else 0.0
    quality = int(rng.integers(6, 50)) if rng.random() < 0.6 else 95
    out = []
    for picture in pictures:
        p: Floats = picture.astype(np.float32) * np.float32(light)
        height, width = picture.shape[:2]
        if coarse > 1:
            p = np.asarray(
                cv2.resize(p, None, fx=1 / coarse, fy=1 / coarse, interpolation=cv2.INTER_AREA), np.float32
            )
        if blur:
            p = np.asarray(cv2.GaussianBlur(p, (0, 0), blur / coarse), np.float32)
        if noise:
            p = p + rng.normal(0, noise, p.shape).astype(np.float32)
        coded = cv2.imencode(".jpg", p.clip(0, 255).astype(np.uint8), [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
        decoded = np.asarray(cv2.imdecode(coded, cv2.IMREAD_COLOR), np.uint8)
        out.append(np.asarray(cv2.resize(decoded, (width, height)), np.uint8))
    return out


def film(rng: np.random.Generator, picture: Picture, joints: Floats) -> tuple[list[Pixels], np.ndarray]:
    """RGB frames, and the person's joints in each, [FRAMES,17,3]."""
    size = SIZES[rng.integers(len(SIZES))]
    film_from_picture = windows(rng, joints, size, FRAMES)
    frames = [
        np.asarray(
            cv2.warpAffine(picture.pixels, m, size, flags=cv2.INTER_AREA, borderMode=cv2.BORDER_REPLICATE),
            np.uint8,
        )
        for m in film_from_picture
    ]
    places = np.concatenate([joints[:, :2], np.ones((17, 1))], 1) @ film_from_picture.transpose(0, 2, 1)
    inside = ((places >= 0) & (places <= np.array(size) - 1)).all(-1)
    return damage(rng, frames), np.concatenate([places, (joints[:, 2] * inside)[..., None]], 2)


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--data", type=Path, required=True)
    p.add_argument("--pack", default="coco_more")
    p.add_argument("--out", type=Path, required=True)
    p.add_argument("--films", type=int, default=1600)
    p.add_argument("--seed", type=int, default=1)
    args = p.parse_args()
    rng = np.random.default_rng(args.seed)
    written = 0
    for picture in read_pack(args.data, args.pack, ReadReport()):
        if picture.split != "train":
            continue
        for person in picture.persons:
            labelled = person.joints[:, 2] > 0
            if written == args.films or labelled.sum() < MIN_JOINTS:
                continue
            x0, y0, x1, y1 = joints_box(person.joints)
            if max(x1 - x0, y1 - y0) < MIN_PX:
                continue
            name = f"still-{Path(picture.key).stem}-{person.annotation_id}"
            write(args.out, name, *film(rng, picture, person.joints), source=source_of(name))
            written += 1
    print(f"{written} films of {FRAMES} frames in {args.out}")


if __name__ == "__main__":
    main()
