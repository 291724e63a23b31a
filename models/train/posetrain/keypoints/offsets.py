"""Whether rendered labels mean what annotators mean: where a network sees each joint beside its label, pack by pack.

    python -m posetrain.keypoints.offsets --cache CACHES/rendered --cache CACHES/coco --model ../keypoints-small.toml

Median over the val persons, in hundredths of the body's extent (the longer side of shoulders, elbows, wrists, hips, knees and
ankles), of the offset along the limb (away from the trunk is positive) and across it (outwards, to the joint's own side, is
positive; only of persons whose shoulders are not seen edge on). Left and right count together. A joint that the label calls
hidden, or that the network misses by more than `FOUND`, tells nothing about what a label means. Intervals: 95 %, pictures (videos
of J-HMDB) drawn with replacement.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from posetrain.data import cache
from posetrain.data.augment import PAD
from posetrain.data.packs import BODY, KNOWN_PACKS, Floats
from posetrain.data.source import source_of
from posetrain.keypoints.peers import Estimator, Own

Offsets = npt.NDArray[np.float64]

# Each joint with the one that its limb comes from; 17 is the middle of the shoulders, 18 of the hips.
LIMBS = {
    "nose": ((0, 17),),
    "eyes": ((1, 17), (2, 17)),
    "ears": ((3, 17), (4, 17)),
    "shoulders": ((5, 18), (6, 18)),
    "elbows": ((7, 5), (8, 6)),
    "wrists": ((9, 7), (10, 8)),
    "hips": ((11, 17), (12, 17)),
    "knees": ((13, 11), (14, 12)),
    "ankles": ((15, 13), (16, 14)),
}
# Parts of the extent: nearer is the same joint; shorter limbs have no direction; narrower shoulders are seen edge on.
FOUND, MIN_LIMB, MIN_SHOULDERS = 0.2, 0.05, 0.1
MIN_COUNT, DRAWS = 20, 500


@dataclass(frozen=True)
class Row:
    """One joint of one pack: median, interval and count, along the limb and across it."""

    along: tuple[float, float, float, int]
    across: tuple[float, float, float, int]


def person_offsets(found: Floats, joints: Floats) -> dict[str, list[tuple[float, float]]]:
    """Along and across (not a number where it cannot be told) of every joint that counts; found [17, 2], joints [17, 3]."""
    labelled = joints[BODY][joints[BODY, 2] > 0, :2]
    if len(labelled) < 4:
        return {}
    extent = float((labelled.max(axis=0) - labelled.min(axis=0)).max())
    places = np.concatenate([joints[:, :2], [joints[5:7, :2].mean(axis=0), joints[11:13, :2].mean(axis=0)]])
    known = np.concatenate(
        [joints[:, 2] > 0, [bool((joints[5:7, 2] > 0).all()), bool((joints[11:13, 2] > 0).all())]]
    )
    # annotators say "hidden" nowhere in some packs: there every label counts
    counts = joints[:, 2] == 2 if (joints[:, 2] == 2).any() else joints[:, 2] > 0
    shoulders = joints[5, :2] - joints[6, :2]
    broad = bool(known[17]) and float(np.linalg.norm(shoulders)) > MIN_SHOULDERS * extent
    out: dict[str, list[tuple[float, float]]] = {}
    for name, limbs in LIMBS.items():
        for joint, parent in limbs:
            limb = places[joint] - places[parent]
            length = float(np.linalg.norm(limb))
            offset = (found[joint] - joints[joint, :2]) / max(extent, 1.0)
            if not (counts[joint] and known[parent]) or length < MIN_LIMB * extent:
                continue
            if float(np.linalg.norm(offset)) > FOUND:
                continue
            along = limb / length
            across = np.array([-along[1], along[0]])
            outwards = float(across @ shoulders) * (1 if joint % 2 else -1)
            side = float(np.sign(outwards)) if broad and joint else np.nan
            out.setdefault(name, []).append((float(offset @ along), float(offset @ across) * side))
    return out


def median(values: Offsets, groups: npt.NDArray[np.str_]) -> tuple[float, float, float, int]:
    """Median, its 95 % interval where whole groups are drawn with replacement, and how many."""
    there = ~np.isnan(values)
    values, groups = values[there], groups[there]
    if len(values) < MIN_COUNT:
        return float("nan"), float("nan"), float("nan"), len(values)
    _, index = np.unique(groups, return_inverse=True)
    members = [values[index == k] for k in range(int(index.max()) + 1)]
    rng = np.random.default_rng(0)
    drawn = [
        float(np.median(np.concatenate([members[k] for k in rng.integers(0, len(members), len(members))])))
        for _ in range(DRAWS)
    ]
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(np.median(values)), float(low), float(high), len(values)


def measure(system: Estimator, records: cache.Records, pack: str, limit: int) -> dict[str, Row]:
    """Rows by joint over at most about `limit` val persons of a pack."""
    ids = records.where("val", (pack,))
    ids = ids[:: max(1, len(ids) // limit)]
    all_rows: dict[str, list[tuple[float, float, str]]] = {name: [] for name in LIMBS}
    for i in ids:
        x0, y0, x1, y1 = (float(v) for v in records.box[i])
        side = PAD * max(x1 - x0, y1 - y0)
        found = system.joints(records.picture(i), ((x0 + x1) / 2, (y0 + y1) / 2), side)
        group = source_of(str(records.key[i]))
        for name, offsets in person_offsets(found, records.joints[i]).items():
            all_rows[name] += [(along, across, group) for along, across in offsets]
    out = {}
    for name, rows in all_rows.items():
        groups = np.array([row[2] for row in rows])
        along, across = (np.array([row[k] for row in rows], np.float64) for k in (0, 1))
        out[name] = Row(median(along, groups), median(across, groups))
    return out


def table(measured: dict[str, dict[str, Row]]) -> str:
    """Markdown: a row for each joint, along and across of each pack."""

    def cell(value: tuple[float, float, float, int]) -> str:
        middle, low, high, count = value
        if np.isnan(middle):
            return f"({count})"
        return f"{100 * middle:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"

    packs = list(measured)
    head = [f"{pack} {axis}" for axis in ("along", "across") for pack in packs]
    lines = ["| joint | " + " | ".join(head) + " |", "|---" * (len(head) + 1) + "|"]
    for name in LIMBS:
        rows = [measured[pack][name] for pack in packs]
        cells = [cell(row.along) for row in rows] + [cell(row.across) for row in rows]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cache", type=Path, action="append", required=True, help="may be given again")
    parser.add_argument("--model", type=Path, required=True, help="own manifest")
    parser.add_argument("--pack", action="append", default=[], help="only these; may be given again")
    parser.add_argument("--limit", type=int, default=2000, help="persons a pack")
    args = parser.parse_args()
    system = Own.of_manifest(args.model)
    measured = {}
    for folder in args.cache:
        records = cache.load(folder)
        for pack in args.pack or KNOWN_PACKS:
            if pack not in measured and len(records.where("val", (pack,))):
                measured[pack] = measure(system, records, pack, args.limit)
    print(table(measured))


if __name__ == "__main__":
    main()
