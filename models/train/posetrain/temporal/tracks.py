"""Error tracks of films: what the network said closed loop, as on the board, from `posewire eval films --tracks`.

    posewire eval films --rendered 120 --seed 20000 --smoother none --tracks tracks.jsonl
    python -m posetrain.temporal.tracks --tracks tracks.jsonl --out ERRORS/rendered-small-train.npz
    python -m posetrain.temporal.tracks --tracks val.jsonl --out CLIPS/rendered-own-val.json

    python -m posetrain.temporal.films --data PACKS --out FILMS --split train --tier 1
    posewire eval films --films FILMS --smoother none --tracks real.jsonl
    python -m posetrain.temporal.tracks --tracks real.jsonl --out ERRORS/jhmdb-small-train.npz

A .json file is a set of clips for `posewire eval clips`, observed by a network of the project. Of an .npz file the rows are those
of `posetrain.temporal.detect`, a clip being a stretch of one person in one film that begins with an answer and is nowhere
without one for longer than a second: there the tracker gives a person up. Beside them:
  seen [N,17] nothing stands before the joint; xyz [N,17,3] metres, hip-centred, in the camera's axes; labels_late [] 0: exact.
Where the network gave no answer score and error are 0. `known` is the whole body but for what lies outside the picture, faces
included. Names are those of films, which say what each is of (`posetrain.data.source`), so that `tuning` keeps it whole. Films of real
people have neither the depth nor the exact truth: their rows are those of `detect` alone, `known` what is labelled, and labels are
smoothed over as many frames as the film says that they have to be: those of `actors` are smooth, those of `stills` exact.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from posetrain.data.source import source_of
from posetrain.temporal import clip_set
from posetrain.temporal.detect import off_labels
from posetrain.temporal.frames import NOMINAL_US

GIVEN_UP_FRAMES = 30.0  # nominal frames without an answer
SHORTEST = 10  # frames of a clip


def read(paths: Iterable[Path]) -> Iterator[dict[str, Any]]:
    for path in paths:
        with path.open() as lines:
            for number, line in enumerate(lines, 1):
                try:
                    yield json.loads(line)
                except json.JSONDecodeError as e:
                    raise SystemExit(f"{path} line {number} is no track: {e}; was its run stopped?") from e


def stretches(times: np.ndarray, answered: np.ndarray) -> list[slice]:
    """Where somebody was followed: from an answer to an answer, no gap longer than GIVEN_UP_FRAMES. times [T], answered [T]."""
    at = np.flatnonzero(answered)
    if not len(at):
        return []
    cut = np.flatnonzero(np.diff(times[at]) > GIVEN_UP_FRAMES)
    first, last = at[np.r_[0, cut + 1]], at[np.r_[cut, len(at) - 1]]
    return [slice(int(a), int(z) + 1) for a, z in zip(first, last, strict=True)]


def is_labelled(track: dict[str, Any]) -> bool:
    """Whether people were filmed and labelled, rather than rendered: there is no truth in metres."""
    return track["truth_3d_m"] is None


def clips(track: dict[str, Any]) -> Iterator[dict[str, np.ndarray]]:
    """The rows of each stretch of one person."""
    labelled = is_labelled(track)
    truth = np.array(track["truth"], np.float32)
    answered = np.array([o is not None for o in track["observed"]])
    nothing = np.zeros((17, 3)).tolist()
    observed = np.array([o or nothing for o in track["observed"]], np.float32)
    times = np.array(track["captured_at_us"]) / NOMINAL_US
    extent = np.array(track["extent_px"], np.float32)
    known = truth[..., 2] > 0
    xy, score, label = observed[..., :2], observed[..., 2], truth[..., :2]
    smoothed, error = (
        off_labels(xy, score, label, known, track["smooth_truth"])
        if labelled
        else (label, np.where(known[..., None], xy - label, 0))
    )
    rows = {
        "time": times - times[0],
        "xy": xy,
        "score": score,
        "label": label,
        "known": known,
        "seen": truth[..., 2] == 2,
        "smoothed": smoothed.astype(np.float32),
        "extent": extent,
        "error": (error * answered[:, None, None] / extent[:, None, None]).astype(np.float32),
    }
    if not labelled:
        xyz = np.array(track["truth_3d_m"], np.float32)
        rows["xyz"] = xyz - xyz[:, [11, 12]].mean(1, keepdims=True)
    for part in stretches(times, answered):
        if part.stop - part.start >= SHORTEST:
            yield {name: value[part] for name, value in rows.items()}


def bank(tracks: Iterable[dict[str, Any]]) -> dict[str, np.ndarray]:
    """All clips as one file's arrays."""
    kinds: set[bool] = set()
    all_rows: list[dict[str, np.ndarray]] = []
    names: list[str] = []
    for track in tracks:
        kinds.add(is_labelled(track))
        for rows in clips(track):
            all_rows.append(rows)
            names.append(track["film"].split(",")[0].replace(" ", "-"))
    if not all_rows:
        raise SystemExit("nobody was followed in these films")
    if len(kinds) > 1:
        raise SystemExit("films with exact truth and films of labelled people belong in files of their own")
    out = {k: np.concatenate([rows[k] for rows in all_rows]) for k in all_rows[0]}
    offset = np.cumsum([0, *(len(rows["time"]) for rows in all_rows)])
    tier = np.ones(len(names), int)
    out |= {"offset": offset, "name": np.array(names), "tier": tier}
    return out if True in kinds else out | {"labels_late": np.array(0.0)}


def as_clips(rows: dict[str, np.ndarray]) -> list[clip_set.Clip]:
    """The same as clips to measure on: whatever lies in the picture is asked for, hidden or not."""
    out = []
    for number, (a, b) in enumerate(pairwise(rows["offset"])):
        known = rows["known"][a:b, :, None]
        out.append(
            clip_set.Clip(
                name=f"{rows['name'][number]} {number}",
                times=rows["time"][a:b] - rows["time"][a],
                extent_px=rows["extent"][a:b],
                xy=rows["xy"][a:b],
                score=rows["score"][a:b],
                truth=np.where(known, rows["label"][a:b], np.nan),
                truth_m=rows["xyz"][a:b],
                source=source_of(str(rows["name"][number])),
            )
        )
    return out


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--tracks", type=Path, nargs="+", action="extend", required=True)
    p.add_argument("--out", type=Path, required=True)
    args = p.parse_args()
    out = bank(read(args.tracks))
    if args.out.suffix == ".json":
        if "xyz" not in out:
            raise SystemExit("clips of labelled films are those of posetrain.temporal.clips")
        clip_set.write(args.out, clip_set.ClipSet(args.out.stem, "keypoints", 0.0, as_clips(out)))
    else:
        np.savez_compressed(args.out, allow_pickle=False, **out)
    off = np.linalg.norm(out["error"], axis=-1)
    for name, rows in (("seen", out["seen"]), ("hidden", out["known"] & ~out["seen"])):
        e = off[rows & (out["score"] > 0)]
        if len(e):
            print(f"{name}: {len(e)} joints, median {100 * np.median(e):.2f} %, PCK.1 {(e < 0.1).mean():.3f}")
    print(f"{len(out['name'])} clips of {len(set(out['name']))} films, {len(out['time'])} frames: {args.out}")


if __name__ == "__main__":
    main()
