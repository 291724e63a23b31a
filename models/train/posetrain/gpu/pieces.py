"""Caches as a few files that a machine with a GPU can be handed: crops as WebP, joints beside them.

    python -m posetrain.gpu.pieces CONFIG --caches DIR --out PIECES [--megabytes 60]

Persons of all the configuration's caches are spread evenly over the pieces, so that training begins with the first. Val persons of its
`val` caches are in there for the log alone: every few, at the size of the others. WebP at QUALITY costs some 20 KB a person.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from posetrain.data import cache
from posetrain.data.licences import of_letter, require
from posetrain.data.packs import JOINTS, KNOWN_PACKS, Floats, Pixels
from posetrain.keypoints.mixture import enough_joints
from posetrain.keypoints.steady_config import SteadyConfig, load_config

QUALITY = 76
# A person's extent is stored at most so large, pixels; joints as whole numbers of these parts of a pixel.
EXTENT_PX, PARTS = 160.0, 32
LOOKED_AT = 250
WORKERS = 2
# What lies beside a piece that is whole.
READY = ".ready"
MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Piece:
    """N persons. `data` [bytes] their WebP files one after the other, `ends` [N] where each ends; `joints` [N, 17, 3] in the pixels of
    the file, 1 / PARTS each; `source` [N] index of the cache's name in `names`; `val` [N] never learned from."""

    data: npt.NDArray[np.uint8]
    ends: npt.NDArray[np.int64]
    joints: npt.NDArray[np.int16]
    source: npt.NDArray[np.int16]
    val: npt.NDArray[np.bool_]
    names: npt.NDArray[np.str_]

    def decoded(self, workers: int) -> tuple[list[Pixels], Floats]:
        """Pictures as RGB, and joints [N, 17, 3] in their pixels."""
        starts = np.concatenate([[0], self.ends[:-1]])

        def one(i: int) -> Pixels:
            picture = cv2.imdecode(self.data[starts[i] : self.ends[i]], cv2.IMREAD_COLOR)
            assert picture is not None
            return np.asarray(picture, np.uint8)

        with ThreadPoolExecutor(workers) as pool:
            pictures = list(pool.map(one, range(len(self.ends))))
        joints = self.joints.astype(np.float32)
        joints[..., :2] /= PARTS
        return pictures, joints


def load(path: Path) -> Piece:
    kept = np.load(path)
    return Piece(**{name: kept[name] for name in kept.files})


def encoded(
    pixels: Pixels, joints: Floats, box: Floats
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int16]]:
    """The WebP file (channels as they are stored) and joints in its pixels, in parts."""
    extent = float(max(box[2] - box[0], box[3] - box[1], 1.0))
    scale, moved = EXTENT_PX / extent, joints.copy()
    if joints.any() and scale < 1:
        size = (max(8, round(pixels.shape[1] * scale)), max(8, round(pixels.shape[0] * scale)))
        ratio = np.array(size) / pixels.shape[1::-1]
        pixels = np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), np.uint8)
        moved[:, :2] = (moved[:, :2] + 0.5) * ratio - 0.5
    moved[..., :2] *= PARTS * (joints[:, 2:] > 0)
    ok, data = cv2.imencode(".webp", pixels, [cv2.IMWRITE_WEBP_QUALITY, QUALITY])
    assert ok
    limit = np.iinfo(np.int16)
    return np.asarray(data, np.uint8).ravel(), moved.round().clip(limit.min, limit.max).astype(np.int16)


def chosen(
    records: cache.Records, is_learned: bool, is_judged: bool, is_nobody: bool
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Rows that travel, and which of them are val's."""
    learned = records.split == cache.SPLITS.index("train")
    train = np.flatnonzero(learned & (enough_joints(records) | is_nobody) & is_learned)
    val = np.flatnonzero(records.split == cache.SPLITS.index("val")) if is_judged else np.zeros(0, np.int64)
    val = val[:: max(1, len(val) // LOOKED_AT)]
    return np.concatenate([train, val]), np.repeat([False, True], [len(train), len(val)])


def pack(config: SteadyConfig, caches: Path, out: Path, limit: int, only: tuple[str, ...] = ()) -> None:
    """Writes OUT/piece-00.npz and so on, none larger than `limit` bytes: of all caches, or of `only` these. Raises `LicenceError` where
    one holds a pack of a worse class than the configuration allows, or its teacher has learned from such."""
    out.mkdir(parents=True, exist_ok=True)
    names = names_of(config)
    records = {s: cache.load(caches / name) for s, name in enumerate(names) if not only or name in only}
    allowed = of_letter(config.licence)
    for held in records.values():
        require((KNOWN_PACKS[p] for p in np.unique(held.pack)), allowed)
    require(config.teachers, allowed)
    learned = {config.empty, *(s.cache for s in config.sources)}
    rows = [
        (s, int(i), bool(v))
        for s, held in records.items()
        for i, v in zip(
            *chosen(held, names[s] in learned, names[s] in config.val, names[s] == config.empty), strict=True
        )
    ]
    np.random.default_rng(config.seed).shuffle(rows)
    # val first: every look at it is then the same
    rows.sort(key=lambda row: not row[2])

    def one(row: tuple[int, int, bool]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int16]]:
        held = records[row[0]]
        return encoded(held.picture(row[1]), held.joints[row[1]], held.box[row[1]])

    cv2.setNumThreads(1)
    with ThreadPoolExecutor(WORKERS) as pool:
        files = list(pool.map(one, rows))
    sizes = [len(data) + places.nbytes + 16 for data, places in files]
    number, done = 0, 0
    while done < len(rows):
        count = max(1, int(np.searchsorted(np.cumsum(sizes[done:]), limit)))
        part, taken = files[done : done + count], rows[done : done + count]
        path = out / f"piece-{number:02}.npz"
        np.savez(
            path,
            data=np.concatenate([data for data, _ in part]),
            ends=np.cumsum([len(data) for data, _ in part]),
            joints=np.stack([places for _, places in part]).reshape(-1, JOINTS, 3),
            source=np.array([s for s, _, _ in taken], np.int16),
            val=np.array([v for _, _, v in taken]),
            names=np.array(names),
        )
        path.with_name(path.name + READY).touch()
        done += count
        print(f"piece {number}: {len(part)} persons, {done} of {len(rows)}", flush=True)
        number += 1


def names_of(config: SteadyConfig) -> list[str]:
    """Caches that a configuration names: sources, then the one of nobody, then those that are looked at alone."""
    names = [*(s.cache for s in config.sources), *([config.empty] if config.empty else [])]
    return names + [v for v in config.val if v not in names]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("config", type=Path)
    parser.add_argument("--caches", type=Path, required=True, help="folder with the caches that it names")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", action="append", default=[], help="this cache alone; may be given again")
    parser.add_argument("--megabytes", type=float, default=60.0, help="of one piece")
    args = parser.parse_args()
    config = load_config(args.config)
    if unknown := sorted(set(args.only) - set(names_of(config))):
        parser.error(f"{args.config} names no cache {unknown[0]!r}: {', '.join(names_of(config))}")
    pack(config, args.caches, args.out, int(args.megabytes * MEBIBYTE), tuple(args.only))


if __name__ == "__main__":
    main()
