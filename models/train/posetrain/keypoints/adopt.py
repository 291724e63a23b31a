"""A shipped int8 network as a checkpoint that training goes on from, where its own checkpoint is lost.

    python -m posetrain.keypoints.adopt ../keypoints-small.toml --config configs/steady/small.toml --caches DIR --out work/adopted.npz

An exported network has its batch norms folded into the convolutions. They come back with the mean and the spread that each channel has
on train crops, undone by their own scale and shift: the network answers as it did, and training finds norms that normalise. The
auxiliary head is not in the file and begins anew.
"""

from __future__ import annotations

import argparse
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn

from posetrain.keypoints import checkpoints, quantise
from posetrain.keypoints.graph import export_keypoints
from posetrain.keypoints.net import ConvBn, KeypointNet
from posetrain.keypoints.ship import range_crops
from posetrain.keypoints.steady_config import load_config
from posetrain.keypoints.train import to_input

Folded = dict[str, tuple[Tensor, Tensor]]


def dequantised(path: Path) -> Folded:
    """Weights and biases of every convolution of a network in QDQ form, by the name of its weights."""
    graph = onnx.load(path).graph
    values = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    makers = {n.output[0]: n for n in graph.node if n.op_type == "DequantizeLinear"}

    def plain(name: str) -> npt.NDArray[np.float32]:
        if name not in makers:
            return np.asarray(values[name], np.float32)
        return np.asarray(quantise.dequantised(*(values[i] for i in makers[name].input)), np.float32)

    out: Folded = {}
    for node in graph.node:
        if node.op_type == "Conv":
            weight = makers[node.input[1]].input[0] if node.input[1] in makers else node.input[1]
            name = weight.removesuffix("_quantized").removesuffix(".weight")
            out[name] = torch.tensor(plain(node.input[1])), torch.tensor(plain(node.input[2]))
    return out


def places(net: nn.Module, export: Callable[[Path], None]) -> dict[str, nn.Conv2d]:
    """Which convolution of `net` is written by `export` under which name: each is filled with a number of its own, written, and
    read back."""
    convolutions = [m for m in net.modules() if isinstance(m, nn.Conv2d)]
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        for number, convolution in enumerate(convolutions, 1):
            convolution.weight.fill_(number)
        path = Path(folder) / "numbered.onnx"
        export(path)
        initialisers = onnx.load(path).graph.initializer
    # batch norms begin with variance 1 and an epsilon
    return {
        i.name.removesuffix(".weight"): convolutions[round(float(numpy_helper.to_array(i).flat[0])) - 1]
        for i in initialisers
        if i.name.endswith(".weight")
    }


def exporter(net: KeypointNet) -> Callable[[Path], None]:
    return lambda path: export_keypoints(net, 64, 64, path)


def take_over(net: nn.Module, export: Callable[[Path], None], folded: Folded, images: Tensor) -> None:
    """Gives `net`, which `export` writes, the folded weights, and its batch norms what undoes their normalising on `images`
    [N, 3, H, W]."""
    named = places(net, export)
    missing = set(named) - set(folded)
    if missing:
        raise ValueError(f"the file has no convolution {sorted(missing)[0]}")
    with torch.no_grad():
        for name, convolution in named.items():
            weight, bias = folded[name]
            convolution.weight.copy_(weight)
            if convolution.bias is not None:
                convolution.bias.copy_(bias)
        biases = {convolution: folded[name][1] for name, convolution in named.items()}

        def norm(module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            assert isinstance(module, ConvBn)
            seen = module.conv(inputs[0])
            bn, mean = module.bn, seen.mean((0, 2, 3))
            variance = seen.var((0, 2, 3), correction=0)
            assert bn.running_mean is not None and bn.running_var is not None
            bn.running_mean.copy_(mean)
            bn.running_var.copy_(variance)
            bn.weight.copy_((variance + bn.eps).sqrt())
            bn.bias.copy_(mean + biases[module.conv])

        hooks = [m.register_forward_pre_hook(norm) for m in net.modules() if isinstance(m, ConvBn)]
        net.eval()(images)
    for hook in hooks:
        hook.remove()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("manifest", type=Path)
    parser.add_argument(
        "--config", type=Path, required=True, help="of the run that goes on: its net, its train crops"
    )
    parser.add_argument("--caches", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    config = load_config(args.config)
    said: dict[str, Any] = tomllib.loads(args.manifest.read_text())
    torch.manual_seed(config.seed)
    net = KeypointNet(config.net)
    crops, _ = range_crops(config, args.caches, int(said["input"]["width"]))
    images = to_input(torch.from_numpy(crops))
    take_over(net, exporter(net), dequantised(args.manifest.with_name(said["file"])), images)
    nn.init.normal_(net.auxiliary.weight, std=0.01)
    card = said["card"]
    checkpoints.store(net.state_dict(), int(card["train_pictures_seen"]), args.out, card["data"])
    print(args.out)


if __name__ == "__main__":
    main()
