"""Who kept their number: MOTA, IDF1 and HOTA of the program beside ByteTrack and OC-SORT on the same detections.

    posewire eval films --rendered 12 --persons 2,4,6,8,10 --max-persons 8 --smoother xl --boxes boxes.jsonl
    python -m posetrain.temporal.identities --boxes boxes.jsonl

The boxes are those round joints, and a box is somebody's from an overlap of a half on, as in MOTChallenge. Detections are what the
keypoint network saw in the program's own crops, as the program weighs it. The peers get them after suppression of overlaps, and each
the threshold and the memory that suit it best on these very films; the program has those that ship. Where somebody is hardly to be
seen, an answer there counts for nothing, whoever gives it. Measured with the package `trackers`, MOTA and IDF1 with `motmetrics` once
more. *Seen only* leaves out whom the program predicts without having seen them, as the peers do: `pip install '.[tracking]'`.
"""

from __future__ import annotations

import argparse
import importlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from posetrain.data.boxes import iou

RESAMPLES = 200
HALF = 0.5  # overlap from which on a box is somebody's
SAME = 0.7  # overlap of two detections of one person

# A frame's numbers and boxes [n,4] left, top, right, bottom.
Tracked = tuple[np.ndarray, np.ndarray]


@dataclass
class Frame:
    at_s: float
    truth: Tracked
    counts: np.ndarray  # [n] of the truth: whether they could be asked for
    detections: np.ndarray  # [n,4]
    scores: np.ndarray  # [n]
    answers: Tracked
    seen: np.ndarray  # [n] of the answers: whether the network saw them in this frame


def corners(boxes: list[list[float]]) -> np.ndarray:
    b = np.array(boxes, float).reshape(-1, 4)
    return np.concatenate([b[:, :2], b[:, :2] + b[:, 2:]], axis=1)


def films(path: Path) -> dict[str, list[Frame]]:
    found: dict[str, list[Frame]] = {}
    for line in path.read_text().splitlines():
        row: dict[str, Any] = json.loads(line)

        def tracked(rows: list[dict[str, Any]]) -> Tracked:
            return np.array([r["id"] for r in rows], int), corners([r["box"] for r in rows])

        frame = Frame(
            row["captured_at_us"] / 1e6,
            tracked(row["truth"]),
            np.array([t["counts"] for t in row["truth"]], bool),
            corners([d["box"] for d in row["detections"]]),
            np.array([d["score"] for d in row["detections"]], float),
            tracked(row["answers"]),
            np.array([a["seen"] for a in row["answers"]], bool),
        )
        found.setdefault(row["film"], []).append(frame)
    if not found:
        raise SystemExit(f"{path}: no boxes in it; `posewire eval films --boxes` writes them")
    return found


def suppressed(frame: Frame) -> tuple[np.ndarray, np.ndarray]:
    """Each person's surest detection."""
    kept: list[int] = []
    for i in np.argsort(-frame.scores):
        if not kept or iou(frame.detections[i : i + 1], frame.detections[kept]).max() < SAME:
            kept.append(int(i))
    return frame.detections[kept], frame.scores[kept]


def followed(tracker: Any, frames: list[Frame]) -> Iterator[Tracked]:
    """What a tracker of `trackers` makes of a film's detections."""
    supervision = importlib.import_module("supervision")
    for frame in frames:
        boxes, scores = suppressed(frame)
        if len(boxes):
            detections = supervision.Detections(
                xyxy=boxes, confidence=scores, class_id=np.zeros(len(boxes), int)
            )
        else:
            detections = supervision.Detections.empty()
        told = tracker.update(detections, timestamp=frame.at_s)
        ids = told.tracker_id if told.tracker_id is not None else np.zeros(0, int)
        known = ids >= 0
        yield ids[known], told.xyxy[known]


def judged(
    frames: list[Frame], answers: list[Tracked]
) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    """Numbers of who counts, of the answers that count, and their overlaps, frame by frame."""
    truths, told, overlaps = [], [], []
    for frame, (ids, boxes) in zip(frames, answers, strict=True):
        who, where = frame.truth
        near = iou(where, boxes)
        # An answer that is nearest to somebody who need not be found is nobody's fault and nobody's merit.
        counts = np.ones(len(ids), bool)
        if len(who):
            counts = (near.max(axis=0) < HALF) | frame.counts[near.argmax(axis=0)]
        truths.append(who[frame.counts])
        told.append(ids[counts])
        overlaps.append(near[frame.counts][:, counts])
    return truths, told, overlaps


Sums = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]


def measured(frames: list[Frame], answers: list[Tracked]) -> Sums:
    of = importlib.import_module("trackers.eval")
    rows = judged(frames, answers)
    return of.compute_clear_metrics(*rows), of.compute_identity_metrics(*rows), of.compute_hota_metrics(*rows)


def together(all_films: list[Sums]) -> dict[str, float]:
    clear, identity, hota = (
        importlib.import_module(f"trackers.eval.{part}") for part in ("clear", "identity", "hota")
    )
    a = clear.aggregate_clear_metrics([f[0] for f in all_films])
    b = identity.aggregate_identity_metrics([f[1] for f in all_films])
    c = hota.aggregate_hota_metrics([f[2] for f in all_films])
    return {
        **{name: float(a[name]) for name in ("MOTA", "IDSW")},
        "IDF1": float(b["IDF1"]),
        **{name: float(c[name]) for name in ("HOTA", "DetA", "AssA")},
    }


def checked(all_rows: list[tuple[list[Frame], list[Tracked]]]) -> tuple[float, float]:
    """MOTA and IDF1 by `motmetrics`."""
    motmetrics = importlib.import_module("motmetrics")
    films = []
    for frames, answers in all_rows:
        film = motmetrics.MOTAccumulator(auto_id=True)
        for truths, told, near in zip(*judged(frames, answers), strict=True):
            film.update(truths, told, np.where(near >= HALF, 1 - near, np.nan))
        films.append(film)
    table = motmetrics.metrics.create().compute_many(films, metrics=["mota", "idf1"], generate_overall=True)
    return float(table.loc["OVERALL", "mota"]), float(table.loc["OVERALL", "idf1"])


# What `trackers` counts memory in, whatever rate its films have.
FRAMES_A_SECOND = 30
THRESHOLDS = (0.1, 0.25, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
# Posewire's memory by place, the whole of an 8 s film, and Posewire's memory by clothes.
MEMORIES_S = (3, 8, 20)


@dataclass(frozen=True)
class Setting:
    """Of a peer: the least score of a detection that begins somebody, and how long somebody unseen is remembered."""

    score: float
    memory_s: int

    @property
    def buffer(self) -> int:
        return self.memory_s * FRAMES_A_SECOND

    def __str__(self) -> str:
        return f"score ≥ {self.score}, memory {self.memory_s} s"


SETTINGS = [Setting(score, memory_s) for score in THRESHOLDS for memory_s in MEMORIES_S]


def bytetrack(setting: Setting) -> Any:
    return importlib.import_module("trackers").ByteTrackTracker(
        track_activation_threshold=setting.score,
        high_conf_det_threshold=setting.score,
        lost_track_buffer=setting.buffer,
    )


def ocsort(setting: Setting) -> Any:
    return importlib.import_module("trackers").OCSORTTracker(
        high_conf_det_threshold=setting.score, lost_track_buffer=setting.buffer
    )


PEERS: dict[str, Callable[[Setting], Any]] = {"ByteTrack": bytetrack, "OC-SORT": ocsort}


def suited(
    found: dict[str, list[Frame]], make: Callable[[Setting], Any]
) -> tuple[Setting, list[list[Tracked]]]:
    """The setting with which a peer's HOTA is highest, the first of equals, and its answers."""
    best: tuple[float, Setting, list[list[Tracked]]] | None = None
    for setting in SETTINGS:
        answers = [list(followed(make(setting), film)) for film in found.values()]
        sums = [measured(film, a) for film, a in zip(found.values(), answers, strict=True)]
        hota = together(sums)["HOTA"]
        if best is None or hota > best[0]:
            best = hota, setting, answers
    assert best is not None
    return best[1:]


def compare(boxes: Path) -> dict[str, dict[str, Any]]:
    found = films(boxes)
    rows: dict[str, list[list[Tracked]]] = {
        "Posewire": [[f.answers for f in film] for film in found.values()],
        "Posewire, seen only": [
            [(f.answers[0][f.seen], f.answers[1][f.seen]) for f in film] for film in found.values()
        ],
    }
    for name, make in PEERS.items():
        setting, answers = suited(found, make)
        rows[f"{name}, {setting}"] = answers
    random = np.random.default_rng(1)
    drawn = [random.integers(0, len(found), len(found)) for _ in range(RESAMPLES)]
    figures = {}
    for name, answers in rows.items():
        sums = [measured(film, a) for film, a in zip(found.values(), answers, strict=True)]
        again = [together([sums[i] for i in draw])["HOTA"] for draw in drawn]
        mota, idf1 = checked(list(zip(found.values(), answers, strict=True)))
        low, high = np.quantile(again, [0.025, 0.975])
        figures[name] = together(sums) | {
            "HOTA_low": float(low),
            "HOTA_high": float(high),
            "MOTA_motmetrics": mota,
            "IDF1_motmetrics": idf1,
            "films": len(found),
        }
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--boxes", type=Path, required=True, help="of `posewire eval films --boxes`")
    parser.add_argument("--json", type=Path, help="file for the figures")
    args = parser.parse_args()
    figures = compare(args.boxes)
    print(
        "| tracker | HOTA | DetA | AssA | IDF1 | MOTA | switches | by motmetrics: IDF1, MOTA |\n|---|---|---|---|---|---|---|---|"
    )
    for name, f in figures.items():
        print(
            f"| {name} | {f['HOTA']:.3f} [{f['HOTA_low']:.3f}, {f['HOTA_high']:.3f}] | {f['DetA']:.3f} | {f['AssA']:.3f} "
            f"| {f['IDF1']:.3f} | {f['MOTA']:.3f} | {f['IDSW']:.0f} | {f['IDF1_motmetrics']:.3f}, {f['MOTA_motmetrics']:.3f} |"
        )
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
