"""One command a committed model: `python -m posetrain.keypoints.make small --data DIR --work DIR [--replicas N]`.

Decodes the packs, trains (or resumes), exports, quantises, calibrates scores, measures on val and writes
models/keypoints-NAME.onnx, its manifest, and calib/quant/keypoints-NAME.toml. Steps already done are not
repeated.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from posetrain.data import cache, synthetic
from posetrain.data.augment import AugmentConfig, augmented, plain_crop
from posetrain.data.packs import PACKS, Floats, Pixels, joints_box
from posetrain.data.scenes import FastestDet
from posetrain.data.scenes import build as build_scenes
from posetrain.data.source import source_of
from posetrain.keypoints import calibrate, evaluate, manifest, train
from posetrain.keypoints.config import Run, TrainConfig, configured
from posetrain.keypoints.graph import export_keypoints
from posetrain.keypoints.net import KeypointNet, multiply_adds, used_parameters
from posetrain.keypoints.peers import Own
from posetrain.keypoints.quantise import quantise, ranges
from posetrain.paths import REPOSITORY, TRAIN

# Enough for the ranges to settle; more only costs time.
CALIBRATION_CROPS = 256
# A film is one person before one wall: its frames err alike, so it counts as much as a photo.
FRAMES_A_FILM = 1
# What a tracker's crop does between frames, without what only training needs.
TRACKER = AugmentConfig(
    scale=0.12, shift=0.06, rotate_chance=0.0, half_body_chance=0.0, damage_chance=0.0, cutout_chance=0.0
)


def calibration_crops(
    records: cache.Records, packs: tuple[str, ...], net: int
) -> tuple[np.ndarray, list[str]]:
    """Crops of train persons, drawn once from all packs, and their names."""
    rng = np.random.default_rng(7)
    ids = rng.choice(records.where("train", packs), CALIBRATION_CROPS, replace=False)
    names = [f"{PACKS[records.pack[i]]}/{records.key[i]}" for i in ids]
    return np.stack([plain_crop(records.picture(i), records.box[i], net)[0] for i in ids]), names


def thinned(keys: npt.NDArray[np.str_], frames_a_film: int = FRAMES_A_FILM) -> npt.NDArray[np.int64]:
    """Which of J-HMDB's frames to take: at most so many from each film, evenly spread."""
    films = np.array([source_of(str(key)) for key in keys])
    parts = [np.zeros(0, np.int64)]
    for film in np.unique(films):
        frames = np.flatnonzero(films == film)
        middles = np.linspace(0, len(frames), 2 * frames_a_film + 1)[1::2]
        parts.append(frames[np.unique(middles.astype(int))])
    return np.concatenate(parts)


def kept_back(records: cache.Records, packs: tuple[str, ...]) -> Iterator[tuple[Pixels, Floats]]:
    """Pictures and joints of the persons kept back to fit scores, films thinned."""
    ids = records.where("calib", packs)
    video = records.pack[ids] == PACKS.index("jhmdb")
    frames = ids[video]
    for i in np.concatenate([ids[~video], frames[thinned(records.key[frames])]]):
        yield records.picture(i), records.joints[i]


def fit_scores(system: Own, persons: Iterable[tuple[Pixels, Floats]]) -> calibrate.Calibration:
    """On persons kept back for this, each seen twice with a tracker's jitter."""
    rng = np.random.default_rng(11)
    feature, distance, extent, labelled = [], [], [], []
    for pixels, joints in (person for person in persons for _ in range(2)):
        sample = augmented(pixels, joints, TRACKER, system.net, rng)
        centre = ((system.net - 1) / 2, (system.net - 1) / 2)
        xy = system.joints(sample.pixels, centre, float(system.net))
        moved = np.concatenate([sample.xy, (sample.inside + sample.outside)[:, None]], axis=1)
        x0, y0, x1, y1 = joints_box(moved)
        feature.append(system.features)
        distance.append(np.linalg.norm(xy - sample.xy, axis=1))
        extent.append(max(x1 - x0, y1 - y0))
        labelled.append(sample.inside > 0)
    return calibrate.fit(
        np.stack(feature), np.stack(distance), np.asarray(extent, np.float32), np.stack(labelled)
    )


def seen(checkpoint: Path, config: TrainConfig, work: Path) -> tuple[int, float]:
    """Pictures and seconds that went into these weights, those that they start from included."""
    state = torch.load(checkpoint, weights_only=True)
    pictures, seconds = int(state["pictures"]), float(state["spent"])
    if config.start:
        earlier = configured(config.start)
        before = seen(work / f"keypoints-{earlier.name}" / "final.pt", earlier, work)
        pictures, seconds = pictures + before[0], seconds + before[1]
    return pictures, seconds


def finished(checkpoint: Path, config: TrainConfig, work: Path) -> dict[str, Tensor]:
    """The weights that a run ends with, batch norms' running means included."""
    weights: dict[str, Tensor] = torch.load(checkpoint, weights_only=True)["ema"]
    if not config.mean_with_start:
        return weights
    start = torch.load(work / f"keypoints-{config.start}" / "final.pt", weights_only=True)["ema"]
    return {
        name: (value + start[name]) / 2 if value.dtype.is_floating_point else value
        for name, value in weights.items()
    }


def finish(
    config: TrainConfig,
    records: cache.Records,
    checkpoint: Path,
    work: Path,
    models: Path,
    quant: Path,
    every: int,
) -> None:
    """From averaged weights to the committed files."""
    net = KeypointNet(config.net)
    net.load_state_dict(finished(checkpoint, config, work))
    stem = f"keypoints-{config.name}"
    f32, int8 = work / f"{stem}-f32.onnx", models / f"{stem}.onnx"
    export_keypoints(net, config.input, config.input, f32)
    crops, names = calibration_crops(records, config.packs, config.input)
    # Eight bits of logits are too coarse to place a joint between two cells.
    quantise(f32, int8, crops, real_outputs=("heatmaps",))
    manifest.write_quantisation(quant / f"{stem}.toml", int8, names, ranges(int8))
    system = Own(int8, config.codec)
    fitted = fit_scores(system, kept_back(records, config.packs))
    packs = [p for p in config.packs if len(records.where("val", (p,)))]
    results: dict[str, dict[str, evaluate.Measured]] = {"int8": {}, "f32": {}}
    for name, path in (("int8", int8), ("f32", f32)):
        for pack in packs:
            results[name][pack] = evaluate.measure(Own(path, config.codec), records, pack, every)
            print(evaluate.table(name, pack, results[name][pack]), flush=True)
    compared = {p: m for p, m in results["int8"].items() if p in evaluate.VAL_PACKS} or results["int8"]
    errors = evaluate.errors_of_scores(compared, fitted)
    print(errors)
    pictures, seconds = seen(checkpoint, config, work)
    described = manifest.Description(
        name=config.name,
        input=config.input,
        codec=config.codec,
        flip_test=False,
        data=config.packs,
        licence=manifest.licence_said(config.packs),
        teachers=manifest.TEACHERS,
        made_by=f"python -m posetrain.keypoints.make {config.name}",
        macs=multiply_adds(net, config.input, config.input),
        parameters=used_parameters(net),
        pictures=pictures,
        minutes=seconds / 60,
    )
    manifest.write_keypoints(
        models / f"keypoints-{config.name}.toml", int8, described, fitted, results, errors
    )


def trained(
    config: TrainConfig,
    data: Path | None,
    work: Path,
    replicas: int,
    workers: int,
    minutes: float | None = None,
    scenes: Path | None = None,
) -> Path:
    """The weights of this configuration, trained where they are not there yet; first those that it starts from."""
    out = work / f"keypoints-{config.name}"
    final = out / "final.pt"
    if not final.exists():
        begin = None
        if config.start:
            earlier = configured(config.start)
            begin = trained(earlier, data, work, replicas, workers, scenes=scenes)
        run = Run(replicas, 1, workers, minutes or config.budget_minutes)
        train.start(config, data, out, run, begin, scenes if config.empty_chance else None)
    return final


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", help="a configuration in configs/keypoints, without .toml")
    parser.add_argument("--data", type=Path, help="folder with the packs; not needed by `smoke`")
    parser.add_argument("--peers", type=Path, help="folder with fastestdet.onnx")
    parser.add_argument("--work", type=Path, default=TRAIN / "work")
    parser.add_argument("--models", type=Path, default=REPOSITORY / "models")
    parser.add_argument("--quant", type=Path, default=REPOSITORY / "calib" / "quant")
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--checkpoint", type=Path, help="finish from these weights instead of training")
    parser.add_argument("--every", type=int, default=1, help="measure every n-th val crop only")
    args = parser.parse_args()
    config = configured(args.name)
    for folder in (args.work, args.models, args.quant):
        folder.mkdir(parents=True, exist_ok=True)
    data = None
    if not config.synthetic_figures:
        data = args.work / "cache"
        if not (data / "pixels.bin").exists():
            if args.data is None:
                parser.error("--data is needed to build the cache")
            cache.build(args.data, data)
    scenes = None
    if config.empty_chance and args.checkpoint is None:
        scenes = args.work / "finder-cache"
        if not (scenes / "pixels.bin").exists():
            if args.data is None or args.peers is None:
                parser.error("--data and --peers are needed to find parts of pictures without people")
            build_scenes(args.data, scenes, FastestDet(args.peers / "fastestdet.onnx"))
    checkpoint = args.checkpoint or trained(
        config, data, args.work, args.replicas, args.workers, args.minutes, scenes
    )
    records = synthetic.records(config.synthetic_figures, config.seed) if data is None else cache.load(data)
    finish(config, records, checkpoint, args.work, args.models, args.quant, args.every)


if __name__ == "__main__":
    main()
