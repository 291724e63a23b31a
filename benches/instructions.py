"""Instructions of one inference on AArch64, counted under qemu-user, and from them an ESTIMATE of the time on real boards.

    python benches/instructions.py [--json FILE] [MANIFEST ...]     # default: models/keypoints-small.toml, person.toml

The networks' shapes, read from their ONNX files, run with made-up weights in `crates/int8/examples/topology.rs` (weights
do not change which instructions run), not at all and once: the difference is one inference. qemu prints every block of code as
it is translated and every block that runs, so each instruction is counted, with its name. No time is measured here.

From the names follow the fewest cycles that each core could need, by the published throughput of its pipes; how much of
that a real board reaches is assumed (REACHED). Needs onnx, qemu-aarch64-static, aarch64-linux-gnu-gcc.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
TARGET = "aarch64-unknown-linux-gnu"

REACHED = 0.6
"""Share of the bound that a board is assumed to reach. Dense layers reach 0.8 to 0.97 of the measured peak on x86-64;
these cores look less far ahead and have smaller caches."""


@dataclass(frozen=True)
class Core:
    """What a core does in one cycle, at best (Arm's software optimisation guides)."""

    name: str
    cpu: str
    issue: float
    loads: float
    multiplies: float
    """smull, smlal: one pipe of two on the A72."""
    folds: float
    """sadalp: the other pipe."""
    dots: float
    vector: float
    """All of the above and every other vector instruction."""


@dataclass(frozen=True)
class Board:
    name: str
    core: str
    clock_ghz: float


CORES = [
    Core("Cortex-A72", "cortex-a72", issue=3, loads=1, multiplies=1, folds=1, dots=0, vector=2),
    Core("Cortex-A76", "cortex-a76", issue=4, loads=2, multiplies=1, folds=1, dots=2, vector=2),
]
# The Orin Nano's Cortex-A78AE is counted as an A76: the same vector pipes, a wider front end.
BOARDS = [
    Board("Raspberry Pi 4", "Cortex-A72", 1.5),
    Board("Raspberry Pi 5", "Cortex-A76", 2.4),
    Board("Jetson Orin Nano", "Cortex-A76", 1.5),
]


def topology(manifest: Path) -> str:
    """The network as lines for the example."""
    import onnx
    from onnx import numpy_helper

    model = onnx.load(manifest.with_name(tomllib.loads(manifest.read_text())["file"]))
    graph = model.graph
    constants = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    weights = dict(constants)
    _, channels, height, width = (d.dim_value for d in graph.input[0].type.tensor_type.shape.dim)
    lines = [f"input {height} {width} {channels}"]
    line_of = {graph.input[0].name: 0}
    outputs = [o.name for o in graph.output]
    for node in graph.node:
        source, result = node.input[0], node.output[0]
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        match node.op_type:
            case "QuantizeLinear" | "DequantizeLinear":
                if source in line_of:
                    line_of[result] = line_of[source]
                else:
                    weights[result] = weights[source]
                continue
            case "Conv":
                out, _, kernel, _ = weights[node.input[1]].shape
                stride, pad = attributes.get("strides", [1])[0], attributes.get("pads", [0])[0]
                kind = "real" if result in outputs else "conv"
                groups = attributes.get("group", 1)
                line = f"{kind} {line_of[source]} {out} {kernel} {stride} {pad} {groups}"
            case "Add":
                line = f"add {line_of[source]} {line_of[node.input[1]]}"
            case "Resize":
                line = f"upsample {line_of[source]} {int(weights[node.input[2]][2])}"
            case other:
                raise SystemExit(f"{manifest.name}: operator {other} is not known here")
        line_of[result] = len(lines)
        lines.append(line)
    lines += [f"output {line_of[name]}" for name in outputs]
    return "\n".join(lines) + "\n"


def build() -> Path:
    toolchain = subprocess.run(
        [REPO / "packaging/toolchain.sh", TARGET], check=True, capture_output=True, text=True
    )
    folder = REPO / "target/aarch64"
    command = ["cargo", *toolchain.stdout.split(), "rustc", "-q", "--release", "--target", TARGET]
    command += ["--target-dir", str(folder), "-p", "int8", "--example", "topology"]
    command += ["--", "-Crelocation-model=static"]  # so that functions have known addresses
    env = {**os.environ, f"CARGO_TARGET_{TARGET.upper().replace('-', '_')}_LINKER": "aarch64-linux-gnu-gcc"}
    subprocess.run(command, check=True, cwd=REPO, env=env)
    return folder / TARGET / "release/examples/topology"


INSTRUCTION = re.compile(rb"^0x([0-9a-f]+):\s+([0-9a-f]{8})\s+(\S+)\s*(\S*)")


def functions(binary: Path) -> str:
    """Where the functions that run a network lie, as qemu wants ranges; packing the weights is none of them."""
    listing = subprocess.run(
        ["aarch64-linux-gnu-nm", "-CS", binary], check=True, capture_output=True, text=True
    )
    ranges = []
    for line in listing.stdout.splitlines():
        start, size, _, name = (line.split(None, 3) + [""] * 4)[:4]
        if re.search(r"int8::kernel::|int8::program::|int8::lower::Step", name) and size.isalnum():
            ranges.append(f"0x{start}+0x{size}")
    return ",".join(ranges)


def count(binary: Path, cpu: str, network: str, runs: int) -> tuple[collections.Counter[str], str]:
    """Instructions of a whole process by name, and what the example printed."""
    log_end, write_end = os.pipe()
    command = [
        "qemu-aarch64-static",
        "-cpu",
        cpu,
        "-L",
        "/usr/aarch64-linux-gnu",
        "-d",
        "in_asm,exec,nochain",
    ]
    command += ["-dfilter", functions(binary), "-D", f"/proc/self/fd/{write_end}", str(binary), str(runs)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[write_end], text=True
    )
    os.close(write_end)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(network)
    process.stdin.close()
    ran: collections.Counter[bytes] = collections.Counter()
    total: collections.Counter[str] = collections.Counter()
    blocks: dict[bytes, list[str]] = {}
    block: list[str] = []
    with os.fdopen(log_end, "rb", buffering=1 << 20) as log:
        for line in log:
            if line.startswith(b"Trace"):  # Trace 0: HOST [BASE/ADDRESS/FLAGS/FLAGS]
                ran[line.split(b"/", 2)[1]] += 1
            elif (hit := INSTRUCTION.match(line)) is not None:
                if not block:
                    # The same address translated anew may be another block: settle what ran of the old one.
                    start = hit[1].rjust(16, b"0")
                    for name in blocks.get(start, ()):
                        total[name] += ran[start]
                    ran[start] = 0
                    blocks[start] = block
                block.append(kind(int(hit[2], 16), hit[3].decode(), hit[4].decode()))
            elif line.startswith(b"IN:"):
                block = []
    printed = process.stdout.read().strip()
    if process.wait() != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    for start, times in ran.items():
        for name in blocks[start]:
            total[name] += times
    return total, printed


def kind(code: int, name: str, first_operand: str) -> str:
    if code & 0xFFC0F400 == 0x4F80E000:  # sdot by element, which qemu 7's disassembler does not know
        return "dot"
    if name in ("smull", "smlal", "smull2", "smlal2") and first_operand.startswith("v"):
        return "multiply"
    if name == "sadalp":
        return "fold"
    if name.startswith(("ld", "prfm")):
        return "load"
    if name.startswith("st"):
        return "store"
    if re.match(r"[vqdshb]\d", first_operand) or name in ("umov", "smov", "fmov"):
        return "other vector"
    return "other"


def cycles(core: Core, counts: collections.Counter[str]) -> tuple[float, str]:
    """The fewest cycles, and what sets them."""
    vector = sum(counts[k] for k in ("multiply", "fold", "dot", "other vector"))
    bounds = {
        "issue": counts.total() / core.issue,
        "loads": counts["load"] / core.loads,
        "multiplies": counts["multiply"] / core.multiplies,
        "folds": counts["fold"] / core.folds,
        "vector pipes": vector / core.vector,
    }
    if core.dots:
        bounds["dot products"] = counts["dot"] / core.dots
    what = max(bounds, key=lambda k: bounds[k])
    return bounds[what], what


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = [REPO / "models/keypoints-small.toml", REPO / "models/person.toml"]
    parser.add_argument("manifests", nargs="*", type=Path, default=default)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    binary = build()
    rows = []
    kinds = ("multiply", "fold", "dot", "other vector", "load", "store", "other")
    print(
        f"{'instructions of one inference, millions':<42}{'all':>8}" + "".join(f"{k:>13}" for k in kinds),
        flush=True,
    )
    for manifest in args.manifests:
        network = topology(manifest)
        for core in CORES:
            never, printed = count(binary, core.cpu, network, 0)
            counts = count(binary, core.cpu, network, 1)[0]
            counts.subtract(never)
            kernel, macs = printed.split()
            bound, what = cycles(core, counts)
            title = f"{manifest.stem}, {core.name} ({kernel})"
            print(
                f"{title:<42}{counts.total() / 1e6:>8.2f}"
                + "".join(f"{counts[k] / 1e6:>13.2f}" for k in kinds)
            )
            row: dict[str, object] = {"network": manifest.stem, "core": core.name, "kernel": kernel}
            row |= {"macs": int(macs), "instructions": counts.total(), "kinds": {k: counts[k] for k in kinds}}
            rows.append({**row, "least_cycles": round(bound), "set_by": what})
    print(f"\nESTIMATE, not measured: least cycles by the pipes, and the time at {REACHED:.0%} of that speed")
    for row in rows:
        for board in (b for b in BOARDS if b.core == row["core"]):
            least_ms = float(str(row["least_cycles"])) / board.clock_ghz / 1e6
            print(
                f"{row['network']}, {board.name} ({board.clock_ghz} GHz, {row['kernel']}): at least"
                f" {least_ms:.1f} ms (set by {row['set_by']}), about {least_ms / REACHED:.1f} ms"
            )
    if args.json:
        args.json.write_text(json.dumps({"reached": REACHED, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
