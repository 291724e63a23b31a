"""The reliability diagram of a committed model: what its scores say against what was seen, on val.

    python -m posetrain.keypoints.reliability --cache work/cache --model ../keypoints-small.toml curves/reliability-small.png

Beside each bin of scores the share of joints within 0.1 of the extent, with the 95 % interval of a bootstrap over pictures
(videos for J-HMDB), and how many joints fall into it; the ECE over all of them, and over each pack.
"""

from __future__ import annotations

import argparse
import tomllib
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
import numpy.typing as npt

matplotlib.use("Agg")
from matplotlib import pyplot as plt

from posetrain.data import cache
from posetrain.data.packs import BODY
from posetrain.keypoints.calibrate import WITHIN, Calibration, expected_calibration_error
from posetrain.keypoints.evaluate import VAL_PACKS, Measured, measure
from posetrain.keypoints.peers import Own
from posetrain.metrics import bootstrap

BINS = 10
Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Joints:
    """Labelled body joints, one an entry: stated probability, 1 where it lay within 0.1, and its picture or video."""

    score: Doubles
    hit: Doubles
    group: npt.NDArray[np.str_]

    def ece(self) -> float:
        return expected_calibration_error(self.score, self.hit, BINS)

    def bins(self) -> list[tuple[float, float, float, float, int]]:
        """Mean score, share seen, its interval, and count of every bin that is not empty."""
        which = np.minimum((self.score * BINS).astype(int), BINS - 1)
        rows = []
        for k in np.unique(which):
            m = which == k
            low, high = bootstrap(self.hit[m], np.ones(m.sum()), self.group[m])
            rows.append((float(self.score[m].mean()), float(self.hit[m].mean()), low, high, int(m.sum())))
        return rows


def joints(measured: Measured, calibration: Calibration) -> Joints:
    labelled = measured.labelled > 0
    score = calibration.score(measured.features)[:, BODY]
    groups = np.broadcast_to(measured.groups[:, None], labelled.shape)
    return Joints(score[labelled], (measured.error <= WITHIN)[labelled].astype(np.float64), groups[labelled])


def together(parts: list[Joints]) -> Joints:
    return Joints(*(np.concatenate([getattr(p, f) for p in parts]) for f in ("score", "hit", "group")))


def draw(packs: dict[str, Joints], out: Path, of: str) -> None:
    """`of`: which network, in the title: the picture outlives it."""
    whole = together(list(packs.values()))
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), width_ratios=(3, 2))
    left.plot([0, 1], [0, 1], color="grey", linewidth=1, label="perfect")
    for name, part in packs.items():
        rows = part.bins()
        left.plot(
            [r[0] for r in rows], [r[1] for r in rows], linewidth=1, label=f"{name}, ECE {part.ece():.3f}"
        )
    rows = whole.bins()
    low, high = ([abs(r[1] - r[i]) for r in rows] for i in (2, 3))
    left.errorbar(
        [r[0] for r in rows],
        [r[1] for r in rows],
        (low, high),
        fmt="o-",
        color="black",
        capsize=3,
        label=f"all, ECE {whole.ece():.3f}",
    )
    left.set(xlabel="score", ylabel="share within 0.1 of the extent", title=f"Reliability on val: {of}")
    left.legend(fontsize=8)
    left.grid(alpha=0.3)
    right.hist(whole.score, bins=BINS, range=(0, 1), color="grey")
    right.set(xlabel="score", ylabel="joints", title="How often each score is given")
    figure.tight_layout()
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=80)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True, help="a manifest of posetrain.keypoints.make")
    args = parser.parse_args()
    manifest = tomllib.loads(args.model.read_text())
    calibration = Calibration.of_manifest(manifest)
    system = Own.of_manifest(args.model)
    records = cache.load(args.cache)
    packs = {pack: joints(measure(system, records, pack), calibration) for pack in VAL_PACKS}
    draw(packs, args.out, f"{manifest['name']}, {manifest['sha256'][:8]}")
    for name, part in {**packs, "all": together(list(packs.values()))}.items():
        print(f"{name}: {len(part.score)} joints, ECE {part.ece():.4f}")
        for score, hit, low, high, count in part.bins():
            print(f"  score {score:.2f}: seen {hit:.2f} ({low:.2f}-{high:.2f}) of {count}")


if __name__ == "__main__":
    main()
