"""ONNX files run on one thread, and pictures as they take them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime

from posetrain.data.packs import Floats


def session(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    # Without it int8 products overflow in silence on processors that lack VNNI: other answers there, and worse ones.
    options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def as_input(pixels: npt.NDArray[np.uint8]) -> Floats:
    """[H, W, 3] bytes to [1, 3, H, W] in 0..1."""
    return np.ascontiguousarray(pixels.transpose(2, 0, 1)[None].astype(np.float32) / np.float32(255))
