"""Pack `acted_films`: persons of films that `posetrain.temporal.actors` labelled with what comes before and after, for keypoint networks.

    python -m posetrain.temporal.acted --films FILMS --out OUT
    python -m posetrain.data.cache --data OUT --out CACHES/acted --pack acted_films

What a network says of one frame is often right but for left and right; over a whole film the sides are those that go on most
smoothly. So such labels know what their teachers, a frame at a time, do not. A frame is taken where the pose or the place has changed
since the last one that was. Never measure a network on these labels; keep films of strangers in another folder.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from posetrain.data.gather import Entry, box_of, write
from posetrain.data.packs import BODY, JOINTS, Floats, decode
from posetrain.keypoints.filmed import changed
from posetrain.temporal.actors import smoothed_otherwise
from posetrain.temporal.films import CENTRE_PX

PACK = "acted_films"
# A person is written of whom so many joints of the body are labelled.
MIN_BODY = 6


def taken(film: Path, counts: Counter[str]) -> Iterator[Entry]:
    """The frames of FILMS/NAME.jsonl that show something new."""
    before: Floats | None = None
    source = f"film {re.sub(r'-[0-9a-f]{12}.*', '', film.stem)}, labelled by movenet_thunder, keypoints-large over its frames"
    for number, line in enumerate(film.read_text().splitlines()[1:], 1):
        persons = json.loads(line)["persons"]
        joints = np.array(persons[0]["joints"] if persons else np.zeros((JOINTS, 3)), np.float64)
        joints -= np.array([CENTRE_PX, CENTRE_PX, 0.0]) * (joints[:, 2:] > 0)  # packs count by index
        if int((joints[BODY, 2] > 0).sum()) < MIN_BODY:
            counts["frame of which too little is known"] += 1
            continue
        seen = joints.astype(np.float32)
        if not changed(seen, before):
            counts["frame like the one before"] += 1
            continue
        path = film.with_suffix("") / f"{number:05}.jpg"
        data = path.read_bytes() if path.exists() else b""
        picture = decode(data)
        if picture is None:
            counts["picture that cannot be read"] += 1
            continue
        before = seen
        height, width = picture.shape[:2]
        yield Entry(f"{film.stem}-{number:05}.jpg", data, (height, width), [(joints, box_of(joints))], source)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--films", type=Path, required=True, help="folder that `posetrain.temporal.actors` wrote"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for packs")
    args = parser.parse_args()
    films = sorted(args.films.glob("*.jsonl"))
    if not films:
        parser.error(f"{args.films}: no films; `python -m posetrain.temporal.actors` writes them")
    if older := [film.name for film in films if smoothed_otherwise(film)]:
        parser.error(
            f"{args.films}: {older[0]} and {len(older) - 1} more were smoothed otherwise: make them again"
        )
    counts: Counter[str] = Counter()
    write((entry for film in films for entry in taken(film, counts)), args.out / PACK, PACK, counts)
    for what, count in sorted(counts.items()):
        print(f"{count:7d} {what}")


if __name__ == "__main__":
    main()
