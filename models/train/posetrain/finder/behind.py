"""Scenes with people painted out of them, for looking behind those who are seen.

    python -m posetrain.finder.behind --data PACKS --teacher PEERS/fastestdet.onnx --out SCENES/behind [--pack rendered]

In each search the program paints whoever it follows out of the picture, and looks once more (src/keypoints/silhouette.rs): who stands
half behind them is to be found there, what is left of them is not. So of the persons of a picture whose joints are known some
are painted out here as they are there, a little off as a prediction is, and are background from then on.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from posetrain.data.boxes import areas, common
from posetrain.data.packs import KNOWN_PACKS, RENDERED_PACKS, Floats, Person, Picture, Pixels
from posetrain.data.scenes import STORED_SIDE, FastestDet, Scene, build, person_box, scene

Mask = npt.NDArray[np.bool_]

PACKS = ("jhmdb", "coco_more", "coco_subset", "lspet", "pelota")
# Of a rendered picture, with other people painted out each time.
TIMES = 2
# As in src/keypoints/silhouette.rs, which a test holds them to: radii by the body's height, lengths beyond by the bone's.
PARTS = (
    (5, 6, 0.07),
    (11, 12, 0.08),
    (5, 11, 0.07),
    (6, 12, 0.07),
    (5, 7, 0.055),
    (6, 8, 0.055),
    (7, 9, 0.05),
    (8, 10, 0.05),
    (11, 13, 0.075),
    (12, 14, 0.075),
    (13, 15, 0.06),
    (14, 16, 0.06),
)
ENDS = ((7, 9, 0.35), (8, 10, 0.35), (13, 15, 0.2), (14, 16, 0.2))
END_RADIUS, TRUNK_LINES, TRUNK_RADIUS = 0.055, 5, 0.06
HEAD_RADIUS, NECK_RADIUS, HAIR_RADIUS, HAIR = 0.105, 0.06, 0.08, 0.3
HEIGHT_PER_TRUNK_AND_LEGS = 1.25
# Where no joint of the face is labelled: from the hips to the shoulders, and so far on.
HEAD_BEYOND = 0.45
# Trunk and most of the limbs: of whom less is labelled, too much would be left.
MIN_JOINTS = 12
# A predicted joint is off by so much of the body's height: the whole pose, and each joint of it.
POSE_OFF, JOINT_OFF = 0.015, 0.015
# Chance to be painted out, for whoever shows at least so many of their joints; who shows less is hardly followed yet.
FOLLOWED_SEEN, IN_FRONT, ELSE = 0.6, 0.75, 0.35
# Joints in sight and beside what is painted out that make somebody a person; fewer than the second, background.
SEEN_BEHIND, HIDDEN_BEHIND = 4, 2
# Of a teacher's box: so much within somebody painted out is nobody.
COVERED = 0.5


def silhouette(joints: Floats, shape: tuple[int, int]) -> Mask:
    """joints [17, 3] in pixels -> [height, width], what the body covers, roughly. Joints that are not labelled cover nothing."""
    known = joints[:, 2] > 0
    at = joints[:, :2]
    mask = np.zeros(shape, np.uint8)

    def long(a: int, b: int) -> float:
        return float(np.hypot(*(at[a] - at[b]))) if known[a] and known[b] else 0.0

    extent = np.ptp(at[known], axis=0).max() if known.any() else 0.0
    sides = (long(5, 11) + long(11, 13) + long(13, 15), long(6, 12) + long(12, 14) + long(14, 16))
    height = max(float(extent), HEIGHT_PER_TRUNK_AND_LEGS * sum(sides) / 2)

    def capsule(a: Floats, b: Floats, radius: float) -> None:
        # 1/16 px; pixel centres at integers
        p, q = (tuple(round(float(v) * 16) for v in p) for p in (a, b))
        thickness = max(1, round(2 * radius * height))
        cv2.line(mask, p, q, 1, thickness, cv2.LINE_8, 4)

    def between(a: Floats, b: Floats, share: float) -> Floats:
        return np.asarray(a + share * (b - a), np.float32)

    for a, b, radius in PARTS:
        if known[a] and known[b]:
            capsule(at[a], at[b], radius)
    for before, end, beyond in ENDS:
        if known[before] and known[end]:
            capsule(at[end], between(at[before], at[end], 1 + beyond), END_RADIUS)
    shoulders, hips = at[5:7].mean(axis=0), at[11:13].mean(axis=0)
    if known[[5, 6, 11, 12]].all():
        for across in np.linspace(0, 1, TRUNK_LINES):
            capsule(between(at[5], at[6], across), between(at[11], at[12], across), TRUNK_RADIUS)
    if known[:5].any() or known[[5, 6, 11, 12]].all():
        face = (
            at[:5][known[:5]].mean(axis=0) if known[:5].any() else between(hips, shoulders, 1 + HEAD_BEYOND)
        )
        capsule(face, face, HEAD_RADIUS)
        if known[[5, 6]].all():
            capsule(face, shoulders, NECK_RADIUS)
            capsule(face, between(shoulders, face, 1 + HAIR), HAIR_RADIUS)
    return mask.astype(bool)


def inpaint(pixels: Pixels, mask: Mask) -> Pixels:
    """Fills what is masked by push and pull (Gortler et al. 1996), as crates/picture/src/inpaint.rs does."""
    known = (~mask).astype(np.float32)
    levels = [(pixels.astype(np.float32) * known[:, :, None], known)]
    while max(levels[-1][1].shape) > 1:
        colour, known = levels[-1]
        odd = [(0, side % 2) for side in known.shape]
        total = np.pad(known, odd)
        weighted = np.pad(colour * known[:, :, None], [*odd, (0, 0)])
        total = total[::2, ::2] + total[1::2, ::2] + total[::2, 1::2] + total[1::2, 1::2]
        weighted = weighted[::2, ::2] + weighted[1::2, ::2] + weighted[::2, 1::2] + weighted[1::2, 1::2]
        levels.append((weighted / np.maximum(total, 1e-6)[:, :, None], np.minimum(0.5 * total, 1)))
    filled = levels[-1][0]
    for colour, known in reversed(levels[:-1]):
        rows, columns = known.shape
        above = cv2.resize(filled, (2 * filled.shape[1], 2 * filled.shape[0]), interpolation=cv2.INTER_LINEAR)
        filled = known[:, :, None] * colour + (1 - known[:, :, None]) * above[:rows, :columns]
    out = pixels.copy()
    out[mask] = filled.round().clip(0, 255).astype(np.uint8)[mask]
    return out


def predicted(joints: Floats, rng: np.random.Generator) -> Floats:
    """As a prediction has them: a little off."""
    height = float(np.ptp(joints[joints[:, 2] > 0, :2], axis=0).max())
    moved = joints.copy()
    moved[:, :2] += height * (rng.normal(0, POSE_OFF, 2) + rng.normal(0, JOINT_OFF, (len(joints), 2)))
    return moved


def chosen(persons: list[Person], rng: np.random.Generator) -> list[int]:
    """Whom to paint out: most of those in front, at least one of those who can be."""
    able = [i for i, p in enumerate(persons) if (p.joints[:, 2] > 0).sum() >= MIN_JOINTS]
    if not able:
        return []
    seen = [(persons[i].joints[:, 2] == 2).sum() / (persons[i].joints[:, 2] > 0).sum() for i in able]
    chance = np.array([IN_FRONT if s >= FOLLOWED_SEEN else ELSE for s in seen])
    drawn = [i for i, is_out in zip(able, rng.random(len(able)) < chance, strict=True) if is_out]
    return drawn or [able[int(np.argmax(seen))]]


def painted(picture: Picture, teacher: FastestDet, rng: np.random.Generator) -> Scene | None:
    """The picture with some of its people painted out: none of them is a person any more, nor is who shows nothing beside them."""
    out = chosen(picture.persons, rng)
    if not out:
        return None
    whole = scene(picture, teacher)
    height, width = whole.pixels.shape[:2]
    scale = min(1.0, STORED_SIDE / max(picture.pixels.shape[:2]))
    mask = np.zeros((height, width), bool)
    for i in out:
        joints = predicted(picture.persons[i].joints, rng)
        joints[:, :2] *= scale
        mask |= silhouette(joints, (height, width))
    persons: list[Floats] = []
    doubtful: list[Floats] = []
    for i, person in enumerate(picture.persons):
        if i in out:
            continue
        box = np.clip(person_box(picture.pack, person) * scale, 0, (width, height, width, height)).astype(
            np.float32
        )
        xy = (person.joints[person.joints[:, 2] == 2, :2] * scale).astype(int)
        inside = xy[(xy >= 0).all(axis=1) & (xy < (width, height)).all(axis=1)]
        beside = int((~mask[inside[:, 1], inside[:, 0]]).sum())
        if beside >= SEEN_BEHIND:
            persons.append(box)
        elif beside >= HIDDEN_BEHIND:
            doubtful.append(box)
    gone = np.array([person_box(picture.pack, picture.persons[i]) for i in out], np.float32) * scale
    for boxes, kept in ((whole.persons[len(picture.persons) :], persons), (whole.doubtful, doubtful)):
        for box in boxes:
            shared, size = common(box[None], gone)[0], float(areas(box[None])[0])
            if (shared > COVERED * size).any():
                continue
            # the teacher's box round two of them, say
            holds = bool((shared > COVERED * areas(gone)).any())
            (doubtful if holds else kept).append(box)
    rows = [np.array(boxes, np.float32).reshape(-1, 4) for boxes in (persons, doubtful)]
    return Scene(inpaint(whole.pixels, mask), rows[0], rows[1], picture.pack)


def made_of(picture: Picture, teacher: FastestDet, rng: np.random.Generator) -> list[Scene]:
    """The scenes that a picture gives."""
    times = TIMES if picture.pack in RENDERED_PACKS else 1
    scenes = (painted(picture, teacher, rng) for _ in range(times))
    return [s for s in scenes if s is not None]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--teacher", type=Path, required=True, help="fastestdet.onnx")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1, help="who is painted out")
    parser.add_argument(
        "--pack",
        action="append",
        choices=KNOWN_PACKS,
        help="instead of the real ones with joints; may be given again",
    )
    args = parser.parse_args()
    make = partial(made_of, rng=np.random.default_rng(args.seed))
    build(args.data, args.out, FastestDet(args.teacher), args.pack or PACKS, make)


if __name__ == "__main__":
    main()
