r"""Trains, exports, quantises and measures the person finder:

    python -m posetrain.finder.make --data PACKS --peers PEERS --scenes DIR [--scenes DIR ...] --begin work/person/adopted.pt

    python -m posetrain.finder.make ... --name person-usable --licence b --backbone checkpoints/small-usable.npz \
        --keypoints ../keypoints-small-usable.toml

`--scenes` are what `python -m posetrain.data.scenes` made; without any the packs' own are made here. Scenes of a worse class than
`--licence` are left out. Writes models/NAME.onnx, models/NAME.toml and calib/quant/NAME.toml. Resumable as posetrain.keypoints.train is.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch

from posetrain.data import scenes as stored
from posetrain.data.licences import LETTER, Licence, licence_of, of_letter, require
from posetrain.data.scenes import TEACHER, FastestDet, Scene
from posetrain.finder import together
from posetrain.finder.evaluate import THRESHOLDS, Finder, choose_threshold, test, val_scenes
from posetrain.finder.graph import export
from posetrain.finder.manifest import Description, figures, write_person
from posetrain.finder.net import FinderNet, Size
from posetrain.finder.sample import letterbox
from posetrain.finder.train import BATCH, Run, train
from posetrain.keypoints.manifest import write_quantisation
from posetrain.keypoints.net import multiply_adds
from posetrain.keypoints.quantise import quantise, ranges
from posetrain.paths import REPOSITORY, TRAIN


def may_begin(allowed: Licence, begin: Path | None, backbone: Path | None) -> None:
    """Refuses weights to go on from that learned from worse than is allowed, and a teacher that did."""
    if allowed == Licence.RESEARCH:
        return
    learned = torch.load(begin, weights_only=True)["learned"] if begin else []
    require([TEACHER, *learned, *([f"keypoints-{backbone.stem}"] if backbone else [])], allowed)


def mean(states: list[dict[str, Any]]) -> dict[str, Any]:
    """Of the averaged weights of runs that began with the same ones, or of a run and of what it began with; pictures and seconds are
    those of all (Wortsman 2022)."""
    first, *others = states
    weights = {
        name: sum((s["ema"][name] for s in others), value) / len(states)
        if value.dtype.is_floating_point
        else value
        for name, value in first["ema"].items()
    }
    # What a run began with has been counted by the run.
    seen = sum(s["step"] for s in others if "step" in s) * BATCH
    spent = sum(s["spent"] for s in others if "step" in s)
    learned = sorted({name for s in states for name in s["learned"]})
    counts = {"pictures": first["pictures"] + seen, "spent": first["spent"] + spent}
    return {**first, "ema": weights, "learned": learned, **counts}


def options() -> argparse.Namespace:
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
    return parser.parse_args()


def finish(args: argparse.Namespace, state: dict[str, Any], scenes: list[Scene], teacher: FastestDet) -> None:
    """Exports and quantises these weights, chooses threshold and rule on train scenes, measures on val, writes the manifest."""
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
    described = Description(
        name=args.name,
        size=args.size,
        sources=tuple(sorted({TEACHER, *(s.pack for s in scenes), *state["learned"]})),
        macs=multiply_adds(net, args.size.height, args.size.width),
        parameters=sum(p.numel() for p in net.parameters()),
        pictures=int(state["pictures"]),
        minutes=(float(state["spent"]) + float(state.get("spent_before", 0.0))) / 60,
    )
    write_person(args.models / f"{args.name}.toml", int8, described, threshold, rule, results)


def main() -> None:
    args = options()
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
        run = Run(args.size, args.seed, args.minutes, args.workers, args.backbone, args.begin)
        train(run, scenes, behind, args.work / args.name)
    states = [torch.load(path, weights_only=True) for path in kept]
    for state in states:
        require(state["learned"], allowed)
    finish(args, mean(states), scenes, teacher)


if __name__ == "__main__":
    main()
