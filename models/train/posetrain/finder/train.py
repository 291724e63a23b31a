"""Trains the person finder: an endless stream of sampled scenes, AdamW, averaged weights; resumable."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.utils.data import IterableDataset

from posetrain.data import scenes as stored
from posetrain.data.augment import coloured
from posetrain.data.scenes import Scene
from posetrain.finder.net import FinderNet, Size, loss, targets
from posetrain.finder.sample import sample
from posetrain.keypoints import checkpoints
from posetrain.keypoints.config import configured
from posetrain.keypoints.net import KeypointNet
from posetrain.keypoints.train import LONGEST, SAY_EVERY_S, annealed, to_input
from posetrain.loop import Checkpoint, Meter, average, batches, descend, save, set_rate
from posetrain.precision import ARITHMETIC, reduced, settle
from posetrain.resumed import require_same

# What a camera sees: video and everyday photos before sport close-ups.
SHARE = {
    "jhmdb": 4.0,
    "coco_more": 2.0,
    "coco_fetched": 2.0,
    "coco_nobody": 2.0,
    "lspet": 1.0,
    "unlabelled/people": 2.0,
    "unlabelled/free_exercise": 2.0,
    "unlabelled/ccp": 2.0,
    "person_boxes": 0.5,
    "found_people": 0.15,
}
BATCH = 32
# Half of what a fresh network takes: the backbone is trained already.
LEARNING_RATE = 1e-3
EMA = 0.998
# Part of samples' tiles that show no person at all.
EMPTY = 0.12
# Part of samples' tiles with people painted out of them, where there are any.
BEHIND = 0.4


def _shares(scenes: list[Scene], total: float) -> npt.NDArray[np.float64]:
    share = np.array([SHARE.get(s.pack, 1.0) for s in scenes], np.float64)
    return total * share / max(share.sum(), 1e-9)


class SceneStream(IterableDataset[tuple[Tensor, ...]]):
    """Endless batches: pictures, heat, sides, weight, known. Batch k depends on `seed` and k alone."""

    def __init__(self, scenes: list[Scene], behind: list[Scene], first: int, seed: int, size: Size) -> None:
        self.seed, self.size = seed, size
        rng = np.random.default_rng(3)
        # Large and small ones: shelves and bags are what a young finder takes for people.
        sizes = ((0.3, 0.8), (0.2, 0.5))
        drawn = (stored.empty_part(s, rng, share) for s in scenes for share in sizes)
        parts = [part for part in drawn if part]
        self.scenes, self.first = [*scenes, *parts, *behind], first
        rest = 1 - EMPTY - (BEHIND if behind else 0)
        share = np.concatenate(
            [
                _shares(scenes, rest),
                np.full(len(parts), EMPTY / max(len(parts), 1)),
                _shares(behind, BEHIND),
            ]
        )
        self.share = share / share.sum()

    def __iter__(self) -> Iterator[tuple[Tensor, ...]]:
        cv2.setNumThreads(1)
        torch.set_num_threads(1)
        worker = torch.utils.data.get_worker_info()
        k, step = (self.first + worker.id, worker.num_workers) if worker else (self.first, 1)
        while True:
            rng = np.random.default_rng((self.seed, k))
            images, rows = [], []
            for _ in range(BATCH):
                pixels, persons, doubtful = sample(self.scenes, self.share, rng, self.size)
                images.append(pixels)
                rows.append(targets(persons, doubtful, self.size))
            fields = [torch.from_numpy(np.stack(f)) for f in zip(*rows, strict=True)]
            yield coloured(np.stack(images), rng), *fields
            k += step


@dataclass(frozen=True)
class Run:
    """One run of training. It starts from `backbone`, a keypoint network's weights (a checkpoint, or NAME.npz of keypoints-NAME),
    or from the finder in `begin`, whose pictures and seconds are counted too; `seed` says which pictures, in which order."""

    size: Size
    seed: int
    minutes: float
    workers: int
    backbone: Path | None = None
    begin: Path | None = None

    def signature(self, scenes: list[Scene], behind: list[Scene]) -> dict[str, Any]:
        """What a checkpoint to go on from must have in common with the run."""
        return {
            "seed": self.seed,
            "size": [*self.size],
            "begin": str(self.begin),
            "backbone": str(self.backbone),
            "scenes": [len(scenes), len(behind)],
        }


def fresh(run: Run) -> tuple[FinderNet, dict[str, Any]]:
    """The network as the run begins it, and the `pictures`, `spent` seconds and names `learned` that its weights bring along."""
    model = FinderNet().to(memory_format=torch.channels_last)
    before: dict[str, Any] = {"pictures": 0, "spent": 0.0, "learned": []}
    if run.backbone is not None:
        compact = run.backbone.suffix == ".npz"
        keypoints = KeypointNet(configured("small").net)
        keypoints.load_state_dict(
            checkpoints.load(run.backbone)[0]
            if compact
            else torch.load(run.backbone, weights_only=True)["ema"]
        )
        model.start_from(keypoints)
        before["learned"] = [f"keypoints-{run.backbone.stem}"] if compact else []
    if run.begin is not None:
        before = torch.load(run.begin, weights_only=True)
        model.load_state_dict(before["ema"])
    return model, before


def gone_on(kept: Checkpoint, signature: dict[str, Any]) -> tuple[int, float, str | None]:
    """Takes over the run's checkpoint, where there is one; returns steps, seconds, and its arithmetic, where it says so."""
    state = kept.read()
    if state is None:
        return 0, 0.0, None
    require_same(kept.path, state.get("run", signature), signature)
    kept.take_over(state)
    return state["step"], state["spent"], state.get(ARITHMETIC)


def train(run: Run, scenes: list[Scene], behind: list[Scene], out: Path) -> FinderNet:
    """The averaged weights at the end of the run, which `out` keeps too. Goes on with what `out` holds of the same run, and
    refuses another's."""
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(run.seed)
    torch.set_num_threads(1)
    model, before = fresh(run)
    ema = copy.deepcopy(model)
    optimiser = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.01, fused=True)
    kept = Checkpoint(out / "checkpoint.pt", model, ema, optimiser)
    signature = run.signature(scenes, behind)
    step, spent, arithmetic = gone_on(kept, signature)
    drawn = batches(SceneStream(scenes, behind, step, run.seed, run.size), run.workers)
    # after the loader's workers are forked: threads that have run already are missing there
    arithmetic = settle(arithmetic)
    print(f"in {arithmetic}", flush=True)
    facts = {
        "spent_before": before["spent"] + before.get("spent_before", 0.0),
        "learned": sorted({*before["learned"], *(s.pack for s in (*scenes, *behind))}),
        "run": signature,
        ARITHMETIC: arithmetic,
    }
    began, budget, meter = time.monotonic() - spent, run.minutes * 60, Meter(SAY_EVERY_S, spent)
    while spent < budget:
        spent = time.monotonic() - began
        set_rate(optimiser, LEARNING_RATE * annealed(step, spent / budget, warmup_steps=60))
        pixels, *aims = next(drawn)
        images = to_input(pixels)
        model.train()
        with reduced():
            centre, box = model(images)
        value = loss(centre, box, *aims)
        descend(value, optimiser, model.parameters(), LONGEST)
        average(ema, model, EMA, step)
        meter.add(value.item(), BATCH)
        step += 1
        if meter.is_due(spent) or spent >= budget:
            meter.say(spent, f"step {step:6d}")
            seen = {"step": step, "spent": spent, "pictures": step * BATCH + before["pictures"]}
            kept.save(seen | facts)
    save(out / "final.pt", torch.load(kept.path, weights_only=True))
    return ema
