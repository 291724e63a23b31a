"""Left and right: who is seen from behind, and labels that exchange a whole person's sides.

The packs show few backs, and on backs networks and labellers alike take left for right. So backs can be drawn more
often (`back_repeat`), and where a trained network holds a person's labels for exchanged, it is believed against some
packs (`repair_sides`). In LSPET, labelled by hired hands, it doubted 55 persons: looked at, 34 are clearly labelled
wrongly, one clearly rightly, the others hard to tell. In the packs that teachers labelled most of the doubted are real
backs, so those stay as they are.

`python -m posetrain.keypoints.sides --cache DIR configs/keypoints/small.toml` prints how many persons
are seen from behind, in each pack and of the crops that a configuration draws.
"""

from __future__ import annotations

import argparse
import multiprocessing as mp
import tomllib
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from posetrain.data import cache
from posetrain.data.augment import plain_crop
from posetrain.data.packs import BODY, KNOWN_PACKS, MIRROR, PACKS, Floats
from posetrain.keypoints.codec import HeatmapCodec
from posetrain.keypoints.net import KeypointNet, NetConfig, grow
from posetrain.precision import reduced

Flags = npt.NDArray[np.bool_]
SHOULDERS, HIPS = [5, 6], [11, 12]
# All in parts of the joints' extent. Nearer to a side view than this, left and right are no matter of back and front.
TURNED = 0.08
UPRIGHT = 0.15
# The mean distance to the exchanged labels, and by how much it must be less than to the labels.
FITS, CLEARLY = 0.09, 0.08


def upright(joints: Floats, extent: Floats) -> Flags:
    """Shoulders well above hips, [N]; joints [N, 17, 3] in any upright picture's pixels, `extent` [N] in the same."""
    seen = (joints[:, SHOULDERS + HIPS, 2] > 0).all(axis=1)
    height = joints[:, HIPS, 1].mean(axis=1) - joints[:, SHOULDERS, 1].mean(axis=1)
    return np.asarray(seen & (height > UPRIGHT * extent))


def from_behind(joints: Floats, extent: Floats) -> Flags:
    """Upright, and the person's left is on the picture's left, [N]."""
    pairs = joints[:, [SHOULDERS, HIPS], 0]
    turned = (pairs[..., 0] - pairs[..., 1]).mean(axis=1) < -TURNED * extent
    return np.asarray(upright(joints, extent) & turned)


def extents(box: Floats) -> Floats:
    """Longer sides of boxes [N, 4] = x0 y0 x1 y1."""
    return np.asarray((box[:, 2:] - box[:, :2]).max(axis=1))


def exchanged(found: Floats, joints: Floats, extent: Floats) -> Flags:
    """Where the found places [N, 17, 2] fit the labels [N, 17, 3] with left and right exchanged, and those alone."""
    paired = (joints[:, BODY, 2] > 0) & (joints[:, MIRROR, 2] > 0)[:, BODY]
    count = np.maximum(paired.sum(axis=1), 1)

    def mean_distance(labels: Floats) -> Floats:
        distance = np.linalg.norm(found[:, BODY] - labels[:, BODY, :2], axis=-1) / extent[:, None]
        return np.asarray(np.where(paired, distance, 0).sum(axis=1) / count)

    as_labelled, other = mean_distance(joints), mean_distance(joints[:, MIRROR])
    return np.asarray(upright(joints, extent) & (other < FITS) & (as_labelled - other > CLEARLY))


@torch.no_grad()
def look_twice(
    model: KeypointNet, records: cache.Records, ids: npt.NDArray[np.int64], net: int, codec: HeatmapCodec
) -> Floats:
    """Joints in each record's own pixels, [len(ids), 17, 2]: maps of the crop and of its mirror image averaged."""
    model.eval()
    mirror = torch.from_numpy(MIRROR.copy())
    found = []
    for first in range(0, len(ids), 64):
        crops = [plain_crop(records.picture(i), records.box[i], net) for i in ids[first : first + 64]]
        images = torch.from_numpy(np.stack([pixels for pixels, _ in crops])).permute(0, 3, 1, 2).float() / 255
        images = images.contiguous(memory_format=torch.channels_last)
        with reduced():
            maps = model(images).float() + model(images.flip(3)).float().flip(3)[:, mirror]
        places = codec.peaks(maps)
        for xy, (_, matrix) in zip(places.numpy(), crops, strict=True):
            found.append(np.linalg.solve(matrix[:, :2], (xy - matrix[:, 2]).T).T)
    return np.asarray(found, np.float32).reshape(-1, 17, 2)


def doubted(
    data: Path, packs: Sequence[str], weights: Path, network: NetConfig, net: int, codec: HeatmapCodec
) -> npt.NDArray[np.int64]:
    """The training persons of `packs` in the cache `data` whose labels the network in `weights` holds for exchanged."""
    records = cache.load(data)
    model = KeypointNet(network).to(memory_format=torch.channels_last)
    grow(model, torch.load(weights, weights_only=True)["ema"])
    ids = records.where("train", tuple(packs))
    found = look_twice(model, records, ids, net, codec)
    return ids[exchanged(found, records.joints[ids], extents(records.box[ids]))]


def repair(
    records: cache.Records,
    data: Path,
    packs: Sequence[str],
    weights: Path,
    network: NetConfig,
    net: int,
    codec: HeatmapCodec,
) -> int:
    """Exchanges left and right, in place, of the persons that `doubted` names; says how many."""
    # In a process of its own: one that has run the network cannot fork workers any more, they wait for its threads for ever.
    with ProcessPoolExecutor(1, mp_context=mp.get_context("spawn")) as other:
        wrong = other.submit(doubted, data, packs, weights, network, net, codec).result()
    records.joints[wrong] = records.joints[wrong][:, MIRROR]
    return len(wrong)


def shares(
    records: cache.Records, ids: npt.NDArray[np.int64], repeat: dict[str, float], back_repeat: float
) -> Floats:
    """How often each record is drawn, adding up to 1."""
    share = np.array([repeat.get(KNOWN_PACKS[p], 1.0) for p in records.pack[ids]])
    behind = from_behind(records.joints[ids], extents(records.box[ids]))
    share = np.where(behind, share * back_repeat, share)
    return np.asarray(share / share.sum())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("config", type=Path)
    parser.add_argument("--cache", type=Path, required=True)
    args = parser.parse_args()
    records, config = cache.load(args.cache), tomllib.loads(args.config.read_text())
    behind = from_behind(records.joints, extents(records.box))
    for split in ("train", "val"):
        for pack in PACKS:
            if len(ids := records.where(split, (pack,))):
                print(f"{split:6s}{pack:26s}{behind[ids].mean():6.1%} of {len(ids)} persons from behind")
    ids = records.where("train")
    for back_repeat in (1.0, float(config.get("back_repeat", 1.0))):
        drawn = shares(records, ids, config.get("repeat", {}), back_repeat)
        print(f"drawn with back_repeat = {back_repeat:g}: {drawn[behind[ids]].sum():.1%} from behind")


if __name__ == "__main__":
    main()
