"""Unpacks one split of a pack for `posewire predict` and `posewire eval images`: pictures and COCO labels in a folder.

python -m posetrain.data.folder --data DIR --pack lspet --out DIR [--split val]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import cv2

from posetrain.data.packs import PACKS, ReadReport, joints_box, read_pack
from posetrain.data.source import source_of


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the packs")
    parser.add_argument("--pack", choices=PACKS, required=True)
    parser.add_argument("--split", default="val")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    report = ReadReport()
    for picture in read_pack(args.data, args.pack, report):
        if picture.split != args.split:
            continue
        number = len(images) + 1
        # lossless: what is measured must be the stored pixels, not a second compression of them
        name = f"{number:06d}.png"
        cv2.imwrite(str(args.out / name), picture.pixels[:, :, ::-1])
        height, width = picture.pixels.shape[:2]
        image: dict[str, Any] = {"id": number, "file_name": name, "width": width, "height": height}
        image["split"] = args.split
        if "#" in picture.key:
            image["clip"] = source_of(picture.key)
        images.append(image)
        for person in picture.persons:
            if not (person.joints[:, 2] > 0).any():
                continue
            x0, y0, x1, y1 = joints_box(person.joints)
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": number,
                    "category_id": 1,
                    "bbox": [float(v) for v in person.bbox],
                    # about half of the joints' box is body
                    "area": 0.5 * (x1 - x0) * (y1 - y0),
                    "iscrowd": 0,
                    "keypoints": [round(float(v), 2) for v in person.joints.ravel()],
                    "num_keypoints": int((person.joints[:, 2] > 0).sum()),
                }
            )
    labels = {"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "person"}]}
    (args.out / "labels.json").write_text(json.dumps(labels))
    print(f"{len(images)} pictures, {len(annotations)} persons; left out: {dict(report.counts)}")


if __name__ == "__main__":
    main()
