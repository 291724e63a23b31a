"""Networks of others, for comparison alone: same crops, the preprocessing and decoding their authors give."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np

from posetrain.data.augment import crop_matrix, warp
from posetrain.data.packs import MIRROR, Floats, Pixels
from posetrain.inference import as_input, session
from posetrain.keypoints.codec import HeatmapCodec


class Estimator(Protocol):
    """`joints` = positions [17, 2] in the picture's pixels for the square crop of side `side` on `centre`."""

    def joints(self, pixels: Pixels, centre: tuple[float, float], side: float) -> Floats: ...


class Own:
    """Posewire's network from an ONNX file, f32 or int8; `features` holds the last picture's [17]. `flip_test`: every crop is
    looked at twice, the second time mirrored, and the maps are averaged."""

    def __init__(self, path: Path, codec: HeatmapCodec, flip_test: bool = False) -> None:
        self.session, self.codec, self.flip_test = session(path), codec, flip_test
        self.net = int(self.session.get_inputs()[0].shape[2])
        self.features = np.zeros(17, np.float32)

    @classmethod
    def of_manifest(cls, path: Path) -> Own:
        manifest = tomllib.loads(path.read_text())
        codec, said = HeatmapCodec(), manifest["codec"]
        if said.get("windows") != list(codec.windows(manifest["input"]["width"] // codec.stride)):
            raise ValueError(
                f"{path}: made for another decoder; make it anew (python -m posetrain.keypoints.make)"
            )
        return cls(path.with_name(manifest["file"]), codec, said.get("flip_test", False))

    def joints(self, pixels: Pixels, centre: tuple[float, float], side: float) -> Floats:
        crop = warp(pixels, crop_matrix(centre, side, self.net), self.net)
        maps = self.maps(crop)
        if self.flip_test:
            mirrored = self.maps(np.ascontiguousarray(crop[:, ::-1]))[MIRROR, :, ::-1]
            maps = np.asarray((maps + mirrored) / 2, np.float32)
        xy, self.features = self.codec.decode(maps)
        scale = side / self.net
        return np.asarray(xy * scale + np.asarray(centre) - scale * (self.net - 1) / 2, np.float32)

    def maps(self, crop: Pixels) -> Floats:
        return np.asarray(self.session.run(None, {"image": as_input(crop)})[0][0], np.float32)


def lite(path: Path) -> Any:
    """LiteRT's interpreter of a .tflite file, ready to run on one thread."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(path), num_threads=1)
    interpreter.allocate_tensors()
    return interpreter


class MoveNet:
    """MoveNet Lightning (Apache-2.0), int8, by LiteRT."""

    def __init__(self, path: Path) -> None:
        self.interpreter = lite(path)
        self.input = self.interpreter.get_input_details()[0]["index"]
        self.output = self.interpreter.get_output_details()[0]["index"]

    def look(self, crop: Pixels) -> Floats:
        """[192, 192, 3] -> y, x in parts of the crop and score, [17, 3]."""
        self.interpreter.set_tensor(self.input, crop[None])
        self.interpreter.invoke()
        return np.asarray(self.interpreter.get_tensor(self.output)[0, 0], np.float32)

    def joints(self, pixels: Pixels, centre: tuple[float, float], side: float) -> Floats:
        yx = self.look(warp(pixels, crop_matrix(centre, side, 192), 192))[:, :2]
        return np.asarray(yx[:, ::-1] * side + np.asarray(centre) - side / 2, np.float32)


class MoveNetFloat:
    """MoveNet in f32, Lightning or Thunder (Apache-2.0), as ONNX: int32 pixels in, y, x and score of 17 joints out. docs/accuracy.md says
    where from."""

    def __init__(self, path: Path) -> None:
        self.session = session(path)
        self.input = self.session.get_inputs()[0]

    def joints(self, pixels: Pixels, centre: tuple[float, float], side: float) -> Floats:
        size = int(self.input.shape[1])
        crop = warp(pixels, crop_matrix(centre, side, size), size)
        said = self.session.run(None, {self.input.name: crop[None].astype(np.int32)})[0]
        return np.asarray(said[0, 0, :, 1::-1] * side + np.asarray(centre) - side / 2, np.float32)


class Ultralight:
    """Ultralight-SimplePose, f32, 192x256; fed the 3:4 region that holds the same square."""

    MEAN = np.array([0.485, 0.456, 0.406], np.float32)
    DEVIATION = np.array([0.229, 0.224, 0.225], np.float32)
    # Cell i is pixel i * STRIDE: its author trains on cell int(x / 4 + 0.5) and reads 4 times the cell.
    STRIDE = 4

    def __init__(self, path: Path) -> None:
        self.session = session(path)

    def joints(self, pixels: Pixels, centre: tuple[float, float], side: float) -> Floats:
        # 3:4 box round the square's height: wide poses need the width, so the longer need decides
        scale = side / 192
        matrix = np.array(
            [[1 / scale, 0, 95.5 - centre[0] / scale], [0, 1 / scale, 127.5 - centre[1] / scale]], np.float32
        )
        crop = cv2.warpAffine(pixels, matrix, (192, 256), flags=cv2.INTER_LINEAR)
        image = ((crop.astype(np.float32) / 255 - self.MEAN) / self.DEVIATION).transpose(2, 0, 1)[None]
        maps = self.session.run(None, {"data": np.ascontiguousarray(image, np.float32)})[0][0]
        out = np.zeros((17, 2), np.float32)
        for j, heatmap in enumerate(maps):
            row, column = (int(v) for v in np.unravel_index(int(heatmap.argmax()), heatmap.shape))
            x, y = float(column), float(row)
            if 0 < column < heatmap.shape[1] - 1:
                x += 0.25 * float(np.sign(heatmap[row, column + 1] - heatmap[row, column - 1]))
            if 0 < row < heatmap.shape[0] - 1:
                y += 0.25 * float(np.sign(heatmap[row + 1, column] - heatmap[row - 1, column]))
            out[j] = (self.STRIDE * x, self.STRIDE * y)
        return np.asarray((out - (95.5, 127.5)) * scale + np.asarray(centre), np.float32)


class YoloPose:
    """YOLOv8n-pose (AGPL-3.0: measured, nothing else) as Ultralytics exports it in int8, by LiteRT. A network for whole pictures: told
    nothing of the box, it answers for whoever it is surest of among those on whom the crop's middle lies."""

    def __init__(self, path: Path) -> None:
        self.interpreter = lite(path)
        said = self.interpreter.get_input_details()[0]
        self.input, self.size = said["index"], int(said["shape"][1])
        self.output = self.interpreter.get_output_details()[0]["index"]

    def look(self, crop: Pixels) -> Floats:
        """[size, size, 3] -> candidates [N, 56]: middle and size of the box in parts of the crop, score, then x and y in the crop's
        pixels and score of each of 17 joints."""
        self.interpreter.set_tensor(self.input, crop[None].astype(np.float32) / 255)
        self.interpreter.invoke()
        return np.asarray(self.interpreter.get_tensor(self.output)[0].T, np.float32)

    def joints(self, pixels: Pixels, centre: tuple[float, float], side: float) -> Floats:
        said = self.look(warp(pixels, crop_matrix(centre, side, self.size), self.size))
        meant = (np.abs(said[:, :2] - 0.5) < said[:, 2:4] / 2).all(axis=1)
        best = said[np.argmax(np.where(meant, said[:, 4], said[:, 4] - 1))]
        xy = best[5:].reshape(17, 3)[:, :2] * (side / self.size)
        return np.asarray(xy + np.asarray(centre) - side / 2, np.float32)


def peers(folder: Path) -> dict[str, Estimator]:
    """Other people's networks by name. Of MoveNet's floats and YOLOv8n-pose, which lie further off, a missing one is left out aloud."""
    systems: dict[str, Estimator] = {
        "MoveNet Lightning int8": MoveNet(folder / "movenet_lightning_int8.tflite")
    }
    further: dict[str, tuple[str, Callable[[Path], Estimator]]] = {
        "MoveNet Lightning f32": ("movenet_lightning.onnx", MoveNetFloat),
        "MoveNet Thunder f32": ("movenet_thunder.onnx", MoveNetFloat),
        "YOLOv8n-pose int8": ("yolov8n-pose_int8.tflite", YoloPose),
    }
    for name, (file, system) in further.items():
        if (folder / file).exists():
            systems[name] = system(folder / file)
        else:
            print(f"left out: {folder / file} is missing", file=sys.stderr)
    systems["Ultralight-SimplePose f32"] = Ultralight(folder / "ultralight_simplepose.onnx")
    return systems
