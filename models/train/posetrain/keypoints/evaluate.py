"""Accuracy on held-out crops, own network and peers on the same ones, with 95 % bootstrap intervals.

    python -m posetrain.keypoints.evaluate --cache DIR --model models/keypoints-small.toml --peers DIR

`--cards` writes what was measured of own networks into their cards: the rows of the int8 network on val, and its scores' errors.
Crop = square of 1.25 x the extent of the labelled joints, centred; PCK.t = share of labelled body joints
within t of the extent. Intervals: pictures (videos for J-HMDB) drawn with replacement.
"""

from __future__ import annotations

import argparse
import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from posetrain.data import cache
from posetrain.data.augment import PAD, crop_matrix
from posetrain.data.packs import BODY
from posetrain.data.source import source_of
from posetrain.kept import given
from posetrain.keypoints.calibrate import WITHIN, Calibration, expected_calibration_error
from posetrain.keypoints.manifest import ABOUT_ERRORS, numbers, without_intervals
from posetrain.keypoints.peers import Estimator, Own, peers
from posetrain.metrics import bootstrap, distances

VAL_PACKS = ("lspet", "jhmdb", "coco_more")
THRESHOLDS = (0.05, 0.1, 0.2)


@dataclass(frozen=True)
class Measured:
    """Over the persons of one pack: errors / extent and labelled, both [N, 12]; features [N, 17]; groups
    [N]."""

    error: npt.NDArray[np.float64]
    labelled: npt.NDArray[np.float64]
    features: npt.NDArray[np.float32]
    groups: npt.NDArray[np.str_]

    def pck(self, threshold: float) -> tuple[float, float, float]:
        """Value and its 95 % interval."""
        hits = ((self.error <= threshold) * self.labelled).sum(axis=1)
        counts = self.labelled.sum(axis=1)
        low, high = bootstrap(hits, counts, self.groups)
        return float(hits.sum() / counts.sum()), low, high


def measure(
    system: Estimator, records: cache.Records, pack: str, every: int = 1, split: str = "val"
) -> Measured:
    rows = []
    ids = records.where(split, (pack,))[::every]
    for i in ids:
        x0, y0, x1, y1 = (float(v) for v in records.box[i])
        centre, side = ((x0 + x1) / 2, (y0 + y1) / 2), PAD * max(x1 - x0, y1 - y0)
        xy = system.joints(records.picture(i), centre, side)
        matrix = crop_matrix(centre, side, 192)
        error, labelled = distances(xy @ matrix[:, :2].T + matrix[:, 2], records.joints[i], matrix)
        features = system.features.copy() if isinstance(system, Own) else np.zeros(17, np.float32)
        rows.append((error, labelled, features))
    groups = np.array([source_of(str(records.key[i])) for i in ids])
    errors, labelled_rows, feature_rows = (np.stack(part) for part in zip(*rows, strict=True))
    return Measured(errors, labelled_rows, feature_rows, groups)


def calibration_error(measured: list[Measured], calibration: Calibration) -> float:
    """ECE of the body joints' scores over all that was measured."""
    scores = np.concatenate([calibration.score(m.features)[:, BODY].ravel() for m in measured])
    hits = np.concatenate([(m.error <= WITHIN).ravel() for m in measured]).astype(np.float64)
    labelled = np.concatenate([m.labelled.ravel() for m in measured]) > 0
    return expected_calibration_error(scores[labelled], hits[labelled])


def errors_of_scores(measured: dict[str, Measured], calibration: Calibration) -> str:
    """Two lines of a card: over all packs, where one's modesty makes up for another's boldness, and of each pack alone."""
    each = ", ".join(f"{pack} = {calibration_error([m], calibration):.4f}" for pack, m in measured.items())
    return f"ece = {calibration_error(list(measured.values()), calibration):.4f}\nece_of = {{ {each} }}"


def with_errors(manifest: str, lines: str) -> str:
    """The manifest with these lines of `errors_of_scores`, and what says what they are, in the place of its own."""
    # The card of presence has an `ece` too, further down.
    manifest, found = re.subn(
        r"^(# expected calibration error .*\n)?ece = .*(\nece_of = .*)?$",
        lambda _: f"{ABOUT_ERRORS}\n{lines}",
        manifest,
        count=1,
        flags=re.MULTILINE,
    )
    if not found:
        raise SystemExit("the manifest has no `ece`: posetrain.keypoints.ship writes whole ones")
    return manifest


def table(name: str, pack: str, measured: Measured) -> str:
    cells = []
    for threshold in THRESHOLDS:
        value, low, high = measured.pck(threshold)
        cells.append(f"{value:.3f} ({low:.3f}-{high:.3f})")
    return f"| {name} | {pack} | {len(measured.error)} | " + " | ".join(cells) + " |"


def figures(name: str, pack: str, measured: Measured) -> dict[str, Any]:
    """As `table`, to be kept: a value and its 95 % interval each."""
    return {"system": name, "pack": pack, "persons": len(measured.error)} | {
        f"pck_{threshold:g}".replace("pck_0.", "pck_"): [round(v, 3) for v in measured.pck(threshold)]
        for threshold in THRESHOLDS
    }


def with_row(manifest: str, pack: str, measured: Measured) -> str:
    """The manifest with this in the place of its int8 network's row of the pack's val part. The f32 network's row keeps its values
    alone: intervals of two measures do not stand beside each other."""
    persons = len(measured.error)

    def head(precision: str) -> str:
        return f'[[card.metrics]]\nprecision = "{precision}"\npack = "{pack}"\nsplit = "val"\npersons = {persons}\n'

    rows = "".join(
        f"pck_{threshold:g} = ".replace("pck_0.", "pck_") + numbers(measured.pck(threshold)) + "\n"
        for threshold in THRESHOLDS
    )
    manifest, found = re.subn(
        rf"{re.escape(head('int8'))}(pck_\d+ = .*\n){{3}}", head("int8") + rows, manifest
    )
    if found != 1:
        raise SystemExit(
            f"no row of {persons} persons of {pack}: posetrain.keypoints.ship writes whole cards"
        )
    of_f32 = rf"{re.escape(head('f32'))}(pck_\d+ = .*\n){{3}}"
    return re.sub(of_f32, lambda block: without_intervals(block[0]), manifest)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument(
        "--model", type=Path, action="append", default=[], help="own manifests; may be given again"
    )
    parser.add_argument("--peers", type=Path, help="folder with the peers' networks")
    parser.add_argument("--every", type=int, default=1, help="take every n-th crop")
    parser.add_argument(
        "--cards", action="store_true", help="write what was measured into own networks' cards"
    )
    parser.add_argument("--json", type=Path, help="file for the peers' figures")
    args = parser.parse_args()
    if args.cards and args.every != 1:
        parser.error("--cards: a card tells of all of val, so not with --every")
    if args.json and args.every != 1:
        parser.error("--json: what is kept tells of all of val, so not with --every")
    records = cache.load(args.cache)
    manifests = {path.stem: path for path in args.model}
    systems: dict[str, Estimator] = {name: Own.of_manifest(path) for name, path in manifests.items()}
    if args.peers:
        systems |= peers(args.peers)
    rows = []
    print("| system | val of | persons | PCK.05 | PCK.1 | PCK.2 |\n|---|---|---|---|---|---|")
    of_own: dict[str, dict[str, Measured]] = {name: {} for name in manifests}
    for pack in VAL_PACKS:
        for name, system in systems.items():
            measured = measure(system, records, pack, args.every)
            print(table(name, pack, measured), flush=True)
            if not isinstance(system, Own):
                rows.append(figures(name, pack, measured))
                continue
            of_own[name][pack] = measured
            if args.cards:
                path = manifests[name]
                path.write_text(with_row(path.read_text(), pack, measured))
    for name, path in manifests.items():
        said = path.read_text()
        lines = errors_of_scores(of_own[name], Calibration.of_manifest(tomllib.loads(said)))
        print(f"{name}: {lines.replace(chr(10), ', ')}")
        if args.cards:
            path.write_text(with_errors(said, lines))
    if args.json:
        files = {args.cache: "CACHE", args.peers: "PEERS", args.json: "FILE"}
        said = {
            "command": given(
                "posetrain.keypoints.evaluate", files | {path: f"../{path.name}" for path in args.model}
            ),
            "protocol": "val of the packs; the crop's side is 1.25 x the joints' extent; twelve body joints; 95 % intervals by the "
            "bootstrap over pictures, over videos for jhmdb",
        }
        head = "".join(f"{json.dumps(k)}: {json.dumps(v)},\n" for k, v in said.items())
        args.json.write_text(
            "{\n" + head + '"rows": [\n ' + ",\n ".join(json.dumps(row) for row in rows) + "\n]}\n"
        )


if __name__ == "__main__":
    main()
