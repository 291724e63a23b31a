r"""Trains, exports, quantises and measures the person finder:

    python -m posetrain.finder.make --data PACKS --peers PEERS --scenes DIR [--scenes DIR ...] --begin work/person/adopted.pt

    python -m posetrain.finder.make ... --name person-usable --licence b --backbone checkpoints/small-usable.npz \
        --keypoints ../keypoints-small-usable.toml

`--scenes` are what `python -m posetrain.data.scenes` made; without any the packs' own are made here. Scenes of a worse class than
`--licence` are left out. Writes models/NAME.onnx, models/NAME.toml and calib/quant/NAME.toml. Resumable as posetrain.keypoints.train is.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset

from posetrain.data import scenes as stored
from posetrain.data.augment import coloured
from posetrain.data.licences import LETTER, Licence, licence_of, of_letter, require
from posetrain.data.scenes import TEACHER, FastestDet, Scene
from posetrain.finder import together
from posetrain.finder.evaluate import THRESHOLDS, Finder, choose_threshold, test, val_scenes
from posetrain.finder.graph import export
from posetrain.finder.manifest import figures, write_person
from posetrain.finder.net import FinderNet, Size, loss, targets
from posetrain.finder.sample import letterbox, sample
from posetrain.keypoints import checkpoints
from posetrain.keypoints.config import configured
from posetrain.keypoints.manifest import write_quantisation
from posetrain.keypoints.net import KeypointNet, multiply_adds
from posetrain.keypoints.quantise import quantise, ranges
from posetrain.keypoints.train import annealed, average, save, to_input
from posetrain.paths import REPOSITORY, TRAIN
from posetrain.precision import ARITHMETIC, reduced, settle

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


def train(
    scenes: list[Scene],
    behind: list[Scene],
    out: Path,
    minutes: float,
    workers: int,
    backbone: Path | None,
    begin: Path | None,
    seed: int,
    size: Size,
) -> FinderNet:
    """From a keypoint network's backbone, or from the finder in `begin`, whose pictures and seconds are counted too. Goes on with what
    `out` holds of the same run, and refuses another's."""
    out.mkdir(parents=True, exist_ok=True)
    run = {
        "seed": seed,
        "size": [*size],
        "begin": str(begin),
        "backbone": str(backbone),
        "scenes": [len(scenes), len(behind)],
    }
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    model = FinderNet().to(memory_format=torch.channels_last)
    if backbone is not None:
        config = configured("small")
        keypoints = KeypointNet(config.net)
        compact = backbone.suffix == ".npz"
        weights = checkpoints.load(backbone)[0] if compact else torch.load(backbone, weights_only=True)["ema"]
        keypoints.load_state_dict(weights)
        model.start_from(keypoints)
    before: dict[str, Any] = {"pictures": 0, "spent": 0.0, "learned": []}
    if backbone is not None and backbone.suffix == ".npz":
        before["learned"] = [f"keypoints-{backbone.stem}"]
    if begin is not None:
        before = torch.load(begin, weights_only=True)
        model.load_state_dict(before["ema"])
    ema = copy.deepcopy(model)
    optimiser = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.01, fused=True)
    step, spent = 0, 0.0
    kept: str | None = None
    latest = out / "checkpoint.pt"
    if latest.exists():
        state = torch.load(latest, weights_only=True)
        if state.get("run", run) != run:
            raise SystemExit(
                f"{latest} is of another run ({state['run']}, not {run}): give a --work of its own"
            )
        model.load_state_dict(state["model"])
        ema.load_state_dict(state["ema"])
        optimiser.load_state_dict(state["optimiser"])
        step, spent = state["step"], state["spent"]
        kept = state.get(ARITHMETIC)
    loader = iter(
        DataLoader(
            SceneStream(scenes, behind, step, seed, size),
            batch_size=None,
            num_workers=workers,
            prefetch_factor=4 if workers else None,
        )
    )
    # after the loader's workers are forked: threads that have run already are missing there
    arithmetic = settle(kept)
    print(f"in {arithmetic}", flush=True)
    began, budget, logged, losses = time.monotonic() - spent, minutes * 60, spent, []
    while spent < budget:
        spent = time.monotonic() - began
        rate = annealed(step, spent / budget, warmup_steps=60)
        for group in optimiser.param_groups:
            group["lr"] = LEARNING_RATE * rate
        pixels, *aims = next(loader)
        images = to_input(pixels)
        model.train()
        with reduced():
            centre, box = model(images)
        value = loss(centre, box, *aims)
        optimiser.zero_grad(set_to_none=True)
        value.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimiser.step()
        average(ema, model, min(EMA, (1 + step) / (10 + step)))
        losses.append(value.item())
        step += 1
        if spent - logged > 30 or spent >= budget:
            print(
                f"{spent / 60:5.1f} min  step {step}  loss {np.mean(losses):.3f}  "
                f"{len(losses) * BATCH / (spent - logged + 1e-9):.0f} img/s",
                flush=True,
            )
            save(
                latest,
                {
                    "model": model.state_dict(),
                    "ema": ema.state_dict(),
                    "optimiser": optimiser.state_dict(),
                    "step": step,
                    "spent": spent,
                    "pictures": step * BATCH + before["pictures"],
                    "spent_before": before["spent"] + before.get("spent_before", 0.0),
                    "learned": sorted({*before["learned"], *(s.pack for s in (*scenes, *behind))}),
                    "run": run,
                    ARITHMETIC: arithmetic,
                },
            )
            logged, losses = spent, []
    save(out / "final.pt", torch.load(latest, weights_only=True))
    return ema


def may_begin(allowed: Licence, begin: Path | None, backbone: Path | None) -> None:
    """Refuses weights to go on from that learned from worse than is allowed, and a teacher that did."""
    if allowed == Licence.RESEARCH:
        return
    learned = torch.load(begin, weights_only=True)["learned"] if begin else []
    require([TEACHER, *learned, *([f"keypoints-{backbone.stem}"] if backbone else [])], allowed)


def mean(states: list[dict[str, Any]]) -> dict[str, Any]:
    """Of the averaged weights of runs that began with the same ones; pictures and seconds are those of all (Wortsman 2022)."""
    first, *others = states
    weights = {
        name: sum((s["ema"][name] for s in others), value) / len(states)
        if value.dtype.is_floating_point
        else value
        for name, value in first["ema"].items()
    }
    seen = sum(s["step"] for s in others) * BATCH
    spent = sum(s["spent"] for s in others)
    learned = sorted({name for s in states for name in s["learned"]})
    counts = {"pictures": first["pictures"] + seen, "spent": first["spent"] + spent}
    return {**first, "ema": weights, "learned": learned, **counts}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the packs")
    parser.add_argument("--peers", type=Path, required=True, help="folder with fastestdet.onnx, the teacher")
    parser.add_argument("--work", type=Path, default=TRAIN / "work")
    parser.add_argument("--models", type=Path, default=REPOSITORY / "models")
    parser.add_argument("--quant", type=Path, default=REPOSITORY / "calib" / "quant")
    parser.add_argument("--name", default="person", help="of the network and its files")
    parser.add_argument(
        "--licence",
        default="c",
        choices=sorted(LETTER.values()),
        help="the worst class that the weights may have (docs/data-licences.md)",
    )
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument(
        "--backbone",
        type=Path,
        help="weights of a trained keypoint network `small` to start from: a checkpoint, or NAME.npz of keypoints-NAME",
    )
    parser.add_argument(
        "--begin",
        type=Path,
        help="weights of an earlier finder to go on from: final.pt, or what posetrain.finder.adopt wrote",
    )
    parser.add_argument(
        "--size", type=Size.of, default=Size(), metavar="WIDTHxHEIGHT", help="of the input: %(default)s"
    )
    parser.add_argument("--seed", type=int, default=5, help="which pictures, in which order")
    parser.add_argument("--scenes", type=Path, action="append", help="may be given again")
    parser.add_argument(
        "--behind",
        type=Path,
        action="append",
        default=[],
        help="of posetrain.finder.behind; may be given again",
    )
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument(
        "--checkpoint",
        type=Path,
        action="append",
        help="finish from these weights instead of training; given again, from the mean of runs that began alike",
    )
    parser.add_argument(
        "--keypoints",
        type=Path,
        default=REPOSITORY / "models" / "keypoints-small.toml",
        help="network that is asked about each find, as in the program",
    )
    parser.add_argument("--every", type=int, default=1, help="measure on every n-th val picture only")
    args = parser.parse_args()
    allowed = of_letter(args.licence)
    may_begin(allowed, args.begin, args.backbone)
    for folder in (args.work, args.models, args.quant):
        folder.mkdir(parents=True, exist_ok=True)
    teacher = FastestDet(args.peers / "fastestdet.onnx")
    stores = args.scenes or [args.work / "finder-cache"]
    if not args.scenes and not (stores[0] / "pixels.bin").exists():
        stored.build(args.data, stores[0], teacher)
    scenes, behind = (
        [s for folder in folders for s in stored.load(folder) if licence_of([s.pack]) <= allowed]
        for folders in (stores, args.behind)
    )
    kept = args.checkpoint or [args.work / args.name / "final.pt"]
    if not args.checkpoint:
        out = args.work / args.name
        train(
            scenes, behind, out, args.minutes, args.workers, args.backbone, args.begin, args.seed, args.size
        )
    states = [torch.load(path, weights_only=True) for path in kept]
    for state in states:
        require(state["learned"], allowed)
    state = mean(states)
    net = FinderNet()
    net.load_state_dict(state["ema"])
    f32, int8 = args.work / f"{args.name}-f32.onnx", args.models / f"{args.name}.onnx"
    export(net, f32, args.size)
    chosen = np.random.default_rng(7).choice(len(scenes), 256, replace=False)
    quantise(f32, int8, np.stack([letterbox(scenes[i].pixels, args.size)[0] for i in chosen]))
    names = [f"{scenes[i].pack} train picture {i} of the finder's cache" for i in chosen]
    write_quantisation(args.quant / f"{args.name}.toml", int8, names, ranges(int8))
    witness = together.Witness(args.keypoints)
    chosen_by = together.on_train(Finder(int8), scenes, witness)
    threshold, rule = choose_threshold(chosen_by), together.choose(chosen_by)
    print(f"threshold {threshold} alone, {rule}")
    val = val_scenes(args.data, teacher, args.every)
    results = {
        name: {k: test(Finder(path), v, witness.presence) for k, v in val.items()}
        for name, path in (("int8", int8), ("f32", f32))
    }
    for name, sets in results.items():
        for k, r in sets.items():
            line = f"{name} {k}: {r.pictures} pictures | together: {', '.join(figures(r, threshold, rule))}"
            for t in THRESHOLDS:
                found = f"recall {r.recall(r.alone(t))[0]:.3f}" if len(r.groups) else ""
                line += f" | {t}: {found} false {r.false_per_picture(r.alone(t)):.2f}"
            print(line, flush=True)
    write_person(
        args.models / f"{args.name}.toml",
        args.name,
        int8,
        args.size,
        threshold,
        rule,
        results,
        multiply_adds(net, args.size.height, args.size.width),
        sum(p.numel() for p in net.parameters()),
        int(state["pictures"]),
        (float(state["spent"]) + float(state.get("spent_before", 0.0))) / 60,
        sorted({s.pack for s in scenes} | set(state["learned"])),
    )


if __name__ == "__main__":
    main()
