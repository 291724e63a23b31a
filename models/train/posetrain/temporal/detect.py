"""Runs a keypoint detector over the J-HMDB clips and writes its output beside the labels.

    python -m posetrain.temporal.detect movenet|own --model FILE --data PACKS --work DIR

DIR/jhmdb-NAME-{train,val}.npz have one row a frame that is not a repeat:
  offset [C+1]; time [N] frames of the clip; xy [N,17,2] px and score [N,17] as detected; label [N,17,2] px, known [N,17];
  smoothed [N,17,2] (labels, Gaussian of 1 frame); extent [N] px; error [N,17,2] (xy - smoothed) / extent; name [C]; tier [C];
  network: six digits of the sha256 of the detector's file.

Crops follow the detector as the tracker's do: the first from the labelled box (side 1.25 x its longer side), later ones from
the last output, and the whole picture after one in which the person was lost. J-HMDB's films repeat frames: pictures that differ by
less than a grey level are left out, and the labels' pause with them. Faces carry no label: there `error` is the detection minus its own
slow course, which holds the jitter but not the bias.
"""

from __future__ import annotations

import argparse
import hashlib
import tomllib
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np

from posetrain.data.augment import warp
from posetrain.data.packs import Pixels, films
from posetrain.keypoints.calibrate import Calibration
from posetrain.keypoints.peers import MoveNet, Own
from posetrain.temporal.motion import smooth

# picture, centre and side of the crop -> places [17,2] px, scores [17]
Detector = Callable[[Pixels, np.ndarray, float], tuple[np.ndarray, np.ndarray]]
BOX = 1.25  # side of the first crop, of the labelled box
FOLLOW = 1.4  # side of later crops, of the extent of the joints found
SEEN, FEWEST = 0.2, 6  # score of a joint that the next crop goes by, and how many of them it takes
SAME_PICTURE = 1.0  # mean absolute difference in grey levels
BY_HAND_FRAMES = 1.0  # over which labels made by hand are smoothed before they are learned from, or motion is compared with theirs


def movenet(model: Path) -> Detector:
    """Its crop's corner at the corner of the square, not half a pixel inside as for the own network: so the shipped weights learned it."""
    net = MoveNet(model)

    def detect(image: Pixels, centre: np.ndarray, side: float) -> tuple[np.ndarray, np.ndarray]:
        scale, corner = side / 192, centre - side / 2
        net_from_image = np.array([[1 / scale, 0, -corner[0] / scale], [0, 1 / scale, -corner[1] / scale]])
        y = net.look(warp(image, net_from_image, 192))
        return y[:, [1, 0]] * 192 * scale + corner, y[:, 2]

    return detect


def own(model: Path) -> Detector:
    """The project's own network, by its manifest or the .onnx file beside it. It has seen the J-HMDB train clips in training: its
    errors there are smaller than on clips that it has not."""
    path = model.with_suffix(".toml")
    net, calibration = Own.of_manifest(path), Calibration.of_manifest(tomllib.loads(path.read_text()))

    def detect(image: Pixels, centre: np.ndarray, side: float) -> tuple[np.ndarray, np.ndarray]:
        xy = net.joints(image, (float(centre[0]), float(centre[1])), side)
        return xy, calibration.score(net.features)

    return detect


def digest(network: Path) -> str:
    """Six digits that tell one state of a network from another."""
    return hashlib.sha256(network.read_bytes()).hexdigest()[:6]


def fresh(pictures: list[Pixels], same: float = SAME_PICTURE) -> np.ndarray:
    """[N] whether a picture is more than the one before it again: differs by more than `same` grey levels on average."""
    grey = np.stack([cv2.cvtColor(p, cv2.COLOR_RGB2GRAY) for p in pictures]).astype(np.float32)
    return np.r_[True, np.abs(np.diff(grey, axis=0)).mean((1, 2)) > same]


def following(xy: np.ndarray, score: np.ndarray, picture: Pixels) -> tuple[np.ndarray, float]:
    """Centre and side of the next crop: round what was seen, or the whole picture, where too little was: no label helps a program."""
    good = score > SEEN
    if good.sum() < FEWEST:
        height, width = picture.shape[:2]
        return np.array([width, height], np.float32) / 2, float(max(height, width))
    low, high = xy[good].min(0), xy[good].max(0)
    return (low + high) / 2, max(FOLLOW * float((high - low).max()), 32.0)


def off_labels(
    xy: np.ndarray, score: np.ndarray, label: np.ndarray, known: np.ndarray, frames: float = BY_HAND_FRAMES
) -> tuple[np.ndarray, np.ndarray]:
    """Labels of filmed people, smoothed over so many `frames` (0: as they are), and the detector's error against them, both [T,17,2] px.
    xy, label [T,17,2] px; score, known [T,17]. A face without a label: its error is what it shakes about its own slow course."""
    smoothed = label
    if frames > 0:
        smoothed = np.stack([smooth(label[:, j], known[:, j], frames) for j in range(17)], 1)
    course = np.stack([smooth(xy[:, j], score[:, j] > 0.1, 2.5) for j in range(17)], 1)
    shaking = np.where((np.arange(17) < 5)[:, None], xy - course, 0.0)
    return smoothed, np.where(known[..., None], xy - smoothed, shaking)


def run(detector: Detector, data: Path, split: str) -> dict[str, np.ndarray]:
    rows: dict[str, list[np.ndarray]] = {
        k: [] for k in ("time", "xy", "score", "label", "known", "smoothed", "extent", "error")
    }
    offset, names, tiers = [0], [], []
    for c, pictures, ann in films(data):
        if c["split"] != split:
            continue
        label = np.array([a["keypoints"] for a in ann], np.float32).reshape(-1, 17, 3)
        new = fresh(pictures)
        if new.sum() < 8:
            continue
        label, frames = label[new], np.stack(pictures)[new]
        known = (label[..., 2] > 0) & (np.arange(17) >= 5)
        low = np.where(known[..., None], label[..., :2], np.inf).min(1)
        high = np.where(known[..., None], label[..., :2], -np.inf).max(1)
        extent = np.maximum((high - low).max(-1), 8)
        box = np.array(ann[0]["bbox"], np.float32)
        centre, side = box[:2] + box[2:] / 2, BOX * float(box[2:].max())
        xy, score = np.zeros((len(frames), 17, 2), np.float32), np.zeros((len(frames), 17), np.float32)
        for t, image in enumerate(frames):
            xy[t], score[t] = detector(image, centre, side)
            centre, side = following(xy[t], score[t], image)
        smoothed, error = off_labels(xy, score, label[..., :2], known)
        values = (
            np.flatnonzero(new),
            xy,
            score,
            label[..., :2],
            known,
            smoothed,
            extent,
            error / extent[:, None, None],
        )
        for k, v in zip(rows, values, strict=True):
            rows[k].append(np.asarray(v, bool if k == "known" else np.float32))
        offset.append(offset[-1] + len(frames))
        names.append(c["name"])
        tiers.append(c["tier"])
    out = {k: np.concatenate(v) for k, v in rows.items()}
    return out | {"offset": np.array(offset), "name": np.array(names), "tier": np.array(tiers)}


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("detector", choices=["movenet", "own"])
    p.add_argument("--model", type=Path, required=True)
    p.add_argument("--data", type=Path, required=True)
    p.add_argument("--work", type=Path, required=True)
    args = p.parse_args()
    cv2.setNumThreads(1)
    args.work.mkdir(parents=True, exist_ok=True)  # now, not after minutes of work
    detector = own(args.model) if args.detector == "own" else movenet(args.model)
    network = np.array(digest(args.model))
    for split in ("train", "val"):
        out = run(detector, args.data, split) | {"network": network}
        np.savez_compressed(args.work / f"jhmdb-{args.detector}-{split}.npz", allow_pickle=False, **out)
        off = np.linalg.norm(out["error"], axis=-1)[out["known"]]
        print(
            split,
            len(out["name"]),
            "clips",
            len(out["xy"]),
            "frames; MPJPE %",
            round(100 * off.mean(), 2),
            "median %",
            round(100 * float(np.median(off)), 2),
            "PCK.1",
            round(float((off < 0.1).mean()), 3),
        )


if __name__ == "__main__":
    main()
