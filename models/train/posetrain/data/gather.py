"""Makes packs of what public repositories hold, in the packs' own form (`labels.json`, `images_0.tar`), for `posetrain.data.packs`.

    python -m posetrain.data.gather coco_fetched --labels GIT --git GIT [--git GIT ...] --known PACKS --out OUT
    python -m posetrain.data.gather coco_nobody --git GIT [--git GIT ...] --out OUT
    python -m posetrain.data.gather lsp|parse|buffy|person_boxes --git GIT --out OUT

GIT is a repository's git directory, which is read without a work tree; GIT@COMMIT reads an earlier commit of it. Nothing that
a benchmark holds back is written: COCO train2017 alone, the first 1,000 of the original LSP alone.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import subprocess
import tarfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from scipy.io import loadmat

from posetrain.data.packs import BOX_PACKS, EMPTY_PACKS, FETCHED_PACKS, JOINTS, decode

# COCO index of each column of a set's own order.
LSP_ORDER = (16, 14, 12, 11, 13, 15, 10, 8, 6, 5, 7, 9)
LSP_TRAIN = 1000
# Looked at: these sets call left what is on the picture's left, so persons seen from behind are the wrong way round.
SIDES_OF_PICTURE = ("parse", "buffy")
# COCO's number of the category.
PERSON = 1
COCO_NAME = re.compile(
    r"(?:^|/)(?:COCO_(?:train|val)2014_)?(\d{12})(?:_MEG_size|_jpg\.rf\.[0-9a-f]{32})?\.jpg$"
)
# A joint of COCO lies on whole pixels of the true picture; a copy of another size or aspect gives itself away.
WHOLE_PX = 0.06
MAX_WHOLE = 0.9
# COCO's pictures are at most so large. A copy is scaled to the size that its joints tell, which so many can.
COCO_PX = 640
TELLING_JOINTS = 6
# A copy whose aspect differs by more was squeezed or cut; which of the two cannot be told from the labels.
SAME_ASPECT = 0.01
# Looked at: all pictures of these repositories are cut to one aspect, the middle kept.
CUT_TO_THE_MIDDLE = frozenset({"s-ccs+2024FreeViewingMSCOCO"})
# Its read-me says so: all pictures are stretched to a square.
STRETCHED = frozenset({"brianhuster+human-dataset"})
COPY_QUALITY = 92


@dataclass(frozen=True)
class Entry:
    """One picture's bytes and its persons' joints [17, 3] with boxes x, y, w, h."""

    name: str
    data: bytes
    size: tuple[int, int]  # height, width
    persons: list[tuple[npt.NDArray[np.float64], tuple[float, float, float, float]]]
    source: str


class Git:
    """One commit of a repository, its newest if no other is named, read file by file."""

    def __init__(self, folder: Path, commit: str = "HEAD") -> None:
        self.folder = folder
        listing = self._run("ls-tree", "-r", "-z", commit).decode(errors="replace")
        self.blobs = {
            p: meta.split()[2] for meta, _, p in (r.partition("\t") for r in listing.split("\0") if r)
        }
        self.commit = self._run("rev-parse", commit).decode().strip()

    @classmethod
    def named(cls, text: str) -> Git:
        """GIT or GIT@COMMIT."""
        folder, at, commit = text.rpartition("@")
        whole = Path(text)
        return cls(whole) if whole.exists() or not at else cls(Path(folder), commit)

    @property
    def source(self) -> str:
        return f"{self.folder.parent.name} @ {self.commit}"

    def _run(self, *words: str) -> bytes:
        return subprocess.run(["git", "-C", str(self.folder), *words], check=True, capture_output=True).stdout

    def read(self, path: str) -> bytes:
        return self._run("cat-file", "blob", self.blobs[path])

    def held(self, path: str) -> bytes:
        """The file, or nothing where a copy of the repository lacks its content, as copies do that leave out large files."""
        try:
            return self.read(path)
        except subprocess.CalledProcessError:
            return b""


class Everything(Git):
    """All that a repository's history holds, the newest of each path."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for commit in self._run("rev-list", "--all").decode().split():
            listing = self._run("ls-tree", "-r", "-z", commit).decode(errors="replace")
            for meta, _, path in (r.partition("\t") for r in listing.split("\0") if r):
                self.blobs.setdefault(path, meta.split()[2])


@dataclass(frozen=True)
class Held:
    """Of one repository: what of it is read, every how many files one is, and how many stretches of a film at most."""

    what: str
    every: int = 1
    stretches: int = 1


def box_of(joints: npt.NDArray[np.float64], widen: float = 0.1) -> tuple[float, float, float, float]:
    """x, y, w, h of the labelled joints, a tenth wider: what sets without boxes get."""
    seen = joints[joints[:, 2] > 0, :2]
    low, high = seen.min(axis=0), seen.max(axis=0)
    margin = (high - low) * widen / 2
    x, y = low - margin
    w, h = high - low + 2 * margin
    return float(x), float(y), float(w), float(h)


def coco_persons(
    text: str, height: int, width: int
) -> list[tuple[npt.NDArray[np.float64], tuple[float, float, float, float]]]:
    """Persons of a label file of the YOLO kind: class, box (centre and size) and 17 x (x, y, v), as parts of the picture."""
    out = []
    for line in text.splitlines():
        values = np.array(line.split(), np.float64)
        if len(values) != 5 + 3 * JOINTS:
            continue
        joints = values[5:].reshape(JOINTS, 3) * (width, height, 1.0)
        joints[joints[:, 2] == 0] = 0
        cx, cy, w, h = values[1:5] * (width, height, width, height)
        out.append((joints, (cx - w / 2, cy - h / 2, w, h)))
    return out


def whole_pixels(joints: npt.NDArray[np.float64]) -> float:
    """Share of labelled joints that lie on whole pixels."""
    seen = joints[joints[:, 2] > 0, :2]
    return float((np.abs(seen - np.rint(seen)) < WHOLE_PX).all(axis=1).mean()) if len(seen) else 1.0


def coco_size(text: str) -> tuple[int, int] | None:
    """Height and width of COCO's own picture: the smallest on which the joints of its label lie on whole pixels. None where
    there are too few joints to tell."""
    parts = np.concatenate([np.zeros((0, 2)), *(j[j[:, 2] > 0, :2] for j, _ in coco_persons(text, 1, 1))])
    if len(parts) < TELLING_JOINTS:
        return None
    lengths = np.arange(COCO_PX // 4, COCO_PX + 1)
    places = parts[:, :, None] * lengths
    whole = (np.abs(places - np.rint(places)) < WHOLE_PX).mean(axis=0) >= MAX_WHOLE
    if not whole.any(axis=1).all():
        return None
    return int(lengths[whole[1].argmax()]), int(lengths[whole[0].argmax()])


def from_copy(
    pixels: npt.NDArray[np.uint8], text: str, repository: str = ""
) -> (
    tuple[bytes, tuple[int, int], list[tuple[npt.NDArray[np.float64], tuple[float, float, float, float]]]]
    | None
):
    """The picture and its persons in pixels of COCO's size, out of a copy of another size in `repository`: stretched back, or the
    middle alone, where copies are known to be so. None where the size cannot be told, or another copy has another aspect."""
    size = coco_size(text)
    if size is None:
        return None
    true, copy = np.array(size[::-1]), np.array(pixels.shape[1::-1])
    if repository in STRETCHED:
        copy = true
    scale = float((copy / true).max())
    if repository not in CUT_TO_THE_MIDDLE and (np.abs(copy / true / scale - 1) > SAME_ASPECT).any():
        return None
    width, height = (int(v) for v in np.rint(copy / scale))
    persons = []
    for joints, (x, y, w, h) in coco_persons(text, *size):
        dx, dy = (true - (width, height)) / 2
        joints[joints[:, 2] > 0, :2] -= (dx, dy)
        joints[((joints[:, :2] < 0) | (joints[:, :2] > (width - 1, height - 1))).any(axis=1)] = 0
        if (joints[:, 2] > 0).any():
            persons.append((joints, (x - dx, y - dy, w, h)))
    return scaled(pixels, (height, width)), (height, width), persons


def scaled(pixels: npt.NDArray[np.uint8], size: tuple[int, int]) -> bytes:
    """RGB pixels as a JPEG of `size` (height, width)."""
    resized = cv2.resize(pixels, size[::-1], interpolation=cv2.INTER_AREA)
    ok, data = cv2.imencode(".jpg", resized[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, COPY_QUALITY])
    return data.tobytes() if ok else b""


def known_coco(packs: Path) -> set[int]:
    """Picture ids that the packs hold already, under any split."""
    out = set()
    for pack in ("coco_subset", "coco_more"):
        for record in json.loads((packs / pack / "labels.json").read_text())["images"]:
            out.add(int(re.findall(r"\d{6,}", record["file_name"])[-1]))
    return out


def coco(labels: Git, repositories: list[Git], known: set[int], counts: Counter[str]) -> Iterator[Entry]:
    """COCO train2017 pictures with labelled persons that the packs lack. A picture of val2017 has no label file under
    train2017, so it cannot get in whatever its folder is called."""
    train = {int(Path(p).stem): p for p in labels.blobs if p.startswith("labels/train2017/")}
    done = set(known)
    for git in repositories:
        for path in sorted(git.blobs):
            found = COCO_NAME.search(path)
            number = int(found[1]) if found else -1
            if number not in train or number in done:
                counts["no new picture of train2017 with people"] += 1
                continue
            data = git.read(path)
            pixels = decode(data)
            if pixels is None:
                counts["corrupt picture"] += 1
                continue
            height, width = pixels.shape[:2]
            text = labels.read(train[number]).decode()
            persons = coco_persons(text, height, width)
            if not persons:
                counts["nobody with joints"] += 1
                continue
            if np.mean([whole_pixels(j) for j, _ in persons]) < MAX_WHOLE:
                copy = from_copy(pixels, text, git.folder.parent.name)
                if copy is None or not copy[2]:
                    counts["not of COCO's size or aspect"] += 1
                    continue
                counts["copy of another size"] += 1
                data, (height, width), persons = copy
            done.add(number)
            yield Entry(f"{number:012d}.jpg", data, (height, width), persons, git.source)


def nobody(repositories: list[Git], counts: Counter[str]) -> Iterator[Entry]:
    """COCO train2017 pictures that a repository's own annotations show nobody in, crowds counted as somebody."""
    done = set[int]()
    for git in repositories:
        by_id = {int(m[1]): p for p in sorted(git.blobs) if (m := COCO_NAME.search(p)) and "train2017/" in p}
        for path in sorted(p for p in git.blobs if p.endswith("_train2017.json")):
            known = json.loads(git.read(path))
            if not any(c["name"] == "person" for c in known["categories"]):
                continue
            people = {a["image_id"] for a in known["annotations"] if a["category_id"] == PERSON}
            for number in sorted({i["id"] for i in known["images"]} - people - done):
                pixels = decode(data := git.read(by_id[number])) if number in by_id else None
                if pixels is None:
                    counts["no picture, or a corrupt one"] += 1
                    continue
                done.add(number)
                yield Entry(f"{number:012d}.jpg", data, pixels.shape[:2], [], git.source)


def person_boxes(git: Git, counts: Counter[str]) -> Iterator[Entry]:
    """Pictures with a box round every person, beside them as text of the YOLO kind; no joints. Pictures that are COCO's are left out:
    `coco_fetched` has those of train2017, and the others nobody may learn from."""
    nowhere = np.zeros((JOINTS, 3))
    for path in sorted(p for p in git.blobs if p.endswith(".jpg") and "/images/" in p):
        beside = path.replace("/images/", "/labels/").removesuffix(".jpg") + ".txt"
        if COCO_NAME.search(path) or beside not in git.blobs:
            counts["COCO's own, or without boxes"] += 1
            continue
        pixels = decode(data := git.read(path))
        if pixels is None:
            counts["corrupt picture"] += 1
            continue
        height, width = pixels.shape[:2]
        rows = [[float(v) for v in line.split()[1:]] for line in git.read(beside).decode().splitlines()]
        boxes = np.array([r for r in rows if len(r) == 4]).reshape(-1, 4) * (width, height, width, height)
        persons = [(nowhere, (x - w / 2, y - h / 2, w, h)) for x, y, w, h in boxes.tolist()]
        yield Entry(Path(path).name, data, (height, width), persons, git.source)


def fourteen(
    points: npt.NDArray[np.float64], hidden: npt.NDArray[np.bool_] | None = None
) -> npt.NDArray[np.float64]:
    """Leeds' fourteen joints [14, 2] in COCO's order [17, 3]; neck and head top have no place there."""
    out = np.zeros((JOINTS, 3))
    for own, index in enumerate(LSP_ORDER):
        if np.isfinite(points[own]).all():
            out[index] = (*points[own], 1.0 if hidden is not None and hidden[own] else 2.0)
    return out


def _entry(
    git: Git, path: str, joints: npt.NDArray[np.float64], counts: Counter[str], name: str = ""
) -> Iterator[Entry]:
    data = git.read(path)
    pixels = decode(data)
    if pixels is None:
        counts["corrupt picture"] += 1
        return
    height, width = pixels.shape[:2]
    outside = ((joints[:, :2] < 0) | (joints[:, :2] > (width - 1, height - 1))).any(axis=1)
    joints[outside] = 0
    yield Entry(name or Path(path).name, data, (height, width), [(joints, box_of(joints))], git.source)


def lsp(git: Git, counts: Counter[str]) -> Iterator[Entry]:
    """The original Leeds Sports Pose, 1-1000. The third row of its joints says hidden, the reverse of LSPET's."""
    joints = loadmat(io.BytesIO(git.read("dataset/LSP/joints.mat")))["joints"]
    for i in range(LSP_TRAIN):
        person = fourteen(joints[:2, :, i].T - 1, joints[2, :, i] > 0)
        yield from _entry(git, f"dataset/LSP/images/im{i + 1:04d}.jpg", person, counts)


def parse(git: Git, counts: Counter[str]) -> Iterator[Entry]:
    """PARSE's 305 pictures, its joints in Leeds' order."""
    points = loadmat(io.BytesIO(git.read("dataset/PARSE/labels.mat")))["ptsAll"]
    for i in range(points.shape[2]):
        yield from _entry(git, f"dataset/PARSE/im{i + 1:04d}.jpg", fourteen(points[:, :, i] - 1), counts)


def buffy_joints(sticks: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Shoulders, elbows and wrists of one person from six sticks [6, 4] = x0 y0 x1 y1: torso, upper arms (left and right in the
    picture), lower arms, head. The torso's lower end is no hip: it is left out."""
    out = np.zeros((JOINTS, 3))
    for upper, lower, side in ((1, 3, 0), (2, 4, 1)):
        ends = sticks[upper].reshape(2, 2), sticks[lower].reshape(2, 2)
        # the elbow is where the two sticks meet
        apart = np.linalg.norm(ends[0][:, None] - ends[1][None], axis=2)
        a, b = np.unravel_index(int(apart.argmin()), (2, 2))
        elbow = (ends[0][a] + ends[1][b]) / 2
        # a person who faces the camera has their right on the picture's left
        for joint, place in ((6 - side, ends[0][1 - a]), (8 - side, elbow), (10 - side, ends[1][1 - b])):
            out[joint] = (*place, 2.0)
    return out


def buffy(git: Git, counts: Counter[str]) -> Iterator[Entry]:
    for path in sorted(
        p for p in git.blobs if p.startswith("dataset/BUFFY/data/") and p.endswith("_sticks.txt")
    ):
        episode = Path(path).name.removesuffix("_sticks.txt")
        rows = [
            [float(v) for v in line.split()] for line in git.read(path).decode().splitlines() if line.strip()
        ]
        frame, sticks = "", list[list[float]]()
        for row in [*rows, [0.0]]:
            if len(row) == 4:
                sticks.append(row)
                continue
            picture = f"dataset/BUFFY/images/{episode}_original/{frame}.jpg"
            if frame and len(sticks) == 6 and picture in git.blobs:
                yield from _entry(
                    git, picture, buffy_joints(np.array(sticks)), counts, f"{episode}_{frame}.jpg"
                )
            elif frame:
                counts["frame without six sticks or picture"] += 1
            frame, sticks = f"{int(row[0]):06d}", []


def write(entries: Iterator[Entry], out: Path, name: str, counts: Counter[str]) -> None:
    """The pack: pictures as they were found, one record a labelled person, all of them `train`."""
    out.mkdir(parents=True, exist_ok=True)
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    with tarfile.open(out / "images_0.part", "w") as tar:
        for number, entry in enumerate(entries, 1):
            member = tarfile.TarInfo(entry.name)
            member.size = len(entry.data)
            tar.addfile(member, io.BytesIO(entry.data))
            height, width = entry.size
            images.append(
                {"id": number, "file_name": entry.name, "tar": "images_0.tar", "width": width, "height": height,
                 "split": "train", "source": name, "from_repo": entry.source}
            )  # fmt: skip
            for joints, box in entry.persons:
                counts["persons"] += 1
                annotations.append(
                    {"id": len(annotations) + 1, "image_id": number, "category_id": 1, "iscrowd": 0,
                     "bbox": [round(v, 1) for v in box], "keypoints": [round(float(v), 1) for v in joints.ravel()],
                     "num_keypoints": int((joints[:, 2] > 0).sum()), "source": name, "split": "train"}
                    | ({"sides": "picture"} if name in SIDES_OF_PICTURE else {})
                )  # fmt: skip
    (out / "labels.json").write_text(json.dumps({"images": images, "annotations": annotations}))
    (out / "images_0.part").rename(out / "images_0.tar")
    counts["pictures"] = len(images)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pack", choices=(*FETCHED_PACKS, *EMPTY_PACKS, *BOX_PACKS))
    parser.add_argument(
        "--git", action="append", required=True, help="git directory, or GIT@COMMIT; may be given again"
    )
    parser.add_argument("--labels", type=Path, help="git directory with every COCO person by picture id")
    parser.add_argument("--known", type=Path, help="folder with the packs: pictures in there are left out")
    parser.add_argument("--out", type=Path, required=True, help="folder for packs")
    args = parser.parse_args()
    counts: Counter[str] = Counter()
    gits = [Git.named(text) for text in args.git]
    if args.pack == "coco_fetched":
        if not args.labels or not args.known:
            parser.error("coco_fetched needs --labels and --known")
        entries = coco(Git(args.labels), gits, known_coco(args.known), counts)
    elif args.pack == "coco_nobody":
        entries = nobody(gits, counts)
    else:
        readers = {"lsp": lsp, "parse": parse, "buffy": buffy, "person_boxes": person_boxes}
        entries = readers[args.pack](gits[0], counts)
    write(entries, args.out / args.pack, args.pack, counts)
    for what, count in sorted(counts.items()):
        print(f"{count:7d} {what}")


if __name__ == "__main__":
    main()
