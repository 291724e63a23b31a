"""Trains the model and what it is compared with for equally many steps, and prints one table.

`compare.py --config config.toml --data PACKS --errors ERRORS --clips mocap-movenet-val.json jhmdb-movenet-val.json --work WORK --steps 3000`.
A network that WORK already holds is taken as it is, so the command may be broken off and given again. Places are read as answered
for the moment of capture, at smoothness 0: no lead, no choice of settings.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch
from frames import frame
from model import Hyper
from motion import smooth
from peers import KINDS

NETWORKS = {
    "Transformer-XL, norm before": ["--kind", "xl"],
    "Transformer-XL, norm after": ["--kind", "xl", "--norm", "post"],
    "Transformer-XL, T-Fixup": ["--kind", "xl", "--norm", "none"],
    "transformer, no memory": ["--kind", "window"],
    "GRU": ["--kind", "gru"],
    "one frame alone": ["--kind", "lifter"],
}
SHIFTS = np.arange(-2, 3.01, 0.25)  # frames, for the lag


def trained(args: argparse.Namespace, name: str, options: list[str]) -> Path:
    work = args.work / name.replace(",", "").replace(" ", "-").lower()
    last = work / "last.pt"
    if not last.exists() or torch.load(last, weights_only=False)["step"] < args.steps:
        program = Path(__file__).with_name("train.py")
        subprocess.run([sys.executable, program, "--config", args.config, "--data", args.data, "--errors", args.errors, "--work", work,
                        "--steps", str(args.steps), *options], check=True, stdout=sys.stderr)
    return last


def lag(cost: np.ndarray) -> float:
    """Where the summed squares are least, between the shifts tried."""
    i = int(np.clip(np.argmin(cost), 1, len(SHIFTS) - 2))
    bend = cost[i - 1] - 2 * cost[i] + cost[i + 1]
    return float(SHIFTS[i] + 0.125 * (cost[i - 1] - cost[i + 1]) / bend)


def figures(checkpoint: Path, clips: dict) -> list[float]:
    """MPJPE %, PCK.1, Accel %, lag in frames, error 100 ms ahead %, 3D mm (NaN where there is no 3D truth)."""
    z = torch.load(checkpoint, weights_only=False)
    model = KINDS[z["config"]["kind"]](Hyper(**z["config"]["model"]))
    model.load_state_dict(z["mean"])
    model.eval()
    off, shake, ahead, lift, cost = [], [], [], [], np.zeros(len(SHIFTS))
    for clip in clips["clips"]:
        seen = np.array(clip["observed"], np.float32)[None]
        times = np.array(clip["captured_at_us"])[None] / (1e6 / 30)
        extent = np.array(clip["extent_px"])[:, None]
        truth = np.array([[p or [np.nan, np.nan] for p in t] for t in clip["truth"]])
        known = np.isfinite(truth[..., 0])
        truth = np.nan_to_num(truth)
        if clips["smooth_truth"]:
            truth = np.stack([smooth(truth[:, j], known[:, j], clips["smooth_truth"]) for j in range(17)], 1)
        f = frame(times, seen[..., :2], seen[..., 2], np.zeros(1))
        with torch.no_grad():
            a, _ = model(torch.from_numpy(f.features), torch.from_numpy(f.bank), torch.from_numpy(times), model.empty(1))
        place = a.place[0].numpy() * f.scale_px[0][:, None, None, None] + f.centre_px[0][:, None, None]
        error = place[:, 0] - truth
        off.append((np.linalg.norm(error, axis=-1) / extent)[known])
        second = np.linalg.norm(error[2:] - 2 * error[1:-1] + error[:-2], axis=-1) / extent[2:]
        shake.append(second[known[2:] & known[1:-1] & known[:-2]])
        ahead.append((np.linalg.norm(place[:-3, 2] - truth[3:], axis=-1) / extent[3:])[known[3:]])
        inner = np.arange(4, len(place) - 4)
        for i, shift in enumerate(SHIFTS):
            low = np.floor(inner - shift).astype(int)
            w = (inner - shift - low)[:, None, None]
            then = truth[low] * (1 - w) + truth[low + 1] * w
            far = np.linalg.norm(place[inner, 0] - then, axis=-1) / extent[inner]
            cost[i] += (np.minimum(far, 0.1) ** 2)[known[inner]].sum()
        if clip["truth_3d_m"] is not None:
            metres = a.unit[0].numpy() * a.log_metres[0].clamp(-3, 2).exp().numpy()[:, None, None]
            lift.append(1000 * np.linalg.norm(metres - np.array(clip["truth_3d_m"]), axis=-1).ravel())
    far = np.concatenate(off)
    mean = lambda rows: float(np.concatenate(rows).mean()) if rows else float("nan")
    return [100 * far.mean(), float((far < 0.1).mean()), 100 * mean(shake), lag(cost), 100 * mean(ahead), mean(lift)]


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--config", type=Path, required=True)
    p.add_argument("--data", type=Path, required=True)
    p.add_argument("--errors", type=Path, required=True)
    p.add_argument("--clips", type=Path, nargs="+", required=True, help="evenly spaced at 30 frames a second")
    p.add_argument("--work", type=Path, required=True)
    p.add_argument("--steps", type=int, default=3000)
    p.add_argument("--only", nargs="+", choices=sorted(NETWORKS), default=list(NETWORKS))
    args = p.parse_args()
    torch.set_num_threads(1)
    checkpoints = {name: trained(args, name, NETWORKS[name]) for name in args.only}
    for path in args.clips:
        clips = json.loads(path.read_text())
        print(f"\n{clips['name']}, after {args.steps} steps\n")
        print("| network | MPJPE % | PCK.1 | Accel % | lag | 100 ms ahead % | 3D mm |\n" + "|---" * 7 + "|")
        for name, checkpoint in checkpoints.items():
            v = figures(checkpoint, clips)
            print(f"| {name} | {v[0]:.2f} | {v[1]:.3f} | {v[2]:.2f} | {v[3]:+.2f} | {v[4]:.2f} | {v[5]:.0f} |")


if __name__ == "__main__":
    main()
