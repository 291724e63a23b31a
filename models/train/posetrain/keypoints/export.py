"""A long run's weights in the form that ships, f32 and static int8, and how accurate both are on whole val parts.

    python -m posetrain.keypoints.export configs/steady/small-usable.toml --caches DIR --weights FILE --out work/export

The ranges of int8 come from train persons of the configuration's own sources, so the file has the weights' licence class.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from posetrain.data import cache
from posetrain.data.augment import plain_crop
from posetrain.data.packs import KNOWN_PACKS, Pixels
from posetrain.keypoints import evaluate
from posetrain.keypoints.graph import export_keypoints
from posetrain.keypoints.make import CALIBRATION_CROPS
from posetrain.keypoints.net import KeypointNet
from posetrain.keypoints.peers import Own
from posetrain.keypoints.quantise import quantise
from posetrain.keypoints.scales import weights_of
from posetrain.keypoints.steady_config import SteadyConfig, load_config


def range_crops(config: SteadyConfig, caches: Path, size: int) -> Pixels:
    """Train persons as the device crops them, of each source as many as its share [N, size, size, 3]."""
    rng, crops = np.random.default_rng(7), []
    total = sum(s.share for s in config.sources)
    for source in config.sources:
        records = cache.load(caches / source.cache)
        ids = np.flatnonzero(records.split == cache.SPLITS.index("train"))
        count = min(len(ids), max(1, round(CALIBRATION_CROPS * source.share / total)))
        chosen = rng.choice(ids, count, replace=False)
        crops += [plain_crop(records.picture(i), records.box[i], size)[0] for i in chosen]
    return np.stack(crops)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("config", type=Path)
    parser.add_argument("--caches", type=Path, required=True)
    parser.add_argument(
        "--weights", type=Path, required=True, help="checkpoint.pt, final.pt or compact checkpoint"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--size", type=int, default=160, help="of the input, pixels")
    parser.add_argument("--every", type=int, default=1, help="measure every n-th val crop only")
    args = parser.parse_args()
    config = load_config(args.config)
    args.out.mkdir(parents=True, exist_ok=True)
    net = KeypointNet(config.net)
    net.load_state_dict(weights_of(args.weights))
    f32, int8 = (args.out / f"{config.name}-{kind}.onnx" for kind in ("f32", "int8"))
    export_keypoints(net, args.size, args.size, f32)
    quantise(f32, int8, range_crops(config, args.caches, args.size), real_outputs=("heatmaps",))
    print("| system | val of | persons | PCK.05 | PCK.1 | PCK.2 |\n|---|---|---|---|---|---|")
    for name in config.val:
        records = cache.load(args.caches / name)
        for pack in np.unique(records.pack[records.split == cache.SPLITS.index("val")]):
            for path in (f32, int8):
                system = Own(path, config.codec(args.size))
                measured = evaluate.measure(system, records, KNOWN_PACKS[pack], args.every)
                print(evaluate.table(path.stem, KNOWN_PACKS[pack], measured), flush=True)


if __name__ == "__main__":
    main()
