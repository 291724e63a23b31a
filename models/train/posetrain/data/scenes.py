"""Pictures for the person finder: whole ones, small, with labelled boxes and what a teacher saw beside.

The packs leave people unlabelled, so unlabelled parts are no background. FastestDet (BSD-3-Clause)
says where they may be: sure finds become persons, doubtful ones regions of which nothing is learned.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from posetrain.data.boxes import areas, common, iou
from posetrain.data.packs import (
    EMPTY_PACKS,
    KNOWN_PACKS,
    PACKS,
    RENDERED_PACKS,
    Floats,
    Person,
    Picture,
    Pixels,
    ReadReport,
    joints_box,
    read_pack,
)
from posetrain.inference import session

# The finder sees 288 x 224, and parts of pictures enlarged: finer ones only cost memory.
STORED_SIDE = 320
# Pictures that are much alike are thinned: neighbouring frames, and the many sport pictures.
EVERY = {"jhmdb": 4, "lspet": 5, "unlabelled/people": 2}
SURE, DOUBTFUL = 0.6, 0.25
# Of a doubtful box, inside a person's.
PART = 0.8
# The teacher's name among the sources (`data.licences`).
TEACHER = "fastestdet"


@dataclass(frozen=True)
class Scene:
    """One picture, boxes x0 y0 x1 y1 in its pixels: `persons` to find, `doubtful` to learn nothing from."""

    pixels: Pixels
    persons: Floats
    doubtful: Floats
    pack: str


class FastestDet:
    """The teacher: boxes [N, 4] in the picture's pixels and scores [N] of persons."""

    def __init__(self, path: Path) -> None:
        self.session = session(path)

    def find(self, pixels: Pixels, threshold: float) -> tuple[Floats, Floats]:
        height, width = pixels.shape[:2]
        image = cv2.resize(pixels[:, :, ::-1], (352, 352), interpolation=cv2.INTER_AREA)
        tensor = np.ascontiguousarray(image.transpose(2, 0, 1)[None].astype(np.float32) / 255)
        out = self.session.run(None, {self.session.get_inputs()[0].name: tensor})[0][0]
        best_class = out[5:].argmax(axis=0)
        score = out[0] ** 0.6 * out[5:].max(axis=0) ** 0.4
        rows, columns = np.nonzero((score >= threshold) & (best_class == 0))
        v = out[:, rows, columns]
        cx, cy = (np.tanh(v[1]) + columns) / 22, (np.tanh(v[2]) + rows) / 22
        w, h = 1 / (1 + np.exp(-v[3])), 1 / (1 + np.exp(-v[4]))
        boxes = np.stack([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2], axis=1) * (
            width,
            height,
            width,
            height,
        )
        scores = score[rows, columns]
        kept: list[int] = []
        for i in np.argsort(-scores):
            if not kept or iou(boxes[i : i + 1], boxes[kept]).max() <= 0.45:
                kept.append(int(i))
        return boxes[kept].astype(np.float32).reshape(-1, 4), scores[kept].astype(np.float32)


def person_box(pack: str, person: Person) -> Floats:
    """Box of the body. LSPET's labels stop at the shoulders: there the joints' box grows by the head."""
    x, y, w, h = person.bbox
    box = np.array([x, y, x + w, y + h], np.float32)
    if pack == "lspet" and (person.joints[5:7, 2] > 0).all() and (person.joints[11:13, 2] > 0).all():
        shoulders, hips = person.joints[5:7, :2].mean(axis=0), person.joints[11:13, :2].mean(axis=0)
        head = shoulders + (shoulders - hips) * 0.55
        x0, y0, x1, y1 = joints_box(person.joints)
        grow = 0.04 * max(x1 - x0, y1 - y0)
        box = np.array(
            [
                min(box[0], head[0] - grow),
                min(box[1], head[1] - grow),
                max(box[2], head[0] + grow),
                max(box[3], head[1] + grow),
            ],
            np.float32,
        )
    return box


def scene(picture: Picture, teacher: FastestDet | None) -> Scene:
    """Where the truth is whole the teacher adds nobody: in pictures of nobody its finds are the mistakes to learn from, in
    rendered ones they may be the persons who are nearly hidden, so they are doubtful."""
    height, width = picture.pixels.shape[:2]
    limit = np.array([width, height, width, height], np.float32)
    persons = np.array(
        [np.clip(person_box(picture.pack, p), 0, limit) for p in picture.persons], np.float32
    ).reshape(-1, 4)
    doubtful = np.zeros((0, 4), np.float32)
    if teacher is not None and picture.pack not in EMPTY_PACKS:
        found, scores = teacher.find(picture.pixels, DOUBTFUL)
        found = np.clip(found, 0, limit)
        new = iou(found, persons).max(axis=1, initial=0) < 0.4 if len(persons) else np.ones(len(found), bool)
        sure = (scores >= SURE) & (picture.pack not in RENDERED_PACKS)
        persons, doubtful = np.concatenate([persons, found[new & sure]]), found[new & ~sure]
    scale = min(1.0, STORED_SIDE / max(height, width))
    pixels = picture.pixels
    if scale < 1:
        small = (round(width * scale), round(height * scale))
        pixels = np.asarray(cv2.resize(pixels, small, interpolation=cv2.INTER_AREA), np.uint8)
    return Scene(np.ascontiguousarray(pixels), persons * scale, doubtful * scale, picture.pack)


def settle(persons: Floats, doubtful: Floats) -> tuple[Floats, Floats]:
    """A person's box mostly inside an earlier one, or round it, may be the same one: doubtful. Labels come first. What is
    doubtful and inside a person is a part of that one: somebody's trunk is background to whoever looks for persons."""
    if len(persons) and len(doubtful):
        doubtful = doubtful[common(doubtful, persons).max(axis=1) < PART * areas(doubtful)]
    again = np.zeros(len(persons), bool)
    size, shared = areas(persons), common(persons, persons)
    for i in range(1, len(persons)):
        again[i] = bool((shared[i, :i] > 0.7 * np.minimum(size[i], size[:i])).any())
    return persons[~again], np.concatenate([doubtful, persons[again]])


def build(
    data: Path,
    out: Path,
    teacher: FastestDet,
    packs: Sequence[str] = PACKS,
    made_of: Callable[[Picture, FastestDet], list[Scene]] | None = None,
) -> None:
    """Writes pixels.bin and index.json of the packs' train pictures; `made_of` says what each becomes, where it is not
    itself, and is given rendered people who are nearly hidden too."""
    out.mkdir(parents=True, exist_ok=True)
    rows, offset, report = [], 0, ReadReport()
    with (out / "pixels.part").open("wb") as handle:
        for pack in packs:
            read = read_pack(data, pack, report, hidden=made_of is not None)
            pictures = (p for p in read if p.split == "train")
            for k, picture in enumerate(pictures):
                if k % EVERY.get(pack, 1):
                    continue
                for s in made_of(picture, teacher) if made_of else [scene(picture, teacher)]:
                    handle.write(s.pixels.tobytes())
                    rows.append(
                        {
                            "pack": pack,
                            "offset": offset,
                            "shape": s.pixels.shape[:2],
                            "persons": s.persons.round(1).tolist(),
                            "doubtful": s.doubtful.round(1).tolist(),
                        }
                    )
                    offset += s.pixels.size
                    report.counts[f"{pack} pictures"] += 1
                    report.counts[f"{pack} persons"] += len(s.persons)
                    report.counts[f"{pack} doubtful"] += len(s.doubtful)
    (out / "index.json").write_text(json.dumps(rows))
    (out / "pixels.part").rename(out / "pixels.bin")
    for name, count in sorted(report.counts.items()):
        print(f"{count:7d} {name}")


def load(path: Path) -> list[Scene]:
    pixels = np.memmap(path / "pixels.bin", np.uint8, "r")
    scenes = []
    for row in json.loads((path / "index.json").read_text()):
        h, w = row["shape"]
        persons, doubtful = (np.asarray(row[k], np.float32).reshape(-1, 4) for k in ("persons", "doubtful"))
        scenes.append(
            Scene(
                pixels[row["offset"] : row["offset"] + h * w * 3].reshape(h, w, 3),
                *settle(persons, doubtful),
                row["pack"],
            )
        )
    return scenes


def empty_part(s: Scene, rng: np.random.Generator, share: tuple[float, float] = (0.3, 0.8)) -> Scene | None:
    """A part of the scene, `share` of its sides, that holds neither a labelled person nor anything the teacher took for one."""
    height, width = s.pixels.shape[:2]
    boxes = np.concatenate([s.persons, s.doubtful])
    for _ in range(8):
        w, h = int(rng.uniform(*share) * width), int(rng.uniform(*share) * height)
        x, y = int(rng.integers(0, width - w + 1)), int(rng.integers(0, height - h + 1))
        clear = (boxes[:, 2] < x) | (boxes[:, 0] > x + w) | (boxes[:, 3] < y) | (boxes[:, 1] > y + h)
        if clear.all() and min(w, h) >= 32:
            none = np.zeros((0, 4), np.float32)
            return Scene(np.ascontiguousarray(s.pixels[y : y + h, x : x + w]), none, none, s.pack)
    return None


def empty_parts(folder: Path) -> list[Pixels]:
    """Parts of the pictures that `build` wrote to `folder`, which show nobody, drawn once."""
    rng = np.random.default_rng(9)
    parts = (empty_part(scene, rng, (0.2, 0.6)) for scene in load(folder))
    return [part.pixels for part in parts if part]


def main() -> None:
    parser = argparse.ArgumentParser(description="Decode the packs' train pictures for the person finder.")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--teacher", type=Path, required=True, help="fastestdet.onnx")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--pack", action="append", choices=KNOWN_PACKS, help="instead of all real ones; may be given again"
    )
    args = parser.parse_args()
    build(args.data, args.out, FastestDet(args.teacher), args.pack or PACKS)


if __name__ == "__main__":
    main()
