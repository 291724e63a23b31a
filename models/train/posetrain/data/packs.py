"""Readers of the data packs: one `Picture` with its labelled `Person`s at a time, RGB, pixels of the
stored picture.

Splits are fixed here, before any training, and by picture or video so that no source is on two sides:
`train`, `calib` (train-side pictures kept back to fit score and sigma), `val` (to choose among own runs). They hang on names, never on a
place in a pack, which may grow: by `splits/PACK.toml`, or by a hash, which is for new packs.
"""

from __future__ import annotations

import contextlib
import json
import tarfile
import tempfile
import tomllib
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from posetrain.paths import SPLITS

Pixels = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]

JOINTS = 17
BODY = slice(5, 17)  # the twelve joints below the head: the ones every pack labels and peers are compared on
FACE, HIDDEN = slice(0, 5), 1
MIRROR = np.array([0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15])
# joints that a bone lies between, and the shoulders and hips
LIMBS: tuple[tuple[int, int], ...] = (
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
)
STILL_PACKS = (
    "lspet",
    "coco_more",
    "coco_subset",
    "pelota",
    "unlabelled/free_exercise",
    "unlabelled/ccp",
    "unlabelled/people",
)
PACKS = (*STILL_PACKS, "jhmdb")
# Made by `posetrain.data.gather` of what public repositories hold, and by this project's renderer; in the packs' own form.
FETCHED_PACKS = ("coco_fetched", "lsp", "parse", "buffy")
RENDERED_PACKS = ("rendered", "rendered_over_coco")
# Pictures of nobody: what a mistaken find shows.
EMPTY_PACKS = ("coco_nobody",)
# Made by `posetrain.keypoints.filmed`: frames of films that anybody may use, labelled by MoveNet Thunder.
FILMED_PACKS = ("free_films",)
# Made by `posetrain.keypoints.actions`: photos for research, labelled by MoveNet Thunder.
ACTION_PACKS = ("stanford40_more",)
# Made by `posetrain.finder.found`: photos and films whose terms nobody states.
FOUND_PACKS = ("found_people",)
# Pictures with boxes round persons and without joints: for the finder alone.
BOX_PACKS = ("person_boxes",)
# Made by `posetrain.temporal.acted`: frames of films whose terms nobody states, labelled over the whole film.
ACTED_PACKS = ("acted_films",)
# A cache names packs by their place in here, so new ones are added at the end.
KNOWN_PACKS = (
    *PACKS,
    *FETCHED_PACKS,
    *RENDERED_PACKS,
    *EMPTY_PACKS,
    *FILMED_PACKS,
    *ACTION_PACKS,
    *FOUND_PACKS,
    *BOX_PACKS,
    *ACTED_PACKS,
)
PSEUDO = frozenset(p for p in PACKS if p.startswith("unlabelled/"))

# Of a rendered person at least this part is seen, or nothing in the picture says whom the crop is about.
MIN_SEEN = 0.35


@dataclass(frozen=True)
class Person:
    """One labelled person. `joints` is [17, 3] = x, y, v (0 not labelled, 1 hidden, 2 seen); `bbox` = x,
    y, w, h."""

    annotation_id: int
    joints: Floats
    bbox: tuple[float, float, float, float]
    tier: int = 1


@dataclass(frozen=True)
class Picture:
    pack: str
    split: str
    key: str  # file name, and the frame for videos
    pixels: Pixels  # [H, W, 3] RGB
    persons: list[Person]


@dataclass
class ReadReport:
    """What a pass over a pack met: corrupt pictures are skipped and counted here, never silently lost."""

    counts: Counter[str] = field(default_factory=Counter)


def joints_box(joints: Floats) -> tuple[float, float, float, float]:
    """x0, y0, x1, y1 of the labelled joints; needs at least one."""
    seen = joints[joints[:, 2] > 0]
    x0, y0 = seen[:, :2].min(axis=0)
    x1, y1 = seen[:, :2].max(axis=0)
    return float(x0), float(y0), float(x1), float(y1)


def _bucket(text: str, buckets: int) -> int:
    return zlib.crc32(text.encode()) % buckets


def _named_splits() -> dict[str, dict[str, str]]:
    """By pack and file name."""
    said = {path.stem: tomllib.loads(path.read_text()) for path in sorted(SPLITS.glob("*.toml"))}
    return {
        pack: {name: split for split, names in splits.items() for name in names}
        for pack, splits in said.items()
    }


# Packs that have no val part of their own: what of them is judged on stands in SPLITS.
LISTED_PACKS = ("coco_more", "coco_nobody")
NAMED = _named_splits()


def _require_list(pack: str) -> None:
    """Raises FileNotFoundError where nothing says what of `pack` is judged on: all would be learned from."""
    if pack in LISTED_PACKS and pack not in NAMED:
        raise FileNotFoundError(
            f"{SPLITS / pack}.toml, which says what of `{pack}` is judged on, is missing: take it from the repository, "
            "or install models/train anew"
        )


def _still_split(pack: str, record: dict[str, Any]) -> str:
    if record["split"] == "val":
        return "val"
    if pack in NAMED:
        return NAMED[pack].get(record["file_name"], "train")
    if pack == "lspet":
        return "calib" if _bucket(record["file_name"], 40) == 0 else "train"
    return "train"


def _person(annotation: dict[str, Any]) -> Person:
    joints = np.asarray(annotation["keypoints"], np.float32).reshape(JOINTS, 3)
    box = annotation["bbox"]
    return Person(
        int(annotation["id"]), joints, (box[0], box[1], box[2], box[3]), int(annotation.get("tier", 1))
    )


def decode(data: bytes) -> Pixels | None:
    """RGB pixels, or None where the bytes hold no picture."""
    bgr = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR) if data else None
    return None if bgr is None else np.ascontiguousarray(bgr[:, :, ::-1])


@contextlib.contextmanager
def _tars(folder: Path) -> Iterator[Callable[[str], tarfile.TarFile]]:
    """Gives the folder's tars by name: opened once, all closed at the end."""
    with contextlib.ExitStack() as stack:
        opened: dict[str, tarfile.TarFile] = {}

        def tar(name: str) -> tarfile.TarFile:
            if name not in opened:
                opened[name] = stack.enter_context(tarfile.open(folder / name))
            return opened[name]

        yield tar


def read_stills(root: Path, pack: str, report: ReadReport, hidden: bool = False) -> Iterator[Picture]:
    """`hidden`: rendered people who are nearly hidden too, and their faces seen from behind."""
    _require_list(pack)
    labels = json.loads((root / pack / "labels.json").read_text())
    persons: dict[int, list[Person]] = defaultdict(list)
    for annotation in labels["annotations"]:
        if annotation.get("label_suspect") or annotation.get("iscrowd"):
            report.counts["suspect or crowd label"] += 1
            continue
        if not hidden and annotation.get("area", 1.0) < MIN_SEEN * annotation.get("whole_area", 0.0):
            report.counts["rendered person who is nearly hidden"] += 1
            continue
        if annotation.get("sides") == "picture":
            # left and right as the picture has them: wrong for backs until somebody has looked
            report.counts["person whose left and right nobody has settled"] += 1
            continue
        if "keypoints" in annotation:
            person = _person(annotation)
            if pack in RENDERED_PACKS and not hidden:
                # COCO's annotators leave out the face of a head that is seen from behind
                person.joints[FACE][person.joints[FACE, 2] == HIDDEN] = 0
            persons[annotation["image_id"]].append(person)
    held = {record["file_name"] for record in labels["images"]}
    for name, split in NAMED.get(pack, {}).items():
        if name not in held:
            report.counts[f"picture of {split} that the pack lacks"] += 1
    with _tars(root / pack) as tar:
        for record in sorted(labels["images"], key=lambda r: r["id"]):
            source = tar(record["tar"])
            try:
                member = source.extractfile(record["file_name"])
                pixels = decode(member.read()) if member else None
            except (KeyError, OSError, tarfile.TarError):
                pixels = None
            if pixels is None or pixels.shape[:2] != (record["height"], record["width"]):
                report.counts["corrupt picture"] += 1
                continue
            split = _still_split(pack, record)
            yield Picture(pack, split, record["file_name"], pixels, persons[record["id"]])


def clip_split(clip: dict[str, Any]) -> str | None:
    """Where a clip of J-HMDB belongs, whole videos together: of one that is kept back to fit scores the coarser labels, tier 2, belong
    nowhere (None)."""
    split: str = clip["split"]
    if split == "train" and _bucket(clip["source_video"], 16) == 0:
        return "calib" if clip["tier"] == 1 else None
    return split


def films(root: Path) -> Iterator[tuple[dict[str, Any], list[Pixels], list[dict[str, Any]]]]:
    """J-HMDB's clips: what the labels say of each, its frames, and their annotations (as many as the clip has frames)."""
    labels = json.loads((root / "jhmdb" / "labels.json").read_text())
    with _tars(root / "jhmdb") as tar:
        for clip in labels["clips"]:
            member = tar(clip["tar"]).extractfile(clip["file_name"])
            first = clip["first_image_id"] - 1
            annotations = labels["annotations"][first : first + clip["frames"]]
            yield clip, _frames(member.read() if member else b""), annotations


def _frames(film: bytes) -> list[Pixels]:
    with tempfile.NamedTemporaryFile(suffix=".avi") as handle:  # OpenCV opens videos by path only
        handle.write(film)
        handle.flush()
        video = cv2.VideoCapture(handle.name)
        frames: list[Pixels] = []
        while (read := video.read())[0]:
            frames.append(np.ascontiguousarray(read[1][:, :, ::-1]))
    return frames


def read_clips(root: Path, report: ReadReport) -> Iterator[Picture]:
    """J-HMDB. Every frame of `val` and `calib`, every second of `train`: neighbours add little there."""
    for clip, frames, labels in films(root):
        split = clip_split(clip)
        if split is None:
            report.counts["clip of a video kept back, with coarse labels"] += 1
            continue
        if len(frames) != clip["frames"]:
            report.counts["clip with missing frames"] += 1
        step = 2 if split == "train" else 1
        for index in range(0, min(len(frames), clip["frames"]), step):
            person = _person(labels[index])
            yield Picture("jhmdb", split, f"{clip['file_name']}#{index}", frames[index], [person])


def read_pack(root: Path, pack: str, report: ReadReport, hidden: bool = False) -> Iterator[Picture]:
    return read_clips(root, report) if pack == "jhmdb" else read_stills(root, pack, report, hidden)
