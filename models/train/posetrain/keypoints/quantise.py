"""Static int8: QDQ as ONNX Runtime writes it, per-channel symmetric i8 weights, u8 activations.

The input's scale is forced to 1/255 with zero point 0, so a picture's bytes are the quantised input as
they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper
from onnxruntime.quantization import (
    CalibrationDataReader,
    CalibrationMethod,
    QuantFormat,
    QuantType,
    quantize_static,
)

from posetrain.data.packs import Floats
from posetrain.inference import as_input


class Pictures(CalibrationDataReader):  # type: ignore[misc]
    """[N, H, W, 3] bytes, one picture at a time as `image`."""

    def __init__(self, images: npt.NDArray[np.uint8]) -> None:
        self.rows: Iterator[npt.NDArray[np.uint8]] = iter(images)

    def get_next(self) -> dict[str, Floats] | None:
        row = next(self.rows, None)
        return None if row is None else {"image": as_input(row)}


def quantise(f32: Path, int8: Path, images: npt.NDArray[np.uint8], real_outputs: Sequence[str] = ()) -> None:
    """`images` are calibration crops from `train` alone. `real_outputs` are not quantised: the last
    convolutions multiply in int8, but keep their sums."""
    quantize_static(
        str(f32),
        str(int8),
        Pictures(images),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        calibrate_method=CalibrationMethod.MinMax,
        op_types_to_quantize=["Conv", "Add", "Relu", "Resize"],
        extra_options={
            "ActivationSymmetric": False,
            "WeightSymmetric": True,
            # one stray pixel must not stretch a range: average the extremes over pictures
            "CalibMovingAverage": True,
            "CalibMovingAverageConstant": 0.02,
            "TensorQuantOverrides": {
                "image": [{"scale": np.array(1 / 255, np.float32), "zero_point": np.array(0, np.uint8)}]
            },
        },
    )
    model = onnx.load(int8)
    model.ir_version = 8
    for name in real_outputs:
        keep_sums(model.graph, name)
    onnx.save(model, int8)
    check(int8)


def dequantised(
    quantised: npt.NDArray[Any], scale: npt.NDArray[Any], zero: npt.NDArray[Any]
) -> npt.NDArray[np.float64]:
    """A constant as real numbers; `scale` and `zero` are one, or one a channel of the first axis."""
    shape = (-1,) + (1,) * (quantised.ndim - 1) if scale.ndim else ()
    steps = quantised.astype(np.float64) - zero.astype(np.float64).reshape(shape)
    return np.asarray(steps * scale.astype(np.float64).reshape(shape))


def keep_sums(graph: onnx.GraphProto, output: str) -> None:
    """Takes QuantizeLinear and DequantizeLinear from between an output and what gives it."""
    made_by = {out: node for node in graph.node for out in node.output}
    last = made_by[output]
    first = made_by[last.input[0]]
    source = made_by[first.input[0]]
    source.output[0] = output
    for node in (first, last):
        graph.node.remove(node)


def check(path: Path) -> None:
    """Every convolution between dequantised inputs and a quantised output (or the graph's), and the
    input's scale exact."""
    graph = onnx.load(path).graph
    made_by = {out: node for node in graph.node for out in node.output}
    used_by: dict[str, list[onnx.NodeProto]] = {}
    for node in graph.node:
        for name in node.input:
            used_by.setdefault(name, []).append(node)
    constants = {w.name: numpy_helper.to_array(w) for w in graph.initializer}
    kinds = {n.op_type for n in graph.node}
    allowed = {"Conv", "Add", "Relu", "Resize", "QuantizeLinear", "DequantizeLinear"}
    if kinds - allowed:
        raise ValueError(f"{path}: operators outside the contract: {sorted(kinds - allowed)}")
    first = used_by["image"]
    if len(first) != 1 or first[0].op_type != "QuantizeLinear":
        raise ValueError(f"{path}: the image does not go into one QuantizeLinear")
    scale, zero = constants[first[0].input[1]], constants[first[0].input[2]]
    if scale != np.float32(1 / 255) or zero != 0:
        raise ValueError(f"{path}: the image's scale is {scale}, zero point {zero}; expected 1/255 and 0")
    for node in graph.node:
        if node.op_type in ("Conv", "Add"):
            feeds = [made_by.get(name) for name in node.input]
            if any(f is None or f.op_type != "DequantizeLinear" for f in feeds):
                raise ValueError(f"{path}: {node.name} has an input that is not dequantised")
            for user in used_by.get(node.output[0], []):
                after = used_by[user.output[0]] if user.op_type == "Relu" else [user]
                if any(u.op_type != "QuantizeLinear" for u in after):
                    raise ValueError(f"{path}: the output of {node.name} is not quantised")


def ranges(path: Path) -> dict[str, tuple[float, float]]:
    """Lowest and highest value each activation can hold, by tensor name, from the scales in the graph."""
    graph = onnx.load(path).graph
    constants = {w.name: numpy_helper.to_array(w) for w in graph.initializer}
    out: dict[str, tuple[float, float]] = {}
    for node in graph.node:
        if node.op_type == "QuantizeLinear":
            scale, zero = float(constants[node.input[1]]), int(constants[node.input[2]])
            out[node.input[0]] = ((0 - zero) * scale, (255 - zero) * scale)
    return out
