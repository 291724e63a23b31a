"""Posewire's networks beside other engines and networks, one thread, interleaved in one run: ratios, not absolute times.

    cargo build --release --example network
    cargo build --release --manifest-path benches/rten/Cargo.toml --target-dir target/rten
    python benches/peers.py [--rounds 60] [--json FILE] [MANIFEST ...]     # default: models/keypoints-small.toml

Every round times each contestant for a few runs, so a busy neighbour hits all of them; minimum and median are over all
runs. MoveNet's weights are read from $POSEWIRE_SHARED/peers (default: `shared` beside the checkout); without them it is left out,
loudly, and the first contestant is the unit. rten is left out likewise where it has not been built. A debug build hardly optimises
tract: the names of its rows (f32, and the quantised file as it is) say so; `--binary` names another build, as `--profile dist` makes
it in target/dist/examples/network. Needs numpy and onnxruntime; ai-edge-litert for MoveNet; onnx for ONNX Runtime and rten in f32.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

REPO = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("POSEWIRE_SHARED", REPO.parent / "shared"))
RTEN = REPO / "target/rten/release/rten-peer"
MOVENET = SHARED / "peers" / "movenet_lightning_int8.tflite"


@dataclass
class Contestant:
    name: str
    run: Callable[[int], list[int]]
    """Runs so many times and gives the nanoseconds of each."""
    nanos: list[int] = field(default_factory=list)


def timed(once: Callable[[], object]) -> Callable[[int], list[int]]:
    def run(times: int) -> list[int]:
        nanos = []
        for _ in range(times):
            start = time.perf_counter_ns()
            once()
            nanos.append(time.perf_counter_ns() - start)
        return nanos

    return run


def program(name: str, command: list[str]) -> Contestant | None:
    """A program that says what it is, then answers a number of runs with as many nanoseconds; None if it does not start."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None and stdout is not None
    title = stdout.readline().strip()
    if not title:
        print(f"SKIPPED: {name}: {' '.join(command)} does not run", file=sys.stderr)
        return None

    def run(times: int) -> list[int]:
        stdin.write(f"{times}\n")
        stdin.flush()
        return [int(n) for n in stdout.readline().split()]

    return Contestant(f"{name}: {title}", run)


def own(binary: Path, manifest: Path, engine: str) -> Contestant | None:
    contestant = program(f"posewire {manifest.stem}", [str(binary), str(manifest), engine])
    if contestant is not None and engine == "tract":
        contestant.name += " (QDQ as it is)"
    if contestant is not None and engine != "int8" and "debug" in binary.parts:
        contestant.name += " (tract not optimised)"
    return contestant


def rten(manifest: Path, real: bool, folder: Path) -> Contestant | None:
    if not RTEN.exists():
        print(f"SKIPPED: rten: no {RTEN}", file=sys.stderr)
        return None
    path = manifest.with_name(tomllib.loads(manifest.read_text())["file"])
    if real:
        network = folder / f"{manifest.stem}-f32.onnx"
        network.write_bytes(without_quantised_activations(path))
        path = network
    kind = "f32" if real else "QDQ as it is"
    return program(f"rten {manifest.stem}, {kind}{one_look(manifest)}", [str(RTEN), str(path)])


def one_look(manifest: Path) -> str:
    """Said of others' rows where Posewire's own, as the manifest asks, takes two looks at a person."""
    return " (one look)" if tomllib.loads(manifest.read_text())["codec"].get("flip_test") else ""


def without_quantised_activations(path: Path) -> bytes:
    """The same network in f32: activations clipped to what their codes hold, weights constant."""
    import onnx
    from onnx import helper, numpy_helper

    model = onnx.load(path)
    graph = model.graph
    constants = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    quantised = {n.output[0]: n for n in graph.node if n.op_type == "QuantizeLinear"}
    nodes = []
    for node in graph.node:
        if node.op_type == "QuantizeLinear":
            continue
        if node.op_type == "DequantizeLinear" and node.input[0] in quantised:
            scale, zero = (constants[name] for name in node.input[1:3])
            info = np.iinfo(zero.dtype)
            ends = [((end - int(zero)) * float(scale)) for end in (info.min, info.max)]
            names = [f"{node.output[0]}.lowest", f"{node.output[0]}.highest"]
            graph.initializer.extend(
                numpy_helper.from_array(np.array(e, np.float32), n) for e, n in zip(ends, names, strict=True)
            )
            node = helper.make_node("Clip", [quantised[node.input[0]].input[0], *names], [node.output[0]])
        elif node.op_type == "DequantizeLinear":
            value, scale = (constants[name].astype(np.float32) for name in node.input[:2])
            axis = next((a.i for a in node.attribute if a.name == "axis"), 1)
            shape = [-1 if scale.size > 1 and i == axis else 1 for i in range(value.ndim)]
            graph.initializer.append(numpy_helper.from_array(value * scale.reshape(shape), node.output[0]))
            continue
        nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
    return bytes(model.SerializeToString())


def onnx_runtime(manifest: Path, real: bool) -> Contestant:
    import onnxruntime as ort

    path = manifest.with_name(tomllib.loads(manifest.read_text())["file"])
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # removed initialisers are meant
    network = without_quantised_activations(path) if real else path.read_bytes()
    session = ort.InferenceSession(network, options, providers=["CPUExecutionProvider"])
    source = session.get_inputs()[0]
    shape = [n if isinstance(n, int) else 1 for n in source.shape]
    feed = {source.name: np.random.default_rng(1).random(shape, dtype=np.float32)}
    kind = "f32" if real else "int8"
    return Contestant(
        f"ONNX Runtime {ort.__version__} {manifest.stem}: {kind}{one_look(manifest)}",
        timed(lambda: session.run(None, feed)),
    )


def movenet() -> Contestant | None:
    if not MOVENET.exists():
        print(f"SKIPPED: MoveNet: no {MOVENET}", file=sys.stderr)
        return None
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(MOVENET), num_threads=1)
    interpreter.allocate_tensors()
    source = interpreter.get_input_details()[0]
    picture = np.random.default_rng(1).integers(0, 256, source["shape"], dtype=np.uint8)
    interpreter.set_tensor(source["index"], picture)
    return Contestant("MoveNet Lightning int8: LiteRT/XNNPACK", timed(interpreter.invoke))


def machine() -> dict[str, str]:
    info = Path("/proc/cpuinfo")
    text = info.read_text() if info.exists() else ""
    found = re.search(r"^(?:flags|Features)\s*:\s*(.*)$", text, re.MULTILINE)
    told = [f for f in (found[1].split() if found else []) if re.search("avx|vnni|amx|asimd|i8mm", f)]
    model = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    return {"machine": platform.machine(), "cpu": model[1] if model else "?", "features": " ".join(told)}


def gather(manifests: list[Path], binary: Path) -> list[Contestant]:
    contestants = [movenet()]
    # Networks made here are read before the folder goes.
    with tempfile.TemporaryDirectory() as folder:
        for manifest in manifests:
            contestants += [own(binary, manifest, engine) for engine in ("int8", "f32", "tract")]
            contestants += [onnx_runtime(manifest, real) for real in (False, True)]
            contestants += [rten(manifest, real, Path(folder)) for real in (False, True)]
    return [c for c in contestants if c is not None]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("manifests", nargs="*", type=Path, default=[REPO / "models" / "keypoints-small.toml"])
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--runs", type=int, default=5, help="runs of each contestant in a round")
    parser.add_argument("--binary", type=Path, default=REPO / "target/release/examples/network")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()

    field_ = gather(args.manifests, args.binary)
    for round_ in range(args.rounds + 1):
        for contestant in field_:
            nanos = contestant.run(args.runs)
            if round_ > 0:  # the first warms caches up
                contestant.nanos += nanos
    unit = field_[0]
    print(
        f"{machine()['cpu']}, one thread, {args.rounds} x {args.runs} runs each, interleaved; ratios to {unit.name}"
    )
    print(f"{'':<72} {'min us':>9} {'ratio':>7} {'median us':>10} {'ratio':>7}")
    rows = []
    for contestant in field_:
        low, middle = min(contestant.nanos), statistics.median(contestant.nanos)
        ratios = low / min(unit.nanos), middle / statistics.median(unit.nanos)
        print(
            f"{contestant.name:<72} {low / 1e3:>9.0f} {ratios[0]:>7.3f} {middle / 1e3:>10.0f} {ratios[1]:>7.3f}"
        )
        row = {"name": contestant.name, "min_us": low / 1e3, "median_us": middle / 1e3}
        rows.append({**row, "min_ratio": ratios[0], "median_ratio": ratios[1]})
    if args.json:
        command = "python benches/peers.py " + " ".join(sys.argv[1:])
        args.json.write_text(
            json.dumps({**machine(), "command": command, "unit": unit.name, "rows": rows}, indent=1)
        )


if __name__ == "__main__":
    main()
