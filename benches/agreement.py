"""How far the int8 operators are from ONNX Runtime on the same file, in steps of the output scale, and how often the largest
cell of a map is the same one.

Twice: against ONNX Runtime's fused int8 kernels (`fused`), whose arithmetic the operators follow to the bit (x86-64 with
FMA), and against the file computed operator by operator in f32 (`exact`: optimisations off). Beside them, how far those
two are from each other. A map's largest cell may be one of several with the same code: any of them counts as the same.

    cargo build --release --example network
    python benches/agreement.py [--pictures FOLDER] [--count 100] [MANIFEST]    # default: models/keypoints-small.toml

Pictures are the middle squares of the files under FOLDER; without it, smoothed noise. Needs numpy, onnxruntime and OpenCV.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

REPO = Path(__file__).resolve().parent.parent
Picture = NDArray[np.uint8]


def pictures(folder: Path | None, count: int, width: int, height: int) -> Iterator[Picture]:
    """Interleaved RGB of the network's size."""
    random = np.random.default_rng(5)
    files = sorted(p for p in folder.rglob("*") if p.suffix in {".jpg", ".jpeg", ".png"}) if folder else []
    if files:
        chosen = random.choice(len(files), min(count, len(files)), replace=False)
        for index in chosen:
            picture = cv2.imread(str(files[index]))
            if picture is None:
                continue
            side = min(picture.shape[:2])
            y, x = ((n - side) // 2 for n in picture.shape[:2])
            square = picture[y : y + side, x : x + side, ::-1]
            yield cv2.resize(square, (width, height), interpolation=cv2.INTER_AREA).astype(np.uint8)
        return
    for _ in range(count):
        coarse = random.integers(0, 256, (12, 12, 3), dtype=np.uint8)
        yield cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC).astype(np.uint8)


@dataclass
class Tally:
    name: str
    worst: float = 0.0
    equal: int = 0
    values: int = 0
    same: int = 0
    maps: int = 0

    def add(self, got: NDArray[np.float32], expected: NDArray[np.float32], step: float) -> None:
        steps = np.abs(got - expected) / step
        self.worst = max(self.worst, float(steps.max()))
        self.equal += int((steps < 0.5).sum())
        self.values += expected.size
        for mine, theirs in zip(got.reshape(len(got), -1), expected.reshape(len(expected), -1), strict=True):
            self.same += bool(theirs[mine.argmax()] > theirs.max() - step / 2)
            self.maps += 1

    def __str__(self) -> str:
        return (
            f"{self.name}: largest difference {self.worst:.2f} steps, {100 * self.equal / self.values:.3f} % of values "
            f"equal, largest cell the same in {self.same} of {self.maps} maps ({100 * self.same / self.maps:.2f} %)"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("manifest", nargs="?", type=Path, default=REPO / "models" / "keypoints-small.toml")
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--engine", default="int8")
    parser.add_argument("--binary", type=Path, default=REPO / "target/release/examples/network")
    args = parser.parse_args()
    manifest = tomllib.loads(args.manifest.read_text())
    width, height = manifest["input"]["width"], manifest["input"]["height"]

    def session(level: ort.GraphOptimizationLevel) -> ort.InferenceSession:
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.graph_optimization_level = level
        return ort.InferenceSession(args.manifest.with_name(manifest["file"]), options)

    exact = session(ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
    fused = session(ort.GraphOptimizationLevel.ORT_ENABLE_ALL)
    name = exact.get_inputs()[0].name
    process = subprocess.Popen(
        [str(args.binary), str(args.manifest), args.engine],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None and stdout is not None
    title = stdout.readline().strip()

    def ask(line: str) -> None:
        stdin.write(line + "\n")
        stdin.flush()
        if not stdout.readline():
            raise SystemExit("the network stopped")

    tallies = [Tally("int8 operators to exact"), Tally("int8 operators to fused"), Tally("fused to exact")]
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "picture"), Path(folder, "outputs")
        for picture in pictures(args.pictures, args.count, width, height):
            source.write_bytes(picture.tobytes())
            for line in (f"picture {source}", "1", f"outputs {target}"):
                ask(line)
            image = {name: (picture.astype(np.float32) / np.float32(255)).transpose(2, 0, 1)[None]}
            rest = np.fromfile(target, dtype="<f4")
            for meant, theirs in zip(exact.run(None, image), fused.run(None, image), strict=True):
                mine, rest = rest[: meant.size].reshape(meant.shape), rest[meant.size :]
                # The finest distance between two values is the scale's step, if a map uses neighbouring codes at all;
                # an output that is not quantised is measured in 255ths of its range, as if it were.
                step = float(np.diff(np.unique(meant)).min(initial=np.inf))
                step = max(step, float(np.ptp(meant)) / 255)
                for tally, (a, b) in zip(
                    tallies, ((mine, meant), (mine, theirs), (theirs, meant)), strict=True
                ):
                    tally.add(a[0], b[0], step)
            count += 1
    print(f"{title}; {count} pictures; ONNX Runtime {ort.__version__}")
    for tally in tallies:
        print(tally)


if __name__ == "__main__":
    main()
