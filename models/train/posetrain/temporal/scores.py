"""Fits what leads from what the network says of a joint's error to its score: how likely it lies within a tenth of the extent.

    python -m posetrain.temporal.scores --weights ../temporal-xl-usable.pwt --config configs/temporal/usable.toml \
        --detectors configs/temporal/detectors-usable.toml --data PACKS --errors ERRORS

`export` does so for weights that it writes; the command fits it again, on the same errors, for weights that are there, and says so in their
card. The network's error is of a Laplace distribution, and real ones have heavier tails: `1 / (1 + (error / middle)^slope)`, a logistic
function of the logarithm of what it says (Platt, 1999), one for all joints. Fitted on the clips that sigma's scale is fitted on, real,
virtual and rendered ones alike.
`crates/temporal/src/learned/score.rs` is the same arithmetic.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import tomllib
from pathlib import Path

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from posetrain.paths import CONFIGS
from posetrain.temporal.answers import (
    SHIPPED_SMOOTHNESS,
    answers,
    is_measured,
    is_predicted,
    places_px,
    sigma_px,
)
from posetrain.temporal.calibrate import Fitting
from posetrain.temporal.motion import Truth
from posetrain.temporal.peers import Causal
from posetrain.temporal.residual import show_through
from posetrain.temporal.weights import CURVE, pwt, read_pwt, tensors

WITHIN = 0.1  # of the extent


def score(curve: np.ndarray, log_sigma: np.ndarray) -> np.ndarray:
    """curve [2]: the slope and the middle, in parts of the scale; log_sigma [...] of `Answer`, not widened."""
    return np.asarray(1 / (1 + np.exp(-curve[0] * (np.log(curve[1]) - log_sigma))))


def claims(
    model: Causal,
    truth: Truth,
    xy: np.ndarray,
    seen: np.ndarray,
    smooth: float,
    lead: float,
    shown: float,
    widen: float,
) -> list[np.ndarray]:
    """Of every joint told of whose truth is known its log sigma and whether it lies near enough. seen [B,T,17] scores; `widen`: what a
    predicted joint's sigma is multiplied by, beyond which it is absent."""
    f, a = answers(model, truth.times, xy, seen, smooth)
    place = show_through(places_px(f, a, lead), xy, seen, truth.times, f.scale_px, shown)[:, :, 0]
    off = np.linalg.norm(place - truth.xy[:, :, 0], axis=-1) / truth.extent[..., None]
    measured = is_measured(f, place, xy, seen)
    predicted = is_predicted(f, sigma_px(f, a)[:, :, 0], measured, f.present, widen)
    told = (measured | predicted) & truth.valid[:, :, 0]
    return [a.log_sigma.numpy()[:, :, 0][told], off[told] < WITHIN]


def fit(parts: list[list[np.ndarray]]) -> np.ndarray:
    """The curve [2] of several parts of `claims`, each of which counts alike: the likeliest."""

    def cost(curve: np.ndarray) -> float:
        logits = [curve[0] * (curve[1] - log_sigma) for log_sigma, _ in parts]
        off = [
            np.logaddexp(0, np.where(near, -z, z)).mean() for z, (_, near) in zip(logits, parts, strict=True)
        ]
        return float(np.mean(off))

    slope, log_middle = minimize(cost, np.array([2.0, -2.5]), method="Nelder-Mead").x
    return np.array([slope, np.exp(log_middle)])


def score_curve(model: Causal, fitting: Fitting, widen: float) -> Tensor:
    """The curve [2] for that kind of detector, whose predicted joints' sigma is multiplied by `widen`."""

    def of(truth: Truth, xy: np.ndarray, seen: np.ndarray) -> list[np.ndarray]:
        return claims(model, truth, xy, seen, fitting.smooth, fitting.lead, fitting.shown, widen)

    real, virtual, rendered = fitting.said(of)
    parts = [
        [np.concatenate(kind) for kind in zip(*films, strict=True)] for films in (real, rendered) if films
    ]
    return torch.from_numpy(fit([*parts, virtual])).float()


def in_card(text: str, digest: str, curves: dict[str, Tensor]) -> str:
    """A manifest's text with these curves and the sum of the file that holds them."""
    text = re.sub(rf"^{CURVE}\w* = .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r'^sha256 = ".*"$', f'sha256 = "{digest}"', text, count=1, flags=re.MULTILINE)
    lines = [
        f"{k.replace('.', '_')} = {[round(float(v), 3) for v in curve]}\n" for k, curve in curves.items()
    ]
    return re.sub(r"^parameters = ", "".join(lines) + "parameters = ", text, count=1, flags=re.MULTILINE)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--weights", type=Path, required=True, help=".pwt, beside its card; both are written anew")
    p.add_argument("--config", type=Path, required=True, help="of the run that the weights are of")
    p.add_argument("--detectors", type=Path, default=CONFIGS / "temporal" / "detectors.toml")
    p.add_argument("--data", type=Path, required=True)
    p.add_argument("--errors", type=Path, required=True, help="where posetrain.temporal.tracks wrote")
    args = p.parse_args()
    card = args.weights.with_suffix(".toml")
    kinds = Fitting.of_detectors(args.detectors, args.data, args.errors, SHIPPED_SMOOTHNESS)
    run = tomllib.loads(args.config.read_text())
    of_run = Fitting.of_run(run, args.data, args.errors, SHIPPED_SMOOTHNESS, read_pwt(args.weights).lead)
    fittings = {"": of_run} | kinds
    curves = dict[str, Tensor]()
    for name, fitting in fittings.items():
        shipped = read_pwt(args.weights, name)
        curve = score_curve(shipped.model, fitting, float(shipped.widen[1]))
        curves[f"{CURVE}.{name}" if name else CURVE] = curve
    hyper, state = tensors(args.weights)
    kept = {name: value for name, value in state.items() if name not in curves}
    data = pwt(hyper, kept | curves)
    args.weights.write_bytes(data)
    card.write_text(in_card(card.read_text(), hashlib.sha256(data).hexdigest(), curves))


if __name__ == "__main__":
    main()
