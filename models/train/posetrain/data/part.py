"""A part of a cache, whole sources together: the errors of a network that has learned from one are measured on the other.

    python -m posetrain.data.part CACHES/jhmdb --half first --out CACHES/jhmdb-first
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
from posetrain.data.source import HALVES, half_of, source_of


def begins(keys: npt.NDArray[np.str_], with_one_of: tuple[str, ...]) -> npt.NDArray[np.bool_]:
    found = np.zeros(len(keys), bool)
    for beginning in with_one_of:
        found |= np.char.startswith(keys, beginning)
    return found


def by_keys(records: cache.Records, keys: tuple[str, ...], but: bool) -> npt.NDArray[np.bool_]:
    """The rows whose key begins with one of `keys` (or, `but`, with none). Raises `ValueError` where none or all are meant, or a part of
    a source."""
    chosen = begins(records.key, keys) != but
    if not 0 < chosen.sum() < len(records):
        raise ValueError(
            f"{chosen.sum()} of {len(records)} persons have a key that begins so; keys are such as {records.key[0]!r}"
        )
    sources = np.array([source_of(str(key)) for key in records.key])
    if both := sorted(set(sources[chosen]) & set(sources[~chosen])):
        raise ValueError(f"{', '.join(both)}: keys begin so and otherwise; --half parts no source")
    return chosen


def of_half(records: cache.Records, half: str) -> npt.NDArray[np.bool_]:
    return np.array([half_of(source_of(str(key))) == half for key in records.key])


def part(folder: Path, chosen: npt.NDArray[np.bool_], out: Path) -> int:
    """Writes OUT, the rows that are `chosen`; returns how many."""
    rows = np.flatnonzero(chosen)
    out.mkdir(parents=True, exist_ok=True)
    cache.forget(out)
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
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--half", choices=HALVES, help="of all sources, by their hash")
    which.add_argument("--keys", action="append", help="a key's beginning; may be given again")
    parser.add_argument("--but", action="store_true", help="with --keys: all the others instead")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    try:
        records = cache.load(args.cache)
        chosen = of_half(records, args.half) if args.half else by_keys(records, tuple(args.keys), args.but)
        print(f"{args.out}: {part(args.cache, chosen, args.out)} persons")
    except (OSError, ValueError) as error:
        parser.exit(1, f"{args.cache}: {error}\n")


if __name__ == "__main__":
    main()
