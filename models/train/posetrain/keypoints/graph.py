"""Writes a network as a plain ONNX graph: batch norms folded, only Conv, Relu, Add and Resize, static shapes.

Written node by node instead of traced, so that the runtime's matcher meets exactly the patterns named here.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from posetrain.data.packs import JOINTS
from posetrain.keypoints.net import ConvBn, KeypointNet, Residual

OPSET = 17
IR_VERSION = 8


class GraphWriter:
    """Collects nodes and weights; each method returns the name of the tensor it made."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.count = 0

    def _name(self, kind: str) -> str:
        self.count += 1
        return f"{kind}_{self.count}"

    def _weight(self, name: str, values: npt.NDArray[np.float32]) -> str:
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def convolution(
        self, x: str, conv: nn.Conv2d, bn: nn.BatchNorm2d | None = None, output: str | None = None
    ) -> str:
        weight = conv.weight.detach().double()
        bias = torch.zeros(conv.out_channels).double() if conv.bias is None else conv.bias.detach().double()
        if bn is not None:
            assert bn.running_mean is not None and bn.running_var is not None
            scale = bn.weight.detach().double() / torch.sqrt(bn.running_var.double() + bn.eps)
            weight = weight * scale[:, None, None, None]
            bias = (bias - bn.running_mean.double()) * scale + bn.bias.detach().double()
        name = output or self._name("conv")
        kernel, stride = int(conv.kernel_size[0]), int(conv.stride[0])
        inputs = [
            x,
            self._weight(f"{name}.weight", weight.float().numpy()),
            self._weight(f"{name}.bias", bias.float().numpy()),
        ]
        self.nodes.append(
            helper.make_node(
                "Conv",
                inputs,
                [name],
                name=name,
                kernel_shape=[kernel, kernel],
                strides=[stride, stride],
                pads=[kernel // 2] * 4,
            )
        )
        return name

    def relu(self, x: str) -> str:
        name = self._name("relu")
        self.nodes.append(helper.make_node("Relu", [x], [name], name=name))
        return name

    def add(self, a: str, b: str) -> str:
        name = self._name("add")
        self.nodes.append(helper.make_node("Add", [a, b], [name], name=name))
        return name

    def up(self, x: str) -> str:
        """Nearest x2."""
        name = self._name("up")
        scales = self._weight(f"{name}.scales", np.array([1, 1, 2, 2], np.float32))
        self.nodes.append(
            helper.make_node(
                "Resize",
                [x, "", scales],
                [name],
                name=name,
                mode="nearest",
                coordinate_transformation_mode="asymmetric",
                nearest_mode="floor",
            )
        )
        return name

    def block(self, x: str, module: nn.Module) -> str:
        """A ConvBn, a Residual or a Sequential of them."""
        if isinstance(module, ConvBn):
            y = self.convolution(x, module.conv, module.bn)
            return self.relu(y) if module.relu else y
        if isinstance(module, Residual):
            return self.relu(self.add(x, self.block(self.block(x, module.first), module.second)))
        if isinstance(module, nn.Sequential):
            for part in module:
                x = self.block(x, part)
            return x
        raise TypeError(f"no ONNX form for {type(module).__name__}")

    def model(self, height: int, width: int, outputs: dict[str, tuple[int, int, int]]) -> onnx.ModelProto:
        """`outputs` = name to (channels, rows, columns)."""
        kind = TensorProto.FLOAT
        graph = helper.make_graph(
            self.nodes,
            "posewire",
            [helper.make_tensor_value_info("image", kind, [1, 3, height, width])],
            [helper.make_tensor_value_info(n, kind, [1, *shape]) for n, shape in outputs.items()],
            self.weights,
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="posetrain"
        )
        model.ir_version = IR_VERSION
        onnx.checker.check_model(model)
        return onnx.shape_inference.infer_shapes(model)


def export_keypoints(net: KeypointNet, height: int, width: int, path: Path) -> None:
    net.eval()
    g = GraphWriter()
    x4 = g.block(g.block("image", net.stem), net.stages[0])
    x8 = g.block(x4, net.stages[1])
    x16 = g.block(x8, net.stages[2])
    x32 = g.block(x16, net.stages[3])
    y16 = g.relu(g.add(x16, g.up(g.block(x32, net.top))))
    y8 = g.block(g.relu(g.add(g.block(x8, net.lateral8), g.up(g.block(y16, net.down16)))), net.smooth8)
    y4 = g.block(g.relu(g.add(g.block(x4, net.lateral4), g.up(g.block(y8, net.down8)))), net.smooth4)
    g.convolution(y4, net.heatmaps, output="heatmaps")
    onnx.save(g.model(height, width, {"heatmaps": (JOINTS, height // 4, width // 4)}), path)
