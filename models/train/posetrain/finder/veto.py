"""Whether a keypoint network sees anybody where the finder finds somebody: the program asks it before it believes a find."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from posetrain.data.augment import plain_crop
from posetrain.data.packs import Floats
from posetrain.inference import as_input, session

# Nobody begins with a lower presence: `newcomer_score` of the program's rules.
LEAST = 0.25


class Veto:
    """A keypoint network that says whether its crop shows a person."""

    def __init__(self, manifest: Path) -> None:
        said = tomllib.loads(manifest.read_text())
        if "presence" not in said["codec"]:
            raise SystemExit(
                f"{manifest}: this network does not tell persons from the rest; posetrain.finder.presence teaches it"
            )
        self.session, self.output = session(manifest.with_name(said["file"])), said["codec"]["presence"]
        self.net = int(self.session.get_inputs()[0].shape[2])

    def lets_pass(self, pixels: npt.NDArray[np.uint8], boxes: Floats) -> npt.NDArray[np.bool_]:
        """`boxes` [N, 4], x0 y0 x1 y1 in pixels, as the finder hands them over."""
        crops = (as_input(plain_crop(pixels, box, self.net)[0]) for box in boxes)
        said = [float(self.session.run([self.output], {"image": crop})[0].mean()) for crop in crops]
        return 1 / (1 + np.exp(-np.asarray(said))) >= LEAST
