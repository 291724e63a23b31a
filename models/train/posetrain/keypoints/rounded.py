"""An int8 file in QDQ form as a network that learns what its rounding costs: the same graph in PyTorch, there and back.

Quantisation-aware training with learned scales (Esser et al. 2020, LSQ): forward every weight and every activation is rounded as the
device rounds it, backward as if it were not. Only what `posetrain.keypoints.quantise` writes is known: Conv, Add, Resize and the
QuantizeLinear and DequantizeLinear between them; a rectified activation is one whose zero point is 0.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn
from torch.nn import functional

from posetrain.keypoints.quantise import dequantised

Array = npt.NDArray[np.generic]
HIGHEST = 127  # of a weight
# So many steps a weight's float may lie from it: half of one, and what a checkpoint of halves leaves out.
WITHIN = 0.75


def attributes(node: onnx.NodeProto) -> dict[str, list[int]]:
    return {a.name: list(a.ints) for a in node.attribute if a.ints}


class Rounded(nn.Module):
    """`forward`: image [N, 3, H, W] in 0..1 -> every output of the file by its name. With `real` nothing is rounded.

    Scales of weights stay; weights, biases and the scales of activations are parameters. `floats`: the unquantised file, whose weights
    are begun with; without it the dequantised ones."""

    def __init__(self, int8: Path, floats: Path | None = None) -> None:
        super().__init__()
        self.model = onnx.load(int8)
        graph = self.model.graph
        self.constants: dict[str, Array] = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
        self.nodes = list(graph.node)
        self.size = int(graph.input[0].type.tensor_type.shape.dim[2].dim_value)
        self.outputs = [o.name for o in graph.output]
        exact = (
            {i.name: numpy_helper.to_array(i) for i in onnx.load(floats).graph.initializer} if floats else {}
        )
        # of a dequantised constant: what it is made of
        self.made_of = {
            n.output[0]: list(n.input)
            for n in self.nodes
            if n.op_type == "DequantizeLinear" and n.input[0] in self.constants
        }
        self.weights, self.biases, self.scales = (nn.ParameterDict() for _ in range(3))
        self.steps: dict[str, Tensor] = {}
        for node in (n for n in self.nodes if n.op_type == "Conv"):
            name = node.output[0]
            weight, bias = node.input[1:]
            key, stem = self.key(node), self.made_of[weight][0].removesuffix("_quantized")
            self.steps[key] = torch.from_numpy(np.array(self.constants[self.made_of[weight][1]], np.float32))
            self.weights[key] = nn.Parameter(torch.from_numpy(self.begun(weight, exact.get(stem), name)))
            stem = stem.removesuffix(".weight") + ".bias"
            self.biases[key] = nn.Parameter(torch.from_numpy(self.begun(bias, exact.get(stem), name)))
        for node in (n for n in self.nodes if n.op_type == "QuantizeLinear"):
            scale = node.input[1]
            if node.input[0] != "image" and scale not in self.scales:
                self.scales[scale] = nn.Parameter(torch.tensor([float(self.constants[scale])]))

    @staticmethod
    def key(node: onnx.NodeProto) -> str:
        return str(node.output[0]).replace(".", "_")

    def begun(self, name: str, exact: Array | None, of: str) -> npt.NDArray[np.float32]:
        """A dequantised constant, or the real one that it is the rounding of."""
        constant = [self.constants[i] for i in self.made_of[name]]
        plain = dequantised(*constant)
        step = constant[1].astype(np.float64).reshape((-1,) + (1,) * (plain.ndim - 1))
        if exact is None:
            return plain.astype(np.float32)
        real = np.array(exact, np.float32)
        # biases, which have steps of next to nothing, are those of their weights
        if real.shape != plain.shape or (plain.ndim > 1 and (np.abs(real - plain) > WITHIN * step).any()):
            raise ValueError(f"{of}: the floats are not those that were quantised")
        return real

    def forward(self, image: Tensor, real: bool = False) -> dict[str, Tensor]:
        values = {"image": image}
        for node in self.nodes:
            inputs, output = node.input, node.output[0]
            if output in self.made_of:
                continue
            if node.op_type == "Conv":
                values[output] = self.convolution(node, values[inputs[0]], real)
            elif node.op_type == "Add":
                values[output] = values[inputs[0]] + values[inputs[1]]
            elif node.op_type == "Resize":
                values[output] = functional.interpolate(values[inputs[0]], scale_factor=2.0, mode="nearest")
            elif node.op_type == "QuantizeLinear":
                values[output] = self.quantised(values[inputs[0]], inputs[1], inputs[2], real)
            elif node.op_type == "DequantizeLinear":
                values[output] = values[inputs[0]]
            else:
                raise ValueError(f"{node.name}: {node.op_type} is not known here")
        return {name: values[name] for name in self.outputs}

    def convolution(self, node: onnx.NodeProto, x: Tensor, real: bool) -> Tensor:
        key, said = self.key(node), attributes(node)
        weight, bias = self.weights[key], self.biases[key]
        if not real:
            step = self.steps[key]
            zero = torch.zeros(len(step), dtype=torch.int32)
            weight = torch.fake_quantize_per_channel_affine(weight, step, zero, 0, -HIGHEST, HIGHEST)
        padding = said.get("pads", [0])[0]
        stride = said.get("strides", [1])[0]
        return functional.conv2d(x, weight, bias, stride, padding)

    def quantised(self, x: Tensor, scale: str, zero: str, real: bool) -> Tensor:
        """A picture's bytes are what they are."""
        if scale not in self.scales:
            return x
        point = int(self.constants[zero])
        if real:
            return functional.relu(x) if point == 0 else x
        points = torch.tensor([float(point)])
        rate = 1.0 / (x.numel() / x.shape[0] * 255) ** 0.5
        rounded: Tensor = torch._fake_quantize_learnable_per_tensor_affine(
            x, self.scales[scale], points, 0, 255, rate
        )
        return rounded

    def write(self, path: Path) -> None:
        """The file with what was learned; names, order and zero points as they were."""
        values = dict(self.constants)
        scales = {name: np.float32(scale.item()) for name, scale in self.scales.items()}
        values |= {
            name: np.array(scale, np.float32).reshape(self.constants[name].shape)
            for name, scale in scales.items()
        }
        fed_by = {n.output[0]: n.input[1] for n in self.nodes if n.op_type == "DequantizeLinear"}
        for node in (n for n in self.nodes if n.op_type == "Conv"):
            key = self.key(node)
            weight, bias = self.made_of[node.input[1]], self.made_of[node.input[2]]
            step = self.steps[key].numpy().astype(np.float64)
            plain = self.weights[key].detach().numpy().astype(np.float64)
            steps = np.round(plain / step.reshape(-1, 1, 1, 1)).clip(-HIGHEST, HIGHEST)
            values[weight[0]] = steps.astype(np.int8)
            sums = step * float(values[fed_by[node.input[0]]])
            values[bias[1]] = sums.astype(np.float32).reshape(self.constants[bias[1]].shape)
            values[bias[0]] = np.round(self.biases[key].detach().numpy() / sums).astype(np.int32)
        for tensor in self.model.graph.initializer:
            tensor.CopyFrom(numpy_helper.from_array(np.array(values[tensor.name], order="C"), tensor.name))
        onnx.save(self.model, path)
