"""Writes the manifest of the person finder, which the runtime reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from posetrain.data.licences import Licence
from posetrain.finder.net import HEIGHT, NMS_IOU, STRIDE, WIDTH
from posetrain.keypoints.manifest import LICENCE, USABLE_LICENCE, sha256, strings

if TYPE_CHECKING:
    from posetrain.finder.evaluate import Test


def write_person(
    path: Path,
    name: str,
    licence: Licence,
    model: Path,
    threshold: float,
    results: dict[str, dict[str, Test]],
    macs: int,
    parameters: int,
    pictures: int,
    minutes: float,
    packs: list[str],
) -> None:
    lines = [
        f'name = "{name}"',
        'task = "person"',
        f'file = "{model.name}"',
        f'sha256 = "{sha256(model)}"',
        "version = 1",
        "",
        "# The whole picture scaled by s = min(width / w, height / h) into the top left corner, black",
        "# elsewhere:",
        "# image = net * (1 / s) + (0.5 / s - 0.5), pixel centres at integers.",
        "[input]",
        'name = "image"',
        f"width = {WIDTH}",
        f"height = {HEIGHT}",
        'layout = "nchw"',
        'color = "rgb"',
        "# value of pixel 0 and of pixel 255",
        "range = [0.0, 1.0]",
        'letterbox = "top_left"',
        "fill = 0",
        "",
        "# Cell (row, column) is centred on net pixel ((column + 0.5) * stride - 0.5, (row + 0.5) *",
        "# stride - 0.5).",
        "# score = 1 / (1 + exp(-centre)); box = distances from the cell's centre to the left, top,",
        "# right and bottom",
        "# side in strides, negative ones taken as 0. Cells below the threshold are dropped, then",
        "# greedy suppression.",
        "[codec]",
        'kind = "centre"',
        'centre = "centre"',
        'box = "box"',
        f"stride = {STRIDE}",
        f"threshold = {threshold}",
        f"nms_iou = {NMS_IOU}",
        "",
        "[card]",
        f"data = {strings(packs)}",
        f'licence = "{LICENCE if licence == Licence.RESEARCH else USABLE_LICENCE}"',
        'teachers = "people without a label: FastestDet (BSD-3-Clause)"',
        'made_by = "python -m posetrain.finder.make, with the options in models/train/README.md"',
        f"train_pictures_seen = {pictures}",
        f"train_minutes = {minutes:.1f}",
        f"macs = {macs}",
        f"parameters = {parameters}",
    ]
    for precision, sets in results.items():
        for name, result in sets.items():
            lines += [
                "",
                "[[card.metrics]]",
                f'precision = "{precision}"',
                f'set = "{name}"',
                'split = "val"',
            ]
            lines.append(f"pictures = {result.pictures}")
            # What the keypoint network lets pass is told of.
            for told, after in ((False, ""), (True, "_told")):
                if len(result.met):
                    value, low, high = result.recall(threshold, told)
                    lines.append(f"recall_iou_50{after} = [{value:.4f}, {low:.4f}, {high:.4f}]")
                lines.append(f"false_per_picture{after} = {result.false_per_picture(threshold, told):.4f}")
    path.write_text("\n".join(lines) + "\n")
