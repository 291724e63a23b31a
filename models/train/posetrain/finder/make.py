"""Trains, exports, quantises and measures the person finder: `python -m posetrain.finder.make --data DIR
--peers DIR`.

Writes models/person.onnx, models/person.toml and calib/quant/person.toml. Resumable as posetrain.keypoints.train is.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
import onnx
import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset

from posetrain.data import scenes as stored
from posetrain.data.augment import coloured
from posetrain.data.boxes import iou
from posetrain.data.packs import Floats, ReadReport, read_pack
from posetrain.data.scenes import FastestDet, Scene
from posetrain.finder.manifest import write_person
from posetrain.finder.net import INPUT, STRIDE, FinderNet, decode, loss, targets
from posetrain.finder.sample import letterbox, sample
from posetrain.inference import as_input, session
from posetrain.keypoints.config import configured
from posetrain.keypoints.graph import GraphWriter
from posetrain.keypoints.manifest import write_quantisation
from posetrain.keypoints.net import KeypointNet, multiply_adds
from posetrain.keypoints.quantise import quantise, ranges
from posetrain.keypoints.train import annealed, average, save, to_input
from posetrain.metrics import bootstrap
from posetrain.paths import REPOSITORY, TRAIN
from posetrain.precision import reduced

# What a camera sees: video and everyday photos before sport close-ups.
SHARE = {"jhmdb": 2.0, "coco_more": 2.0, "lspet": 0.6}
BATCH = 32
# Half of what a fresh network takes: the backbone is trained already.
LEARNING_RATE = 1e-3
EMA = 0.998
# Part of samples' tiles that show no person at all.
EMPTY = 0.12
THRESHOLDS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)


class SceneStream(IterableDataset[tuple[Tensor, ...]]):
    """Endless batches: pictures, heat, sides, weight, known. Batch k depends on k alone."""

    def __init__(self, scenes: list[Scene], first: int) -> None:
        rng = np.random.default_rng(3)
        # Large and small ones: shelves and bags are what a young finder takes for people.
        sizes = ((0.3, 0.8), (0.2, 0.5))
        drawn = (stored.empty_part(s, rng, share) for s in scenes for share in sizes)
        parts = [part for part in drawn if part]
        self.scenes, self.first = [*scenes, *parts], first
        share = np.array([SHARE.get(s.pack, 1.0) for s in scenes])
        share = np.concatenate(
            [share / share.sum() * (1 - EMPTY), np.full(len(parts), EMPTY / max(len(parts), 1))]
        )
        self.share = share / share.sum()

    def __iter__(self) -> Iterator[tuple[Tensor, ...]]:
        cv2.setNumThreads(1)
        torch.set_num_threads(1)
        worker = torch.utils.data.get_worker_info()
        k, step = (self.first + worker.id, worker.num_workers) if worker else (self.first, 1)
        while True:
            rng = np.random.default_rng((5, k))
            images, rows = [], []
            for _ in range(BATCH):
                pixels, persons, doubtful = sample(self.scenes, self.share, rng)
                images.append(pixels)
                rows.append(targets(persons, doubtful, INPUT))
            fields = [torch.from_numpy(np.stack(f)) for f in zip(*rows, strict=True)]
            yield coloured(np.stack(images), rng), *fields
            k += step


def train(
    scenes: list[Scene], out: Path, minutes: float, workers: int, backbone: Path | None, begin: Path | None
) -> FinderNet:
    """From a keypoint network's backbone, or from the finder in `begin`, whose pictures and seconds are counted too."""
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = FinderNet().to(memory_format=torch.channels_last)
    if backbone is not None:
        config = configured("small")
        keypoints = KeypointNet(config.net)
        keypoints.load_state_dict(torch.load(backbone, weights_only=True)["ema"])
        model.start_from(keypoints)
    before = {"pictures": 0, "spent": 0.0}
    if begin is not None:
        before = torch.load(begin, weights_only=True)
        model.load_state_dict(before["ema"])
    ema = copy.deepcopy(model)
    optimiser = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.01, fused=True)
    step, spent = 0, 0.0
    latest = out / "checkpoint.pt"
    if latest.exists():
        state = torch.load(latest, weights_only=True)
        model.load_state_dict(state["model"])
        ema.load_state_dict(state["ema"])
        optimiser.load_state_dict(state["optimiser"])
        step, spent = state["step"], state["spent"]
    loader = iter(
        DataLoader(
            SceneStream(scenes, step),
            batch_size=None,
            num_workers=workers,
            prefetch_factor=4 if workers else None,
        )
    )
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
                    "spent_before": before["spent"],
                },
            )
            logged, losses = spent, []
    save(out / "final.pt", torch.load(latest, weights_only=True))
    return ema


def export(net: FinderNet, path: Path) -> None:
    net.eval()
    g = GraphWriter()
    x8 = g.block(g.block("image", net.stem), net.stage8)
    x16 = g.block(x8, net.stage16)
    y16 = g.relu(g.add(x16, g.up(g.block(g.block(x16, net.stage32), net.top16))))
    y8 = g.block(g.relu(g.add(x8, g.up(g.block(y16, net.top8)))), net.smooth)
    g.convolution(y8, net.centre, output="centre")
    g.convolution(y8, net.box, output="box")
    cells = INPUT // STRIDE
    onnx.save(g.model(INPUT, INPUT, {"centre": (1, cells, cells), "box": (4, cells, cells)}), path)


@dataclass(frozen=True)
class Test:
    """Finds of every test picture at the lowest threshold: best score that meets each labelled person (0
    if none), and the scores of finds that meet nobody; `group` names the picture or clip."""

    met: npt.NDArray[np.float64]
    false: npt.NDArray[np.float64]
    groups: npt.NDArray[np.str_]
    pictures: int

    def recall(self, threshold: float) -> tuple[float, float, float]:
        hit = (self.met >= threshold).astype(np.float64)
        return float(hit.mean()), *bootstrap(hit, np.ones(len(hit)), self.groups)

    def false_per_picture(self, threshold: float) -> float:
        return float((self.false >= threshold).sum() / max(self.pictures, 1))


class Finder:
    def __init__(self, path: Path) -> None:
        self.session = session(path)

    def find(self, pixels: npt.NDArray[np.uint8], threshold: float) -> tuple[Floats, Floats]:
        """Boxes in the picture's pixels and scores."""
        crop, s = letterbox(pixels)
        centre, box = self.session.run(["centre", "box"], {"image": as_input(crop)})
        boxes, scores = decode(centre[0, 0], box[0], threshold)
        return np.asarray((boxes + 0.5) / s - 0.5, np.float32), scores


def test(finder: Finder, scenes: list[tuple[Scene, str]], single: bool = True) -> Test:
    """`single`: pictures of one labelled person; finds that meet the teacher's other people are nobody's
    fault."""
    met, false, groups = [], [], []
    for s, group in scenes:
        boxes, scores = finder.find(s.pixels, THRESHOLDS[0])
        overlap = (
            iou(boxes, s.persons) if len(boxes) and len(s.persons) else np.zeros((len(boxes), len(s.persons)))
        )
        for person in range(len(s.persons)):
            good = scores[overlap[:, person] >= 0.5]
            met.append(float(good.max()) if len(good) else 0.0)
            groups.append(group)
        other = iou(boxes, s.doubtful).max(axis=1) if len(boxes) and len(s.doubtful) else np.zeros(len(boxes))
        nobody = (overlap.max(axis=1, initial=0) < 0.3) & (other < 0.3)
        false.extend(scores[nobody].tolist())
    return Test(np.asarray(met), np.asarray(false), np.asarray(groups), len(scenes))


def val_scenes(data: Path, teacher: FastestDet, every: int = 1) -> dict[str, list[tuple[Scene, str]]]:
    """Pictures at stored size: J-HMDB frames, photos of one person, and parts of val pictures that show
    nobody."""
    report = ReadReport()
    out: dict[str, list[tuple[Scene, str]]] = {"jhmdb": [], "single photos": [], "nobody": []}
    rng = np.random.default_rng(9)
    for pack in (
        "jhmdb",
        "coco_more",
        "unlabelled/people",
        "unlabelled/free_exercise",
        "unlabelled/ccp",
        "lspet",
    ):
        for k, picture in enumerate(p for p in read_pack(data, pack, report) if p.split == "val"):
            if k % (3 * every if pack == "jhmdb" else every):
                continue
            seen, scores = teacher.find(picture.pixels, 0.15)
            boxes = np.array([stored.person_box(pack, p) for p in picture.persons], np.float32).reshape(-1, 4)
            s = Scene(picture.pixels, boxes, seen, pack)
            group = picture.key.split("#")[0]
            if pack == "jhmdb":
                out["jhmdb"].append((s, group))
            elif len(boxes) == 1 and int((scores >= 0.4).sum()) <= 1:
                out["single photos"].append((s, group))
            if (empty := stored.empty_part(s, rng)) is not None:
                out["nobody"].append((empty, group))
    return out


def choose_threshold(finder: Finder, scenes: list[Scene]) -> float:
    """Threshold of the best F2 on whole train pictures: a missed person costs more than a false one, which
    the keypoint network's scores reject."""
    result = test(finder, [(s, str(k)) for k, s in enumerate(scenes)])

    def f2(threshold: float) -> float:
        found, false = float((result.met >= threshold).sum()), float((result.false >= threshold).sum())
        return 5 * found / max(5 * found + 4 * (len(result.met) - found) + false, 1)

    return max(THRESHOLDS, key=f2)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the packs")
    parser.add_argument("--peers", type=Path, required=True, help="folder with fastestdet.onnx, the teacher")
    parser.add_argument("--work", type=Path, default=TRAIN / "work")
    parser.add_argument("--models", type=Path, default=REPOSITORY / "models")
    parser.add_argument("--quant", type=Path, default=REPOSITORY / "calib" / "quant")
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument(
        "--backbone", type=Path, help="weights of a trained keypoint network `small` to start from"
    )
    parser.add_argument(
        "--begin", type=Path, help="final.pt of an earlier finder to go on from, of any input size"
    )
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--checkpoint", type=Path, help="finish from these weights instead of training")
    parser.add_argument("--every", type=int, default=1, help="measure on every n-th val picture only")
    args = parser.parse_args()
    teacher = FastestDet(args.peers / "fastestdet.onnx")
    store = args.work / "finder-cache"
    if not (store / "pixels.bin").exists():
        stored.build(args.data, store, teacher)
    scenes = stored.load(store)
    checkpoint = args.checkpoint or args.work / "person" / "final.pt"
    if not checkpoint.exists():
        train(scenes, args.work / "person", args.minutes, args.workers, args.backbone, args.begin)
    state = torch.load(checkpoint, weights_only=True)
    net = FinderNet()
    net.load_state_dict(state["ema"])
    f32, int8 = args.work / "person-f32.onnx", args.models / "person.onnx"
    export(net, f32)
    chosen = np.random.default_rng(7).choice(len(scenes), 256, replace=False)
    quantise(f32, int8, np.stack([letterbox(scenes[i].pixels)[0] for i in chosen]))
    names = [f"{scenes[i].pack} train picture {i} of the finder's cache" for i in chosen]
    write_quantisation(args.quant / "person.toml", int8, names, ranges(int8))
    threshold = choose_threshold(Finder(int8), scenes[:: max(1, len(scenes) // 400)])
    print(f"threshold {threshold}")
    val = val_scenes(args.data, teacher, args.every)
    results = {
        name: {k: test(Finder(path), v) for k, v in val.items()}
        for name, path in (("int8", int8), ("f32", f32))
    }
    for name, sets in results.items():
        for k, r in sets.items():
            line = f"{name} {k}: {r.pictures} pictures"
            for t in THRESHOLDS:
                found = f"recall {r.recall(t)[0]:.3f}" if len(r.met) else ""
                line += f" | {t}: {found} false {r.false_per_picture(t):.2f}"
            print(line, flush=True)
    write_person(
        args.models / "person.toml",
        int8,
        threshold,
        results,
        multiply_adds(net, INPUT, INPUT),
        sum(p.numel() for p in net.parameters()),
        int(state["pictures"]),
        (float(state["spent"]) + float(state.get("spent_before", 0.0))) / 60,
    )


if __name__ == "__main__":
    main()
