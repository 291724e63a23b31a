"""Pictures for the person finder: whole ones, small, with labelled boxes and what a teacher saw beside.

The packs leave people unlabelled, so unlabelled parts are no background. FastestDet (BSD-3-Clause)
says where they may be: sure finds become persons, doubtful ones regions of which nothing is learned.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from posetrain.finder import INPUT, iou
from posetrain.packs import PACKS, Floats, Person, Picture, Pixels, ReadReport, joints_box, read_pack
from posetrain.peers import session

# The network sees 160 px: finer pictures only cost memory.
STORED_SIDE = 200
# Pictures that are much alike are thinned: neighbouring frames, and the many sport pictures.
EVERY = {"jhmdb": 4, "lspet": 5, "unlabelled/people": 2}
SURE, DOUBTFUL = 0.6, 0.25


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
    height, width = picture.pixels.shape[:2]
    limit = np.array([width, height, width, height], np.float32)
    persons = np.array(
        [np.clip(person_box(picture.pack, p), 0, limit) for p in picture.persons], np.float32
    ).reshape(-1, 4)
    doubtful = np.zeros((0, 4), np.float32)
    if teacher is not None:
        found, scores = teacher.find(picture.pixels, DOUBTFUL)
        found = np.clip(found, 0, limit)
        new = iou(found, persons).max(axis=1, initial=0) < 0.4 if len(persons) else np.ones(len(found), bool)
        persons, doubtful = (
            np.concatenate([persons, found[new & (scores >= SURE)]]),
            found[new & (scores < SURE)],
        )
    scale = min(1.0, STORED_SIDE / max(height, width))
    pixels = picture.pixels
    if scale < 1:
        small = (round(width * scale), round(height * scale))
        pixels = np.asarray(cv2.resize(pixels, small, interpolation=cv2.INTER_AREA), np.uint8)
    return Scene(np.ascontiguousarray(pixels), persons * scale, doubtful * scale, picture.pack)


def settle(persons: Floats, doubtful: Floats) -> tuple[Floats, Floats]:
    """A box mostly inside an earlier one, or round it, may be the same one: doubtful. Labels come first."""
    again = np.zeros(len(persons), bool)
    for i in range(1, len(persons)):
        low = np.maximum(persons[i, :2], persons[:i, :2])
        high = np.minimum(persons[i, 2:], persons[:i, 2:])
        common = np.clip(high - low, 0, None).prod(axis=1)
        areas = (persons[: i + 1, 2:] - persons[: i + 1, :2]).prod(axis=1)
        again[i] = bool((common > 0.7 * np.minimum(areas[i], areas[:i])).any())
    return persons[~again], np.concatenate([doubtful, persons[again]])


def build(data: Path, out: Path, teacher: FastestDet) -> None:
    """Writes pixels.bin and index.json of the train pictures."""
    out.mkdir(parents=True, exist_ok=True)
    rows, offset, report = [], 0, ReadReport()
    with (out / "pixels.part").open("wb") as handle:
        for pack in PACKS:
            pictures = (p for p in read_pack(data, pack, report) if p.split == "train")
            for k, picture in enumerate(pictures):
                if k % EVERY.get(pack, 1):
                    continue
                s = scene(picture, teacher)
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


def letterbox(pixels: Pixels, size: int = INPUT) -> tuple[Pixels, float]:
    """The device's input: the picture scaled into the top left corner; and the scale."""
    height, width = pixels.shape[:2]
    s = min(size / width, size / height)
    matrix = np.array([[s, 0, 0.5 * s - 0.5], [0, s, 0.5 * s - 0.5]], np.float32)
    # a picture more than twice too large is averaged down first: bilinear sampling alone would skip pixels
    if s < 0.5:
        twice = (round(width * s * 2), round(height * s * 2))
        pixels = np.asarray(cv2.resize(pixels, twice, interpolation=cv2.INTER_AREA), np.uint8)
        matrix = np.array([[0.5, 0, -0.25], [0, 0.5, -0.25]], np.float32)
    return np.asarray(cv2.warpAffine(pixels, matrix, (size, size), flags=cv2.INTER_LINEAR), np.uint8), s


def _place(
    canvas: Pixels,
    region: tuple[int, int, int, int],
    s: Scene,
    rng: np.random.Generator,
    whole: bool,
    persons: list[Floats],
    doubtful: list[Floats],
) -> None:
    """Draws a scene into a region (x, y, w, h) of the canvas, mirrored half the time, and adds
    what is seen of its boxes."""
    x, y, w, h = region
    height, width = s.pixels.shape[:2]
    if whole or not len(s.persons):
        scale = min(w / width, h / height) * float(rng.uniform(0.85, 1.15))
        tx, ty = rng.uniform(-0.08, 0.08, 2) * (w, h)
    else:
        box = s.persons[int(rng.integers(len(s.persons)))]
        size = np.maximum(box[2:] - box[:2], 4)
        target = max(w, h) * float(np.exp(rng.uniform(np.log(0.2), np.log(1.0))))
        scale = float(np.clip(target / size.max(), 0.15, 2.5))
        room = np.maximum(np.array([w, h]) - size * scale, 0)
        corner = rng.uniform(0, 1, 2) * room - rng.uniform(0, 0.15, 2) * size * scale * (rng.random(2) < 0.3)
        tx, ty = corner - box[:2] * scale
    flip = rng.random() < 0.5
    matrix = np.array([[scale, 0, tx], [0, scale, ty]], np.float32)
    if flip:
        matrix = np.array([[-scale, 0, w - 1 - tx], [0, scale, ty]], np.float32)
    kind = cv2.INTER_NEAREST if rng.random() < 0.1 else cv2.INTER_LINEAR
    # beside the picture: mostly black as on the device, else smeared edges or one colour, so that black
    # alone is no sign
    border = cv2.BORDER_REPLICATE if rng.random() < 0.25 else cv2.BORDER_CONSTANT
    shade = tuple(int(v) for v in rng.integers(0, 256, 3)) if rng.random() < 0.3 else (0, 0, 0)
    canvas[y : y + h, x : x + w] = cv2.warpAffine(
        s.pixels, matrix, (w, h), flags=kind, borderMode=border, borderValue=shade
    )
    for boxes, seen_as in ((s.persons, persons), (s.doubtful, doubtful)):
        for box in boxes:
            xs, ys = matrix[0, 0] * box[[0, 2]] + matrix[0, 2], scale * box[[1, 3]] + ty
            moved = np.array([xs.min(), ys.min(), xs.max(), ys.max()], np.float32)
            cut = np.clip(moved, 0, (w, h, w, h))
            area, seen = float((moved[2:] - moved[:2]).prod()), float((cut[2:] - cut[:2]).prod())
            if seen <= 0:
                continue
            cut[[0, 2]] += x
            cut[[1, 3]] += y
            small = (cut[2:] - cut[:2]).max() < 12
            # less than a third in view, or smaller than a cell and a half: neither a person nor background
            (doubtful if seen < 0.33 * area or small else seen_as).append(cut)


def sample(
    scenes: list[Scene], share: npt.NDArray[np.float64], rng: np.random.Generator, size: int = INPUT
) -> tuple[Pixels, Floats, Floats]:
    """One training picture [size, size, 3], persons and doubtful boxes in its pixels."""
    canvas = np.zeros((size, size, 3), np.uint8)
    persons: list[Floats] = []
    doubtful: list[Floats] = []

    def pick() -> Scene:
        return scenes[int(rng.choice(len(scenes), p=share))]

    kind = rng.random()
    if kind < 0.35:
        s = pick()
        shape = s.pixels.shape
        h, w = (
            (size, max(8, size * shape[1] // shape[0]))
            if shape[0] >= shape[1]
            else (max(8, size * shape[0] // shape[1]), size)
        )
        _place(canvas, (0, 0, min(w, size), min(h, size)), s, rng, True, persons, doubtful)
    elif kind < 0.65:
        # the shapes that cameras give: 4:3, 16:9 and square, in the top left corner
        h = int(size * (1.0, 0.75, 0.5625)[int(rng.integers(3))])
        _place(canvas, (0, 0, size, h), pick(), rng, False, persons, doubtful)
    else:
        cx, cy = (int(v) for v in rng.integers(size * 3 // 10, size * 7 // 10, 2))
        for x, y, w, h in (
            (0, 0, cx, cy),
            (cx, 0, size - cx, cy),
            (0, cy, cx, size - cy),
            (cx, cy, size - cx, size - cy),
        ):
            if rng.random() < 0.9:
                _place(canvas, (x, y, w, h), pick(), rng, rng.random() < 0.3, persons, doubtful)
    empty = np.zeros((0, 4), np.float32)
    return canvas, np.array(persons) if persons else empty, np.array(doubtful) if doubtful else empty


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


def main() -> None:
    parser = argparse.ArgumentParser(description="Decode the packs' train pictures for the person finder.")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--teacher", type=Path, required=True, help="fastestdet.onnx")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    build(args.data, args.out, FastestDet(args.teacher))


if __name__ == "__main__":
    main()
