"""Writes the manifest of the person finder, which the runtime reads."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from posetrain.finder.net import NMS_IOU, STRIDE, Size
from posetrain.keypoints.manifest import licence_said, sha256, strings, without_intervals

if TYPE_CHECKING:
    from posetrain.finder.evaluate import Rule, Test

#: Begins what a manifest says of the rule, and what its card says of a set.
RULE = "# Beside a keypoint network that says whether its crop shows a person: finds from this threshold on are looked at, and"
METRICS = "[[card.metrics]]"


@dataclass(frozen=True)
class Description:
    """What a manifest says of a finder beside its figures. `sources` names packs and teachers; `pictures` is how many the weights
    have seen, in `minutes`."""

    name: str
    size: Size
    sources: tuple[str, ...]
    macs: int
    parameters: int
    pictures: int
    minutes: float


def write_person(
    path: Path,
    model: Path,
    described: Description,
    threshold: float,
    rule: Rule,
    results: dict[str, dict[str, Test]],
) -> None:
    """`results`: precision -> set -> what its val part gave."""
    lines = [
        f'name = "{described.name}"',
        'task = "person"',
        f'file = "{model.name}"',
        f'sha256 = "{sha256(model)}"',
        "version = 1",
        "",
        "# The whole picture scaled by s = min(width / w, height / h) into the top left corner, black elsewhere:",
        "# image = net * (1 / s) + (0.5 / s - 0.5), pixel centres at integers.",
        "[input]",
        'name = "image"',
        f"width = {described.size.width}",
        f"height = {described.size.height}",
        'layout = "nchw"',
        'color = "rgb"',
        "# value of pixel 0 and of pixel 255",
        "range = [0.0, 1.0]",
        'letterbox = "top_left"',
        "fill = 0",
        "",
        "# Cell (row, column) is centred on net pixel ((column + 0.5) * stride - 0.5, (row + 0.5) * stride - 0.5).",
        "# score = 1 / (1 + exp(-centre)); box = distances from the cell's centre to the left, top, right and bottom",
        "# side in strides, negative ones taken as 0. Cells below the threshold are dropped, then greedy suppression.",
        "[codec]",
        'kind = "centre"',
        'centre = "centre"',
        'box = "box"',
        f"stride = {STRIDE}",
        f"threshold = {threshold}",
        f"nms_iou = {NMS_IOU}",
        "",
        *with_presence(rule),
        "",
        "[card]",
        f"data = {strings([*described.sources])}",
        f'licence = "{licence_said(described.sources)}"',
        'teachers = "people without a label: FastestDet (BSD-3-Clause)"',
        'made_by = "python -m posetrain.finder.make, with the options in models/train/README.md"',
        f"train_pictures_seen = {described.pictures}",
        f"train_minutes = {described.minutes:.1f}",
        f"macs = {described.macs}",
        f"parameters = {described.parameters}",
    ]
    for precision, sets in results.items():
        lines += metrics(precision, sets, threshold, rule)
    path.write_text("\n".join(lines) + "\n")


def with_presence(rule: Rule) -> list[str]:
    return [
        RULE,
        "# the odds of both networks are multiplied, the finder's against those of `neutral` to the power of `weight`.",
        "[with_presence]",
        f"threshold = {rule.threshold}",
        f"neutral = {rule.neutral}",
        f"weight = {rule.weight}",
    ]


def figures(result: Test, threshold: float, rule: Rule) -> list[str]:
    """Whom the finder finds alone, and whom both networks together tell of."""
    lines = []
    for counts, after in ((result.alone(threshold), ""), (result.together(rule), "_told")):
        if len(result.groups):
            value, low, high = result.recall(counts)
            lines.append(f"recall_iou_50{after} = [{value:.4f}, {low:.4f}, {high:.4f}]")
        lines.append(f"false_per_picture{after} = {result.false_per_picture(counts):.4f}")
    return lines


def metrics(precision: str, sets: dict[str, Test], threshold: float, rule: Rule) -> list[str]:
    lines = []
    for name, result in sets.items():
        lines += ["", METRICS, f'precision = "{precision}"', f'set = "{name}"', 'split = "val"']
        lines += [f"pictures = {result.pictures}", *figures(result, threshold, rule)]
    return lines


def rewrite(path: Path, rule: Rule, results: dict[str, Test]) -> None:
    """Puts another rule, and the int8 file's figures measured anew, into a finder's manifest. Those of f32 stay as far
    as they are the finder's alone, and without intervals: what is told of hangs on the rule, and intervals of two measures do not stand
    beside each other."""
    text = path.read_text()
    threshold = tomllib.loads(text)["codec"]["threshold"]
    head, card = text.split("[card]\n", 1)
    # The rule stands last before the card, with its comment.
    head = head.split(RULE, 1)[0]
    card, *measured = card.split(f"\n{METRICS}\n")
    lines = [
        *with_presence(rule),
        "",
        "[card]",
        card.rstrip("\n"),
        *metrics("int8", results, threshold, rule),
    ]
    for block in measured:
        if block.startswith('precision = "f32"'):
            kept = without_intervals(block).split("\n")
            lines += ["", METRICS, *(line for line in kept if line and "_told" not in line)]
    path.write_text(head + "\n".join(lines) + "\n")
