"""Pack `free_films`: persons in frames of films, and in photos, whose makers let anybody use them; labelled by MoveNet Thunder.

    python -m posetrain.keypoints.filmed --git GIT [--git GIT ...] --thunder movenet_thunder_maps.onnx --out OUT

GIT is the git directory of one of the repositories of `FREE`, in a folder of the repository's name (OWNER+NAME/repo). Never
measure a network on these labels: where Thunder is unsure nothing is labelled.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from posetrain.data.augment import plain_crop
from posetrain.data.boxes import iou
from posetrain.data.gather import Entry, Git, box_of, scaled, write
from posetrain.data.packs import BODY, Floats, Pixels, decode
from posetrain.keypoints.relabel import labels, seen_by_teacher
from posetrain.keypoints.taught import CELLS, SIDE, STRIDE
from posetrain.keypoints.teach import Teacher, Thunder, stored

PACK = "free_films"
# Frames are stored at most so large: a person's crop is cut down further (`posetrain.data.cache`).
LONGER_PX = 960
# A person is written who is at least so large, with so many body joints that Thunder is sure of.
MIN_PX, MIN_JOINTS = 90.0, 8
# Mean probability of body joints: below UPRIGHT the picture is looked at on its sides too, below KNOWN nobody is written.
UPRIGHT, KNOWN = 0.85, 0.7
ROUNDS, SAME_BOX, PART_OF_POSE = 3, 0.8, 0.3
# Of a film a frame every so many seconds is looked at, and written if the pose or the place has changed by parts of the extent.
EVERY_S, OTHER_POSE, OTHER_PLACE = 0.6, 0.05, 0.6
QUARTERS = (0, 1, 3)


@dataclass(frozen=True)
class Free:
    """Of one repository: the terms that it states, what of it is read, and every how many photos one is."""

    terms: str
    films: str = ""
    photos: str = ""
    every: int = 1


FREE = {
    "ekramalam+GMDCSA24-A-Dataset-for-Human-Fall-Detection-in-Videos": Free("MIT", r"\.mp4$"),
    "intel-iot-devkit+sample-videos": Free(
        "CC BY 4.0",
        # not the others: people from behind on whom Thunder takes left for right, and empty rooms where it sees somebody
        r"^asl_gestures/.*\.mkv$|^preview/(classroom|face-|head-|store-).*\.gif$",
    ),
    "perfanalytics+pose2sim": Free("BSD-3-Clause", r"^Pose2Sim/Demo_Batch/.*\.mp4$"),
    "davidpagnon+Sports2D": Free("BSD-3-Clause", r"^Sports2D/Demo/demo\.mp4$"),
    "emrecandir9+custom-gesture-dataset": Free("MIT", photos=r"^dataset/photos/(body|hand)/.*_org\.jpg$", every=40),
}  # fmt: skip


@dataclass(frozen=True)
class Found:
    """Joints [17, 3] = x, y in the picture and Thunder's probability that each is near."""

    joints: Floats

    @property
    def sure(self) -> float:
        return float(self.joints[BODY, 2].mean())

    @property
    def box(self) -> Floats:
        """x0 y0 x1 y1 of what Thunder has some idea of."""
        some = self.joints[self.joints[:, 2] >= PART_OF_POSE, :2]
        places = some if len(some) > 1 else self.joints[:, :2]
        return np.concatenate([places.min(axis=0), places.max(axis=0)])


def whole(shape: tuple[int, ...]) -> Floats:
    """The box whose crop is the whole picture."""
    height, width = shape[:2]
    half = max(height, width) / SIDE / 2
    return np.array([width / 2 - half, height / 2 - half, width / 2 + half, height / 2 + half], np.float32)


def settled(teacher: Teacher, pixels: Pixels, box: Floats) -> Found:
    """What the teacher sees, looked at again round what it saw until that stays where it is."""
    for _ in range(ROUNDS):
        found = Found(seen_by_teacher(stored(teacher.maps(pixels, box)), box))
        if float(iou(found.box[None], box[None])[0, 0]) >= SAME_BOX:
            break
        box = found.box
    return found


def turned(places: Floats, quarters: int, shape: tuple[int, ...]) -> Floats:
    """Places [n, 2] of a picture turned by `np.rot90(picture, quarters)`, in the picture of `shape` before that."""
    height, width = shape[:2]
    x, y = places[:, 0], places[:, 1]
    back = {0: (x, y), 1: (width - 1 - y, x), 2: (width - 1 - x, height - 1 - y), 3: (y, height - 1 - x)}
    return np.stack(back[quarters], axis=1)


class Quick:
    """Thunder without the mirror image: half the time, and good enough to find somebody."""

    def __init__(self, thunder: Thunder) -> None:
        self.thunder, self.names = thunder, thunder.names

    def maps(self, pixels: Pixels, box: Floats) -> Floats:
        return self.thunder.one(plain_crop(pixels, box, CELLS * STRIDE, SIDE)[0])


def person(teacher: Teacher, pixels: Pixels, near: Floats | None = None) -> Found:
    """The person whom the teacher is surest of, sought round `near` first, then in the whole picture, then with the picture on
    either side: the teacher does not know people who lie."""
    best = settled(teacher, pixels, near) if near is not None else None
    for quarters in QUARTERS:
        if best is not None and best.sure >= UPRIGHT:
            break
        looked = np.ascontiguousarray(np.rot90(pixels, quarters))
        found = settled(teacher, looked, whole(looked.shape))
        places = turned(found.joints[:, :2], quarters, pixels.shape)
        back = Found(np.concatenate([places, found.joints[:, 2:]], axis=1))
        if best is None or back.sure > best.sure:
            best = back
    assert best is not None
    return best


def changed(joints: Floats, before: Floats | None) -> bool:
    """Whether a frame shows what the last one that was written (`before`) does not."""
    if before is None:
        return True
    both = (joints[:, 2] > 0) & (before[:, 2] > 0)
    if both.sum() < MIN_JOINTS:
        return True
    now, then = joints[both, :2], before[both, :2]
    extent = max(float(np.ptp(then, axis=0).max()), 1.0)
    place = float(np.linalg.norm(now.mean(axis=0) - then.mean(axis=0))) / extent
    pose = np.linalg.norm((now - now.mean(axis=0)) - (then - then.mean(axis=0)), axis=1).mean() / extent
    return bool(pose >= OTHER_POSE or place >= OTHER_PLACE)


def at_most(pixels: Pixels, longer: int = LONGER_PX) -> Pixels:
    """The picture, made smaller where its longer side has more than so many pixels."""
    height, width = pixels.shape[:2]
    scale = min(1.0, longer / max(height, width))
    size = (round(width * scale), round(height * scale))
    return np.asarray(
        cv2.resize(pixels, size, interpolation=cv2.INTER_AREA) if scale < 1 else pixels, np.uint8
    )


def frames(film: bytes, suffix: str) -> Iterator[Pixels]:
    """RGB frames, EVERY_S apart."""
    with tempfile.NamedTemporaryFile(suffix=suffix) as handle:  # OpenCV opens films by path only
        handle.write(film)
        handle.flush()
        video = cv2.VideoCapture(handle.name)
        step = max(1, round(EVERY_S * min(60.0, max(5.0, video.get(cv2.CAP_PROP_FPS) or 25.0))))
        for index in range(10**9):
            if not video.grab():
                return
            if index % step == 0 and (read := video.retrieve())[0]:
                yield np.ascontiguousarray(read[1][:, :, ::-1])


def entry(teacher: Teacher, pixels: Pixels, name: str, source: str, near: Floats | None) -> Entry | None:
    found = person(teacher, pixels, near)
    joints = labels(found.joints, np.array(pixels.shape[:2], np.int32))
    seen = joints[joints[:, 2] > 0, :2]
    body = int((joints[BODY, 2] > 0).sum())
    if found.sure < KNOWN or body < MIN_JOINTS or float(np.ptp(seen, axis=0).max()) < MIN_PX:
        return None
    height, width = pixels.shape[:2]
    exact = joints.astype(np.float64)
    return Entry(name, scaled(pixels, (height, width)), (height, width), [(exact, box_of(exact))], source)


def free_films(teacher: Teacher, repositories: list[Git], counts: Counter[str]) -> Iterator[Entry]:
    """Raises KeyError for a repository that is not in FREE: its terms nobody looked up."""
    for git in repositories:
        free = FREE[git.folder.parent.name]
        source = f"{git.source}, {free.terms}, labelled by {', '.join(teacher.names)}"
        short = re.sub(r"[^a-z0-9]+", "-", git.folder.parent.name.lower())[:24]
        films = sorted(p for p in git.blobs if free.films and re.search(free.films, p))
        for path in films:
            data, before, last = git.held(path), None, None
            if not data:
                counts["film that the copy of its repository lacks"] += 1
                continue
            for k, frame in enumerate(frames(data, Path(path).suffix)):
                name = f"{short}-{re.sub(r'[^A-Za-z0-9]+', '-', path)}-{k:03d}.jpg"
                made = entry(teacher, at_most(frame), name, source, last)
                if made is None:
                    counts["frame with nobody to be sure of"] += 1
                    last = None
                    continue
                joints, (x, y, w, h) = made.persons[0]
                last = np.array([x, y, x + w, y + h], np.float32)
                if not changed(joints.astype(np.float32), before):
                    counts["frame like the one before"] += 1
                    continue
                before = joints.astype(np.float32)
                yield made
        photos = sorted(p for p in git.blobs if free.photos and re.search(free.photos, p))[:: free.every]
        for path in photos:
            pixels = decode(git.held(path))
            name = f"{short}-{re.sub(r'[^A-Za-z0-9]+', '-', path)}.jpg"
            made = entry(teacher, at_most(pixels), name, source, None) if pixels is not None else None
            if made is None:
                counts["photo with nobody to be sure of"] += 1
                continue
            yield made


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--git", action="append", required=True, help="git directory, or GIT@COMMIT; may be given again"
    )
    parser.add_argument("--thunder", type=Path, required=True, help="MoveNet Thunder with its inner maps")
    parser.add_argument("--out", type=Path, required=True, help="folder for packs")
    args = parser.parse_args()
    cv2.setNumThreads(1)
    counts: Counter[str] = Counter()
    gits = [Git.named(text) for text in args.git]
    unknown = [g.folder.parent.name for g in gits if g.folder.parent.name not in FREE]
    if unknown:
        parser.error(f"{', '.join(unknown)}: not in FREE; look its terms up and add it there")
    write(free_films(Quick(Thunder(args.thunder)), gits, counts), args.out / PACK, PACK, counts)
    for what, count in sorted(counts.items()):
        print(f"{count:7d} {what}")


if __name__ == "__main__":
    main()
