"""Pack `stanford40_more`: Stanford 40 Actions (Yao et al., ICCV 2011) that `unlabelled/people` lacks, labelled by MoveNet Thunder.

    python -m posetrain.keypoints.actions --git GIT --known PACKS --thunder movenet_thunder_maps.onnx --out OUT

GIT is a git directory of Mehranai/stanford40_pose, of which the pictures and the boxes of whoever does something are read (not the poses,
which another network wrote). Published for research: class (c). Never measure a network on these labels: where Thunder is unsure
nothing is labelled.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import cv2
import numpy as np

from posetrain.data.gather import Entry, Git, write
from posetrain.data.packs import Floats, decode
from posetrain.keypoints.filmed import Quick, at_most, entry
from posetrain.keypoints.taught import SIDE
from posetrain.keypoints.teach import Teacher, Thunder

PACK = "stanford40_more"
# The box goes round the body, the crop is SIDE times what it is given: joints lie a little inside.
BOX_PAD = 1.15


def known(packs: Path) -> set[str]:
    """Names, as the set has them, of the pictures that the packs hold."""
    images = json.loads((packs / "unlabelled" / "people" / "labels.json").read_text())["images"]
    return {i["file_name"].removeprefix("s40_") for i in images if i["source"] == "stanford40"}


def boxes(xml: bytes) -> list[Floats]:
    """x0 y0 x1 y1 of everybody who does what the picture is there for."""
    found = []
    for box in ElementTree.fromstring(xml).iter("bndbox"):
        sides = [float(box.findtext(side) or "nan") for side in ("xmin", "ymin", "xmax", "ymax")]
        if np.isfinite(sides).all() and sides[2] > sides[0] and sides[3] > sides[1]:
            found.append(np.array(sides, np.float32))
    return found


def photos(teacher: Teacher, git: Git, taken: set[str], counts: Counter[str]) -> Iterator[Entry]:
    source = f"{git.source}, labelled by {', '.join(teacher.names)}"
    for path in sorted(p for p in git.blobs if p.startswith("JPEGImages/")):
        name = path.removeprefix("JPEGImages/")
        described = f"XMLAnnotations/{Path(name).stem}.xml"
        if name in taken:
            counts["picture that the packs hold"] += 1
            continue
        data = git.held(path)
        pixels = decode(data) if data else None
        if pixels is None or described not in git.blobs:
            counts["picture that the copy of the repository lacks"] += 1
            continue
        small = at_most(pixels)
        scale = small.shape[1] / pixels.shape[1]
        persons: list[Entry] = []
        for k, box in enumerate(boxes(git.read(described))):
            half = (box[2:] - box[:2]) * (scale * BOX_PAD / SIDE / 2)
            middle = (box[2:] + box[:2]) * (scale / 2)
            made = entry(
                teacher, small, f"{k}-{name}", source, np.concatenate([middle - half, middle + half])
            )
            if made is None:
                counts["person of whom the teacher is not sure"] += 1
            else:
                persons.append(made)
        if persons:
            first = persons[0]
            yield Entry(name, first.data, first.size, [p.persons[0] for p in persons], source)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--git", required=True, help="git directory, or GIT@COMMIT")
    parser.add_argument(
        "--known", type=Path, required=True, help="folder with the packs: pictures in there are left out"
    )
    parser.add_argument("--thunder", type=Path, required=True, help="MoveNet Thunder with its inner maps")
    parser.add_argument("--out", type=Path, required=True, help="folder for packs")
    args = parser.parse_args()
    cv2.setNumThreads(1)
    counts: Counter[str] = Counter()
    teacher = Quick(Thunder(args.thunder))
    write(photos(teacher, Git.named(args.git), known(args.known), counts), args.out / PACK, PACK, counts)
    for what, count in sorted(counts.items()):
        print(f"{count:7d} {what}")


if __name__ == "__main__":
    main()
