"""Trains a keypoint network from a cache of crops: `python -m posetrain.keypoints.train configs/keypoints/small.toml --cache
DIR --out DIR`.

The schedule runs by time, not by epochs: learning rate and crop size are functions of (seconds trained /
budget), so the run is annealed when the budget ends, whatever the machine does beside it. A checkpoint
every few minutes holds everything; the same command resumes from it, and another configuration is refused.
"""

from __future__ import annotations

import argparse
import copy
import math
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import torch
import torch.multiprocessing as mp
from torch import Tensor, distributed
from torch.multiprocessing.spawn import spawn
from torch.utils.data import IterableDataset

from posetrain.data import cache, synthetic
from posetrain.data.augment import augmented, coloured, empty_crop, plain_crop
from posetrain.data.packs import MIRROR, PACKS, Floats, Pixels
from posetrain.data.scenes import empty_parts
from posetrain.keypoints import sides
from posetrain.keypoints.codec import HeatmapCodec
from posetrain.keypoints.config import Run, TrainConfig, load_config
from posetrain.keypoints.net import KeypointNet, grow
from posetrain.loop import Checkpoint, Meter, average, batches, descend, groups_of, save, set_rate, write_row
from posetrain.metrics import pck
from posetrain.precision import ARITHMETIC, reduced, settle
from posetrain.resumed import as_kept, completed, require_same

# Five face joints move together and are no part of the comparison with peers; limb ends are the hardest.
JOINT_WEIGHT = np.array([0.6] * 5 + [1.0, 1.0, 1.2, 1.2, 1.4, 1.4, 1.0, 1.0, 1.2, 1.2, 1.3, 1.3], np.float32)
SAY_EVERY_S, SAVE_EVERY_S = 30.0, 120.0
# Norm of a step's gradient.
LONGEST = 5.0


@dataclass
class Batch:
    images: Tensor  # uint8 [B, net, net, 3]
    xy: Tensor
    weight: Tensor
    outside: Tensor


class CropStream(IterableDataset[Batch]):
    """Endless batches of augmented crops. Batch k depends on (seed, k) alone, so a resumed run goes on
    where it was."""

    def __init__(
        self,
        records: cache.Records,
        config: TrainConfig,
        first: int,
        stride: int,
        size: Any,
        empties: Sequence[Pixels] = (),
    ) -> None:
        self.records, self.config, self.first, self.stride, self.size = records, config, first, stride, size
        self.empties = empties
        ids = records.where("train", config.packs)
        self.ids, self.share = ids, sides.shares(records, ids, config.repeat, config.back_repeat)
        weight = np.where(cache.is_pseudo(records), config.pseudo_weight, 1.0)
        self.weight = np.where(records.tier == 2, weight * config.tier2_weight, weight).astype(np.float32)

    def batch(self, k: int, net: int) -> Batch:
        rng = np.random.default_rng((self.config.seed, k))
        chosen = rng.choice(self.ids, self.config.batch, p=self.share)
        width = round(net * self.config.augment.aspect)
        images = np.empty((len(chosen), net, width, 3), np.uint8)
        xy = np.empty((len(chosen), 17, 2), np.float32)
        weight, outside = np.empty((2, len(chosen), 17), np.float32)
        for row, i in enumerate(chosen):
            if self.empties and rng.random() < self.config.empty_chance:
                images[row] = empty_crop(self.empties[int(rng.integers(len(self.empties)))], net, rng)
                xy[row], weight[row], outside[row] = 0, 0, self.config.empty_weight
                continue
            sample = augmented(self.records.picture(i), self.records.joints[i], self.config.augment, net, rng)
            images[row], xy[row] = sample.pixels, sample.xy
            weight[row] = sample.inside * self.weight[i] * JOINT_WEIGHT
            outside[row] = sample.outside * self.config.outside_weight
        return Batch(coloured(images, rng), *(torch.from_numpy(v) for v in (xy, weight, outside)))

    def __iter__(self) -> Iterator[Batch]:
        cv2.setNumThreads(1)
        torch.set_num_threads(1)
        worker = torch.utils.data.get_worker_info()
        start, step = (worker.id, worker.num_workers) if worker else (0, 1)
        k, step = self.first + start * self.stride, step * self.stride
        while True:
            yield self.batch(k, int(self.size.value))
            k += step


def to_input(images: Tensor) -> Tensor:
    return images.permute(0, 3, 1, 2).float().div_(255).contiguous(memory_format=torch.channels_last)


def annealed(step: int, progress: float, warmup_steps: int) -> float:
    """The part of the highest learning rate: up over `warmup_steps`, then down half a cosine to a hundredth at `progress` = 1."""
    warm = min(1.0, (step + 1) / warmup_steps)
    return warm * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(progress, 1.0))))


def crop_size(config: TrainConfig, progress: float) -> int:
    return [size for start, size in config.stages if progress >= start][-1]


@torch.no_grad()
def seen_in_mirror(model: KeypointNet, images: Tensor) -> Tensor:
    """Where each joint is by the crop's mirror image [B, 3, H, W], turned back: probabilities [B, J, H / 4, W / 4]."""
    model.eval()
    maps = model(images.flip(3)).float().flip(3)[:, torch.from_numpy(MIRROR.copy())]
    return maps.flatten(2).softmax(dim=2).view_as(maps)


@torch.no_grad()
def predict(
    model: KeypointNet, images: npt.NDArray[np.uint8], codec: HeatmapCodec, batch: int = 64
) -> tuple[Floats, Floats]:
    """images [N, net, net, 3] -> positions [N, 17, 2] in net pixels and features [N, 17]."""
    model.eval()
    parts = []
    for i in range(0, len(images), batch):
        with reduced():
            maps = model(to_input(torch.from_numpy(images[i : i + batch])))
        parts.append(codec.decode_batch(maps))
    return torch.cat([p[0] for p in parts]).numpy(), torch.cat([p[1] for p in parts]).numpy()


def validate(
    model: KeypointNet, records: cache.Records, config: TrainConfig, limit: int = 250
) -> dict[str, float]:
    """PCK of a fixed part of each val pack; the whole of it is for `posetrain.keypoints.evaluate`."""
    out: dict[str, float] = {}
    for pack in config.packs:
        ids = records.where("val", (pack,))
        if len(ids) < 100 and pack in PACKS[:-1] and config.synthetic_figures == 0:
            continue
        ids = ids[:: max(1, len(ids) // limit)]
        crops = [plain_crop(records.picture(i), records.box[i], config.input) for i in ids]
        xy, _ = predict(model, np.stack([c[0] for c in crops]), config.codec)
        for threshold in (0.05, 0.1, 0.2):
            hit, count = 0.0, 0.0
            for row, i in enumerate(ids):
                h, c = pck(xy[row], records.joints[i], crops[row][1], threshold)
                hit, count = hit + float(h.sum()), count + float(c.sum())
            out[f"{pack}@{threshold}"] = round(hit / max(count, 1.0), 4)
    return out


def synchronise(model: KeypointNet, spent: float) -> float:
    """Averages weights and batch-norm statistics over the replicas (local SGD, Stich 2019); returns
    replica 0's clock."""
    with torch.no_grad():
        values = [v for v in model.state_dict().values() if v.dtype.is_floating_point]
        clock = torch.tensor([spent])
        distributed.broadcast(clock, 0)
        flat = torch.cat([v.reshape(-1) for v in values])
        distributed.all_reduce(flat)
        flat /= distributed.get_world_size()
        for value, part in zip(values, flat.split([v.numel() for v in values]), strict=True):
            value.copy_(part.view_as(value))
    return float(clock)


@dataclass
class Progress:
    """`spent`: seconds. `pictures`: crops that all replicas learned from."""

    step: int = 0
    spent: float = 0.0
    pictures: int = 0


def gone_on(kept: Checkpoint, config: TrainConfig) -> tuple[Progress, str | None]:
    """Takes over the run's checkpoint, where there is one; returns how far it was and its arithmetic, where it says so."""
    state = kept.read()
    if state is None:
        return Progress(), None
    # checkpoints of before 2026-11-30 do not say
    told = as_kept(asdict(config))
    require_same(kept.path, completed(state.get("config", told), config), told)
    kept.take_over(state)
    at = Progress(state["step"], state["spent"], state["pictures"])
    print(f"resumed at step {at.step}, {at.spent / 60:.1f} minutes in")
    return at, state.get(ARITHMETIC)


def losses_of(
    config: TrainConfig, model: KeypointNet, teacher: KeypointNet, batch: Batch, progress: float
) -> tuple[Tensor, Tensor]:
    """The loss by the labels, and the one to learn from: late in the run also by what `teacher` sees in the mirror."""
    images, fields = to_input(batch.images), (batch.xy, batch.weight, batch.outside)
    coarse = HeatmapCodec(stride=16, sigma_cells=config.codec.sigma_cells / 2)
    with reduced():
        maps, rough = model(images, auxiliary=True)
    loss = config.codec.loss(maps, *fields)
    total = loss + config.auxiliary * coarse.loss(rough, *fields)
    if config.mirror_teacher > 0 and progress >= config.mirror_teacher_from:
        with reduced():
            target = seen_in_mirror(teacher, images)
        taught = config.codec.taught_loss(maps, target, batch.weight)
        total = total + config.mirror_teacher * (taught - loss)
    return loss, total


def train(
    config: TrainConfig,
    records: cache.Records,
    out: Path,
    run: Run,
    rank: int = 0,
    begin: Path | None = None,
    empties: Sequence[Pixels] = (),
) -> KeypointNet:
    """One replica's loop, from the weights in `begin` where given; replica 0 also validates, saves and
    keeps the averaged weights, which it returns."""
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(config.seed)
    torch.set_num_threads(run.threads)
    model = KeypointNet(config.net).to(memory_format=torch.channels_last)
    if begin is not None:
        grow(model, torch.load(begin, weights_only=True)["ema"])
    ema = copy.deepcopy(model)
    groups = groups_of(model.parameters(), config.weight_decay)
    optimiser = torch.optim.AdamW(groups, lr=config.learning_rate, fused=True)
    kept = Checkpoint(out / "checkpoint.pt", model, ema, optimiser)
    at, arithmetic = gone_on(kept, config)
    budget = run.minutes * 60
    began = time.monotonic() - at.spent
    size = mp.Value("i", crop_size(config, at.spent / budget))
    stream = CropStream(records, config, at.step * run.replicas + rank, run.replicas, size, empties)
    drawn = batches(stream, run.workers)
    # after the loader's workers are forked: threads that have run already are missing there
    arithmetic = settle(arithmetic)
    meter, validated, saved = Meter(SAY_EVERY_S, at.spent), at.spent, at.spent
    while at.spent < budget:
        progress = at.spent / budget
        size.value = crop_size(config, progress)
        rate = config.learning_rate * annealed(at.step, progress, config.warmup_steps)
        set_rate(optimiser, rate)
        batch = next(drawn)
        model.train()
        loss, total = losses_of(config, model, ema, batch, progress)
        descend(total, optimiser, model.parameters(), LONGEST)
        crops = len(batch.images) * run.replicas
        meter.add(loss.item(), crops)
        at.step, at.pictures = at.step + 1, at.pictures + crops
        if at.step % run.sync_every:
            continue
        at.spent = time.monotonic() - began
        if run.replicas > 1:
            at.spent = synchronise(model, at.spent)
        if rank > 0:
            continue
        average(ema, model, config.ema**run.sync_every, at.step)
        done = at.spent >= budget
        if meter.is_due(at.spent) or done:
            meter.say(at.spent, f"step {at.step:6d}  size {size.value}  lr {rate:.2e}")
        if at.spent - validated > 0.08 * budget or done:
            row = {"minutes": round(at.spent / 60, 2), "step": at.step, "pictures": at.pictures}
            write_row(out / "log.jsonl", row | {ARITHMETIC: arithmetic} | validate(ema, records, config))
            validated = at.spent
        if at.spent - saved > SAVE_EVERY_S or done:
            kept.save({**vars(at), "config": as_kept(asdict(config)), ARITHMETIC: arithmetic})
            saved = at.spent
    if rank == 0:
        save(out / "final.pt", {"ema": ema.state_dict(), "pictures": at.pictures, "spent": at.spent})
    return ema


def replica(
    rank: int,
    config: TrainConfig,
    data: Path | None,
    out: Path,
    run: Run,
    port: int,
    begin: Path | None,
    scenes: Path | None,
    arithmetic: str | None = None,
) -> None:
    if run.replicas > 1:
        settle(arithmetic)
        address = f"tcp://127.0.0.1:{port}"
        distributed.init_process_group("gloo", init_method=address, rank=rank, world_size=run.replicas)
    records = synthetic.records(config.synthetic_figures, config.seed) if data is None else cache.load(data)
    if config.repair_sides and data is not None and begin is not None:
        packs, net = config.repair_sides, config.input
        count = sides.repair(records, data, packs, begin, config.net, net, config.codec)
        print(f"left and right exchanged in the labels of {count} persons", flush=True)
    train(config, records, out, run, rank, begin, empty_parts(scenes) if scenes else ())
    if run.replicas > 1:
        distributed.barrier()
        distributed.destroy_process_group()


def start(
    config: TrainConfig,
    data: Path | None,
    out: Path,
    run: Run,
    begin: Path | None = None,
    scenes: Path | None = None,
) -> None:
    """Runs the replicas to the end of the budget; `out/final.pt` then holds the averaged weights."""
    if run.replicas == 1:
        replica(0, config, data, out, run, 0, begin, scenes)
        return
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # one arithmetic for all: each for itself might find another one the quicker
    spawn(replica, args=(config, data, out, run, port, begin, scenes, settle()), nprocs=run.replicas)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config", type=Path)
    parser.add_argument(
        "--cache", type=Path, help="folder of posetrain.data.cache; not needed for synthetic figures"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--replicas", type=int, default=2, help="processes that train side by side")
    parser.add_argument("--threads", type=int, default=1, help="threads of each replica")
    parser.add_argument("--workers", type=int, default=1, help="augmenting processes of each replica")
    parser.add_argument("--minutes", type=float, help="budget, in place of the configuration's")
    parser.add_argument("--scenes", type=Path, help="folder of posetrain.data.scenes, for `empty_chance`")
    parser.add_argument("--begin", type=Path, help="final.pt of the configuration named by `start`")
    args = parser.parse_args()
    config = load_config(args.config)
    if not config.synthetic_figures and not args.cache:
        parser.error("--cache is needed for a configuration that trains on pictures")
    run = Run(args.replicas, args.threads, args.workers, args.minutes or config.budget_minutes)
    if config.empty_chance and not args.scenes:
        parser.error("--scenes is needed for a configuration with empty_chance")
    if config.start and not args.begin:
        parser.error(f"this configuration starts from `{config.start}`: give its final.pt as --begin")
    start(config, None if config.synthetic_figures else args.cache, args.out, run, args.begin, args.scenes)


if __name__ == "__main__":
    main()
