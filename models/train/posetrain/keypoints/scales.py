"""How accurate weights in training are at each crop scale, on whole val parts.

    python -m posetrain.keypoints.scales configs/steady/small-usable.toml --caches DIR --weights FILE

FILE is a checkpoint.pt, a final.pt or a compact checkpoint (.npz). PCK as in `posetrain.keypoints.evaluate`; the last column is
the mean of PCK.1 over the scales as a part of its best.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

from posetrain.data import cache
from posetrain.data.packs import KNOWN_PACKS
from posetrain.keypoints import checkpoints
from posetrain.keypoints.net import KeypointNet
from posetrain.keypoints.steady import THRESHOLDS, accuracy
from posetrain.keypoints.steady_config import load_config

SCALES = (1.0, 1.25, 1.5, 1.75)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("config", type=Path)
    parser.add_argument("--caches", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--size", type=int, default=160, help="crop size in pixels")
    args = parser.parse_args()
    config = load_config(args.config)
    model = KeypointNet(config.net).to(memory_format=torch.channels_last)
    model.load_state_dict(checkpoints.weights_of(args.weights))
    torch.set_num_threads(1)
    print("| val of | persons | " + " | ".join(f"× {s}" for s in SCALES) + " | mean / best |")
    print("|---" * (len(SCALES) + 3) + "|")
    for name in config.val:
        records = cache.load(args.caches / name)
        for pack in np.unique(records.pack[records.split == cache.SPLITS.index("val")]):
            cells, tenths, count = [], [], 0
            for pad in SCALES:
                count, values = accuracy(model, config.codec(args.size), records, int(pack), args.size, pad)
                cells.append("/".join(f"{values[t]:.3f}".removeprefix("0") for t in THRESHOLDS))
                tenths.append(values[0.1])
            robust = f"{sum(tenths) / len(tenths) / max(tenths):.3f}".removeprefix("0")
            print(f"| {KNOWN_PACKS[pack]} | {count} | {' | '.join(cells)} | {robust} |", flush=True)


if __name__ == "__main__":
    main()
