"""Writes clips for `posewire eval clips`: what a detector said and what is true.

    python -m posetrain.temporal.clips --data PACKS --work DIR --out DIR

Sets: jhmdb-DETECTOR-{train,tune,kept,val} as measured, `tune` being those of the train films that training left out, `kept` those that the
training of Posewire's keypoint networks left out, which err too little on the others;
mocap-DETECTOR-{tune,val} under virtual cameras with error tracks replayed from those films; mocap-...-dropNN with frames left
out; mocap-...-hiddenNN with limbs, a face or everything hidden for NN frames; mocap-...-10fps and -60fps. Seeds are fixed.
The files hold labels: they stay outside the repository.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from posetrain.data.packs import clip_split
from posetrain.data.source import source_of
from posetrain.temporal.clip_set import Clip, ClipSet, write
from posetrain.temporal.motion import Mocap, Truth
from posetrain.temporal.noise import GROUPS, Bank, tuning

HIDDEN_PASSES = 3  # of 24 lanes: each group is hidden a dozen times
ERROR_MODELS = {"movenet": "movenet", "own": "keypoints"}  # configs/temporal/detectors.toml


def save(out: Path, work: Path, name: str, smooth_truth: float, clips: list[Clip]) -> None:
    path, (_, detector, split, *_) = out / f"{name}.json", name.split("-")
    network = str(np.load(measured(work, detector, split))["network"])
    write(path, ClipSet(name, ERROR_MODELS[detector], smooth_truth, clips, network))
    print(path, len(clips), "clips", sum(len(c.times) for c in clips), "frames")


def kept_back(data: Path) -> Callable[[str], bool]:
    """Clips that the keypoint network's training left out: on the others it errs too little. The smoother's training has some of them."""
    clips = json.loads((data / "jhmdb/labels.json").read_text())["clips"]
    return {clip["name"] for clip in clips if clip_split(clip) == "calib"}.__contains__


def chosen(data: Path, split: str) -> Callable[[str], bool]:
    return {"tune": tuning, "kept": kept_back(data)}.get(split, lambda clip: True)


def measured(work: Path, detector: str, split: str) -> Path:
    return work / f"jhmdb-{detector}-{'val' if split == 'val' else 'train'}.npz"


def jhmdb(data: Path, work: Path, out: Path, detector: str, split: str) -> None:
    z, clips = np.load(measured(work, detector, split)), []
    is_chosen = chosen(data, split)
    for i, (a, b) in enumerate(zip(z["offset"][:-1], z["offset"][1:], strict=True)):
        if z["tier"][i] == 1 and b - a >= 14 and is_chosen(str(z["name"][i])):
            # Repeated pictures are out; what is left is counted as evenly spaced, as the camera saw it.
            label, known = z["label"][a:b, :, :2], z["known"][a:b, :, None]
            clips.append(
                Clip(
                    name=str(z["name"][i]),
                    times=np.arange(b - a),
                    extent_px=z["extent"][a:b],
                    xy=z["xy"][a:b],
                    score=z["score"][a:b],
                    truth=np.where(known, label, np.nan),
                    truth_m=None,
                    source=source_of(str(z["name"][i])),
                )
            )
    save(out, work, f"jhmdb-{detector}-{split}", 1.0, clips)


def mocap(data: Path, work: Path, out: Path, detector: str, split: str, lanes: int, steps: int) -> None:
    rng = np.random.default_rng(5 if split == "val" else 6)
    source, bank = (
        Mocap(data, "val" if split == "val" else "train"),
        Bank([measured(work, detector, split)], chosen(data, split)),
    )
    for name, frames in (("", 1.0), ("-10fps", 3.0), ("-60fps", 0.5)):
        if split == "tune" and name:
            continue
        times = np.tile(np.arange(steps) * frames, (lanes, 1))
        truth = source.lanes(rng, times)
        xy, score = bank.lanes(rng, truth)
        save(out, work, f"mocap-{detector}-{split}{name}", 0.0, lanes_as_clips(truth, xy, score))
        if split == "tune" or name:
            continue
        for share in (10, 30, 50):
            keep = rng.random((lanes, steps)) >= share / 100
            save(
                out,
                work,
                f"mocap-{detector}-{split}-drop{share}",
                0.0,
                lanes_as_clips(truth, xy, score, keep),
            )
        for length in (5, 10, 20, 30):
            save(
                out,
                work,
                f"mocap-{detector}-{split}-hidden{length}",
                0.0,
                hidden_for(length, truth, xy, score),
            )


def hidden_for(length: int, truth: Truth, xy: np.ndarray, score: np.ndarray) -> list[Clip]:
    """The lanes HIDDEN_PASSES times over, a group of joints hidden for `length` frames after every 30, each group as often."""
    rng = np.random.default_rng(length)
    groups: list[list[int]] = []
    clips: list[Clip] = []
    for _ in range(HIDDEN_PASSES):
        hidden = score.copy()
        for i in range(len(hidden)):
            for a in range(30, hidden.shape[1] - length, length + 30):
                groups = groups or [GROUPS[k] for k in rng.permutation(len(GROUPS))]
                hidden[i, a : a + length][:, groups.pop()] = 0
        clips += lanes_as_clips(truth, xy, hidden)
    return clips


def lanes_as_clips(
    truth: Truth, xy: np.ndarray, score: np.ndarray, keep: np.ndarray | None = None
) -> list[Clip]:
    out = []
    for i in range(len(xy)):
        k = np.ones(len(xy[i]), bool) if keep is None else keep[i]
        out.append(
            Clip(
                name=f"mocap {i}",
                times=truth.times[i, k],
                extent_px=truth.extent[i, k],
                xy=xy[i, k],
                score=score[i, k],
                truth=np.where(truth.valid[i, k, 0, :, None], truth.xy[i, k, 0], np.nan),
                truth_m=truth.xyz[i, k],
            )
        )
    return out


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--data", type=Path, required=True)
    p.add_argument("--work", type=Path, required=True, help="where posetrain.temporal.detect wrote")
    p.add_argument("--out", type=Path, required=True)
    p.add_argument("--lanes", type=int, default=24)
    p.add_argument("--steps", type=int, default=120)
    args = p.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for detector in ("own", "movenet"):
        if not measured(args.work, detector, "val").exists():
            continue
        for split in ("train", "tune", "kept", "val"):
            jhmdb(args.data, args.work, args.out, detector, split)
        for split in ("tune", "val"):
            mocap(args.data, args.work, args.out, detector, split, args.lanes, args.steps)


if __name__ == "__main__":
    main()
