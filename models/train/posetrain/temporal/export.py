"""Writes the shipped weights and their manifest.

    python -m posetrain.temporal.export --checkpoint last.pt --models DIR --data PACKS --errors ERRORS [--metrics metrics.toml]

The file's format is described in `src/temporal/xl/weights.rs`. `metrics.toml` is what `posewire eval clips` wrote; its rows go
into the card as they are.
"""

from __future__ import annotations

import argparse
import hashlib
import tomllib
from pathlib import Path
from typing import Any

import torch

from posetrain.paths import CONFIGS
from posetrain.temporal.calibrate import kept_back, sigma_scale
from posetrain.temporal.model import Hyper, TemporalXl
from posetrain.temporal.noise import tuning
from posetrain.temporal.weights import pwt

VERSION = 1
LICENCE = (
    "Weights: for research and evaluation. Trained partly on research-only labels (penn_action, jhmdb); "
    "no pixel or label is in the file."
)
CREDIT = (
    "The motion data was obtained from mocap.cs.cmu.edu. "
    "The database was created with funding from NSF EIA-0196217."
)


def manifest(
    hyper: Hyper,
    digest: str,
    config: dict[str, Any],
    steps: int,
    base_steps: int,
    parameters: int,
    knobs: dict[str, torch.Tensor],
    metrics: str,
) -> str:
    fitted = "\n".join(
        f"{name.replace('.', '_')} = {[round(float(v), 3) for v in value]}" for name, value in knobs.items()
    )
    banks = [p.removeprefix("jhmdb-").removesuffix("-train.npz") for p in config["data"]["errors"]]
    return (
        f"""name = "temporal-xl"
task = "temporal"
file = "temporal-xl.pwt"
sha256 = "{digest}"
version = {VERSION}
skeleton = "coco17"

[network]
kind = "transformer-xl"
width = {hyper.width}
layers = {hyper.layers}
heads = {hyper.heads}
feed_forward = {hyper.feed_forward}
# observations a layer looks back on, beside the present one
memory = {hyper.memory}
norm = "{hyper.norm}"
horizons_us = [0, 50000, 100000, 150000]

[card]
data = {["cmu_mocap", "penn_action", *(["jhmdb"] if banks else [])]!r}
error_models = {["made-up", *banks]!r}
licence = "{LICENCE}"
credit = "{CREDIT}"
made_by = "python -m posetrain.temporal.export, after posetrain.temporal.detect, .train and .adapt"
steps = {steps}
# steps of the weights that they began from
base_steps = {base_steps}
# further steps of the head alone, on measured errors
head_steps = {config.get("adapted", 0)}
# by how many frames forecasts are read ahead, and what sigma is multiplied by, for measured and predicted joints: fitted on train films
# left out of training
{fitted}
parameters = {parameters}
{metrics}""".replace("['", '["')
        .replace("', '", '", "')
        .replace("']", '"]')
    )


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--checkpoint", type=Path, required=True)
    p.add_argument("--models", type=Path, required=True)
    p.add_argument(
        "--lead",
        type=float,
        default=0.3,
        help="frames by which forecasts are read ahead, chosen on train clips",
    )
    p.add_argument("--smoothness", type=float, default=0.1, help="at which sigma is fitted: the shipped one")
    p.add_argument("--data", type=Path, required=True)
    p.add_argument("--errors", type=Path, required=True, help="where posetrain.temporal.detect wrote")
    p.add_argument(
        "--base-steps",
        type=int,
        default=0,
        help="steps behind the weights that the checkpoint's run began from",
    )
    p.add_argument("--metrics", type=Path)
    args = p.parse_args()
    z = torch.load(args.checkpoint, weights_only=False)
    if z["config"].get("kind", "xl") != "xl":
        raise SystemExit("only the model itself is shipped; this is one that it is compared with")
    hyper = Hyper(**z["config"]["model"])
    if hyper.norm != "pre":
        raise SystemExit("only networks with norm = 'pre' run on the device; train one with that option")
    model = TemporalXl(hyper)
    model.load_state_dict(z["mean"])
    banks = [args.errors / p for p in z["config"]["data"]["errors"]]
    widen = sigma_scale(model.eval(), args.data, banks, tuning, args.smoothness, args.lead, films_alike=False)
    knobs = {"lead_frames": torch.tensor([args.lead]), "sigma_scale": torch.tensor(widen)}
    films = {"tuning": tuning, "kept back": kept_back(args.data)}
    for name, d in tomllib.loads((CONFIGS / "temporal" / "detectors.toml").read_text()).items():
        bank, alike = [args.errors / d["bank"]], d["films"] == "kept back"
        widen = sigma_scale(model, args.data, bank, films[d["films"]], args.smoothness, d["lead"], alike)
        knobs[f"error_model.{name}"] = torch.tensor([d["lead"], *widen])
    data = pwt(hyper, model.state_dict() | knobs)
    (args.models / "temporal-xl.pwt").write_bytes(data)
    metrics = args.metrics.read_text() if args.metrics else ""
    parameters = sum(v.numel() for v in model.parameters())
    text = manifest(
        hyper,
        hashlib.sha256(data).hexdigest(),
        z["config"],
        z["step"],
        args.base_steps,
        parameters,
        knobs,
        metrics,
    )
    (args.models / "temporal-xl.toml").write_text(text)


if __name__ == "__main__":
    main()
