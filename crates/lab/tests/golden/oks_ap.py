"""Golden figures of COCO's keypoint measure: `python oks_ap.py` (needs pycocotools) writes oks_ap.json beside it.

Labels and results are random: persons of all sizes, several a picture, crowds, persons without labelled joints, joints
without labels, results that miss, doubles, false ones, equal scores, more results than count.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

OUT = Path(__file__).with_name("oks_ap.json")
PICTURES = 40


def person(rng: np.random.Generator, i: int, image: int) -> dict[str, Any]:
    side = float(np.exp(rng.uniform(np.log(16), np.log(300))))
    x, y = (float(v) for v in rng.uniform(0, 400, 2))
    width, height = side * float(rng.uniform(0.4, 1.0)), side
    joints = np.stack([rng.uniform(x, x + width, 17), rng.uniform(y, y + height, 17)], axis=1).round(1)
    seen = rng.choice([0, 1, 2], 17, p=[0.3, 0.2, 0.5])
    if rng.random() < 0.08:
        seen[:] = 0
    joints[seen == 0] = 0
    return {
        "id": i,
        "image_id": image,
        "category_id": 1,
        "bbox": [round(v, 2) for v in (x, y, width, height)],
        "area": round(width * height * float(rng.uniform(0.3, 0.8)), 2),
        "iscrowd": int(rng.random() < 0.05),
        "keypoints": [float(v) for v in np.concatenate([joints, seen[:, None]], axis=1).ravel()],
        "num_keypoints": int((seen > 0).sum()),
    }


def results(rng: np.random.Generator, label: dict[str, Any]) -> list[dict[str, Any]]:
    out = []
    for _ in range(int(rng.choice([0, 1, 2], p=[0.15, 0.7, 0.15]))):
        noise = float(rng.choice([0.01, 0.05, 0.12, 0.4])) * np.sqrt(label["area"])
        joints = np.reshape(label["keypoints"], (17, 3))[:, :2] + rng.normal(0, noise, (17, 2))
        keypoints = np.concatenate([joints.round(2), np.ones((17, 1))], axis=1)
        # one digit: equal scores are part of the test
        score = round(float(np.clip(rng.normal(0.9 - noise / 50, 0.2), 0, 1)), 1)
        out.append(
            {
                "image_id": label["image_id"],
                "category_id": 1,
                "keypoints": [float(v) for v in keypoints.ravel()],
                "score": score,
            }
        )
    return out


def main() -> None:
    rng = np.random.default_rng(5)
    images: list[dict[str, Any]] = [
        {"id": i, "file_name": f"{i}.png", "width": 640, "height": 480} for i in range(1, PICTURES + 1)
    ]
    annotations: list[dict[str, Any]] = []
    for image in images:
        for _ in range(int(rng.integers(0, 5)) if image["id"] != 7 else 25):
            annotations.append(person(rng, len(annotations) + 1, int(image["id"])))
    found = [r for label in annotations for r in results(rng, label)]
    found += [{**r, "image_id": int(rng.integers(1, PICTURES + 1))} for r in found[::9]]
    truth = {"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "person"}]}
    coco = COCO()
    coco.dataset = json.loads(json.dumps(truth))
    coco.createIndex()
    measure = COCOeval(coco, coco.loadRes(json.loads(json.dumps(found))), "keypoints")
    measure.evaluate()
    measure.accumulate()
    measure.summarize()
    ap, ap50, ap75, medium, large, ar = (float(v) for v in measure.stats[:6])
    expected = {"ap": ap, "ap50": ap50, "ap75": ap75, "ap_medium": medium, "ap_large": large, "ar": ar}
    OUT.write_text(json.dumps({"truth": truth, "results": found, "expected": expected}) + "\n")


if __name__ == "__main__":
    main()
