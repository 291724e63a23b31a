"""Writes the shipped weights and their manifest.

    python -m posetrain.temporal.export --checkpoint last.pt --models DIR --data PACKS --errors ERRORS [--metrics metrics.toml]
    python -m posetrain.temporal.export ... --name temporal-xl-usable --detectors configs/temporal/detectors-usable.toml

The file's format is described in `crates/temporal/src/learned/weights.rs`. `metrics.toml` is what `posewire eval clips` wrote; its rows go
into the card as they are.
"""

from __future__ import annotations

import argparse
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from posetrain.data.licences import Licence, licence_of
from posetrain.data.packs import JOINTS
from posetrain.paths import CONFIGS
from posetrain.temporal.answers import SHIPPED_SMOOTHNESS
from posetrain.temporal.calibrate import Fitting, sigma_scale
from posetrain.temporal.learned import learned
from posetrain.temporal.model import Hyper, TemporalXl
from posetrain.temporal.scores import score_curve
from posetrain.temporal.train import read_start
from posetrain.temporal.weights import CURVE, pwt

VERSION = 1
CREDIT = (
    "The motion data was obtained from mocap.cs.cmu.edu. "
    "The database was created with funding from NSF EIA-0196217."
)


def licence(names: list[str]) -> str:
    if licence_of(names) == Licence.FREE:
        return "Weights: for any use."
    research = [name for name in names if licence_of([name]) == Licence.RESEARCH]
    if not research:
        return (
            "Weights: MIT or Apache-2.0, as the code. Learned from motion, rendered films and stills that anybody may use, as networks saw "
            "them whose weights anybody may use; no pixel or label is in the file."
        )
    said = ", ".join(research)
    return (
        f"Weights: for research and evaluation. Trained partly on what is for research only ({said}); "
        "no pixel or label is in the file."
    )


@dataclass(frozen=True)
class Beside:
    """Weights that the run began from, or began where it began: what is shipped lies between them and its end."""

    sha256: str
    # of the run
    share: float

    @classmethod
    def of(cls, weights: Path, share: float) -> Beside:
        return cls(hashlib.sha256(weights.read_bytes()).hexdigest(), share)


def manifest(
    name: str,
    hyper: Hyper,
    digest: str,
    config: dict[str, Any],
    sources: list[str],
    steps: int,
    base_steps: int,
    parameters: int,
    knobs: dict[str, Tensor],
    beside: Beside | None,
    inertia: float,
    metrics: str,
) -> str:
    mixed = (
        "# these weights lie between the file with this sum and the end of the run, this far from the file\n"
        f'beside = "{beside.sha256}"\nshare = {beside.share:g}\n'
        if beside
        else ""
    )
    if inertia:
        mixed += f"# added to the log-odds of inertia that the run ended with\ninertia = {inertia:g}\n"
    fitted = "\n".join(
        f"{name.replace('.', '_')} = {[round(float(v), 3) for v in value]}" for name, value in knobs.items()
    )
    d = config["data"]
    files = [*d["errors"], *d.get("exact", []), *d.get("acted", [])]
    banks = [p.removeprefix("jhmdb-").removesuffix("-train.npz") for p in files]
    return (
        f"""name = "{name}"
task = "temporal"
file = "{name}.pwt"
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
data = {sources!r}
error_models = {["made-up", *banks]!r}
licence = "{licence(sources)}"
credit = "{CREDIT}"
made_by = "python -m posetrain.temporal.export, after posetrain.temporal.detect, .tracks, .train and .adapt"
steps = {steps}
# steps of the weights that they began from
base_steps = {base_steps}
{mixed}# further steps of the head alone, on measured errors
head_steps = {config.get("adapted", 0)}
# by how many frames forecasts are read ahead, what sigma is multiplied by, for measured and predicted joints, and what leads to a joint's
# score, slope and middle: fitted on errors of train films left out of training, a part of them put on motion that training had
{fitted}
parameters = {parameters}
{metrics}""".replace("['", '["')
        .replace("', '", '", "')
        .replace("']", '"]')
    )


def between(old: dict[str, Tensor], new: dict[str, Tensor], share: float) -> dict[str, Tensor]:
    """Weights on the line from `old` to `new`, which was fitted from it: much of what is new is learned, little of what was known
    is lost (WiSE-FT, Wortsman et al., 2022). Outputs that the old one had not stand last, and began at zero."""
    if not 0 <= share <= 1:
        raise SystemExit(f"--share {share}: 0 is the old weights, 1 the new ones")

    def began(name: str, value: Tensor) -> Tensor:
        was = torch.zeros_like(value)
        was[: len(old[name])] = old[name]
        return was

    return {name: torch.lerp(began(name, value), value, share) for name, value in new.items()}


def shipped(checkpoint: dict[str, Any], beside: Path | None, share: float, inertia: float) -> TemporalXl:
    """The mean weights of a run's checkpoint, or those between the weights `beside` and them. Raises `SystemExit` for a model that the
    device does not run."""
    config = checkpoint["config"]
    if config.get("kind", "xl") != "xl":
        raise SystemExit("only the model itself is shipped; this is one that it is compared with")
    hyper = Hyper(**config["model"])
    if hyper.norm != "pre":
        raise SystemExit("only networks with norm = 'pre' run on the device; train one with that option")
    if inertia and not hyper.inertia:
        raise SystemExit("--inertia: these weights have none")
    model, weights = TemporalXl(hyper), checkpoint["mean"]
    model.load_state_dict(between(read_start(beside), weights, share) if beside else weights)
    if inertia:
        with torch.no_grad():
            model.head.bias[-JOINTS:] += inertia
    return model.eval()


def knobs_of(model: TemporalXl, default: Fitting, kinds: dict[str, Fitting]) -> dict[str, Tensor]:
    """What is fitted on errors that training left out, by its names in the file: for any detector, and for each kind that is known."""
    scale = sigma_scale(model, default)
    knobs = {
        "lead_frames": torch.tensor([default.lead]),
        "sigma_scale": torch.tensor(scale),
        CURVE: score_curve(model, default, scale[1]),
    }
    for name, fitting in kinds.items():
        scale = sigma_scale(model, fitting)
        knobs[f"error_model.{name}"] = torch.tensor([fitting.lead, *scale])
        knobs[f"{CURVE}.{name}"] = score_curve(model, fitting, scale[1])
        if fitting.shown:
            knobs[f"shows_through.{name}"] = torch.tensor([fitting.shown])
    return knobs


def arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser()
    p.add_argument("--checkpoint", type=Path, required=True)
    p.add_argument("--models", type=Path, required=True)
    p.add_argument("--name", default="temporal-xl", help="of the weights and their files")
    p.add_argument(
        "--detectors",
        type=Path,
        default=CONFIGS / "temporal" / "detectors.toml",
        help="kinds of detectors that are fitted apart",
    )
    p.add_argument(
        "--lead",
        type=float,
        default=0.5,
        help="frames by which forecasts are read ahead, chosen on train clips",
    )
    p.add_argument(
        "--smoothness",
        type=float,
        default=SHIPPED_SMOOTHNESS,
        help="at which sigma is fitted: the shipped one",
    )
    p.add_argument("--data", type=Path, required=True)
    p.add_argument("--errors", type=Path, required=True, help="where posetrain.temporal.detect wrote")
    p.add_argument(
        "--base-steps",
        type=int,
        default=0,
        help="steps behind the weights that the checkpoint's run began from",
    )
    p.add_argument(
        "--beside",
        type=Path,
        help="weights (.pt or .pwt) that the run began from, or that began where it began: what is shipped lies between the two",
    )
    p.add_argument("--share", type=float, default=0.5, help="of the checkpoint, where --beside is given")
    p.add_argument(
        "--inertia",
        type=float,
        default=0.0,
        help="added to the log-odds of inertia: steadier and a little later above 0, chosen on films left out",
    )
    p.add_argument("--metrics", type=Path)
    return p.parse_args()


def main() -> None:
    args = arguments()
    z = torch.load(args.checkpoint, weights_only=False)
    config = z["config"]
    of = learned(config, [*([args.beside] if args.beside else []), args.checkpoint])
    model = shipped(z, args.beside, args.share, args.inertia)
    default = Fitting.of_run(config, args.data, args.errors, args.smoothness, args.lead)
    kinds = Fitting.of_detectors(args.detectors, args.data, args.errors, args.smoothness)
    knobs = knobs_of(model, default, kinds)
    # Before anything is written: it may lie where the new weights go.
    beside = Beside.of(args.beside, args.share) if args.beside else None
    hyper = Hyper(**config["model"])
    data = pwt(hyper, model.state_dict() | knobs)
    (args.models / f"{args.name}.pwt").write_bytes(data)
    text = manifest(
        args.name,
        hyper,
        hashlib.sha256(data).hexdigest(),
        config,
        of,
        z["step"],
        args.base_steps,
        sum(v.numel() for v in model.parameters()),
        knobs,
        beside,
        args.inertia,
        args.metrics.read_text() if args.metrics else "",
    )
    (args.models / f"{args.name}.toml").write_text(text)


if __name__ == "__main__":
    main()
