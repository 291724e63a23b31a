"""Writes the files that go with a model: the manifest that the runtime reads, and what the quantisation rests on."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from posetrain.data.augment import PAD
from posetrain.data.licences import Licence, licence_of
from posetrain.data.packs import PSEUDO
from posetrain.keypoints.calibrate import Calibration
from posetrain.keypoints.codec import HeatmapCodec

if TYPE_CHECKING:
    from posetrain.keypoints.evaluate import Measured

TEACHERS = (
    "pseudo-labels of the unlabelled packs: MoveNet Lightning int8 (Apache-2.0), kept where "
    "Ultralight-SimplePose agrees"
)
# What stands above the lines of `evaluate.errors_of_scores`.
ABOUT_ERRORS = "# expected calibration error of the body joints' scores on val, ten bins: of all packs together, and of each"
# Credit is what they ask.
FREE_FILMS = (
    "films whose makers publish them under MIT, BSD-3-Clause or CC BY 4.0 (GMDCSA24, Intel's sample videos, Pose2Sim, Sports2D, "
    "custom-gesture-dataset)"
)


def licence_said(sources: Collection[str]) -> str:
    """The card's words for a keypoint network or finder that learned from `sources`, by their class."""
    worst = licence_of(sources)
    if worst == Licence.FREE:
        return "Weights: MIT or Apache-2.0, as the code. Learned from rendered people alone; no pixel or label is in the file."
    if worst == Licence.COCO:
        return usable_licence(sources)
    research = sorted({name for name in sources if licence_of([name]) == Licence.RESEARCH})
    # A network of this project that taught says less than what it learned from, which is among the sources as a rule.
    said = [name for name in research if not name.startswith("keypoints-")] or research
    coco = any(name.startswith("coco_") for name in sources)
    flickr = ", and from COCO's pictures under Flickr licences, many of them non-commercial" if coco else ""
    return (
        "Weights: for research and evaluation. Learned partly from what was published for research or has no terms stated "
        f"({', '.join(said)}){flickr}; no pixel or label is in the file."
    )


def usable_licence(sources: Collection[str] = ()) -> str:
    """The card's words for weights of class (b) that learned from `sources`."""
    people = "rendered people (CC0 bodies and clothes, CMU motion)"
    others = " and FastestDet's (BSD-3-Clause)" if "fastestdet" in sources else ""
    parts = f"from {people}, and from {FREE_FILMS}" if "free_films" in sources else f"and from {people}"
    return (
        "Weights: MIT or Apache-2.0, as the code. Learned from COCO's pictures (Flickr, a licence each) and annotations "
        f"(CC BY 4.0, COCO Consortium) as everybody's COCO-trained weights are, from MoveNet Thunder's answers (Apache-2.0){others}, "
        f"{parts}; no pixel or label is in the file."
    )


@dataclass(frozen=True)
class Description:
    """What a manifest says of a network beside its figures. `data` names packs and teachers; `pictures` is how many crops the
    weights have seen, in `minutes`."""

    name: str
    input: int
    codec: HeatmapCodec
    flip_test: bool
    data: tuple[str, ...]
    licence: str
    teachers: str
    made_by: str
    macs: int
    parameters: int
    pictures: int
    minutes: float


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def numbers(values: object, digits: int = 4) -> str:
    return "[" + ", ".join(f"{float(v):.{digits}f}" for v in values) + "]"  # type: ignore[attr-defined]


def without_intervals(metrics: str) -> str:
    """Rows of a card whose values have no interval any more: `[value]` in the place of `[value, low, high]`."""
    return re.sub(r"^((?:pck|recall)_\w+ = \[[^,\]]+),.*\]$", r"\1]", metrics, flags=re.MULTILINE)


def strings(values: list[str]) -> str:
    return "[" + ", ".join(f'"{v}"' for v in values) + "]"


def write_quantisation(
    path: Path, model: Path, names: list[str], tensor_ranges: dict[str, tuple[float, float]]
) -> None:
    lines = [
        "# What static int8 was calibrated on: train pictures only. `ranges` = lowest and highest value u8 can hold.",
        f'model = "{model.name}"',
        f'sha256 = "{sha256(model)}"',
        'method = "mean over pictures of each lowest and highest value; weights per channel, symmetric i8"',
        'input = "scale 1/255, zero point 0, forced"',
        "pictures = [",
        *(f'  "{name}",' for name in names),
        "]",
        "",
        "[ranges]",
        *(f"{name} = [{low:.5f}, {high:.5f}]" for name, (low, high) in tensor_ranges.items()),
    ]
    path.write_text("\n".join(lines) + "\n")


def write_keypoints(
    path: Path,
    model: Path,
    described: Description,
    fitted: Calibration,
    results: dict[str, dict[str, Measured]],
    errors: str,
) -> None:
    """`results`: precision -> pack -> what its val part gave. `errors`: the int8 network's `evaluate.errors_of_scores`."""
    codec = described.codec
    windows = codec.windows(described.input // codec.stride)
    lines = [
        f'name = "{described.name}"',
        'task = "keypoints"',
        f'file = "{model.name}"',
        f'sha256 = "{sha256(model)}"',
        "version = 1",
        'skeleton = "coco17"',
        "# the temporal model's name for how such networks err",
        'error_model = "keypoints"',
        "",
        "[input]",
        'name = "image"',
        f"width = {described.input}",
        f"height = {described.input}",
        'layout = "nchw"',
        'color = "rgb"',
        "# value of pixel 0 and of pixel 255",
        "range = [0.0, 1.0]",
        "",
        "# Square crop centred on the box, side = pad x its longer side; image = net * scale + offset with pixel centres at",
        "# integers, scale = side / width, offset = centre - scale * (width - 1) / 2. Outside the picture: fill.",
        "[roi]",
        f"pad = {PAD}",
        "fill = 0",
        "",
        "# Softmax over the whole map. The place is the one of most expected hits: of the sum of probabilities in squares of",
        "# `windows` cells, about the circles of PCK.05, .1 and .2, refined by a parabola on each axis; a cell's centre is",
        "# (index + 0.5) * stride - 0.5.",
        "[codec]",
        'kind = "heatmap"',
        'output = "heatmaps"',
        f"stride = {codec.stride}",
        'activation = "softmax"',
        'refine = "hits"',
        f"windows = {list(windows)}",
        f"window = {windows[1]}",
        'origin = "cell_centre"',
        *(
            ["# the crop is looked at mirrored too, and the maps are averaged", "flip_test = true"]
            if described.flip_test
            else []
        ),
        "",
        "# m = probability mass in the square of `window` cells, clamped to 1e-4 .. 1 - 1e-4; f = ln(m / (1 - m)).",
        "# score = 1 / (1 + exp(-(a + b f))) = probability that the joint is within 0.1 of the person's extent",
        "[codec.score]",
        f"a = {numbers(fitted.a)}",
        f"b = {numbers(fitted.b)}",
        "",
        "# sigma = exp(c + d f) net pixels on one axis, given that the joint is near",
        "[codec.sigma]",
        f"c = {numbers(fitted.c)}",
        f"d = {numbers(fitted.d)}",
        "",
        "[card]",
        f"data = {strings(list(described.data))}",
        f"pseudo_labelled = {strings(sorted(PSEUDO & set(described.data)))}",
        f'licence = "{described.licence}"',
        f'teachers = "{described.teachers}"',
        f'made_by = "{described.made_by}"',
        f"train_pictures_seen = {described.pictures}",
        f"train_minutes = {described.minutes:.1f}",
        f"macs = {described.macs}",
        f"parameters = {described.parameters}",
        ABOUT_ERRORS,
        *errors.splitlines(),
        *metrics(results),
    ]
    path.write_text("\n".join(lines) + "\n")


def metrics(results: dict[str, dict[str, Measured]]) -> list[str]:
    """Of each precision and pack a table of the card."""
    lines: list[str] = []
    for precision, packs in results.items():
        for pack, measured in packs.items():
            lines += [
                "",
                "[[card.metrics]]",
                f'precision = "{precision}"',
                f'pack = "{pack}"',
                'split = "val"',
                f"persons = {len(measured.error)}",
            ]
            for threshold in (0.05, 0.1, 0.2):
                value, low, high = measured.pck(threshold)
                lines.append(
                    f"pck_{threshold:g} = [{value:.4f}, {low:.4f}, {high:.4f}]".replace("pck_0.", "pck_")
                )
    return lines
