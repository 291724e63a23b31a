"""Structures, heads and input shapes side by side: `python -m posetrain.keypoints.compare --cache DIR [--crops 40000]`.

Every structure is trained from nothing on the same crops in the same order, as many of each, and measured on val. That ranks
what learns fast and fits the budget; it says nothing of where each would end after days. For input shapes it works out how many
pixels the persons of the packs would be shown on.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from torch import Tensor, nn

from posetrain.data import cache
from posetrain.data.augment import plain_crop
from posetrain.keypoints import structures
from posetrain.keypoints.codec import HeatmapCodec
from posetrain.keypoints.config import configured
from posetrain.keypoints.evaluate import VAL_PACKS
from posetrain.keypoints.net import multiply_adds
from posetrain.keypoints.train import LONGEST, CropStream, annealed, to_input
from posetrain.loop import descend, set_rate
from posetrain.metrics import pck
from posetrain.precision import ARITHMETIC, reduced, settle

SIZE = 96
RATE = 2e-3
STRUCTURES: dict[str, Callable[[], nn.Module]] = {
    "dense 3x3": structures.dense,
    "dense 3x3, SimCC head": lambda: structures.SimccNet(SIZE),
    "dense, depthwise at strides 16 and 32": structures.depthwise_low,
    "MobileNetV2 trunk": structures.mobilenet,
}
# width, height, of about as many pixels as 192 x 192
SHAPES = ((192, 192), (164, 224), (144, 256))
# width, height that the dense network is trained on
INPUTS = ((96, 96), (96, 128), (128, 128), (160, 160), (192, 192), (192, 256))


def positions(net: nn.Module, codec: HeatmapCodec, images: Tensor) -> Tensor:
    with reduced():
        out = net(to_input(images))
    return structures.simcc_decode(out) if isinstance(out, tuple) else codec.decode_batch(out)[0]


def trained(
    build: Callable[[], nn.Module], stream: CropStream, crops: int, size: int = SIZE
) -> tuple[nn.Module, float]:
    """The network after `crops` crops of `size` rows, and how many a second it saw."""
    torch.manual_seed(1)
    config = stream.config
    net = build().to(memory_format=torch.channels_last).train()
    optimiser = torch.optim.AdamW(net.parameters(), lr=RATE, weight_decay=config.weight_decay, fused=True)
    steps, spent = crops // config.batch, 0.0
    for step in range(steps):
        batch = stream.batch(step, size)
        began = time.process_time()
        set_rate(optimiser, RATE * annealed(step, step / steps, warmup_steps=100))
        with reduced():
            out = net(to_input(batch.images))
        if isinstance(out, tuple):
            loss = structures.simcc_loss(out, batch.xy, batch.weight)
        else:
            loss = config.codec.loss(out, batch.xy, batch.weight, batch.outside)
        descend(loss, optimiser, net.parameters(), LONGEST)
        spent += time.process_time() - began
    return net.eval(), crops / spent


@torch.no_grad()
def accuracy(
    net: nn.Module,
    codec: HeatmapCodec,
    records: cache.Records,
    pack: str,
    size: int = SIZE,
    aspect: float = 1.0,
) -> list[float]:
    ids = records.where("val", (pack,))
    ids = ids[:: max(1, len(ids) // 400)]
    crops = [plain_crop(records.picture(i), records.box[i], size, aspect=aspect) for i in ids]
    found = [
        positions(net, codec, torch.from_numpy(np.stack([c[0] for c in crops[k : k + 64]])))
        for k in range(0, len(crops), 64)
    ]
    xy = torch.cat(found).numpy()
    values = []
    for threshold in (0.05, 0.1, 0.2):
        parts = [pck(xy[k], records.joints[i], crops[k][1], threshold) for k, i in enumerate(ids)]
        values.append(sum(float(h.sum()) for h, _ in parts) / sum(float(c.sum()) for _, c in parts))
    return values


def shapes(records: cache.Records, pack: str) -> list[list[float]]:
    """For each of `SHAPES` the 10th, 50th and 90th percentile of the pixels that a train person's extent is shown on."""
    box = records.box[records.where("train", (pack,))]
    width, height = box[:, 2] - box[:, 0], box[:, 3] - box[:, 1]
    rows = []
    for w, h in SHAPES:
        scale = np.minimum(w / np.maximum(width, 1), h / np.maximum(height, 1)) / 1.25
        rows.append(np.quantile(scale * np.maximum(width, height), (0.1, 0.5, 0.9)).tolist())
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--crops", type=int, default=40_000)
    parser.add_argument(
        "--out", type=Path, help="results as JSON lines; structures in it are not trained again"
    )
    args = parser.parse_args()
    torch.set_num_threads(1)
    records = cache.load(args.cache)
    config = replace(configured("small-fifth"), input=SIZE, empty_chance=0.0)
    stream = CropStream(records, config, 0, 1, SimpleNamespace(value=SIZE))
    known = (
        [json.loads(r) for r in args.out.read_text().splitlines()] if args.out and args.out.exists() else []
    )
    codec, arithmetic = config.codec, settle()

    def measured(
        name: str, build: Callable[[], nn.Module], width: int, height: int, stream: CropStream
    ) -> None:
        """Prints a row, from `--out` where it is there."""
        same = {"structure": name, "crops": args.crops, ARITHMETIC: arithmetic}
        row = next((r for r in known if same.items() <= r.items()), None)
        if row is None:
            net, speed = trained(build, stream, args.crops, height)
            results = {p: accuracy(net, codec, records, p, height, width / height) for p in VAL_PACKS}
            macs = multiply_adds(net, height, width) / 1e6
            row = same | {"macs": macs, "speed": speed, **results}
            if args.out:
                with args.out.open("a") as out:
                    out.write(json.dumps(row) + "\n")
        cells = [" / ".join(f"{v:.3f}" for v in row[pack]) for pack in VAL_PACKS]
        print(f"| {name} | {row['macs']:.0f} | {row['speed']:.0f} | " + " | ".join(cells) + " |", flush=True)

    print(f"{args.crops} crops each, in {arithmetic}; PCK.05 / .1 / .2 on val")
    columns = " | million multiply-adds | crops a CPU second | " + " | ".join(VAL_PACKS) + " |"
    rule = "|---" * (3 + len(VAL_PACKS)) + "|"
    print(f"\n| structure, on {SIZE} x {SIZE}{columns}\n{rule}")
    for name, build in STRUCTURES.items():
        measured(name, build, SIZE, SIZE, stream)
    print(f"\n| input of the dense network, width x height{columns}\n{rule}")
    for width, height in INPUTS:
        shaped = replace(config, augment=replace(config.augment, aspect=width / height))
        stream = CropStream(records, shaped, 0, 1, SimpleNamespace(value=height))
        measured(f"{width} x {height}", structures.dense, width, height, stream)
    print("\npixels that a person's longer side is shown on: 10 %, 50 % and 90 % of the train persons")
    for pack in VAL_PACKS:
        for (w, h), row in zip(SHAPES, shapes(records, pack), strict=True):
            print(f"{pack:10s} {w} x {h}: " + " / ".join(f"{v:.0f}" for v in row))


if __name__ == "__main__":
    main()
