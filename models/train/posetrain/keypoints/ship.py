"""A long run's weights as a network that ships: models/keypoints-NAME.onnx in int8 and its manifest, measured on whole val parts.

    python -m posetrain.keypoints.ship configs/steady/small-usable.toml --caches DIR --weights work/anneal/checkpoint.pt
    python -m posetrain.keypoints.ship configs/steady/small.toml --caches DIR --weights work/small/checkpoint.pt \
        --from ../keypoints-small.toml --mean-with work/adopted.npz --share 0.6
    python -m posetrain.keypoints.ship configs/steady/large.toml --caches DIR --weights work/large/checkpoint.pt \
        --from ../keypoints-small.toml --size 224 --looks base=1

`--from`: the shipped network that training began with (`posetrain.keypoints.adopt`), whose sources are these weights' too; a mean of
both sets of weights keeps more of what it knew (Wortsman et al. 2022). `--settle`: so many train crops teach the int8 file to answer as
the floats do (`posetrain.keypoints.settle`). `--of`: for weights that are finished, where not all caches are at hand; `--from` is then
their own card. `--looks`: the manifests to write for the file, which is called after the first, and how often each looks at a crop: the
second time at its mirror image.
Ranges of int8 come from train persons, scores from the persons kept back, both of the configuration's own sources, so the file has
the weights' licence class; val parts of other packs are only measured. `posetrain.finder.presence` then adds presence.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from posetrain.data import cache
from posetrain.data.augment import plain_crop
from posetrain.data.licences import LETTER, licence_of, of_letter
from posetrain.data.packs import KNOWN_PACKS, Floats, Pixels
from posetrain.keypoints import checkpoints, evaluate, manifest
from posetrain.keypoints.graph import export_keypoints
from posetrain.keypoints.make import CALIBRATION_CROPS, fit_scores, kept_back
from posetrain.keypoints.mixture import teachers_of
from posetrain.keypoints.net import KeypointNet, multiply_adds, used_parameters
from posetrain.keypoints.peers import Own
from posetrain.keypoints.quantise import check, quantise, ranges
from posetrain.keypoints.settle import settled
from posetrain.keypoints.steady_config import SteadyConfig, load_config
from posetrain.paths import REPOSITORY, TRAIN

# Whose maps taught, and where: one part of the card's sentence each, in this order.
TEACHERS = {
    "movenet_thunder": "MoveNet Thunder (Apache-2.0): where COCO labels nothing, and beside its labels",
    "keypoints-base-usable": "everywhere its maps averaged with those of this project's `base-usable`",
    "keypoints-small": "for research packs its maps averaged with those of this project's `small` as it was before",
    "keypoints-large": "for LSPET and for people without a label of their own with those of `large` as it was before",
}


def range_crops(config: SteadyConfig, caches: Path, size: int) -> tuple[Pixels, list[str]]:
    """Train persons as the device crops them, of each source as many as its share [N, size, size, 3], and their names."""
    rng, crops, names = np.random.default_rng(7), [], []
    total = sum(s.share for s in config.sources)
    for source in config.sources:
        records = cache.load(caches / source.cache)
        ids = np.flatnonzero(records.split == cache.SPLITS.index("train"))
        count = min(len(ids), max(1, round(CALIBRATION_CROPS * source.share / total)))
        chosen = rng.choice(ids, count, replace=False)
        crops += [plain_crop(records.picture(i), records.box[i], size)[0] for i in chosen]
        names += [f"{KNOWN_PACKS[records.pack[i]]}/{records.key[i]}" for i in chosen]
    return np.stack(crops), names


def to_fit(config: SteadyConfig, caches: Path) -> Iterator[tuple[Pixels, Floats]]:
    for source in config.sources:
        yield from kept_back(cache.load(caches / source.cache), KNOWN_PACKS)


def taught_by(config: SteadyConfig, caches: Path) -> str:
    """The card's sentence about teachers. Raises ValueError for one of whom there is nothing to say yet."""
    if config.teachers:
        return f"{' and '.join(config.teachers)} as it was before, asked about every crop"
    names = {name for source in config.sources for name in teachers_of(config, source, caches)}
    said = [TEACHERS[name] for name in sorted(names, key=list(TEACHERS).index)]
    return "; ".join(said) or "none"


def measured(
    config: SteadyConfig, caches: Path, networks: dict[str, Path], size: int, every: int, mirrored: bool
) -> dict[str, dict[str, evaluate.Measured]]:
    """Precision -> pack -> what its val part gave, printed as it comes."""
    out: dict[str, dict[str, evaluate.Measured]] = {precision: {} for precision in networks}
    print("| system | val of | persons | PCK.05 | PCK.1 | PCK.2 |\n|---|---|---|---|---|---|")
    for name in config.val:
        records = cache.load(caches / name)
        for pack in np.unique(records.pack[records.split == cache.SPLITS.index("val")]):
            for precision, path in networks.items():
                result = evaluate.measure(
                    Own(path, config.codec(size), mirrored), records, KNOWN_PACKS[pack], every
                )
                out[precision][KNOWN_PACKS[pack]] = result
                print(
                    evaluate.table(
                        f"{precision}, two looks" if mirrored else precision, KNOWN_PACKS[pack], result
                    ),
                    flush=True,
                )
    return out


def at_hand(config: SteadyConfig, names: list[str]) -> SteadyConfig:
    """The configuration with the caches named alone, for crops by which nothing is taught; as it is where none is named."""
    if unknown := set(names) - {source.cache for source in config.sources}:
        raise SystemExit(f"--of {min(unknown)}: the configuration has no such cache")
    if not names:
        return config
    kept = tuple(source for source in config.sources if source.cache in names)
    return replace(config, sources=kept).untaught()


def trained_for(minutes: float, before: dict[str, Any], of: list[str]) -> float:
    """What a run took beyond what is on the card before; with --of that card is these weights' own, which has it already."""
    known = float(before.get("train_minutes", 0.0))
    return known if of else minutes + known


def command(args: argparse.Namespace) -> str:
    """What makes the network again, in models/train; folders as whoever runs it has them."""
    words = ["python -m posetrain.keypoints.ship", f"configs/{args.config.parent.name}/{args.config.name}"]
    words += ["--caches DIR", f"--weights {args.weights.name}", f"--size {args.size}"]
    if args.begun_with:
        words.append(f"--from {args.begun_with.name}")
    if args.mean_with:
        words.append(f"--mean-with {args.mean_with.name} --share {args.share:g}")
    if args.looks:
        words.append("--looks " + " ".join(f"{name}={2 if mirrored else 1}" for name, mirrored in args.looks))
    words += [f"--of {name}" for name in args.of]
    if args.settle:
        words.append(f"--settle {args.settle}")
    return " ".join(words)


def looks(text: str) -> tuple[str, bool]:
    """A manifest's name, and whether it looks twice: of `base=2`."""
    name, _, times = text.partition("=")
    if not name or times not in ("1", "2"):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=1 or NAME=2")
    return name, times == "2"


def sources_of(args: argparse.Namespace, config: SteadyConfig, before: dict[str, Any]) -> list[str]:
    """What the weights learned from: by the configuration, by the card `before`, by their own files."""
    paths = filter(None, (args.weights, args.mean_with))
    inherited = [name for path in paths for name in checkpoints.inherited(path, of_letter(config.licence))]
    return list(dict.fromkeys([*checkpoints.sources(config, args.caches), *before["data"], *inherited]))


def network(args: argparse.Namespace, config: SteadyConfig) -> KeypointNet:
    net = KeypointNet(config.net)
    weights = checkpoints.weights_of(args.weights)
    if args.mean_with:
        weights = checkpoints.mean(weights, checkpoints.weights_of(args.mean_with), args.share)
    net.load_state_dict(weights)
    return net


def written(args: argparse.Namespace, config: SteadyConfig, net: KeypointNet, stem: str) -> dict[str, Path]:
    """The network's files by their precision, and what the int8 one's ranges rest on."""
    f32, int8 = args.work / f"{stem}-f32.onnx", args.models / f"{stem}.onnx"
    export_keypoints(net, args.size, args.size, f32)
    crops, names = range_crops(config, args.caches, args.size)
    quantise(f32, int8, crops, real_outputs=("heatmaps",))
    if args.settle:
        settled(f32, int8, int8, config, args.caches, args.settle)
        check(int8)
    manifest.write_quantisation(args.quant / f"{stem}.toml", int8, names, ranges(int8))
    return {"int8": int8, "f32": f32}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("config", type=Path)
    parser.add_argument("--caches", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True, help="checkpoint.pt or compact checkpoint")
    parser.add_argument(
        "--from", dest="begun_with", type=Path, help="manifest of the network that training began with"
    )
    parser.add_argument("--mean-with", type=Path, help="checkpoint to average the weights with")
    parser.add_argument("--share", type=float, default=0.5, help="of --weights in that mean")
    parser.add_argument(
        "--looks",
        nargs="+",
        type=looks,
        metavar="NAME=1|2",
        help="manifests to write and their looks at a crop; one look under the configuration's name, if not given",
    )
    parser.add_argument("--work", type=Path, default=TRAIN / "work" / "ship", help="where the f32 file goes")
    parser.add_argument("--models", type=Path, default=REPOSITORY / "models")
    parser.add_argument("--quant", type=Path, default=REPOSITORY / "calib" / "quant")
    parser.add_argument("--size", type=int, default=160, help="of the input, pixels")
    parser.add_argument("--every", type=int, default=1, help="measure every n-th val crop only")
    parser.add_argument(
        "--settle",
        type=int,
        default=0,
        metavar="CROPS",
        help="that the rounding learns from; 12000 are enough",
    )
    parser.add_argument(
        "--of",
        action="append",
        default=[],
        metavar="CACHE",
        help="one of the configuration's: ranges, rounding and scores by those named alone; may be given again",
    )
    args = parser.parse_args()
    if args.of and not args.begun_with:
        parser.error("--of needs --from: the card that says who taught these weights")
    return args


def main() -> None:
    args = arguments()
    config = at_hand(load_config(args.config), args.of)
    before = tomllib.loads(args.begun_with.read_text())["card"] if args.begun_with else {"data": []}
    sources = sources_of(args, config, before)
    for folder in (args.work, args.models, args.quant):
        folder.mkdir(parents=True, exist_ok=True)
    manifests = args.looks or [(config.name, False)]
    net = network(args, config)
    networks = written(args, config, net, f"keypoints-{manifests[0][0]}")
    crops_seen, minutes = checkpoints.history(args.weights)
    for name, mirrored in manifests:
        fitted = fit_scores(
            Own(networks["int8"], config.codec(args.size), mirrored), to_fit(config, args.caches)
        )
        results = measured(config, args.caches, networks, args.size, args.every, mirrored)
        errors = evaluate.errors_of_scores(results["int8"], fitted)
        print(f"{name}: {errors.replace(chr(10), ', ')}, class ({LETTER[licence_of(sources)]})")
        described = manifest.Description(
            name=name,
            input=args.size,
            codec=config.codec(args.size),
            flip_test=mirrored,
            data=tuple(sources),
            licence=manifest.licence_said(sources),
            teachers=before["teachers"] if args.of else taught_by(config, args.caches),
            made_by=command(args),
            macs=multiply_adds(net, args.size, args.size) * (2 if mirrored else 1),
            parameters=used_parameters(net),
            pictures=crops_seen,
            minutes=trained_for(minutes, before, args.of),
        )
        card = args.models / f"keypoints-{name}.toml"
        manifest.write_keypoints(card, networks["int8"], described, fitted, results, errors)


if __name__ == "__main__":
    main()
