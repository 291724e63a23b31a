"""A long run in pieces: a constant learning rate and no end, gone on with whenever there is a core; anneals branch off it.

    python -m posetrain.keypoints.steady configs/steady/small-usable.toml --caches DIR --out work/small-usable
    python -m posetrain.keypoints.steady CONFIG --caches DIR --out work/anneal --begin work/small-usable/checkpoint.pt --anneal 150000

Learning rate and crop size depend on the crops seen alone, and a run keeps to the arithmetic that it began in (`posetrain.precision`),
so a run that was stopped, or killed, is the run that was not (warm-up, stable, decay: Hu et al. 2024). The configuration is read anew at
each start: sources may join. `--begin` takes a checkpoint of another run, or the compact one of `posetrain.keypoints.checkpoints`, which
has no optimiser's state, so that the learning rate warms up again.
"""

from __future__ import annotations

import argparse
import copy
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from posetrain.data import cache
from posetrain.data.augment import PAD, plain_crop
from posetrain.data.licences import of_letter
from posetrain.data.packs import KNOWN_PACKS
from posetrain.keypoints import asked, checkpoints
from posetrain.keypoints.codec import HeatmapCodec
from posetrain.keypoints.mixture import Mixture, TaughtBatch
from posetrain.keypoints.net import KeypointNet
from posetrain.keypoints.steady_config import SteadyConfig, load_config
from posetrain.keypoints.train import LONGEST, predict, to_input
from posetrain.loop import Checkpoint, Meter, average, batches, descend, groups_of, set_rate, write_row
from posetrain.metrics import pck
from posetrain.precision import ARITHMETIC, ARITHMETICS, reduced, settle

THRESHOLDS = (0.05, 0.1, 0.2)
SAVE_EVERY_S, SAY_EVERY_S, AVERAGE_EVERY = 120.0, 60.0, 4
FEWEST = 50


@dataclass
class Progress:
    """`anneal_from`: the crops seen when an anneal began, or -1; `warm_from`: from which on the learning rate warms up."""

    step: int = 0
    crops: int = 0
    spent: float = 0.0
    anneal_from: int = -1
    warm_from: int = 0


def loss_of(
    config: SteadyConfig,
    maps: Tensor,
    rough: Tensor,
    size: int,
    fields: tuple[Tensor, Tensor, Tensor],
    taught: tuple[Tensor, Tensor] | None,
) -> Tensor:
    """Of crops of `size` pixels by their labels' `fields` (places, weights, what is outside) and by what a teacher said: maps and weights.
    As if both were one mean over all joints; the coarse maps are asked for the labels alone, and weigh as these do."""
    codec = config.codec(size)
    coarse = HeatmapCodec(16, max(0.5, codec.sigma_cells / 4))
    total = codec.loss(maps, *fields) + config.auxiliary * coarse.loss(rough, *fields)
    if taught is not None:
        _, weight, outside = fields
        part = taught[1].sum() / (weight.sum() + outside.sum()).clamp(min=1.0)
        total = (total + part * codec.taught_loss(maps, *taught)) / (1 + part)
    return total


def losses(config: SteadyConfig, model: KeypointNet, batch: TaughtBatch, size: int) -> Tensor:
    with reduced():
        maps, rough = model(to_input(batch.images), auxiliary=True)
    taught = None
    if batch.taught is not None and batch.taught_weight is not None:
        taught = batch.taught, batch.taught_weight
    return loss_of(config, maps, rough, size, (batch.xy, batch.weight, batch.outside), taught)


def accuracy(
    model: KeypointNet,
    codec: HeatmapCodec,
    records: cache.Records,
    pack: int,
    size: int,
    pad: float = PAD,
    limit: int = 0,
) -> tuple[int, dict[float, float]]:
    """Persons and PCK of a pack's val part (`limit` of its persons), on crops of `pad` times the joints' extent."""
    ids = np.flatnonzero((records.pack == pack) & (records.split == cache.SPLITS.index("val")))
    ids = ids[:: max(1, len(ids) // limit)] if limit else ids
    if len(ids) == 0:
        return 0, {}
    crops = [plain_crop(records.picture(i), records.box[i], size, pad) for i in ids]
    xy, _ = predict(model, np.stack([pixels for pixels, _ in crops]), codec)
    out = {}
    for threshold in THRESHOLDS:
        rows = [pck(xy[r], records.joints[i], crops[r][1], threshold) for r, i in enumerate(ids)]
        out[threshold] = sum(float(h.sum()) for h, _ in rows) / max(sum(float(n.sum()) for _, n in rows), 1.0)
    return len(ids), out


def validate(model: KeypointNet, config: SteadyConfig, caches: Path, size: int) -> dict[str, float]:
    out: dict[str, float] = {}
    for name in config.val:
        records = cache.load(caches / name)
        for pack in np.unique(records.pack):
            count, values = accuracy(model, config.codec(size), records, pack, size, limit=250)
            if count >= FEWEST:
                out |= {f"{KNOWN_PACKS[pack]}@{t}": round(v, 4) for t, v in values.items()}
    return out


def optimiser_of(model: KeypointNet, config: SteadyConfig) -> torch.optim.Optimizer:
    groups = groups_of(model.parameters(), config.weight_decay)
    return torch.optim.AdamW(groups, lr=config.learning_rate, fused=True)


def resume(path: Path, kept: Checkpoint) -> tuple[Progress, str | None]:
    """Takes over the checkpoint in `path`, the run's own or another's; returns how far it was and its arithmetic, where it says so."""
    if path.suffix == ".npz":
        weights, crops = checkpoints.load(path)
        kept.model.load_state_dict(weights)
        kept.mean.load_state_dict(weights)
        return Progress(crops=crops, warm_from=crops), None
    state = torch.load(path, weights_only=True)
    kept.take_over(state)
    at = Progress(**{name: state[name] for name in vars(Progress()) if name in state})
    return at, state.get(ARITHMETIC)


def teacher_of(config: SteadyConfig, path: Path | None) -> KeypointNet | None:
    """Who is asked about every crop. Raises `ValueError` where the configuration names somebody and no file is given, or the other way
    round, `LicenceError` where the file learned from what the configuration may not."""
    if bool(config.teachers) != (path is not None):
        raise ValueError(
            f"{config.name}: --teacher goes with `teachers` in the configuration, and these with it"
        )
    if path is None:
        return None
    # what it learned from the learner learns from
    checkpoints.inherited(path, of_letter(config.licence))
    model = KeypointNet(config.net).to(memory_format=torch.channels_last).eval()
    model.load_state_dict(checkpoints.weights_of(path))
    return model


def rate_at(config: SteadyConfig, at: Progress, anneal: int) -> float:
    """The learning rate: up over the first crops, then level, and down to nothing where it is annealed."""
    rate = config.learning_rate * min(1.0, (at.crops - at.warm_from + config.batch) / config.warmup_crops)
    return rate * max(0.0, 1 - (at.crops - at.anneal_from) / anneal) if anneal else rate


def train(
    config: SteadyConfig,
    caches: Path,
    out: Path,
    minutes: float = float("inf"),
    anneal: int = 0,
    begin: Path | None = None,
    workers: int = 1,
    until: int = 0,
    threads: int = 1,
    arithmetic: str | None = None,
    teacher: Path | None = None,
) -> KeypointNet:
    """Trains for `minutes`, until `until` crops are seen, or until `anneal` crops have brought the learning rate to nothing;
    returns the averaged weights. `arithmetic`: instead of what `out` was worked out in, or of what is quicker here. `teacher`: the compact
    checkpoint of a network of the same structure that is asked about every crop, where the configuration names `teachers`."""
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(config.seed)
    torch.set_num_threads(threads)
    model = KeypointNet(config.net).to(memory_format=torch.channels_last)
    ask = teacher_of(config, teacher)
    ema, optimiser = copy.deepcopy(model), optimiser_of(model, config)
    kept, at = Checkpoint(out / "checkpoint.pt", model, ema, optimiser), Progress()
    learned = {*checkpoints.sources(config, caches)}
    if kept.path.exists() or begin is not None:
        path = kept.path if kept.path.exists() or begin is None else begin
        learned |= {*checkpoints.inherited(path, of_letter(config.licence))}
        at, before = resume(path, kept)
        if path == begin:
            at.anneal_from = -1
        else:
            arithmetic = arithmetic or before
        print(f"went on from {path}: {at.crops} crops, {at.spent / 60:.1f} minutes", flush=True)
    if anneal and at.anneal_from < 0:
        at.anneal_from = at.crops
    drawn = batches(Mixture(config, caches, at.crops // config.batch), workers)
    # after the loader's worker is forked: threads that have run already are missing there
    arithmetic = settle(arithmetic)
    print(f"in {arithmetic}", flush=True)
    last = at.anneal_from + anneal if anneal else until
    end, began = at.spent + minutes * 60, time.monotonic() - at.spent
    meter, looked, saved = Meter(SAY_EVERY_S, at.spent), at.crops // config.validate_every, at.spent
    done = False
    while not done:
        rate = rate_at(config, at, anneal)
        set_rate(optimiser, rate)
        batch = next(drawn)
        size = batch.images.shape[1]
        model.train()
        loss = losses(config, model, asked.taught(batch, ask) if ask else batch, size)
        descend(loss, optimiser, model.parameters(), LONGEST)
        meter.add(loss.item(), config.batch)
        at.step, at.crops = at.step + 1, at.crops + config.batch
        if at.step % AVERAGE_EVERY == 0:
            average(ema, model, config.ema**AVERAGE_EVERY, at.step)
        at.spent = time.monotonic() - began
        done = at.spent >= end or 0 < last <= at.crops
        if meter.is_due(at.spent) or done:
            meter.say(at.spent, f"{at.crops:8d} crops  size {size}  lr {rate:.2e}")
        if at.crops // config.validate_every > looked or done:
            looked, largest = at.crops // config.validate_every, config.largest(at.crops)
            row: dict[str, Any] = {"minutes": round(at.spent / 60, 2), "crops": at.crops, "size": largest}
            row |= {ARITHMETIC: arithmetic, **validate(ema, config, caches, largest)}
            write_row(out / "log.jsonl", row)
        if at.spent - saved > SAVE_EVERY_S or done:
            kept.save({**vars(at), checkpoints.LEARNED: sorted(learned), ARITHMETIC: arithmetic})
            saved = at.spent
    return ema


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("config", type=Path)
    parser.add_argument("--caches", type=Path, required=True, help="folder with the caches that it names")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="stop after these, to be gone on with"
    )
    parser.add_argument(
        "--anneal", type=int, default=0, help="crops over which the learning rate falls to nothing"
    )
    parser.add_argument("--begin", type=Path, help="checkpoint to begin with, where --out has none")
    parser.add_argument("--threads", type=int, default=1, help="of the steps: two where two cores are free")
    parser.add_argument(
        "--teacher",
        type=Path,
        help="compact checkpoint that is asked about every crop, of a network of the same structure",
    )
    parser.add_argument(
        "--arithmetic",
        choices=ARITHMETICS,
        help="instead of what --out was worked out in, or of the quicker one, which a new run settles on",
    )
    args = parser.parse_args()
    train(
        load_config(args.config),
        args.caches,
        args.out,
        args.minutes,
        args.anneal,
        args.begin,
        threads=args.threads,
        arithmetic=args.arithmetic,
        teacher=args.teacher,
    )


if __name__ == "__main__":
    main()
