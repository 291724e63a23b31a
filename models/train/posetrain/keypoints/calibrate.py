"""Fits what a joint's score and sigma say, on pictures kept back from training.

score = sigmoid(a_j + b_j f) is the probability that the joint lies within 0.1 of the person's extent;
sigma = exp(c_j + d_j f) net pixels is the error's standard deviation on one axis. f is the codec's feature.
A joint with few labels leans on all joints' fit: ridge towards the common coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from posetrain.data.packs import JOINTS, Floats

Doubles = npt.NDArray[np.float64]
WITHIN = 0.1
# Errors beyond this part of the extent are another limb or person: the score tells of them, sigma of
# placement.
FAR = 0.25
# As strong as this many labelled joints at the common fit.
RIDGE = 20.0


@dataclass(frozen=True)
class Calibration:
    a: Doubles
    b: Doubles
    c: Doubles
    d: Doubles

    @classmethod
    def of_manifest(cls, manifest: dict[str, Any]) -> Calibration:
        score, sigma = manifest["codec"]["score"], manifest["codec"]["sigma"]
        return cls(*(np.asarray(v) for v in (score["a"], score["b"], sigma["c"], sigma["d"])))

    def score(self, feature: Floats) -> Doubles:
        return np.asarray(1 / (1 + np.exp(-(self.a + self.b * feature))), np.float64)

    def sigma(self, feature: Floats) -> Doubles:
        return np.asarray(np.exp(self.c + self.d * feature), np.float64)


def _logistic(f: Doubles, hit: Doubles, prior: Doubles | None) -> Doubles:
    def cost(p: Doubles) -> float:
        z = p[0] + p[1] * f
        value = float((np.logaddexp(0, z) - hit * z).sum())
        return value + (
            RIDGE * float(((p - prior) ** 2).sum()) if prior is not None else 1e-3 * float((p**2).sum())
        )

    return np.asarray(minimize(cost, np.array([0.0, 1.0]) if prior is None else prior, method="BFGS").x)


def _spread(f: Doubles, squares: Doubles, prior: Doubles | None) -> Doubles:
    """Maximum likelihood of an isotropic Gaussian; `squares` = squared distances in net pixels."""

    def cost(p: Doubles) -> float:
        log_sigma = np.clip(p[0] + p[1] * f, -5, 6)
        value = float((2 * log_sigma + squares / (2 * np.exp(2 * log_sigma))).sum())
        return value + (
            RIDGE * float(((p - prior) ** 2).sum()) if prior is not None else 1e-3 * float((p**2).sum())
        )

    return np.asarray(
        minimize(cost, np.array([1.5, -0.2]) if prior is None else prior, method="Nelder-Mead").x
    )


def fit(feature: Floats, distance: Floats, extent: Floats, labelled: npt.NDArray[np.bool_]) -> Calibration:
    """feature, distance (net pixels), labelled: [N, 17]; extent in net pixels: [N]."""
    f, r = feature.astype(np.float64), distance.astype(np.float64)
    hit = (r <= WITHIN * extent[:, None]).astype(np.float64)
    near = labelled & (r <= FAR * extent[:, None])
    common_score = _logistic(f[labelled], hit[labelled], None)
    common_sigma = _spread(f[near], r[near] ** 2, None)
    rows = []
    for j in range(JOINTS):
        m, n = labelled[:, j], near[:, j]
        rows.append(
            (*_logistic(f[m, j], hit[m, j], common_score), *_spread(f[n, j], r[n, j] ** 2, common_sigma))
        )
    a, b, c, d = np.asarray(rows).T
    return Calibration(a, b, c, d)


def expected_calibration_error(
    score: Doubles, hit: Doubles, bins: int = 10, weight: Doubles | None = None
) -> float:
    """Mean gap of stated and observed probability over equal-width bins, weighted by their counts (Guo et
    al. 2017), or by what each of the `weight`s counts."""
    which = np.minimum((score * bins).astype(int), bins - 1)
    counts = np.ones(len(score)) if weight is None else weight
    gaps = np.bincount(which, counts * (hit - score), bins)
    return float(np.abs(gaps).sum() / counts.sum())
