"""Writes the person finder as a plain ONNX graph."""

from __future__ import annotations

from pathlib import Path

import onnx

from posetrain.finder.net import STRIDE, FinderNet, Size
from posetrain.keypoints.graph import GraphWriter


def export(net: FinderNet, path: Path, size: Size) -> None:
    net.eval()
    g = GraphWriter()
    x8 = g.block(g.block("image", net.stem), net.stage8)
    x16 = g.block(x8, net.stage16)
    y16 = g.relu(g.add(x16, g.up(g.block(g.block(x16, net.stage32), net.top16))))
    y8 = g.block(g.relu(g.add(x8, g.up(g.block(y16, net.top8)))), net.smooth)
    g.convolution(y8, net.centre, output="centre")
    g.convolution(y8, net.box, output="box")
    cells = (size.height // STRIDE, size.width // STRIDE)
    onnx.save(g.model(size.height, size.width, {"centre": (1, *cells), "box": (4, *cells)}), path)
