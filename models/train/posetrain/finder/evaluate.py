"""How many persons a finder finds, and how many it makes up, on pictures that it has not learned from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from posetrain.data import scenes as stored
from posetrain.data.boxes import iou
from posetrain.data.packs import Floats, ReadReport, read_pack
from posetrain.data.scenes import FastestDet, Scene
from posetrain.finder.net import decode
from posetrain.finder.sample import letterbox
from posetrain.finder.veto import Veto
from posetrain.inference import as_input, session
from posetrain.metrics import bootstrap

THRESHOLDS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
# Smaller persons of COCO count neither as found nor as missed.
LEAST_PX = 32


@dataclass(frozen=True)
class Test:
    """Finds of every test picture at the lowest threshold: best score that meets each labelled person (0
    if none), and the scores of finds that meet nobody; `group` names the picture or clip. `told` and `false_told` are the same of those
    that the keypoint network lets pass: all, where none was asked."""

    met: npt.NDArray[np.float64]
    false: npt.NDArray[np.float64]
    told: npt.NDArray[np.float64]
    false_told: npt.NDArray[np.float64]
    groups: npt.NDArray[np.str_]
    pictures: int

    def recall(self, threshold: float, told: bool = False) -> tuple[float, float, float]:
        hit = ((self.told if told else self.met) >= threshold).astype(np.float64)
        return float(hit.mean()), *bootstrap(hit, np.ones(len(hit)), self.groups)

    def false_per_picture(self, threshold: float, told: bool = False) -> float:
        return float(((self.false_told if told else self.false) >= threshold).sum() / max(self.pictures, 1))


class Finder:
    """An exported finder, of any input size."""

    def __init__(self, path: Path) -> None:
        self.session = session(path)
        _, _, self.net_height, self.net_width = self.session.get_inputs()[0].shape

    def find(self, pixels: npt.NDArray[np.uint8], threshold: float) -> tuple[Floats, Floats]:
        """Boxes in the picture's pixels and scores."""
        crop, s = letterbox(pixels, self.net_width, self.net_height)
        centre, box = self.session.run(["centre", "box"], {"image": as_input(crop)})
        boxes, scores = decode(centre[0, 0], box[0], threshold)
        return np.asarray((boxes + 0.5) / s - 0.5, np.float32), scores


def test(finder: Finder, scenes: list[tuple[Scene, str]], veto: Veto | None = None) -> Test:
    """Finds that meet what the teacher saw are nobody's fault."""
    met, false, told, false_told, groups = [], [], [], [], []
    for s, group in scenes:
        boxes, scores = finder.find(s.pixels, THRESHOLDS[0])
        passed = veto.lets_pass(s.pixels, boxes) if veto else np.ones(len(boxes), bool)
        overlap = (
            iou(boxes, s.persons) if len(boxes) and len(s.persons) else np.zeros((len(boxes), len(s.persons)))
        )
        for person in range(len(s.persons)):
            good = overlap[:, person] >= 0.5
            met.append(float(scores[good].max(initial=0)))
            told.append(float(scores[good & passed].max(initial=0)))
            groups.append(group)
        other = iou(boxes, s.doubtful).max(axis=1) if len(boxes) and len(s.doubtful) else np.zeros(len(boxes))
        nobody = (overlap.max(axis=1, initial=0) < 0.3) & (other < 0.3)
        false.extend(scores[nobody].tolist())
        false_told.extend(scores[nobody & passed].tolist())
    return Test(
        np.asarray(met),
        np.asarray(false),
        np.asarray(told),
        np.asarray(false_told),
        np.asarray(groups),
        len(scenes),
    )


def val_scenes(data: Path, teacher: FastestDet, every: int = 1) -> dict[str, list[tuple[Scene, str]]]:
    """Pictures at stored size: J-HMDB frames, COCO's persons of at least `LEAST_PX`, photos of one person, and parts of val
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
            group = picture.key.split("#")[0]
            if pack == "jhmdb":
                out["jhmdb"].append((s, group))
            if pack == "coco_more":
                tall = (boxes[:, 2:] - boxes[:, :2]).max(axis=1) >= LEAST_PX
                small = np.concatenate([boxes[~tall], seen])
                out["coco"].append((Scene(picture.pixels, boxes[tall], small, pack), group))
            if pack != "jhmdb" and len(boxes) == 1 and int((scores >= 0.4).sum()) <= 1:
                out["single photos"].append((s, group))
            if (empty := stored.empty_part(s, rng)) is not None:
                out["nobody"].append((empty, group))
    return out


def choose_threshold(finder: Finder, scenes: list[Scene], veto: Veto) -> float:
    """Threshold of the best F1 on train pictures and on parts of them that show nobody, after the keypoint network's word: whom that lets
    pass is told of, so a false person costs as much as a missed one."""
    rng = np.random.default_rng(8)
    nobody = [part for s in scenes if (part := stored.empty_part(s, rng)) is not None]
    result = test(finder, [(s, str(k)) for k, s in enumerate([*scenes, *nobody])], veto)

    def f1(threshold: float) -> float:
        found, false = float((result.told >= threshold).sum()), float((result.false_told >= threshold).sum())
        return 2 * found / max(found + len(result.told) + false, 1)

    return max(THRESHOLDS, key=f1)
