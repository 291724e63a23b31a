"""Writes the quantised networks that tests/posewire/quantised.rs loads, and what ONNX Runtime makes of them.

    python tests/golden/make_qdq.py        # needs numpy, onnx, onnxruntime

Random weights: only the arithmetic matters. qdq_u8: u8 activations, a scale a channel. qdq_s8: i8 activations, one scale a
tensor. Beside each .onnx lies a .bin: the picture (u8, rows of RGB), then the outputs (f32, little-endian) one after the other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

HERE = Path(__file__).parent
HEIGHT, WIDTH = 18, 22
Floats = NDArray[np.float32]


def network(rng: np.random.Generator) -> onnx.ModelProto:
    nodes: list[onnx.NodeProto] = []
    tensors: list[onnx.TensorProto] = []

    def constant(name: str, value: NDArray[np.generic]) -> str:
        tensors.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def conv(
        x: str,
        name: str,
        inputs: int,
        outputs: int,
        k: int,
        relu: bool = True,
        group: int = 1,
        **attributes: Any,
    ) -> str:
        shape = (outputs, inputs // group, k, k)
        spread = 1.4 / np.sqrt(inputs // group * k * k)
        w = constant(f"{name}.w", rng.normal(0, spread, shape).astype(np.float32))
        b = constant(f"{name}.b", rng.normal(0, 0.1, outputs).astype(np.float32))
        attributes.setdefault("pads", [k // 2] * 4)
        out = f"{name}.real" if relu else name
        nodes.append(
            helper.make_node("Conv", [x, w, b], [out], name, kernel_shape=[k, k], group=group, **attributes)
        )
        if relu:
            nodes.append(helper.make_node("Relu", [out], [name], f"{name}.relu"))
        return name

    def op(kind: str, inputs: list[str], name: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        return name

    stem = conv("image", "stem", 3, 8, 3, strides=[2, 2])
    branch = conv(conv(stem, "first", 8, 8, 3), "second", 8, 8, 3, relu=False)
    sum_ = op("Relu", [op("Add", [stem, branch], "sum")], "sum.relu")
    wise = conv(sum_, "depthwise", 8, 8, 3, group=8)
    odd = conv(wise, "odd", 8, 13, 3, strides=[1, 2], pads=[0, 1, 2, 0], dilations=[1, 2])
    small = op("MaxPool", [sum_], "largest", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    mean = op("AveragePool", [sum_], "mean", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    both = op("Concat", [small, mean], "both", axis=1)
    mixed = conv(both, "mix", 16, 12, 1, relu=False)
    clipped = op(
        "Clip",
        [mixed, constant("lo", np.array(0.0, np.float32)), constant("hi", np.array(1.5, np.float32))],
        "mix.clip",
    )
    scales = constant("twice", np.array([1, 1, 2, 2], np.float32))
    up = op(
        "Resize",
        [clipped, "", scales],
        "up",
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )
    soft = op("Sigmoid", [conv(up, "gate", 12, 6, 1, relu=False)], "soft")
    w = constant("deconv.w", rng.normal(0, 0.2, (6, 5, 4, 4)).astype(np.float32))
    b = constant("deconv.b", rng.normal(0, 0.1, 5).astype(np.float32))
    heat = op("ConvTranspose", [soft, w, b], "heat", kernel_shape=[4, 4], strides=[2, 2], pads=[1, 1, 1, 1])
    side = conv(odd, "side", 13, 4, 1, relu=False)
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, HEIGHT, WIDTH])
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in (heat, side)]
    graph = helper.make_graph(nodes, "golden", [image], results, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model, strict_mode=True)


class Pictures(CalibrationDataReader):  # type: ignore[misc]
    def __init__(self, rng: np.random.Generator) -> None:
        self.rest = [rng.random((1, 3, HEIGHT, WIDTH), dtype=np.float32) for _ in range(8)]
        self.rest += [np.zeros_like(self.rest[0]), np.ones_like(self.rest[0])]

    def get_next(self) -> dict[str, Floats] | None:
        return {"image": self.rest.pop()} if self.rest else None


def fix_image_scale(model: onnx.ModelProto, signed: bool) -> None:
    """The picture's codes are its pixels: scale 1/255 whatever calibration saw."""
    for tensor in model.graph.initializer:
        if tensor.name == "image_scale":
            tensor.CopyFrom(numpy_helper.from_array(np.array(1 / 255, np.float32), tensor.name))
        if tensor.name == "image_zero_point":
            zero = np.int8(-128) if signed else np.uint8(0)
            tensor.CopyFrom(numpy_helper.from_array(np.asarray(zero), tensor.name))


def write(name: str, signed: bool) -> None:
    rng = np.random.default_rng(6)
    source, target = HERE / "float.tmp.onnx", HERE / f"{name}.onnx"
    onnx.save(network(rng), source)
    quantize_static(
        source,
        target,
        Pictures(rng),
        quant_format=QuantFormat.QDQ,
        per_channel=not signed,
        activation_type=QuantType.QInt8 if signed else QuantType.QUInt8,
        weight_type=QuantType.QInt8,
    )
    source.unlink()
    model = onnx.load(target)
    fix_image_scale(model, signed)
    onnx.save(model, target)
    picture = rng.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    image = (picture.astype(np.float32) / np.float32(255)).transpose(2, 0, 1)[None]
    session = ort.InferenceSession(target, providers=["CPUExecutionProvider"])
    outputs = session.run(None, {"image": image})
    data = picture.tobytes() + b"".join(o.astype("<f4").tobytes() for o in outputs)
    target.with_suffix(".bin").write_bytes(data)
    print(name, [o.shape for o in outputs], target.stat().st_size, len(data))


if __name__ == "__main__":
    write("qdq_u8", signed=False)
    write("qdq_s8", signed=True)
