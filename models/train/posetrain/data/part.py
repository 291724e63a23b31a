"""A part of a cache, by the beginnings of its keys: the errors of a network that has learned from one are measured on the other.

    python -m posetrain.data.part CACHES/acted --keys lightningdrop --keys dimashiiii --out CACHES/acted-first
    python -m posetrain.data.part CACHES/acted --keys lightningdrop --keys dimashiiii --but --out CACHES/acted-second

The pictures are the cache's own, by a link; so are a teacher's maps, row by row.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import numpy as np
import numpy.typing as npt

from posetrain.data import cache


def begins(keys: npt.NDArray[np.str_], with_one_of: tuple[str, ...]) -> npt.NDArray[np.bool_]:
    found = np.zeros(len(keys), bool)
    for beginning in with_one_of:
        found |= np.char.startswith(keys, beginning)
    return found


def part(folder: Path, keys: tuple[str, ...], but: bool, out: Path) -> int:
    """Writes OUT, the rows whose key begins with one of `keys` (or, `but`, with none); returns how many of how many. Raises `ValueError`
    where none or all are meant."""
    records = cache.load(folder)
    rows = np.flatnonzero(begins(records.key, keys) != but)
    if not 0 < len(rows) < len(records):
        raise ValueError(
            f"{folder}: {len(rows)} of {len(records)} persons have a key that begins so; keys are such as {records.key[0]!r}"
        )
    out.mkdir(parents=True, exist_ok=True)
    index = np.load(folder / "index.npz")
    np.savez(out / "index.npz", **{name: index[name][rows] for name in index.files})
    link(folder / "pixels.bin", out / "pixels.bin")
    if (folder / "maps.npy").exists():
        np.save(out / "maps.npy", np.load(folder / "maps.npy", mmap_mode="r")[rows])
        shutil.copy(folder / "teachers.json", out / "teachers.json")
    return len(rows)


def link(there: Path, here: Path) -> None:
    here.unlink(missing_ok=True)
    here.symlink_to(there.resolve())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cache", type=Path)
    parser.add_argument(
        "--keys", action="append", required=True, help="a key's beginning; may be given again"
    )
    parser.add_argument("--but", action="store_true", help="all the others instead")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    try:
        print(f"{args.out}: {part(args.cache, tuple(args.keys), args.but, args.out)} persons")
    except (OSError, ValueError) as error:
        parser.exit(1, f"{error}\n")


if __name__ == "__main__":
    main()
