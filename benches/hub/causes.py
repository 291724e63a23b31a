#!/usr/bin/env python3
"""Where the millimetres between the room's people and the truth come from: the films of `films.py`, by the films' own clock.

    benches/hub/causes.py FOLDER            FOLDER: films as `films.py --keep FOLDER` leaves them, or makes them
    benches/hub/causes.py FOLDER --lines L  the trackers' lines kept in FOLDER/L, and taken from there the next time

Every picture is tracked (`--no-drop`), lines become takes, and the hub replays them: nothing depends on the machine, so two versions of the
hub can be compared. Joints of the truth, projected, go the same way: what is left of their error is the hub's own. Tables of mean
distances in millimetres go to standard output. Programs as with `films.py`. Needs numpy.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from films import (
    BEGIN_S,
    CAMERAS,
    FPS,
    HUB,
    NAMES,
    NOBODY_M,
    POSEWIRE,
    between,
    closest_first,
    render,
    room_file,
    true_places,
    true_room,
    worst,
)

WALK_S, THREE_S = 45.0, 25.0
#: From the light to the line's arrival.
WAY_US = 40_000
#: A person in a picture is nobody's who is farther off, pixels.
NOBODY_PX = 60
MIRROR = [0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15]


@dataclass
class Lens:
    """As the calibration file has it."""

    f: Any
    c: Any
    k1: float
    k2: float

    @staticmethod
    def read(path: Path) -> Lens:
        text = tomllib.loads(path.read_text())
        f, c = ([text[f"{key}{axis}_px"] for axis in "xy"] for key in "fc")
        return Lens(np.array(f), np.array(c), text["k1"], text["k2"])

    def distortion(self, ray: Any) -> Any:
        r2 = (ray**2).sum(-1, keepdims=True)
        return 1 + r2 * (self.k1 + r2 * self.k2)

    def project(self, place: tuple[Any, Any], points: Any) -> Any:
        seen = (points - place[1]) @ place[0].T
        ray = seen[..., :2] / seen[..., 2:]
        return ray * self.distortion(ray) * self.f + self.c

    def rays(self, px: Any) -> Any:
        bent = (px - self.c) / self.f
        ray = bent
        for _ in range(8):
            ray = bent / self.distortion(ray)
        return ray


@dataclass
class Film:
    """A scene: `truth` is frames × persons × 17 × 3; `seen` frames × cameras × persons × 17 × (x, y, score, sigma, measured), NaN where
    nobody was found."""

    name: str
    folder: Path
    lines: list[list[dict[str, Any]]]
    truth: Any
    lenses: list[Lens]
    places: list[tuple[Any, Any]]
    pixels: Any
    shown: Any
    seen: Any


def tracked(folder: Path, film: Path, kept: Path, persons: int) -> list[dict[str, Any]]:
    """The lines of `posewire` on every picture of a film."""
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        words = ["--replay", str(film), "--frames", "all", "--no-drop", "--predict", "capture"]
        partial = kept.with_suffix(".part")
        more = ["--max-persons", str(persons), "--jsonl", str(partial)]
        subprocess.run([POSEWIRE, "run", *words, *more], check=True, stderr=subprocess.DEVNULL, cwd=folder)
        partial.rename(kept)
    return [json.loads(line) for line in kept.read_text().splitlines()]


def load(folder: Path, lines: Path, name: str, persons: int, seconds: float) -> Film:
    render(folder, name, persons, seconds)
    truth = np.array([json.loads(line)["persons"] for line in (folder / f"{name}.jsonl").open()])
    numbers = range(1, CAMERAS + 1)
    lenses = [Lens.read(folder / f"{name}-{k}.toml") for k in numbers]
    true = true_places(folder, name)
    places = [true[f"camera-{k}"] for k in numbers]
    all_lines = [tracked(folder, folder / f"{name}-{k}.y4m", lines / f"{name}-{k}.jsonl", 3) for k in numbers]
    pixels = np.stack([lens.project(p, truth) for lens, p in zip(lenses, places, strict=True)], axis=1)
    shown = np.zeros(pixels.shape[:-1], dtype=bool)
    for c, k in enumerate(numbers):
        for t, line in enumerate((folder / f"{name}-{k}.jsonl").open()):
            for p, person in enumerate(json.loads(line)["persons"]):
                shown[t, c, p] = np.reshape(person["keypoints"], (17, 3))[:, 2] == 2
    seen = np.full((*pixels.shape[:-1], 5), np.nan)
    for c, lines_of in enumerate(all_lines):
        for said in lines_of:
            frame = said["frame"]
            if frame >= len(truth):
                continue
            match(said["persons"], pixels[frame, c], seen[frame, c])
    return Film(name, folder, all_lines, truth, lenses, places, pixels, shown, seen)


def match(persons: list[dict[str, Any]], true: Any, seen: Any) -> None:
    """Who is who in a picture, by the truth: the nearest first, sides as they are nearer."""
    pairs = []
    for k, person in enumerate(persons):
        joints = np.array(
            [[x, y, s, g, w == "measured"] for x, y, s, g, w in person["keypoints"]], dtype=float
        )
        joints[[w[4] == "absent" for w in person["keypoints"]]] = np.nan
        for p, places in enumerate(true):
            off = np.linalg.norm(joints[:, :2] - places, axis=1)
            mirrored = np.linalg.norm(joints[MIRROR, :2] - places, axis=1)
            if not np.isfinite(off).any():
                continue
            if (nearer := min(np.nanmedian(off), np.nanmedian(mirrored))) < NOBODY_PX:
                pairs.append((nearer, p, k, joints))
    for _, p, _, joints in closest_first(pairs):
        seen[p] = joints


def write_take(film: Film, path: Path, kind: str) -> None:
    """Lines as the hub records them; "exact": the truth, projected, in the place of what trackers say; "sided": what they say,
    with left and right, and who is who, as they truly are."""
    right = sides_as_true(film) if kind == "sided" else None
    with path.open("w") as out:
        rows = []
        for c in range(CAMERAS):
            for n, line in enumerate(film.lines[c]):
                said = dict(line)
                t = line["frame"]
                at = round(t * 1e6 / FPS)
                if right is not None:
                    said["persons"] = [
                        {
                            "id": p + 1,
                            "score": 0.95,
                            "keypoints": [
                                [0, 0, 0, 0, "absent"]
                                if np.isnan(v[0])
                                else [*map(float, v[:4]), "measured" if v[4] else "predicted"]
                                for v in joints
                            ],
                        }
                        for p, joints in enumerate(right[t, c])
                        if np.isfinite(joints[:, 0]).any()
                    ]
                elif kind == "exact":
                    said["persons"] = [
                        {
                            "id": p + 1,
                            "score": 0.95,
                            "keypoints": [[float(x), float(y), 0.95, 1.0, "measured"] for x, y in px],
                        }
                        for p, px in enumerate(film.pixels[t, c])
                    ]
                said |= {"captured_us": at, "emitted_us": at + WAY_US - 500}
                taken = {"camera": f"camera-{c + 1}", "arrived_us": at + WAY_US + 700 * c, "line": said}
                rows.append((taken["arrived_us"], n, taken))
        for _, _, taken in sorted(rows, key=lambda r: r[:2]):
            out.write(json.dumps(taken) + "\n")


def cameras_file(film: Film) -> Path:
    """What the hub is told of the cameras, beside the films."""
    text = "".join(
        f'[[camera]]\nname = "camera-{k}"\ncalibration = "{film.name}-{k}.toml"\nlisten = "127.0.0.1:{9300 + k}"\n\n'
        for k in range(1, CAMERAS + 1)
    )
    out = film.folder / "cameras.toml"
    out.write_text(text)
    return out


def told(film: Film, take: Path, room: Path, more: list[str]) -> list[dict[str, Any]]:
    """What the hub makes of a take."""
    words = [
        "run",
        str(cameras_file(film)),
        "--room",
        str(room),
        "--replay",
        str(take),
        "--jsonl",
        "-",
    ]
    run = subprocess.run([HUB, *words, *more], check=True, capture_output=True, text=True)
    for said in run.stderr.splitlines():
        print(f"    {said}", file=sys.stderr)
    return [json.loads(line) for line in run.stdout.splitlines()]


def errors(film: Film, moments: list[dict[str, Any]], to: tuple[Any, Any]) -> dict[str, Any]:
    """Of every moment, person and joint the error in millimetres (NaN: not told), in the axes of the true room."""
    begin = moments[0]["at_us"] if moments else 0
    count, people = len(moments), film.truth.shape[1]
    offs = np.full((count, people, 17, 3), np.nan)
    sigmas = np.full((count, people, 17), np.nan)
    frames = np.zeros(count)
    ids: dict[int, int] = {}
    switches, ghosts, moved = 0, 0, 0
    for m, moment in enumerate(moments):
        at = moment["at_us"] / 1e6 * FPS
        frames[m] = at
        if moment["at_us"] - begin < BEGIN_S * 1e6 or at > len(film.truth) - 1:
            continue
        moved += bool(moment["moved"])
        k = min(int(at), len(film.truth) - 2)
        true = film.truth[k] * (1 - (at - k)) + film.truth[k + 1] * (at - k)
        pairs = []
        for person in moment["persons"]:
            joints = np.array([j or [np.nan] * 4 for j in person["joints"]], dtype=float)
            back = (joints[:, :3] - to[1]) @ to[0]
            for p in range(people):
                off = back - true[p]
                mean = np.nanmean(np.linalg.norm(off, axis=1)) if np.isfinite(off).any() else np.inf
                if mean < NOBODY_M:
                    pairs.append((mean, p, person["id"], off, joints[:, 3]))
        matched = closest_first(pairs)
        for _, p, i, off, sigma in matched:
            switches += ids.get(p, i) != i
            ids[p] = i
            offs[m, p], sigmas[m, p] = off * 1e3, sigma * 1e3
        ghosts += len(moment["persons"]) - len(matched)
    return {
        "off": offs,
        "sigma": sigmas,
        "frame": frames,
        "switches": switches,
        "ghosts": ghosts,
        "moved": moved,
    }


def dlt(film: Film, seen: Any, places: list[tuple[Any, Any]], weigh: bool = False) -> Any:
    """The plain direct linear transform of what was seen of each joint; NaN where less than two cameras saw it."""
    frames, _, people, _, _ = seen.shape
    out = np.full((frames, people, 17, 3), np.nan)
    rays = np.stack([lens.rays(seen[:, c, ..., :2]) for c, lens in enumerate(film.lenses)], axis=1)
    rows = [np.hstack([turn, -(turn @ eye)[:, None]]) for turn, eye in places]
    good = np.isfinite(seen[..., 0]) & (seen[..., 2] > 0.3)
    weights = 1 / np.maximum(seen[..., 3], 1.0) if weigh else np.ones(seen.shape[:-1])
    for t, p, j in np.ndindex(frames, people, 17):
        views = np.flatnonzero(good[t, :, p, j])
        if len(views) < 2:
            continue
        a = np.concatenate(
            [
                (rows[c][2][None] * rays[t, c, p, j][:, None] - rows[c][:2]) * weights[t, c, p, j]
                for c in views
            ]
        )
        x = np.linalg.svd(a)[2][-1]
        out[t, p, j] = x[:3] / x[3]
    return out


def body_axes(truth: Any) -> Any:
    """Of each frame and person the axes left, ahead and up."""
    left = truth[..., 5, :] - truth[..., 6, :] + truth[..., 11, :] - truth[..., 12, :]
    left[..., 2] = 0
    left /= np.linalg.norm(left, axis=-1, keepdims=True)
    up = np.zeros_like(left)
    up[..., 2] = 1
    return np.stack([left, np.cross(up, left) * -1, up], axis=-2)


def sides_as_true(film: Film) -> Any:
    """What was seen, exchanged sides put right by the truth."""
    right = film.seen.copy()
    as_is = np.linalg.norm(film.seen[..., :2] - film.pixels, axis=-1)
    mirrored = np.linalg.norm(film.seen[..., MIRROR, :2] - film.pixels, axis=-1)
    for limb in ([5, 6], [7, 8], [9, 10], [11, 12], [13, 14], [15, 16]):
        worse = np.nansum(mirrored[..., limb], -1) < np.nansum(as_is[..., limb], -1)
        for j in limb:
            right[..., j, :] = np.where(worse[..., None], film.seen[..., MIRROR[j], :], film.seen[..., j, :])
    return right


def table(rows: list[tuple[str, Any]]) -> None:
    """Means by joint (left and right together), millimetres."""
    pairs = {"nose": [0], "eyes": [1, 2], "ears": [3, 4]} | {
        f"{n.removeprefix('left_')}s": [NAMES.index(n), NAMES.index(n) + 1]
        for n in NAMES
        if n.startswith("left_") and NAMES.index(n) > 4
    }
    print(f"| {'':44} | all | median | p95 | told % | " + " | ".join(pairs) + " |")
    print("|---|" + "---:|" * (4 + len(pairs)))
    for name, off in rows:
        far = np.linalg.norm(off, axis=-1)
        known = far[np.isfinite(far)]
        share = 100 * np.isfinite(far).mean()
        cells = [f"{np.nanmean(far[..., j]):.0f}" for j in pairs.values()]
        print(
            f"| {name:44} | {known.mean():.1f} | {np.median(known):.0f} | {np.percentile(known, 95):.0f} | {share:.1f} | "
            + " | ".join(cells)
            + " |"
        )


def report(film: Film, work: Path, rooms: dict[str, Path], more: list[str]) -> None:
    true = {f"camera-{k + 1}": p for k, p in enumerate(film.places)}
    begin = int(BEGIN_S * FPS)
    kinds = {"exact": "exact joints", "sided": "measured, sides right", "measured": "measured joints"}
    for kind in kinds:
        write_take(film, work / f"{film.name}-{kind}.take.jsonl", kind)
    rows: list[tuple[str, Any]] = []
    right = sides_as_true(film)
    places = film.places
    base = dlt(film, film.seen, places)
    own = (base - film.truth)[begin:] * 1e3
    rows.append(("plain DLT, true places", own))
    rows.append(
        ("the same, weighed by sigma", (dlt(film, film.seen, places, True) - film.truth)[begin:] * 1e3)
    )
    sided = dlt(film, right, places)
    rows.append(("plain DLT, sides put right by the truth", (sided - film.truth)[begin:] * 1e3))
    hidden = film.seen.copy()
    hidden[~film.shown] = np.nan
    rows.append(
        ("plain DLT, only joints that are not hidden", (dlt(film, hidden, places) - film.truth)[begin:] * 1e3)
    )
    both = right.copy()
    both[~film.shown] = np.nan
    rows.append(("both", (dlt(film, both, places) - film.truth)[begin:] * 1e3))
    axes = body_axes(film.truth.copy())
    in_body = np.einsum("tpab,tpjb->tpja", axes, (sided - film.truth) * 1e3)
    bias = np.nanmedian(in_body[begin:], axis=0, keepdims=True)
    every = np.nanmedian(in_body[begin:].reshape(-1, 17, 3), axis=0)
    rows.append(("sides right, each person's own bias taken off", (in_body - bias)[begin:]))
    rows.append(("sides right, everybody's bias taken off", (in_body - every)[begin:]))
    for room_name, room in rooms.items():
        to = between(true, room_file(room.parent, room.name))
        found = [room_file(room.parent, room.name)[f"camera-{k + 1}"] for k in range(CAMERAS)]
        if room_name != "true":
            off = ((dlt(film, film.seen, found) - to[1]) @ to[0] - film.truth)[begin:] * 1e3
            rows.append((f"plain DLT, {room_name} places", off))
        for kind, words in kinds.items():
            got = errors(film, told(film, work / f"{film.name}-{kind}.take.jsonl", room, more), to)
            rows.append((f"hub, {words}, {room_name} places", got["off"][got["frame"] >= begin]))
            if kind == "measured":
                ratio = np.linalg.norm(got["off"], axis=-1) / (got["sigma"] * np.sqrt(3))
                print(
                    f"{film.name}, {room_name} places: identities changed {got['switches']}, ghosts {got['ghosts']}, "
                    f"moments with a camera said to be moved {got['moved']} of {len(got['frame'])}, "
                    f"error in sigmas, median {np.nanmedian(ratio):.2f}"
                )
    print(f"\n{film.name}: mean distance from the truth, mm\n")
    table(rows)
    off = np.linalg.norm(film.seen[..., :2] - film.pixels, axis=-1)[begin:]
    sided_off = np.linalg.norm(right[..., :2] - film.pixels, axis=-1)[begin:]
    shown = film.shown[begin:]
    print(
        f"\n{film.name}: in the pictures, px (median), by joint; bias in the body's axes, mm (left, ahead, up), everybody's\n"
    )
    print(
        "| joint | seen | hidden | seen, sides right | sides exchanged % | bias |\n|---|---:|---:|---:|---:|---|"
    )
    for j, name in enumerate(NAMES):
        swapped = np.mean((off[..., j] > sided_off[..., j] + 3)[np.isfinite(off[..., j])])
        values = [
            np.nanmedian(off[..., j][shown[..., j]]),
            np.nanmedian(off[..., j][~shown[..., j]]),
            np.nanmedian(sided_off[..., j][shown[..., j]]),
        ]
        said = ", ".join(f"{v:+.0f}" for v in every[j])
        print(f"| {name} | " + " | ".join(f"{v:.1f}" for v in values) + f" | {100 * swapped:.1f} | {said} |")
    print()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--lines", default="lines", help="where in FOLDER the trackers' lines are kept")
    parser.add_argument("--hub", action="append", default=[], help="a further word for `posewire-hub run`")
    args = parser.parse_args()
    folder = args.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    work = folder / "causes"
    work.mkdir(exist_ok=True)
    walk = load(folder, folder / args.lines, "walk", 1, WALK_S)
    three = load(folder, folder / args.lines, "three", 3, THREE_S)
    cameras = cameras_file(three)
    (work / "true.toml").write_text(true_room(folder, "three"))
    rooms = {"true": work / "true.toml"}
    for kind in ("measured", "exact"):
        take = work / f"walk-{kind}.take.jsonl"
        write_take(walk, take, kind)
        stature = json.loads((folder / "walk.json").read_text())["statures_m"][0]
        out = work / f"found-{kind}.toml"
        words = ["--replay", str(take), "--stature", f"{stature:.3f}", "--out", str(out)]
        subprocess.run([HUB, "calibrate", str(cameras), *words], check=True, capture_output=True)
        degrees, share = worst(room_file(work, out.name), true_places(folder, "walk"))
        print(f"places found from {kind} joints: worst {degrees:.2f}°, {100 * share:.2f} %")
        if kind == "measured":
            rooms["found"] = out
    for film in (walk, three):
        report(film, work, rooms, args.hub)
    return 0


if __name__ == "__main__":
    sys.exit(main())
