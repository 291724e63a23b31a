"""Fits anew what a finished network's scores and sigmas say, on persons kept back from its training, and measures them on val.

    python -m posetrain.keypoints.scores ../keypoints-small.toml --cache work/cache [--cache MORE]

Of the manifest only `[codec.score]`, `[codec.sigma]` and the card's `ece` and `ece_of` change. `--pack` holds weights that a company
may use to pictures that it may use.
"""

from __future__ import annotations

import argparse
import re
import tomllib
from itertools import chain
from pathlib import Path

from posetrain.data import cache
from posetrain.data.packs import KNOWN_PACKS
from posetrain.keypoints.calibrate import Calibration
from posetrain.keypoints.evaluate import VAL_PACKS, calibration_error, errors_of_scores, measure, with_errors
from posetrain.keypoints.make import fit_scores, kept_back
from posetrain.keypoints.manifest import numbers
from posetrain.keypoints.peers import Own
from posetrain.keypoints.reliability import joints


def rewritten(manifest: str, fitted: Calibration, errors: str) -> str:
    """The manifest with these numbers in the places of its own."""
    for name in "abcd":
        value = numbers(getattr(fitted, name))
        manifest, found = re.subn(
            rf"^{name} = .*$", f"{name} = {value}", manifest, count=1, flags=re.MULTILINE
        )
        if not found:
            raise SystemExit(f"the manifest has no `{name}`: posetrain.keypoints.ship writes whole ones")
    return with_errors(manifest, errors)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("manifest", type=Path)
    parser.add_argument(
        "--cache",
        type=Path,
        action="append",
        required=True,
        help="of posetrain.data.cache; may be given again",
    )
    parser.add_argument(
        "--pack", action="append", choices=KNOWN_PACKS, help="fit on these alone; may be given again"
    )
    args = parser.parse_args()
    text = args.manifest.read_text()
    caches = [cache.load(folder) for folder in args.cache]
    packs = tuple(args.pack or KNOWN_PACKS)
    own = Own.of_manifest(args.manifest)
    fitted = fit_scores(own, chain.from_iterable(kept_back(records, packs) for records in caches))
    val = {
        pack: measure(own, records, pack)
        for records in caches
        for pack in VAL_PACKS
        if len(records.where("val", (pack,)))
    }
    if missing := set(VAL_PACKS) - set(val):
        raise SystemExit(f"no cache has the val part of {', '.join(sorted(missing))}")
    before = Calibration.of_manifest(tomllib.loads(text))
    for name, calibration in (("before", before), ("now", fitted)):
        each = ", ".join(f"{pack} {joints(m, calibration).ece():.4f}" for pack, m in val.items())
        print(f"{name}: ECE {calibration_error(list(val.values()), calibration):.4f} ({each})")
    args.manifest.write_text(rewritten(text, fitted, errors_of_scores(val, fitted)))


if __name__ == "__main__":
    main()
