"""The project's own keypoint network as a detector for `posetrain.temporal.detect`, by its manifest.

It has seen the J-HMDB train clips in training: its errors there are smaller than on clips that it has not.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import onnxruntime

from posetrain.keypoints.codec import HeatmapCodec


def own(model: Path) -> Callable[[np.ndarray, np.ndarray, float], tuple[np.ndarray, np.ndarray]]:
    """`model`: the .onnx file, its manifest beside it."""
    manifest = tomllib.loads(model.with_suffix(".toml").read_text())
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    net = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    width, codec = manifest["input"]["width"], manifest["codec"]
    heatmaps = HeatmapCodec(stride=codec["stride"])
    if codec.get("windows") != list(heatmaps.windows(width // heatmaps.stride)):
        sys.exit(
            f"{model.with_suffix('.toml')}: made for another decoder; make it anew (python -m posetrain.keypoints.make)"
        )
    a, b = np.array(codec["score"]["a"]), np.array(codec["score"]["b"])

    def detect(image: np.ndarray, centre: np.ndarray, side: float) -> tuple[np.ndarray, np.ndarray]:
        scale = side / width
        offset = centre - scale * (width - 1) / 2
        image_from_net = np.array([[scale, 0, offset[0]], [0, scale, offset[1]]])
        crop = cv2.warpAffine(
            image, image_from_net, (width, width), flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        )
        pixels = cv2.cvtColor(crop, cv2.COLOR_BGR2RGB).transpose(2, 0, 1)[None].astype(np.float32) / 255
        (heatmaps_of_crop,) = net.run([codec["output"]], {manifest["input"]["name"]: pixels})
        xy, feature = heatmaps.decode(heatmaps_of_crop[0])
        return xy * scale + offset, 1 / (1 + np.exp(-(a + b * feature)))

    return detect
