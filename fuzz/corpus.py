#!/usr/bin/env python3
"""Writes the first inputs of every target: small, valid, made here. `corpus.py` beside `corpus/`; needs Pillow, numpy and onnx.

What the fuzzer kept and what once broke a parser lies beside them and is not touched.
"""

from __future__ import annotations

import io
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


def write(target: str, name: str, data: bytes) -> None:
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def jpeg(mode: str = "RGB", **options: object) -> bytes:
    picture = Image.linear_gradient("L").resize((16, 16)).convert(mode)
    out = io.BytesIO()
    picture.save(out, "jpeg", quality=40, **options)
    return out.getvalue()


def chunk(name: bytes, body: bytes) -> bytes:
    return name + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)


def avi(frames: list[bytes], stamped: bool) -> bytes:
    strh = struct.pack("<4s4sIIIIII24s", b"vids", b"MJPG", 0, 0, 0, 1, 30, 0, bytes(24))
    strf = struct.pack("<IiiHH4s20s", 40, 16, 16, 1, 24, b"MJPG", bytes(20))
    strl = chunk(b"LIST", b"strl" + chunk(b"strh", strh) + chunk(b"strf", strf))
    hdrl = chunk(b"LIST", b"hdrl" + chunk(b"avih", bytes(56)) + strl)
    body = b""
    for i, frame in enumerate(frames):
        if stamped:
            body += chunk(b"pwts", struct.pack("<Qq", i, 1_000_000 + 33_333 * i))
        body += chunk(b"00dc", frame)
    return chunk(b"RIFF", b"AVI " + hdrl + chunk(b"LIST", b"movi" + body))


def weights() -> bytes:
    """The layout of a temporal model's file, with one layer of the smallest width and no checksum."""
    width, layers, heads, feed, memory = 2, 1, 1, 2, 2
    tensors = {
        "embed.weight": (width, 193),
        "embed.bias": (width,),
        "norm.weight": (width,),
        "norm.bias": (width,),
    }
    tensors |= {"head.weight": (307, width), "head.bias": (307,), "lead_frames": (1,)}
    layer = {"position": (heads, 2, 33), "bias_content": (heads, 2), "bias_position": (heads, 2)}
    layer |= {f"{n}.{p}": (width,) for n in ("norm_attention", "norm_feed") for p in ("weight", "bias")}
    layer |= {f"{n}.weight": (width, width) for n in ("query", "key", "value", "out")}
    layer |= {"out.bias": (width,), "feed_in.weight": (feed, width), "feed_in.bias": (feed,)}
    layer |= {"feed_out.weight": (width, feed), "feed_out.bias": (width,)}
    tensors |= {f"layers.0.{n}": s for n, s in layer.items()}
    data = b"PWT1" + struct.pack("<6I", width, layers, heads, feed, memory, len(tensors))
    for name, shape in tensors.items():
        count = 1
        for size in shape:
            count *= size
        data += (
            bytes([len(name)]) + name.encode() + bytes([len(shape)]) + struct.pack(f"<{len(shape)}I", *shape)
        )
        data += struct.pack("<f", 0.5) * count
    return data


def unstuffed(frame: bytes) -> bytes:
    out, at = b"", 0
    while at < len(frame):
        code = frame[at]
        out += frame[at + 1 : at + code] + (b"\0" if code < 255 and at + code < len(frame) else b"")
        at += code
    return out


def wire() -> None:
    streams = json.loads((ROOT / "tests/golden/wire_v1.json").read_text())["streams"]
    for i, stream in enumerate(streams):
        line = bytes.fromhex(stream["hex"])
        if len(line) > 1000:
            continue
        payloads = b"\1"
        for frame in line.split(b"\0"):
            payload = unstuffed(frame)
            if 4 < len(payload) < 260 and zlib.crc32(payload[:-4]) == int.from_bytes(payload[-4:], "little"):
                payloads += bytes([len(payload) - 4]) + payload[:-4]
        for target in ("wire", "reader"):
            write(target, f"raw-{i}", b"\0" + line)
            if len(payloads) > 1:
                write(target, f"payloads-{i}", payloads)


class Graph:
    """An ONNX graph of a few nodes on a picture of 22 x 18, quantised by hand with one scale for everything."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: list[onnx.TensorProto] = []
        self.count = 0

    def constant(self, value: np.ndarray) -> str:
        self.count += 1
        self.tensors.append(numpy_helper.from_array(value, f"c{self.count}"))
        return self.tensors[-1].name

    def op(self, kind: str, inputs: list[str], out: str | None = None, **attributes: Any) -> str:
        self.count += 1
        self.nodes.append(helper.make_node(kind, inputs, [out or f"t{self.count}"], **attributes))
        return self.nodes[-1].output[0]

    def through_codes(self, x: str) -> str:
        scale, zero = self.constant(np.array(1 / 255, np.float32)), self.constant(np.array(0, np.uint8))
        return self.op("DequantizeLinear", [self.op("QuantizeLinear", [x, scale, zero]), scale, zero])

    def conv(self, x: str, inputs: int, outputs: int, k: int, kind: str = "Conv", **attributes: Any) -> str:
        shape = (inputs, outputs, k, k) if kind == "ConvTranspose" else (outputs, inputs, k, k)
        codes = self.constant((np.arange(np.prod(shape)) % 5 - 2).reshape(shape).astype(np.int8))
        scale = self.constant(np.array(0.02, np.float32))
        w = self.op("DequantizeLinear", [codes, scale, self.constant(np.array(0, np.int8))])
        bias = self.constant(np.arange(outputs, dtype=np.int32))
        scale = self.constant(np.array(0.02 / 255, np.float32))
        b = self.op("DequantizeLinear", [bias, scale, self.constant(np.array(0, np.int32))])
        return self.op(kind, [x, w, b], kernel_shape=[k, k], **attributes)

    def bytes(self, out: str) -> bytes:
        assert self.nodes[-1].output[0] == out
        self.nodes[-1].output[0] = "heat"
        image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 18, 22])
        heat = helper.make_tensor_value_info("heat", TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "g", [image], [heat], self.tensors)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return onnx.shape_inference.infer_shapes(model).SerializeToString()


def networks() -> None:
    def begun() -> tuple[Graph, str]:
        graph = Graph()
        return graph, graph.through_codes("image")

    g, x = begun()
    write("onnx", "point", g.bytes(g.through_codes(g.conv(x, 3, 2, 1))))
    g, x = begun()
    x = g.op("Relu", [g.conv(x, 3, 2, 3, strides=[2, 2], pads=[1, 1, 1, 1])])
    write("onnx", "stem", g.bytes(g.through_codes(x)))
    g, x = begun()
    x = g.through_codes(g.conv(x, 3, 2, 1))
    y = g.through_codes(g.op("MaxPool", [x], kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1]))
    write("onnx", "sum", g.bytes(g.through_codes(g.op("Add", [x, y]))))
    g, x = begun()
    y = g.through_codes(g.op("AveragePool", [x], kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1]))
    write("onnx", "both", g.bytes(g.through_codes(g.op("Concat", [x, y], axis=1))))
    g, x = begun()
    scales = g.constant(np.array([1, 1, 2, 2], np.float32))
    mode = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    write("onnx", "up", g.bytes(g.through_codes(g.op("Resize", [x, "", scales], **mode))))
    g, x = begun()
    write(
        "onnx",
        "deconv",
        g.bytes(g.through_codes(g.conv(x, 3, 2, 4, "ConvTranspose", strides=[2, 2], pads=[1] * 4))),
    )
    g, x = begun()
    x = g.through_codes(g.conv(x, 3, 2, 1))
    write("onnx", "tail", g.bytes(g.op("Sigmoid", [g.op("Reshape", [x, g.constant(np.array([1, 2, 396]))])])))
    g = Graph()
    w = g.constant(np.full((2, 3, 1, 1), 0.1, np.float32))
    lo, hi = g.constant(np.array(0, np.float32)), g.constant(np.array(1.5, np.float32))
    write("onnx", "float", g.bytes(g.op("Clip", [g.op("Conv", ["image", w]), lo, hi])))


def main() -> None:
    wire()
    networks()
    baseline, progressive, grey = jpeg(), jpeg(progressive=True), jpeg("L")
    for i, picture in enumerate([baseline, progressive, grey, jpeg("CMYK")]):
        write("jpeg", f"picture-{i}", bytes([1 << i]) + picture)
        write("turn", f"picture-{i}", bytes([2 * i + 1]) + picture)
    write("mjpeg", "stream", baseline + grey + b"between" + progressive)
    write("avi", "plain", avi([baseline, grey], stamped=False))
    write("avi", "recording", avi([baseline, baseline], stamped=True))
    y4m = [("420", 6), ("422", 8), ("444", 12), ("mono", 4)]
    for chroma, n in y4m:
        head = f"YUV4MPEG2 W2 H2 F30:1 Ip A1:1 C{chroma}\n".encode()
        write("y4m", chroma, head + b"".join(b"FRAME\n" + bytes(range(n)) for _ in range(2)))
    write("config", "example", (ROOT / "posewire.example.toml").read_bytes())
    write("config", "some", b"[source]\nframes = 7\n[output]\nrate = 50\npredict = 40\n[persons]\nmax = 2\n")
    for manifest in sorted((ROOT / "models").glob("*.toml")) + sorted(
        (ROOT / "models/examples").glob("*.toml")
    ):
        write("manifest", manifest.stem, manifest.read_bytes()[:4096])
    joints = [v for j in range(17) for v in (10 + j, 20 + j, 2)]
    labels = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 64, "height": 48, "split": "val"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 30, 40], "area": 900.0,
                         "iscrowd": 0, "num_keypoints": 17, "keypoints": joints}],
    }  # fmt: skip
    write("labels", "one", json.dumps(labels).encode())
    write("faults", "some", b"camera.drop=0.1,infer.slow=0.02,serial.stall=0.01,seed=7")
    write("weights", "smallest", weights())


if __name__ == "__main__":
    main()
