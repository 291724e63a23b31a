"""Writes films of people who move, out of public repositories, for `posewire eval films`: labels of networks that see what comes after.

    python -m posetrain.temporal.actors --git GIT [--git GIT ...] --thunder movenet_thunder_maps.onnx --own ../keypoints-large.toml \
        --val CACHES/jhmdb --lsp GIT --out FILMS

What J-HMDB's few clips and rendered people lack is many people who do things. The person of whom Thunder is surest is followed, by
Thunder's maps and an own network's with both looks, averaged. Then each frame's sides are those that go on most smoothly (Viterbi
1967), and places are a median and a Gaussian over the frames before and after: what a causal filter of a smaller network's answers is
to come close to. The form is that of `posetrain.temporal.films`. Most repositories in `FILMS` say nothing of their terms: class (c).
Such labels may choose among weights; they are no test of a program. FILMS/followed.txt names the
films of which every stretch was followed, by their sums: these are left alone, so a run that was stopped goes on. Where it is missing
it begins with the films that are there, but for the one written last, which may lack stretches.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np

from posetrain.data.gather import Everything, Git, Held
from posetrain.data.packs import BODY, FACE, JOINTS, MIRROR, Floats, Pixels
from posetrain.data.source import source_of
from posetrain.keypoints import filmed, likeness
from posetrain.keypoints.likeness import Judged
from posetrain.keypoints.peers import Own
from posetrain.keypoints.relabel import from_behind, seen_by_teacher
from posetrain.keypoints.teach import Teacher, Thunder, WithOwn, stored
from posetrain.temporal.detect import fresh
from posetrain.temporal.films import write
from posetrain.temporal.motion import smooth

FILMS = {
    "LightningDrop+SkateboardML": Held(r"\.(mov|MOV)$"),
    "dimashiiii+action_recognition": Held(r"^dataset/.*\.mp4$"),
    "seymanurakti+fight-detection-surv-dataset": Held(r"^(fight|noFight)/.*\.mp4$"),
    "DarshilPungalia+Major-Project": Held(r"^dataset/.*\.mp4$"),
    "riyer8+cs231n-pushfit": Held(r"^datasets/videos/.*\.mp4$", every=2),
    "autsadayut1996+WE674-Project-66130377": Held(r"^videos/.*\.mp4$"),
    "Alex1661xd+movement-analysis-system-AI": Held(
        r"^APO3_EntregaFinal/Entrega2/videos/.*\.mp4$", stretches=2
    ),
    "JuanEstebanEraso+ProyectoFinalIA": Held(r"^Entrega1/videos/.*\.mp4$", stretches=4),
    "Santyet+AI-Movement-Classifier": Held(r"\.(mp4|MOV)$"),
    "Juandap19+Proyecto-IA": Held(r"^Entrega[12]/Videos/.*\.mp4$", stretches=2),
    "Herre1+ProyectoIA-202402": Held(r"^Entrega-1/Videos/.*\.(mp4|MOV)$"),
    "guilleccc+express-workout-rn": Held(r"^video/.*\.mp4$", stretches=2),
    # People of none of the others: kept from every run, to see how the smoother does on strangers.
    "iecgerman+bachata": Held(r"^videos/.*\.mp4$", stretches=2),
    "ItsJuanda17+Proyecto-Final-APOIII": Held(r"^Entrega 2/data/videos/.*\.mp4$"),
    "Debopom+Illegal-Bowling-Action-Detection": Held(r"^Dataset/.*\.mp4$"),
    # Whose makers let anybody use them (`keypoints.filmed`).
    "ekramalam+GMDCSA24-A-Dataset-for-Human-Fall-Detection-in-Videos": Held(r"\.mp4$", stretches=4),
    "intel-iot-devkit+sample-videos": Held(r"^asl_gestures/.*\.mkv$", stretches=2),
    "perfanalytics+pose2sim": Held(r"^Pose2Sim/Demo_Batch/.*\.mp4$", stretches=2),
    "davidpagnon+Sports2D": Held(r"^Sports2D/Demo/demo\.mp4$", stretches=6),
}
# The name of one, or of one of its stretches, ends in the sum of its file.
FILM = re.compile(r"-([0-9a-f]{12})(?:-\d+)?$")
# A camera's size; a crop on 160 px needs no more.
LONGER_PX = 480
# Of each film so many frames at most, from a tenth of it on, are looked at; fewer than SHORTEST in a row are nothing.
LONGEST, SHORTEST = 40, 14
FASTEST_FPS = 35.0
# Mean probability of the body's joints from which on somebody is followed, and below which they are lost; of a joint's label; of what
# the next crop is laid round.
FOUND, FOLLOWED, SURE, CROPPED = 0.7, 0.5, 0.5, 0.3
# Somebody smaller, or of whom fewer joints are seen (of the body's: fewer in the first frame), is not followed.
MIN_PX, MIN_JOINTS, MIN_BODY = 60.0, 8, 4
# Grey levels from one frame to the next, on average: up to AGAIN it is the same picture, from CUT on another scene.
AGAIN, CUT = 0.1, 45.0
# What it costs to take a frame's sides for exchanged, in parts of the extent that each joint moves; of both ways a person may face the
# network says the right one more often than not.
EXCHANGED = 0.05
# What labels are smoothed by. A wrist that swings twice a second keeps .93 of its way at any rate of frames: what labels lose of it,
# the smoother learns to lose.
MEDIAN_FRAMES, GAUSSIAN_S = 3, 0.03


@dataclass(frozen=True)
class Followed:
    """pictures [T]; joints [T, 17, 3] = x, y and the probability near."""

    pictures: list[Pixels]
    joints: Floats


def sides(xy: Floats, extent: float) -> np.ndarray:
    """[T] whether left and right of a frame are exchanged, as the whole moves least. xy [T, 17, 2]."""
    ways = np.stack([xy, xy[:, MIRROR]], axis=1)
    steps = (
        np.linalg.norm(ways[1:, None] - ways[:-1, :, None], axis=-1).mean(axis=-1) / extent
    )  # [T-1, from, to]
    own_cost = np.array([0.0, EXCHANGED])
    cost, came = own_cost.copy(), []
    for step in steps:
        through = cost[:, None] + step
        came.append(through.argmin(axis=0))
        cost = through.min(axis=0) + own_cost
    way = [int(cost.argmin())]
    for back in reversed(came):
        way.append(int(back[way[-1]]))
    return np.array(way[::-1], bool)


def median(xy: Floats, known: np.ndarray) -> Floats:
    """Over MEDIAN_FRAMES frames of those that are `known`; xy [T, 17, 2], known [T, 17]."""
    half = MEDIAN_FRAMES // 2
    some = np.where(known[..., None], xy, np.nan)
    padded = np.pad(some, ((half, half), (0, 0), (0, 0)), constant_values=np.nan)
    windows = np.stack([padded[k : k + len(xy)] for k in range(MEDIAN_FRAMES)])
    windows[half] = np.where(known[..., None], windows[half], xy)  # a window is never empty
    return np.asarray(np.nanmedian(windows, axis=0), np.float32)


def truth(joints: Floats, shape: tuple[int, ...], times: Floats) -> Floats:
    """Labels [T, 17, 3] of what was seen at `times` [T], seconds; joints [T, 17, 3] = x, y, probability, in pictures of `shape`."""
    sure = joints[:, :, 2] >= CROPPED
    seen = joints[:, :, :2][sure]
    extent = max(float(np.ptp(seen, axis=0).max()), 1.0)
    exchanged = sides(joints[:, :, :2], extent)
    joints = np.where(exchanged[:, None, None], joints[:, MIRROR], joints)
    xy, known = joints[:, :, :2], joints[:, :, 2] >= SURE
    for t in range(len(joints)):
        if from_behind(np.concatenate([xy[t], known[t, :, None]], axis=1)):
            known[t, FACE] = False  # Thunder sees faces on the backs of heads
    xy = median(xy, known)
    frames = GAUSSIAN_S / float(np.median(np.diff(times)))
    xy = np.stack([smooth(xy[:, j], known[:, j], frames) for j in range(17)], axis=1)
    inside = ((xy >= 0) & (xy <= np.array(shape[1::-1]) - 1)).all(axis=-1)
    return np.concatenate([xy, 2.0 * (known & inside)[..., None]], axis=-1).astype(np.float32)


def reading(film: bytes, suffix: str, most: int) -> tuple[list[Pixels], list[float]]:
    """`most` RGB frames from a tenth of the film on, and their times in seconds."""
    out, times = list[Pixels](), list[float]()
    with tempfile.NamedTemporaryFile(suffix=suffix) as handle:  # OpenCV opens films by path only
        handle.write(film)
        handle.flush()
        video = cv2.VideoCapture(handle.name)
        fps, count = video.get(cv2.CAP_PROP_FPS) or 30.0, int(video.get(cv2.CAP_PROP_FRAME_COUNT))
        every = 2 if fps > FASTEST_FPS else 1
        first = max(0, min(count // 10, count - most * every))
        for index in range(first + most * every):
            if not video.grab():
                break
            if index >= first and (index - first) % every == 0 and (read := video.retrieve())[0]:
                small = filmed.at_most(np.asarray(read[1], np.uint8), LONGER_PX)
                out.append(np.ascontiguousarray(small[:, :, ::-1]))
                times.append((index - first) / fps)
    return out, times


def shown(film: bytes, suffix: str, stretches: int = 1) -> Iterator[tuple[list[Pixels], Floats]]:
    """Stretches of LONGEST frames, none twice, of one scene each, and their times [T] in seconds."""
    frames, times = reading(film, suffix, LONGEST * stretches)
    for at in range(0, len(frames) - SHORTEST + 1, LONGEST):
        part, when = frames[at : at + LONGEST], np.array(times[at : at + LONGEST], np.float32)
        kept = np.flatnonzero(fresh(part, AGAIN))
        jumps = (float(cv2.absdiff(part[a], part[b]).mean()) for a, b in pairwise(kept))
        cut = next((k + 1 for k, jump in enumerate(jumps) if jump > CUT), len(kept))
        if cut >= SHORTEST:
            yield [part[i] for i in kept[:cut]], when[kept[:cut]] - when[0]


def followed(finder: Teacher, teacher: Teacher, film: list[Pixels]) -> Followed | None:
    """The person of whom `finder` is surest in the first frame, as long as the teacher knows where they are."""
    first = filmed.person(finder, film[0])
    if first.sure < FOUND:
        return None
    box, seen = first.box, list[Floats]()
    for pixels in film:
        found = filmed.Found(seen_by_teacher(stored(teacher.maps(pixels, box)), box))
        places = found.joints[found.joints[:, 2] >= CROPPED, :2]
        large = len(places) >= MIN_JOINTS and float(np.ptp(places, axis=0).max()) >= MIN_PX
        if found.sure < FOLLOWED or not large:
            break
        box = found.box
        seen.append(found.joints)
    return Followed(film[: len(seen)], np.stack(seen)) if len(seen) >= SHORTEST else None


def smoothed_otherwise(labels: Path) -> bool:
    """Whether a film's head asks for labels to be smoothed: those written here are smooth, and count from the picture's corner."""
    with labels.open() as lines:
        return bool(json.loads(next(lines))["smooth_truth"])


class Done(set[str]):
    """Sums of the films of which all is written, kept in a file: one that a run was stopped at is not among them."""

    def __init__(self, path: Path) -> None:
        super().__init__(path.read_text().split() if path.exists() else [])
        self.path = path
        if not path.exists():
            self._begin()

    def _begin(self) -> None:
        """With the films beside the file, but for the one written last: a run of before there was such a file may have stopped in it."""
        written = [
            (labels.stat().st_mtime_ns, sum_of[1])
            for labels in self.path.parent.glob("*.jsonl")
            if (sum_of := FILM.search(labels.stem))
        ]
        last = max(written, default=(0, ""))[1]
        self.update({digest for _, digest in written} - {last})
        if self:
            self.path.write_text("".join(f"{digest}\n" for digest in sorted(self)))
            kept = f"begun with {len(self)} of the films beside it, which are left alone"
            print(f"{self.path} was missing: {kept}; {last}, written last, is followed again", flush=True)

    def add(self, digest: str) -> None:
        super().add(digest)
        with self.path.open("a") as file:
            file.write(f"{digest}\n")


def films(
    git: Git, finder: Teacher, teacher: Teacher, judged: Judged, done: set[str], counts: Counter[str]
) -> Iterator[tuple[str, Followed, Floats, Floats]]:
    """Name, frames, labels and times; of files that are not `done` yet, by their sums. A file is done when the one who takes these asks
    for what comes after its last stretch."""
    short = re.sub(r"[^a-z0-9]+", "-", git.folder.parent.name.lower())[:24]
    held = FILMS[git.folder.parent.name]
    for path in sorted(p for p in git.blobs if re.search(held.what, p))[:: held.every]:
        data = git.held(path)
        digest = hashlib.sha1(data).hexdigest()[:12]
        if data and digest in done:
            counts["the same file again"] += 1
            continue
        found = list(shown(data, Path(path).suffix, held.stretches)) if data else []
        if not found:
            counts["too short, or not held"] += 1
        for k, (frames, times) in enumerate(found):
            person = followed(finder, teacher, frames)
            joints = np.zeros((1, JOINTS, 3), np.float32)
            if person:
                joints = truth(person.joints, frames[0].shape, times[: len(person.joints)])
            known = joints[0, joints[0, :, 2] > 0, :2]
            if person is None or len(known) < MIN_JOINTS or int((joints[0, BODY, 2] > 0).sum()) < MIN_BODY:
                counts["of nobody to be sure of"] += 1
            elif judged.has(frames[0], np.concatenate([known.min(axis=0), known.max(axis=0)])):
                counts["of somebody like one that the project is judged by"] += 1
            else:
                counts["written"] += 1
                yield f"{short}-{digest}{f'-{k}' if k else ''}", person, joints, times[: len(joints)]
        done.add(digest)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--git", type=Path, action="append", required=True, help="git directory; may be given again"
    )
    parser.add_argument("--thunder", type=Path, required=True, help="MoveNet Thunder with its inner maps")
    parser.add_argument("--own", type=Path, required=True, help="manifest of an own keypoint network")
    likeness.add_arguments(parser)
    parser.add_argument("--out", type=Path, required=True, help="folder for films")
    args = parser.parse_args()
    cv2.setNumThreads(1)
    unknown = [folder.parent.name for folder in args.git if folder.parent.name not in FILMS]
    if unknown:
        parser.error(f"{', '.join(unknown)}: not in FILMS; look at its films and add it there")
    finder = filmed.Quick(Thunder(args.thunder))
    teacher = WithOwn(finder, Own.of_manifest(args.own), args.own.stem)
    judged, counts, frames = Judged.told(args), Counter[str](), 0
    args.out.mkdir(parents=True, exist_ok=True)
    if older := [labels.name for labels in sorted(args.out.glob("*.jsonl")) if smoothed_otherwise(labels)]:
        parser.error(
            f"{args.out}: {older[0]} and {len(older) - 1} more were smoothed otherwise: name another folder"
        )
    done = Done(args.out / "followed.txt")
    for folder in args.git:
        for name, person, joints, times in films(Everything(folder), finder, teacher, judged, done, counts):
            write(args.out, name, person.pictures, joints, times, source_of(name))
            frames += len(joints)
        print(f"{counts['written']} films, {frames} frames after {folder.parent.name}", flush=True)
    for what, count in sorted(counts.items()):
        print(f"{count:7d} {what}")


if __name__ == "__main__":
    main()
