"""The shipped int8 finder as weights that training goes on from, at another input size too, where its checkpoint is lost.

    python -m posetrain.finder.adopt ../person.toml --scenes DIR [--scenes DIR ...] --out work/person/adopted.pt

Batch norms come back as those of training pictures at the input size that training goes on at: posetrain.keypoints.adopt says how.
"""

from __future__ import annotations

import argparse
import tomllib
from functools import partial
from pathlib import Path

import numpy as np
import torch

from posetrain.data import scenes as stored
from posetrain.finder.graph import export
from posetrain.finder.net import FinderNet, Size
from posetrain.finder.sample import sample
from posetrain.keypoints.adopt import dequantised, take_over
from posetrain.keypoints.train import to_input
from posetrain.loop import save

PICTURES = 192


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("manifest", type=Path)
    parser.add_argument(
        "--scenes", type=Path, action="append", required=True, help="of posetrain.data.scenes"
    )
    parser.add_argument(
        "--size", type=Size.of, default=Size(), metavar="WIDTHxHEIGHT", help="of the input: %(default)s"
    )
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    said = tomllib.loads(args.manifest.read_text())
    torch.manual_seed(1)
    net, rng = FinderNet(), np.random.default_rng(7)
    scenes = [s for folder in args.scenes for s in stored.load(folder)]
    share = np.full(len(scenes), 1 / len(scenes))
    pictures = np.stack([sample(scenes, share, rng, args.size)[0] for _ in range(PICTURES)])
    folded = dequantised(args.manifest.with_name(said["file"]))
    take_over(net, partial(export, net, size=args.size), folded, to_input(torch.from_numpy(pictures)))
    card = said["card"]
    args.out.parent.mkdir(parents=True, exist_ok=True)
    before = {"pictures": int(card["train_pictures_seen"]), "spent": 60.0 * float(card["train_minutes"])}
    save(args.out, {"ema": net.state_dict(), "learned": card["data"], **before})
    print(args.out)


if __name__ == "__main__":
    main()
