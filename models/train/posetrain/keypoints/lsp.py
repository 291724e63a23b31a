r"""Accuracy on the published test part of Leeds Sports Pose, pictures 1001-2000: on these nothing here is trained and nothing chosen.

    python -m posetrain.keypoints.lsp --git LSP_GIT --model ../keypoints-small.toml --model ../keypoints-base.toml --peers PEERS \
        [--published EVAL_POSE_GIT] [--json ../../benches/results/lsp.json]

The published measure is PCK@0.2 of the torso, person-centric: a joint counts where it lies within a fifth of the distance from left
shoulder to right hip (Sapp and Taskar 2013; read from the published evaluation of Yang et al., CVPR 2016). Head top and neck are no joints
of COCO's, so the mean is over the other twelve. The crop is given, as a person's box is to many published systems: a square
whose side is 1.2 (tight) or 1.5 (loose) times the extent of the labelled joints. LSP_GIT is the git directory of
ruananswer/Articulated_Pose_Estimation_1; EVAL_POSE_GIT that of bearpaw/eval_pose, whose kept predictions go through the same measure.
"""

from __future__ import annotations

import argparse
import io
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.io import loadmat

from posetrain.data.gather import LSP_ORDER, LSP_TRAIN, Git, fourteen
from posetrain.data.packs import BODY, JOINTS, MIRROR, Floats, decode, joints_box
from posetrain.kept import given
from posetrain.keypoints.peers import Estimator, Own, peers
from posetrain.metrics import bootstrap

LSP_LAST = 2000
SCALES = {"tight": 1.2, "loose": 1.5}
TORSO = 5, 12  # left shoulder and right hip
WITHIN = 0.2
PAIRS = {"shoulder": 5, "elbow": 7, "wrist": 9, "hip": 11, "knee": 13, "ankle": 15}  # the left one of each


@dataclass(frozen=True)
class Person:
    pixels: npt.NDArray[np.uint8]
    joints: Floats  # [17, 3]; the twelve below the head are labelled


def people(git: Git, counts: Counter[str], every: int = 1) -> list[Person]:
    joints = loadmat(io.BytesIO(git.read("dataset/LSP/joints.mat")))["joints"]
    out = []
    for i in range(LSP_TRAIN, LSP_LAST, every):
        pixels = decode(git.read(f"dataset/LSP/images/im{i + 1:04d}.jpg"))
        if pixels is None:
            counts["corrupt picture"] += 1
            continue
        out.append(Person(pixels, np.asarray(fourteen(joints[:2, :, i].T - 1), np.float32)))
    return out


def errors(answers: Floats, truth: Floats) -> tuple[Floats, Floats]:
    """answers [N, 17, 2] and truth [N, 17, 3] -> distances of the twelve joints as a part of the torso, and of the extent: [N, 12]."""
    off = np.linalg.norm(answers - truth[..., :2], axis=-1)[:, BODY]
    torso = np.linalg.norm(truth[:, TORSO[0], :2] - truth[:, TORSO[1], :2], axis=-1, keepdims=True)
    boxes = np.array([joints_box(person) for person in truth])
    extent = (boxes[:, 2:] - boxes[:, :2]).max(axis=1, keepdims=True)
    return np.asarray(off / torso, np.float32), np.asarray(off / extent, np.float32)


def figures(answers: Floats, truth: Floats) -> dict[str, Any]:
    """PCK@0.2 of the torso a pair of joints and over all, PCK.05 and .1 of the extent with 95 % intervals over pictures, and the share of
    persons who lie nearer to their labels with left and right exchanged."""
    of_torso, of_extent = errors(answers, truth)
    pictures = np.arange(len(truth)).astype(str)

    def pck(off: Floats, within: float) -> list[float]:
        hits = (off <= within).sum(axis=1).astype(np.float64)
        interval = bootstrap(hits, np.full(len(hits), float(off.shape[1])), pictures)
        return [round(float(v), 4) for v in (hits.sum() / off.size, *interval)]

    exchanged = np.linalg.norm(answers[:, MIRROR] - truth[..., :2], axis=-1)[:, BODY].mean(axis=1)
    straight = np.linalg.norm(answers - truth[..., :2], axis=-1)[:, BODY].mean(axis=1)
    sides = {name: of_torso[:, [left - BODY.start, left + 1 - BODY.start]] for name, left in PAIRS.items()}
    return {
        "torso_02": pck(of_torso, WITHIN),
        "joints": {name: round(float((off <= WITHIN).mean()), 4) for name, off in sides.items()},
        "extent_005": pck(of_extent, 0.05),
        "extent_01": pck(of_extent, 0.1),
        "exchanged": round(float((exchanged < straight).mean()), 4),
    }


def answers_of(system: Estimator, persons: list[Person], scale: float) -> Floats:
    out = []
    for person in persons:
        x0, y0, x1, y1 = joints_box(person.joints)
        side = scale * max(x1 - x0, y1 - y0)
        out.append(system.joints(person.pixels, ((x0 + x1) / 2, (y0 + y1) / 2), side))
    return np.stack(out)


def ordered(kept: Floats) -> Floats:
    """Others' predictions, [2, 14, N] in Leeds' order with pixels counted from one, as [N, 17, 2]."""
    out = np.zeros((kept.shape[2], JOINTS, 2), np.float32)
    out[:, LSP_ORDER] = kept[:2, :12].transpose(2, 1, 0) - 1
    return out


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--git", type=Path, required=True, help="git directory that holds the pictures and labels")
    p.add_argument(
        "--model", type=Path, action="append", default=[], help="own manifests; may be given again"
    )
    p.add_argument("--peers", type=Path, help="folder with the peers' networks")
    p.add_argument("--published", type=Path, help="git directory of kept predictions")
    p.add_argument("--every", type=int, default=1, help="take every n-th picture")
    p.add_argument("--json", type=Path)
    args = p.parse_args()
    if args.json and args.every != 1:
        p.error("--json: what is kept tells of the whole test part, so not with --every")
    counts: Counter[str] = Counter()
    git = Git(args.git)
    persons = people(git, counts, args.every)
    truth = np.stack([person.joints for person in persons])
    systems: dict[str, Estimator] = {
        f"Posewire `{path.stem.removeprefix('keypoints-')}`": Own.of_manifest(path) for path in args.model
    }
    if args.peers:
        systems |= peers(args.peers)
    rows = []
    if args.published:
        there = Git(args.published).read("results/LSP/pred_keypoints_lsp_pc.mat")
        kept = ordered(loadmat(io.BytesIO(there))["pred"])[:: args.every]
        if len(kept) != len(persons):
            raise SystemExit(f"{args.published} has {len(kept)} predictions for {len(persons)} pictures")
        rows.append({"system": "Yang et al. 2016", "crop": "its own"} | figures(kept, truth))
    for name, system in systems.items():
        for crop, scale in SCALES.items():
            rows.append({"system": name, "crop": crop} | figures(answers_of(system, persons, scale), truth))
            print(json.dumps(rows[-1]), flush=True)
    for what, count in counts.items():
        print(f"{count} {what}")
    if args.json:
        lines = ",\n ".join(json.dumps(row) for row in rows)
        files = {args.git: "LSP_GIT", args.published: "EVAL_POSE_GIT", args.peers: "PEERS", args.json: "FILE"}
        models = {path: f"../{path.name}" for path in args.model}
        command = json.dumps(given("posetrain.keypoints.lsp", files | models))
        args.json.write_text(
            f'{{\n"command": {command},\n"persons": {len(persons)},\n"rows": [\n {lines}\n]\n}}\n'
        )


if __name__ == "__main__":
    main()
