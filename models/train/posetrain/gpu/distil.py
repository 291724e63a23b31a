"""Trains a keypoint network on one GPU, taught on every crop by a larger one that sees the same part of the picture, unspoiled.

    python -m posetrain.gpu.distil CONFIG --pieces DIR --begin FROM.npz --teacher LARGE.npz --minutes 5 --out OUT

What the teacher says is asked for where nobody labelled and, by a source's `taught`, beside labels, as `posetrain.keypoints.taught`
does with stored maps; a source of `taught = 1` is learned from the teacher alone. A teacher who is asked about every view, patiently:
Beyer et al. 2022. The learning rate follows the part of the minutes that is gone, so a run ends when it must; crops are counted.
Pieces (`posetrain.gpu.pieces`) may arrive while it runs: FILE.ready says that FILE is whole.
"""

from __future__ import annotations

import argparse
import copy
import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from posetrain.data.augment import plain_crop
from posetrain.data.packs import MIRROR, Floats, Pixels, joints_box
from posetrain.gpu import pieces
from posetrain.gpu.batches import Batch, Stream
from posetrain.gpu.compiled import half_precision, quicker
from posetrain.gpu.pieces import Piece
from posetrain.gpu.store import Store
from posetrain.keypoints import checkpoints
from posetrain.keypoints.codec import HeatmapCodec
from posetrain.keypoints.net import KeypointNet, NetConfig
from posetrain.keypoints.steady import optimiser_of
from posetrain.keypoints.steady_config import SteadyConfig, load_config
from posetrain.keypoints.train import average, to_input
from posetrain.metrics import pck

WARM_UP, LEVEL = 0.03, 0.35
# Pixels of stored pictures that there is room for.
ROOM_CUDA, ROOM_CPU = 6_000_000_000, 400_000_000
# What `large` is made of.
TEACHER = NetConfig(widths=(16, 32, 64, 128, 192), blocks=(0, 2, 3, 2), pyramid=(64, 32))
AVERAGE_EVERY, LOOK_EVERY_S, SAY_EVERY_S = 4, 60.0, 10.0


def losses(config: SteadyConfig, maps: Tensor, rough: Tensor, batch: Batch) -> Tensor:
    """As `posetrain.keypoints.steady.losses`."""
    codec = config.codec(batch.images.shape[2])
    low = HeatmapCodec(16, max(0.5, codec.sigma_cells / 4))
    fields = (batch.xy, batch.weight, batch.outside)
    total = codec.loss(maps, *fields)
    part = batch.target_weight.sum() / (batch.weight.sum() + batch.outside.sum()).clamp(min=1.0)
    total = (total + part * codec.taught_loss(maps, batch.target, batch.target_weight)) / (1 + part)
    return total + config.auxiliary * low.loss(rough, *fields)


class Judge:
    """PCK on val's persons, at one size of crop."""

    def __init__(self, config: SteadyConfig, net: int) -> None:
        self.codec, self.net = config.codec(net), net

    @torch.no_grad()
    def look(self, model: nn.Module, store: Store) -> str:
        model.eval()
        out = []
        for name, persons in sorted(store.val.items()):
            crops = [plain_crop(p, joints_box(j), self.net) for p, j in persons]
            maps = []
            for k in range(0, len(crops), 64):
                images = to_input(torch.from_numpy(np.stack([c for c, _ in crops[k : k + 64]]))).to(
                    store.device
                )
                with half_precision(store.device):
                    maps.append(model(images).float().cpu())
            xy = self.codec.decode_batch(torch.cat(maps))[0].numpy()
            values = []
            for threshold in (0.05, 0.1):
                rows = [pck(xy[k], j, crops[k][1], threshold) for k, (_, j) in enumerate(persons)]
                values.append(
                    sum(float(h.sum()) for h, _ in rows) / max(sum(float(n.sum()) for _, n in rows), 1)
                )
            out.append(f"{name} {values[0]:.3f}/{values[1]:.3f}")
        return ", ".join(out)


def rate(part: float) -> float:
    """Of the learning rate, where `part` of the run is gone: up, level, then a cosine's fall to nothing."""
    if part < WARM_UP:
        return part / WARM_UP
    fall = max(0.0, (part - LEVEL) / (1 - LEVEL))
    return float(0.5 * (1 + np.cos(np.pi * min(1.0, fall))))


class Arrivals:
    """Takes pieces into the store as they come; they are decoded beside what else is done."""

    def __init__(self, folder: Path, store: Store) -> None:
        self.folder, self.store, self.known = folder, store, set[Path]()
        self.pool = ThreadPoolExecutor(1)
        self.decoding: list[Future[tuple[Path, Piece, list[Pixels], Floats]]] = []

    def _decoded(self, path: Path) -> tuple[Path, Piece, list[Pixels], Floats]:
        piece = pieces.load(path)
        return path, piece, *piece.decoded(os.cpu_count() or 1)

    def take(self, wait: bool = False) -> None:
        for ready in sorted(set(self.folder.glob(f"*{pieces.READY}")) - self.known):
            self.known.add(ready)
            self.decoding.append(self.pool.submit(self._decoded, ready.with_suffix("")))
        while self.decoding and (wait or self.decoding[0].done()):
            path, piece, pictures, joints = self.decoding.pop(0).result()
            self.store.add(piece, pictures, joints)
            say(f"{path.name}: {len(self.store)} persons")


def network(weights: dict[str, Tensor], net: NetConfig, device: torch.device) -> KeypointNet:
    model = KeypointNet(net)
    model.load_state_dict(weights)
    return model.to(device).to(memory_format=torch.channels_last)


def train(
    config: SteadyConfig,
    arrivals: Arrivals,
    begin: dict[str, Tensor],
    teacher: Callable[[Tensor], Tensor],
    teacher_net: int,
    seconds: float,
    keep: Callable[[dict[str, Tensor], int], None],
) -> None:
    """Hands the averaged weights and the crops that were seen to `keep`, at every look at val and at the end."""
    store, device = arrivals.store, arrivals.store.device
    torch.manual_seed(config.seed)
    model = network(begin, config.net, device)
    ema, optimiser = copy.deepcopy(model), optimiser_of(model, config)
    stream, judge = Stream(config, store, teacher, teacher_net), Judge(config, config.largest(0))
    stream.tune()
    size, forward = config.batch, compiled_step(config, model, stream)
    step = crops = said_crops = 0
    began = said = looked = time.monotonic()
    loss_sum = torch.zeros((), device=device)
    while (part := (time.monotonic() - began) / seconds) < 1:
        for group in optimiser.param_groups:
            group["lr"] = config.learning_rate * rate(part)
        batch = stream.batch(size, config.size(step * config.batch))
        model.train()
        with half_precision(device):
            maps, rough = forward(batch.images)
        loss = losses(config, maps, rough, batch)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimiser.step()
        step, crops = step + 1, crops + size
        loss_sum += loss.detach()
        if step % AVERAGE_EVERY == 0:
            average(ema, model, min(config.ema**AVERAGE_EVERY, (1 + step) / (10 + step)))
        now = time.monotonic()
        if now - said > SAY_EVERY_S:
            done = step * size
            mean = float(loss_sum) * size / max(done - said_crops, 1)
            if not np.isfinite(mean):
                raise FloatingPointError(
                    f"the loss is {mean} after {done} crops: look at the labels of what arrived last"
                )
            say(
                f"{now - began:6.1f} s {done:9d} crops, loss {mean:.4f}, {(done - said_crops) / (now - said):.0f} crops/s"
            )
            loss_sum.zero_()
            said, said_crops = now, done
            arrivals.take()
        if now - looked > LOOK_EVERY_S:
            looked = now
            keep(ema.state_dict(), crops)
            say(f"{now - began:6.1f} s {judge.look(ema, store)}")
    keep(ema.state_dict(), crops)
    say(f"end: {crops} crops, {step} steps; {judge.look(ema, store)}")


def say(line: str) -> None:
    print(line, flush=True)


def compiled_step(
    config: SteadyConfig, model: KeypointNet, stream: Stream
) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
    """The network's maps and rough maps, by whatever is quickest; the network is left as it was."""
    before = {name: value.clone() for name, value in model.state_dict().items()}
    batches = [
        stream.batch(config.batch, net) for net in sorted({config.size(k * config.batch) for k in range(8)})
    ]

    def plain(images: Tensor) -> tuple[Tensor, Tensor]:
        maps, rough = model(images, auxiliary=True)
        return maps, rough

    def work(forward: Callable[..., tuple[Tensor, Tensor]]) -> None:
        for batch in batches:
            with half_precision(batch.images.device):
                maps, rough = forward(batch.images)
            losses(config, maps, rough, batch).backward()

    model.train()
    forward = quicker("a step", plain, work)
    model.zero_grad(set_to_none=True)
    model.load_state_dict(before)
    return forward


def mirrored_too(model: nn.Module) -> Callable[[Tensor], Tensor]:
    """A teacher that looks twice, the second time in the mirror: the logarithm of the mean of both looks' probabilities."""
    mirror = torch.from_numpy(MIRROR).to(next(model.parameters()).device)

    def look(images: Tensor) -> Tensor:
        maps = model(torch.cat([images, images.flip(3)])).float()
        p = maps.flatten(2).softmax(2).view_as(maps)
        both = p[: len(images)] + p[len(images) :, mirror].flip(3)
        return torch.log(both.clamp(min=1e-9))

    return look


def run(
    config: SteadyConfig,
    arrivals: Arrivals,
    begin: Path,
    teacher: Path,
    teacher_net: int,
    seconds: float,
    out: Path,
) -> None:
    """One run from a compact checkpoint to another, by a teacher of `large`'s structure. Raises `FileNotFoundError` without a piece."""
    arrivals.take(wait=True)
    if not len(arrivals.store):
        raise FileNotFoundError(
            f"{arrivals.folder}: no piece with its {pieces.READY}; `python -m posetrain.gpu.pieces` makes them"
        )
    device = arrivals.store.device
    tutor = mirrored_too(network(checkpoints.load(teacher)[0], TEACHER, device).eval())
    count = config.batch - round(config.batch * config.empty_chance)
    images = torch.rand(count, 3, teacher_net, teacher_net, device=device).contiguous(
        memory_format=torch.channels_last
    )

    @torch.no_grad()
    def ask(look: Callable[[Tensor], Tensor]) -> None:
        with half_precision(device):
            look(images)

    asked = quicker("the teacher", tutor, ask)
    weights, before = checkpoints.load(begin)

    def keep(averaged: dict[str, Tensor], crops: int) -> None:
        checkpoints.store({name: value.cpu() for name, value in averaged.items()}, before + crops, out)

    train(config, arrivals, weights, asked, teacher_net, seconds, keep)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("config", type=Path)
    parser.add_argument("--pieces", type=Path, required=True, help="folder of pieces, each with its .ready")
    parser.add_argument("--begin", type=Path, required=True, help="compact checkpoint to begin with")
    parser.add_argument("--teacher", type=Path, required=True, help="compact checkpoint of the teacher")
    parser.add_argument("--teacher-size", type=int, default=256, help="pixels at which it is asked")
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--out", type=Path, required=True, help="the compact checkpoint to write")
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cudnn.benchmark = True
    config = load_config(args.config)
    room = ROOM_CUDA if device.type == "cuda" else ROOM_CPU
    arrivals = Arrivals(args.pieces, Store(device, room, config.empty))
    try:
        run(config, arrivals, args.begin, args.teacher, args.teacher_size, args.minutes * 60, args.out)
    except (FileNotFoundError, FloatingPointError) as error:
        parser.exit(1, f"{error}\n")


if __name__ == "__main__":
    main()
