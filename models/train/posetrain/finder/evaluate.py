"""How many persons a finder finds, and how many it makes up, on pictures that it has not learned from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from posetrain.data import scenes as stored
from posetrain.data.boxes import iou
from posetrain.data.packs import Floats, ReadReport, read_pack
from posetrain.data.scenes import FastestDet, Scene
from posetrain.data.source import source_of
from posetrain.finder.net import Size, decode
from posetrain.finder.sample import letterbox
from posetrain.inference import as_input, session
from posetrain.metrics import bootstrap

THRESHOLDS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
# Nobody begins with a lower probability: `newcomer_score` of the program's rules.
BEGINS = 0.25
NOBODY, ANOTHER = -1, -2
# Smaller persons of COCO count neither as found nor as missed.
MIN_PX = 32


@dataclass(frozen=True)
class Rule:
    """How the program counts a find beside the keypoint network's word (`with_presence` of a finder's manifest)."""

    threshold: float
    neutral: float
    weight: float


@dataclass(frozen=True)
class Test:
    """Finds of every test picture from the lowest threshold on: their scores, what the keypoint network says of their crops (1 where
    none was asked), and whom of the labelled persons each meets (`NOBODY`, or `ANOTHER`: somebody whom no label is about). `groups` names
    each labelled person's picture or, of J-HMDB, video."""

    score: npt.NDArray[np.float64]
    presence: npt.NDArray[np.float64]
    person: npt.NDArray[np.int64]
    groups: npt.NDArray[np.str_]
    pictures: int

    def alone(self, threshold: float) -> npt.NDArray[np.bool_]:
        """Which finds count by themselves."""
        return self.score >= threshold

    def together(self, rule: Rule) -> npt.NDArray[np.bool_]:
        """Which finds begin somebody in the program, which asks both networks (`WithPresence::both` in src/infer/manifest.rs)."""
        yes = self.presence * (self.score * (1 - rule.neutral)) ** rule.weight
        no = (1 - self.presence) * ((1 - self.score) * rule.neutral) ** rule.weight
        return (self.score >= rule.threshold) & (yes >= BEGINS / (1 - BEGINS) * no)

    def recall(self, counts: npt.NDArray[np.bool_]) -> tuple[float, float, float]:
        hit = np.isin(np.arange(len(self.groups)), self.person[counts]).astype(np.float64)
        return float(hit.mean()), *bootstrap(hit, np.ones(len(hit)), self.groups)

    def false_per_picture(self, counts: npt.NDArray[np.bool_]) -> float:
        return float((counts & (self.person == NOBODY)).sum() / max(self.pictures, 1))

    def f1(self, counts: npt.NDArray[np.bool_]) -> float:
        found = len(np.unique(self.person[counts & (self.person >= 0)]))
        return 2 * found / max(found + len(self.groups) + int((counts & (self.person == NOBODY)).sum()), 1)


class Finder:
    """An exported finder, of any input size."""

    def __init__(self, path: Path) -> None:
        self.session = session(path)
        _, _, height, width = self.session.get_inputs()[0].shape
        self.size = Size(width, height)

    def find(self, pixels: npt.NDArray[np.uint8], threshold: float) -> tuple[Floats, Floats]:
        """Boxes in the picture's pixels and scores."""
        crop, s = letterbox(pixels, self.size)
        centre, box = self.session.run(["centre", "box"], {"image": as_input(crop)})
        boxes, scores = decode(centre[0, 0], box[0], threshold)
        return np.asarray((boxes + 0.5) / s - 0.5, np.float32), scores


def test(
    finder: Finder,
    scenes: list[tuple[Scene, str]],
    presence: Callable[[npt.NDArray[np.uint8], Floats], npt.NDArray[np.float64]] | None = None,
) -> Test:
    """Finds that meet what the teacher saw are nobody's fault."""
    score: list[float] = []
    present: list[float] = []
    person: list[int] = []
    groups: list[str] = []
    for s, group in scenes:
        boxes, scores = finder.find(s.pixels, THRESHOLDS[0])
        overlap = (
            iou(boxes, s.persons) if len(boxes) and len(s.persons) else np.zeros((len(boxes), len(s.persons)))
        )
        most = overlap.max(axis=1, initial=0)
        other = iou(boxes, s.doubtful).max(axis=1) if len(boxes) and len(s.doubtful) else np.zeros(len(boxes))
        for k in range(len(boxes)):
            is_nobody = most[k] < 0.3 and other[k] < 0.3
            met = (
                len(groups) + int(overlap[k].argmax()) if most[k] >= 0.5 else NOBODY if is_nobody else ANOTHER
            )
            person.append(met)
        score.extend(scores.tolist())
        present.extend(presence(s.pixels, boxes).tolist() if presence else [1.0] * len(boxes))
        groups.extend([group] * len(s.persons))
    return Test(
        np.asarray(score), np.asarray(present), np.asarray(person, np.int64), np.asarray(groups), len(scenes)
    )


def val_scenes(data: Path, teacher: FastestDet, every: int = 1) -> dict[str, list[tuple[Scene, str]]]:
    """Pictures at stored size: J-HMDB frames, COCO's persons of at least `MIN_PX`, photos of one person, and parts of val
    pictures that show nobody."""
    report = ReadReport()
    out: dict[str, list[tuple[Scene, str]]] = {"jhmdb": [], "coco": [], "single photos": [], "nobody": []}
    rng = np.random.default_rng(9)
    for pack in (
        "jhmdb",
        "coco_more",
        "unlabelled/people",
        "unlabelled/free_exercise",
        "unlabelled/ccp",
        "lspet",
    ):
        for k, picture in enumerate(p for p in read_pack(data, pack, report) if p.split == "val"):
            if k % (3 * every if pack == "jhmdb" else every):
                continue
            seen, scores = teacher.find(picture.pixels, 0.15)
            boxes = np.array([stored.person_box(pack, p) for p in picture.persons], np.float32).reshape(-1, 4)
            s = Scene(picture.pixels, boxes, seen, pack)
            group = source_of(picture.key)
            if pack == "jhmdb":
                out["jhmdb"].append((s, group))
            if pack == "coco_more":
                tall = (boxes[:, 2:] - boxes[:, :2]).max(axis=1) >= MIN_PX
                small = np.concatenate([boxes[~tall], seen])
                out["coco"].append((Scene(picture.pixels, boxes[tall], small, pack), group))
            if pack != "jhmdb" and len(boxes) == 1 and int((scores >= 0.4).sum()) <= 1:
                out["single photos"].append((s, group))
            if (empty := stored.empty_part(s, rng)) is not None:
                out["nobody"].append((empty, group))
    return out


def choose_threshold(result: Test) -> float:
    """Of the best F1, for a finder that counts alone."""
    return max(THRESHOLDS, key=lambda t: result.f1(result.alone(t)))
