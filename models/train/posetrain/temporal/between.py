"""Which weights between two to ship: figures on clips that training left out, along the line from one to the other.

    python -m posetrain.temporal.between --old OLD.pwt --new EXACT/last.pt --errors ERRORS jhmdb-own-train.npz rendered-small-train.npz

One row for each set and share: 0 is the old weights, 1 the new ones, `raw` what the detector said with joints that it did not see held.
Of the files of `posetrain.temporal.detect` and `.tracks` those clips count that training leaves out (`noise.tuning`); `--all` takes all,
for val files. Places are those for the capture, as they are told around a detector of `--error-model`: at the smoothness that ships,
with the lead and what shows through that `posetrain.temporal.export` writes of it. Distances in % of the extent; hidden joints and
exchanged sides are known of exact truth alone, or of what labels say.
"""

from __future__ import annotations

import argparse
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from posetrain.data.packs import MIRROR
from posetrain.paths import CONFIGS
from posetrain.temporal.answers import SHIPPED_SMOOTHNESS, held, told_px
from posetrain.temporal.export import between
from posetrain.temporal.frames import MIN_SCORE
from posetrain.temporal.model import Hyper, TemporalXl
from posetrain.temporal.noise import times_of, tuning
from posetrain.temporal.train import read_start
from posetrain.temporal.weights import tensors

SHORTEST = 14  # frames of a clip that is measured
FAR = 0.5  # of the extent: nothing counts for more
EVEN = 0.2  # nominal frames by which two gaps may differ where Accel is taken


@dataclass(frozen=True)
class Clip:
    times: np.ndarray  # [T] nominal frames
    xy: np.ndarray  # [T,17,2] px as detected
    score: np.ndarray  # [T,17]
    label: np.ndarray  # [T,17,2] px
    course: np.ndarray  # [T,17,2] px, what motion is compared with
    known: np.ndarray  # [T,17]
    seen: np.ndarray  # [T,17] nothing stands before it
    extent: np.ndarray  # [T] px


def load(path: Path, everything: bool) -> list[Clip]:
    z = dict(np.load(path))
    is_exact, clips = "labels_late" in z, []
    for a, b, tier, name in zip(z["offset"][:-1], z["offset"][1:], z["tier"], z["name"], strict=True):
        if tier == 1 and b - a >= SHORTEST and (everything or tuning(str(name))):
            xy, score, label, course, known = (
                z[k][a:b] for k in ("xy", "score", "label", "smoothed", "known")
            )
            seen = z["seen"][a:b] if is_exact else known
            clips.append(Clip(times_of(z, a, b), xy, score, label, course, known, seen, z["extent"][a:b]))
    return clips


def exchanged(place: np.ndarray, clip: Clip) -> np.ndarray:
    """Whether the pairs of joints would lie better with left and right exchanged; of the frames in which one is known."""
    both = clip.known & clip.known[:, MIRROR] & (np.arange(17) > 0)

    def off(p: np.ndarray) -> np.ndarray:
        return (np.linalg.norm(p - clip.label, axis=-1) * both).sum(1)

    return (off(place[:, MIRROR]) < off(place))[both.any(1)]


def acceleration(place: np.ndarray, clip: Clip) -> np.ndarray:
    """Length of the error's second difference, where three frames lie evenly, no farther apart than at 20 fps."""
    e = (place - clip.course) / clip.extent[:, None, None]
    dt = np.diff(clip.times)
    even = (np.abs(np.diff(dt)) < EVEN) & (dt[1:] < 1.6)
    three = clip.known[2:] & clip.known[1:-1] & clip.known[:-2] & even[:, None]
    return np.linalg.norm(e[2:] - 2 * e[1:-1] + e[:-2], axis=-1)[three]


def figures(places: list[np.ndarray], clips: list[Clip]) -> dict[str, float]:
    off, hidden, shake, sides = [], [], [], []
    for place, clip in zip(places, clips, strict=True):
        d = np.linalg.norm(place - clip.label, axis=-1) / clip.extent[:, None]
        off.append(d[clip.known & clip.seen])
        hidden.append(d[clip.known & ~clip.seen])
        shake.append(acceleration(place, clip))
        sides.append(exchanged(place, clip))
    o, h, a, x = (np.concatenate(v) for v in (off, hidden, shake, sides))
    return {
        "MPJPE": 100 * float(np.minimum(o, FAR).mean()),
        "PCK.05": float((o < 0.05).mean()),
        "PCK.1": float((o < 0.1).mean()),
        "hidden PCK.1": float((h < 0.1).mean()) if len(h) else float("nan"),
        "Accel": 100 * float(a.mean()),
        "exchanged %": 100 * float(x.mean()),
    }


def sizes(weights: Path) -> Hyper:
    """Of a run's checkpoint, or of a .pwt file."""
    if weights.suffix == ".pwt":
        return tensors(weights)[0]
    return Hyper(**torch.load(weights, weights_only=False)["config"]["model"])


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("sets", nargs="+", help="files in --errors")
    p.add_argument("--old", type=Path, required=True, help="weights that the new ones' run began from")
    p.add_argument("--new", type=Path, required=True)
    p.add_argument("--errors", type=Path, required=True)
    p.add_argument("--shares", type=float, nargs="+", default=[0, 0.25, 0.5, 0.75, 1])
    p.add_argument(
        "--all", action="store_true", help="every clip of the files, not those left out of training alone"
    )
    p.add_argument("--smoothness", type=float, default=SHIPPED_SMOOTHNESS)
    p.add_argument("--error-model", default="keypoints", help="what detected: a name in --detectors")
    p.add_argument("--detectors", type=Path, default=CONFIGS / "temporal" / "detectors.toml")
    p.add_argument("--lead", type=float, help="frames, instead of the detector's")
    args = p.parse_args()
    detectors = tomllib.loads(args.detectors.read_text())
    if args.error_model not in detectors:
        p.error(f"--error-model {args.error_model}: {args.detectors} has {', '.join(detectors)}")
    detector = detectors[args.error_model]
    lead = detector["lead"] if args.lead is None else args.lead
    shown = detector.get("shows_through", 0.0)
    torch.set_num_threads(1)
    old, new = read_start(args.old), read_start(args.new)
    model = TemporalXl(sizes(args.new)).eval()
    digits = {"MPJPE": 2, "Accel": 2, "exchanged %": 1}
    for name in args.sets:
        clips = load(args.errors / name, args.all)
        rows = {"raw": figures([held(c.xy, c.score >= MIN_SCORE) for c in clips], clips)}
        for share in args.shares:
            model.load_state_dict(between(old, new, share))
            rows[f"{share:g}"] = figures(
                [told_px(model, c.times, c.xy, c.score, args.smoothness, lead, shown) for c in clips], clips
            )
        print(f"\n{name.removesuffix('.npz')}, {len(clips)} clips\n\n| share | {' | '.join(rows['raw'])} |")
        print("|---" * (1 + len(rows["raw"])) + "|")
        for row, of in rows.items():
            print(f"| {row} | {' | '.join(f'{v:.{digits.get(k, 3)}f}' for k, v in of.items())} |", flush=True)


if __name__ == "__main__":
    main()
