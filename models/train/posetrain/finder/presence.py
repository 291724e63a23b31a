"""Gives a finished int8 keypoint network one more output: whether its crop shows a person at all.

    python -m posetrain.finder.presence ../keypoints-small.toml --finder ../person.onnx --data PACKS --peers PEERS --more MORE

A softmax over a joint's map always has a peak somewhere, so golf bags and plants get joints with good scores. What the network
has seen stands in its deepest features: their mean over the crop, through one logistic unit, tells persons from the rest. The
unit is a convolution of one channel, 1 x 1, in the int8 graph, so it costs a few thousand multiply-adds; joints stay as they
were to the last bit. Running it again replaces what an earlier run added; `--judge` leaves that and only writes into the card how
right it is about what the finder hands over now. `--keep FILE` holds what one network saw of one finder's finds, and is refused for
another's.

Learned from: what the finder finds and random boxes in pictures of classes (a) and (b) (docs/data-licences.md): COCO's persons
and backgrounds, COCO's pictures of nobody, rendered people. `--research` adds the persons of LSPET and J-HMDB, class (c), for
networks that have learned from them anyway; these packs leave people unlabelled, so nothing in them is background. COCO leaves
people of a crowd unlabelled too: where FastestDet sees anybody nothing is background either. What is
judged on is never learned from: the packs' val parts.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper
from scipy.optimize import minimize

from posetrain.data.augment import plain_crop
from posetrain.data.boxes import areas, common, iou
from posetrain.data.licences import licence_of, require
from posetrain.data.packs import (
    EMPTY_PACKS,
    RENDERED_PACKS,
    Floats,
    Picture,
    ReadReport,
    read_clips,
    read_stills,
)
from posetrain.data.scenes import DOUBTFUL, TEACHER, FastestDet
from posetrain.data.source import source_of
from posetrain.finder.evaluate import Finder
from posetrain.inference import as_input, session
from posetrain.keypoints.calibrate import expected_calibration_error
from posetrain.keypoints.manifest import licence_said, numbers, sha256, strings
from posetrain.metrics import bootstrap

Doubles = npt.NDArray[np.float64]
OUTPUT = "presence"
# Candidates of the finder as doubtful as these are learned from too; judged is what it really hands over.
THRESHOLD = 0.15
SAME, APART = (
    0.4,
    0.05,
)  # of a labelled box: intersection over union, and the share of the found box that may lie in one
MIN_SIDE = 24  # pixels
RANDOM_BOXES = 3  # a picture
RIDGE = 10.0
EVERY = {"rendered": 12, "lspet": 6, "jhmdb": 7}  # so many pictures are plenty
PUBLIC = ("coco_more", "coco_subset", "coco_fetched", "coco_nobody", "rendered")
RESEARCH = ("lspet", "jhmdb")


@dataclass(frozen=True)
class Crops:
    """What was cropped: the deepest features' mean [N, C], person or not [N], the finder's score (-1: a random box), judged or not,
    and of which picture."""

    features: Doubles
    person: npt.NDArray[np.bool_]
    found: Doubles
    judged: npt.NDArray[np.bool_]
    picture: npt.NDArray[np.str_]


def deepest(graph: onnx.GraphProto) -> str:
    """The dequantised tensor that the coarsest map is read from: what the convolution before the first Resize takes in."""
    made_by = {out: node for node in graph.node for out in node.output}
    name = str(next(n for n in graph.node if n.op_type == "Resize").input[0])
    while made_by[name].op_type != "Conv":
        name = str(made_by[name].input[0])
    return str(made_by[name].input[0])


def without(model: onnx.ModelProto) -> onnx.ModelProto:
    """The network as it was before this command."""
    for kept in (model.graph.node, model.graph.initializer, model.graph.output):
        for item in [i for i in kept if i.name.startswith(OUTPUT)]:
            kept.remove(item)
    return model


def with_unit(model: onnx.ModelProto, weight: Doubles, bias: float) -> onnx.ModelProto:
    """Adds the output: `weight` [C] in int8, symmetric, and `bias`, over each cell of the deepest map; sums are kept real."""
    graph, source = model.graph, deepest(model.graph)
    constants = {w.name: numpy_helper.to_array(w) for w in graph.initializer}
    dequantise = next(n for n in graph.node if source in n.output)
    scale = float(np.abs(weight).max() / 127)
    in_scale = float(constants[dequantise.input[1]])
    one = np.array([scale], np.float32)
    tensors: dict[str, npt.NDArray[np.generic]] = {
        "weight": np.round(weight / scale).astype(np.int8).reshape(1, -1, 1, 1),
        "weight_scale": one,
        "weight_zero": np.zeros(1, np.int8),
        "bias": np.round(np.array([bias]) / (scale * in_scale)).astype(np.int32),
        "bias_scale": np.array([scale * in_scale], np.float32),
        "bias_zero": np.zeros(1, np.int32),
    }
    graph.initializer.extend(numpy_helper.from_array(v, f"{OUTPUT}.{k}") for k, v in tensors.items())
    for kind in ("weight", "bias"):
        names = [f"{OUTPUT}.{kind}", f"{OUTPUT}.{kind}_scale", f"{OUTPUT}.{kind}_zero"]
        made = f"{OUTPUT}.{kind}_real"
        graph.node.append(helper.make_node("DequantizeLinear", names, [made], name=made, axis=0))
    inputs = [source, f"{OUTPUT}.weight_real", f"{OUTPUT}.bias_real"]
    graph.node.append(helper.make_node("Conv", inputs, [OUTPUT], name=OUTPUT, kernel_shape=[1, 1]))
    shapes = onnx.shape_inference.infer_shapes(model).graph.value_info
    at = next(v for v in shapes if v.name == source).type.tensor_type.shape.dim
    shape = [1, 1, at[2].dim_value, at[3].dim_value]
    graph.output.append(helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, shape))
    return model


class Looker:
    """The deepest features of square crops, averaged over the crop."""

    def __init__(self, model: onnx.ModelProto, scratch: Path) -> None:
        name = deepest(model.graph)
        model.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
        onnx.save(model, scratch)
        self.session, self.name = session(scratch), name
        self.net = int(self.session.get_inputs()[0].shape[2])

    def look(self, pixels: npt.NDArray[np.uint8], box: Floats) -> Doubles:
        """`box`: x0 y0 x1 y1 in pixels; the crop is that of the runtime."""
        crop, _ = plain_crop(pixels, box, self.net)
        return np.asarray(
            self.session.run([self.name], {"image": as_input(crop)})[0][0].mean((1, 2)), np.float64
        )


def shares(box: Floats, others: Floats) -> tuple[Doubles, Doubles]:
    """What `box` and each of `others` [N, 4] have in common: as a share of `box`, and of the other."""
    shared = common(box[None], others)[0]
    return shared / areas(box[None]), shared / np.maximum(areas(others), 1e-6)


def unit_of(model: onnx.ModelProto) -> tuple[Doubles, float]:
    """Weights [C] and bias of the output that is there. Raises KeyError for a network without."""
    kept = {w.name: numpy_helper.to_array(w) for w in model.graph.initializer}

    def real(kind: str) -> Doubles:
        return np.asarray(
            kept[f"{OUTPUT}.{kind}"] * kept[f"{OUTPUT}.{kind}_scale"].astype(np.float64)
        ).ravel()

    return real("weight"), float(real("bias")[0])


def boxes(
    picture: Picture, finder: Finder, teacher: FastestDet, rng: np.random.Generator
) -> Iterator[tuple[Floats, bool, float]]:
    """Boxes to learn from, whether they show a person, and the finder's score."""
    height, width = picture.pixels.shape[:2]
    persons = np.array([(x, y, x + w, y + h) for x, y, w, h in (p.bbox for p in picture.persons)], np.float32)
    persons = persons.reshape(-1, 4)
    anybody = persons
    if picture.pack not in (*EMPTY_PACKS, *RENDERED_PACKS):
        anybody = np.concatenate([persons, teacher.find(picture.pixels, DOUBTFUL)[0]])
    found, scores = finder.find(picture.pixels, THRESHOLD)
    for box, score in zip(found[:8], scores[:8], strict=True):
        inside, _ = shares(box, anybody)
        if (iou(box[None], persons) >= SAME).any():
            yield box, True, float(score)
        elif picture.pack in PUBLIC and (inside < APART).all():
            yield box, False, float(score)
    for person, box in zip(picture.persons, persons, strict=True):
        if (person.joints[:, 2] > 0).sum() < 5:
            continue
        middle, half = (box[:2] + box[2:]) / 2, (box[2:] - box[:2]) / 2 * rng.uniform(0.85, 1.3)
        middle = middle + rng.normal(0, 0.06, 2) * 2 * half.max()
        yield np.concatenate([middle - half, middle + half]).astype(np.float32), True, -1.0
    for _ in range(RANDOM_BOXES if picture.pack in PUBLIC else 0):
        half = np.exp(rng.uniform(np.log(20), np.log(min(height, width) / 2))) * np.array(
            [rng.uniform(0.4, 1), 1.0]
        )
        middle = rng.uniform(0, 1, 2) * (width, height)
        box = np.concatenate([middle - half, middle + half]).astype(np.float32)
        inside, covered = shares(box, anybody)
        if (inside < APART).all() and (covered < 0.2).all():
            yield box, False, -1.0


def pictures(data: Path, more: Path, packs: list[str]) -> Iterator[tuple[Picture, bool]]:
    """Pictures, and whether they are judged on."""
    report = ReadReport()
    for pack in packs:
        root = data if (data / pack).exists() else more
        if not (root / pack).exists():
            raise SystemExit(f"{root / pack} is not there: models/train/BUDGET.md says how it is made")
        read = read_clips(root, report) if pack == "jhmdb" else read_stills(root, pack, report)
        for i, picture in enumerate(read):
            if i % EVERY.get(pack, 1) == 0:
                yield picture, picture.split == "val"
        print(f"{pack} read", flush=True)


def gather(
    looker: Looker,
    finder: Finder,
    teacher: FastestDet,
    data: Path,
    more: Path,
    packs: list[str],
    judged_alone: bool,
) -> Crops:
    rng = np.random.default_rng(11)
    rows: list[tuple[Doubles, bool, float, bool, str]] = []
    for picture, judged in pictures(data, more, packs):
        if judged_alone and not judged:
            continue
        for box, person, score in boxes(picture, finder, teacher, rng):
            if float((box[2:] - box[:2]).max()) >= MIN_SIDE:
                key = f"{picture.pack}/{picture.key}"
                rows.append((looker.look(picture.pixels, box), person, score, judged, key))
    return Crops(*(np.array(column) for column in zip(*rows, strict=True)))


def made_from(model: onnx.ModelProto, finder: Path, packs: list[str]) -> dict[str, str]:
    """What crops hang on. `model`: the network as it was before this command, whose sum is the same after it."""
    bare = hashlib.sha256(model.SerializeToString(deterministic=True)).hexdigest()
    return {"network": bare, "finder": sha256(finder), "packs": " ".join(packs)}


def keep(path: Path, crops: Crops, made: dict[str, str]) -> None:
    arrays = vars(crops) | {f"of_{name}": np.array(value) for name, value in made.items()}
    np.savez(path, **arrays)


def kept(path: Path, made: dict[str, str]) -> Crops:
    """Crops of `keep`. Raises SystemExit where they were not made from the same."""
    with np.load(path) as z:
        of = {name: str(z[f"of_{name}"]) if f"of_{name}" in z.files else "" for name in made}
        if differ := [name for name in made if of[name] != made[name]]:
            raise SystemExit(
                f"{path} was made with another {' and other '.join(differ)}, or does not say: give another --keep, or remove the file"
            )
        return Crops(*(z[k] for k in ("features", "person", "found", "judged", "picture")))


def fit(x: Doubles, y: npt.NDArray[np.bool_]) -> tuple[Doubles, float]:
    """Weights [C] and bias of a logistic unit, both classes of the same weight, ridge on standardised features."""
    mean, spread = x.mean(0), x.std(0) + 1e-6
    z = np.c_[np.ones(len(x)), (x - mean) / spread]
    share = y.mean()
    weight, target = np.where(y, 0.5 / share, 0.5 / (1 - share)), y.astype(float)

    def cost(b: Doubles) -> tuple[float, Doubles]:
        t = z @ b
        value = float((weight * (np.logaddexp(0, t) - target * t)).sum() + RIDGE * (b[1:] ** 2).sum())
        slope = z.T @ (weight * (1 / (1 + np.exp(-t)) - target)) + np.r_[0, 2 * RIDGE * b[1:]]
        return value, slope

    b = minimize(cost, np.zeros(z.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    w = b[1:] / spread
    return np.asarray(w), float(b[0] - (w * mean).sum())


def calibrated(crops: Crops, threshold: float, weight: Doubles, bias: float) -> tuple[Doubles, float]:
    """The same unit as a probability for what the finder hands over, which is harder than random boxes (Platt 1999)."""
    at = ~crops.judged & (crops.found >= threshold)
    logit = crops.features[at] @ weight + bias
    slope, offset = fit(logit[:, None], crops.person[at])
    return weight * slope[0], bias * float(slope[0]) + offset


def area(person: npt.NDArray[np.bool_], logit: Doubles) -> float:
    """Area under the curve of true against false positives."""
    ranks = np.argsort(np.argsort(logit))
    n = int(person.sum())
    return float((ranks[person].sum() - n * (n - 1) / 2) / (n * (len(logit) - n)))


def calibration_error(person: npt.NDArray[np.bool_], said: Doubles) -> float:
    """Expected calibration error in ten bins, persons and others of the same weight."""
    weight = np.where(person, 0.5 / person.mean(), 0.5 / (1 - person.mean()))
    return expected_calibration_error(said, person.astype(float), weight=weight)


def error_by_chance(person: npt.NDArray[np.bool_], said: Doubles) -> list[float]:
    """What the error comes out at for words that are true to the letter, on as many crops: its mean over draws, and nine draws of ten.
    Few others make much of it."""
    rng, persons = np.random.default_rng(5), person.mean()
    # `said` is of as many persons as others; drawn are as many as there are
    here = said * persons / (said * persons + (1 - said) * (1 - persons))
    drawn = [calibration_error(rng.random(len(said)) < here, said) for _ in range(1000)]
    return [float(np.mean(drawn)), *(float(v) for v in np.quantile(drawn, [0.05, 0.95]))]


def judge(crops: Crops, logit: Doubles, threshold: float, packs: list[str]) -> list[str]:
    """The card's lines: on pictures kept back, what the finder hands over to be looked at."""
    at = crops.judged & (crops.found >= threshold)
    person, said = crops.person[at], 1 / (1 + np.exp(-logit[at]))
    source = np.array([source_of(str(picture)) for picture in crops.picture[at]])
    lines = [
        "",
        "# Pictures kept back, what the finder hands over: area under the curve; expected calibration error with as many persons as",
        "# others, and what it comes out at for words that are true to the letter, mean and nine draws of ten; at each least score the",
        "# share of persons refused and of others let through, with 95 % intervals over pictures, videos for jhmdb",
        "[card.presence]",
        f"data = {strings(packs)}",
        'made_by = "python -m posetrain.finder.presence"',
        f"persons = {int(person.sum())}",
        f"others = {int((~person).sum())}",
        f"auc = {area(person, logit[at]):.4f}",
        f"ece = {calibration_error(person, said):.4f}",
        f"ece_by_chance = {numbers(error_by_chance(person, said))}",
    ]
    for least in (0.1, 0.25, 0.5, 0.75, 0.9):
        lines += ["[[card.presence.at]]", f"score = {least}"]
        for name, of, hit in (("refused", person, said < least), ("passed", ~person, said >= least)):
            low, high = bootstrap(hit[of].astype(np.int64), np.ones(of.sum(), np.int64), source[of])
            lines.append(f"{name} = {numbers([hit[of].mean(), low, high])}")
    return lines


def rewrite(manifest: Path, file: Path, card: list[str]) -> None:
    """The manifest with the output named, the new sum, and the card's part."""
    text = manifest.read_text()
    old = tomllib.loads(text)["sha256"]
    text = re.sub(r"\n# probability that the crop shows.*\npresence = .*\n", "\n", text)
    text = re.sub(r"\n# Pictures kept back, what the finder(.|\n)*?(?=\n\[\[card\.metrics\]\]|\Z)", "", text)
    comment = "# probability that the crop shows a person: 1 / (1 + exp(-mean over this output's cells))"
    text = re.sub(r"(\norigin = .*\n)", rf'\1{comment}\npresence = "{OUTPUT}"\n', text, count=1)
    text = text.rstrip("\n") + "\n" + "\n".join(card) + "\n"
    # Whether anybody is there was learned from others than the joints were.
    said = tomllib.loads(text)["card"]
    words = licence_said([*said["data"], *said["presence"]["data"]])
    text = text.replace(f'licence = "{said["licence"]}"', f'licence = "{words}"', 1)
    manifest.write_text(text.replace(old, sha256(file)))


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("manifest", type=Path)
    p.add_argument("--finder", type=Path, required=True, help="person.onnx; its manifest lies beside it")
    p.add_argument("--data", type=Path, required=True)
    p.add_argument(
        "--peers", type=Path, required=True, help="folder of fastestdet.onnx: who is there unlabelled"
    )
    p.add_argument("--more", type=Path, required=True, help="folder of fetched and rendered packs")
    p.add_argument("--research", action="store_true", help="learn from LSPET and J-HMDB too: class (c)")
    p.add_argument("--quant", type=Path, help="the quantisation's note, whose sum is brought up to date")
    p.add_argument(
        "--judge", action="store_true", help="judge what the network says already; its weights stay"
    )
    p.add_argument(
        "--keep", type=Path, help="features are kept here, and read again from here; with --judge only read"
    )
    args = p.parse_args()
    cv2.setNumThreads(1)
    packs = [*PUBLIC, *(RESEARCH if args.research else ())]
    network = tomllib.loads(args.manifest.read_text())
    # whoever learns persons from research packs is for research, whatever else the network has learned from
    require(packs, licence_of(network["card"]["data"]))
    file = args.manifest.with_name(network["file"])
    # In the program weak finds are handed over too: whether they are anybody both networks say.
    said = tomllib.loads(args.finder.with_suffix(".toml").read_text())
    threshold = float(said.get("with_presence", said["codec"])["threshold"])
    bare = without(onnx.load(file))
    made = made_from(bare, args.finder, packs)
    if args.keep and args.keep.exists():
        crops = kept(args.keep, made)
    else:
        scratch = file.with_suffix(".features.onnx")
        looker = Looker(bare, scratch)
        scratch.unlink()
        teacher = FastestDet(args.peers / "fastestdet.onnx")
        crops = gather(looker, Finder(args.finder), teacher, args.data, args.more, packs, args.judge)
        if args.keep and not args.judge:
            keep(args.keep, crops, made)
    model = onnx.load(file)
    if not args.judge:
        learned = ~crops.judged
        model = with_unit(
            without(model),
            *calibrated(crops, threshold, *fit(crops.features[learned], crops.person[learned])),
        )
    # of the file, whose weights are rounded
    weight, bias = unit_of(model)
    card = judge(crops, crops.features @ weight + bias, threshold, [*packs, TEACHER])
    print("\n".join(card))
    old = sha256(file)
    if not args.judge:
        onnx.save(model, file)
    # Two manifests may read one file: one may look at each crop twice.
    for manifest in file.parent.glob("*.toml"):
        if tomllib.loads(manifest.read_text()).get("file") == file.name:
            rewrite(manifest, file, card)
    if args.quant:
        args.quant.write_text(args.quant.read_text().replace(old, sha256(file)))


if __name__ == "__main__":
    main()
