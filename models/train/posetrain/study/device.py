r"""Rows of the study that the device's own code can run: their weights' file, and what the Rust step has to meet.

    python -m posetrain.study.device export --row gru --checkpoint work/study/7000/gru-small-1.pt --budget small --models DIR \
        --data PACKS --errors ERRORS
    python -m posetrain.study.device golden     # tests/golden/temporal_{gru,s4d}.pwt, of random weights, and the answers of PyTorch

Rust has steps for the GRU and for the diagonal state space (`crates/temporal/src/learned`). Their files are PWT1, as the shipped
model's, with the row's own names of tensors.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from posetrain.paths import REPOSITORY
from posetrain.study.recurrent import Gated
from posetrain.study.row import Network, Row, parameters
from posetrain.study.state_space import StateSpace
from posetrain.study.table import table
from posetrain.temporal.calibrate import Fitting, sigma_scale
from posetrain.temporal.export import CREDIT, licence
from posetrain.temporal.golden import KEEP, told
from posetrain.temporal.learned import sources
from posetrain.temporal.model import Hyper
from posetrain.temporal.noise import tuning
from posetrain.temporal.weights import pwt

ROWS = ("gru", "s4d")
GOLDEN_KEEP = KEEP[::2]


def sizes(row: Row) -> Hyper:
    """What the head of the file says. A state space's `memory` is its states a channel."""
    if isinstance(row, Gated) and isinstance(row.cells, torch.nn.GRU):
        return Hyper(row.cells.hidden_size, row.cells.num_layers, heads=1, feed_forward=1, memory=1)
    if isinstance(row, StateSpace) and not any(s.selective for s in row.diagonals()):
        first = row.diagonals()[0]
        return Hyper(len(first.skip), len(row.systems), heads=1, feed_forward=1, memory=first.order)
    raise ValueError("the device has no step for this row: only the GRU's and the diagonal state space's")


def row_file(row: Row, lead: float, widen: list[float]) -> bytes:
    """PWT1. `lead`: frames by which forecasts are read ahead; `widen`: what sigma is multiplied by, measured and predicted joints."""
    knobs = {"lead_frames": torch.tensor([lead]), "sigma_scale": torch.tensor(widen)}
    return pwt(sizes(row), row.state_dict() | knobs)


def manifest(
    kind: str, row: Row, data: bytes, config: dict[str, Any], steps: int, lead: float, widen: list[float]
) -> str:
    hyper = sizes(row)
    learned = sources(config["data"])
    banks = [e.removeprefix("jhmdb-").removesuffix("-train.npz") for e in config["data"]["errors"]]
    return f"""name = "temporal-{kind}"
task = "temporal"
file = "temporal-{kind}.pwt"
sha256 = "{hashlib.sha256(data).hexdigest()}"
version = 1
skeleton = "coco17"

[network]
kind = "{kind}"
norm = "pre"
width = {hyper.width}
layers = {hyper.layers}
horizons_us = [0, 50000, 100000, 150000]

[card]
data = {json.dumps(learned)}
error_models = {json.dumps(["made-up", *banks])}
licence = "{licence(learned)}"
credit = "{CREDIT}"
made_by = "python -m posetrain.study.device, after posetrain.temporal.detect and posetrain.study.run"
steps = {steps}
# by how many frames forecasts are read ahead, and what sigma is multiplied by, for measured and predicted joints: fitted on errors of
# train films left out of training, half of them put on motion that training had
lead_frames = [{lead}]
sigma_scale = {[round(v, 3) for v in widen]}
parameters = {parameters(row)}
"""


def export(args: argparse.Namespace) -> None:
    z = torch.load(args.checkpoint, weights_only=False)
    network = Network(table().rows[args.row].make(args.budget, 0))
    network.load_state_dict(z["mean"])
    network.eval()
    row = network.row
    banks = [args.errors / e for e in z["config"]["data"]["errors"]]
    widen = sigma_scale(network, Fitting(args.data, banks, tuning, args.smoothness, args.lead))
    data, file = row_file(row, args.lead, widen), args.models / f"temporal-{args.row}.pwt"
    file.write_bytes(data)
    said = manifest(args.row, row, data, z["config"], z["step"], args.lead, widen)
    file.with_suffix(".toml").write_text(said)
    print(file)


def drawn_row(kind: str) -> Row:
    """A small network whose weights are drawn, larger than training begins with so that gates open and close."""
    torch.manual_seed(24)
    row: Row = Gated("gru", 12, 2) if kind == "gru" else StateSpace(12, 2, order=3)
    with torch.no_grad():
        for name, p in row.named_parameters():
            p.mul_(2.0 if "cells" in name else 1.0).add_(0.05 * torch.randn(p.shape))
    return row.eval()


def golden(args: argparse.Namespace) -> None:
    lead, widen = 0.3, [1.25, 1.5]
    args.out.mkdir(parents=True, exist_ok=True)
    for kind in ROWS:
        row = drawn_row(kind)
        (args.out / f"temporal_{kind}.pwt").write_bytes(row_file(row, lead, widen))
        said: dict[str, Any] = {"made_by": "python -m posetrain.study.device golden"}
        said |= told(Network(row).eval(), lead, np.array(widen), 0.5, GOLDEN_KEEP)
        (args.out / f"temporal_{kind}.json").write_text(json.dumps(said) + "\n")
        print(args.out / f"temporal_{kind}.json")


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = p.add_subparsers(required=True)
    e = commands.add_parser("export")
    e.add_argument("--row", choices=ROWS, required=True)
    e.add_argument("--checkpoint", type=Path, required=True, help="of posetrain.study.run")
    e.add_argument("--budget", choices=list(table().budgets), required=True)
    e.add_argument("--models", type=Path, required=True)
    e.add_argument("--data", type=Path, required=True)
    e.add_argument("--errors", type=Path, required=True, help="where posetrain.temporal.detect wrote")
    e.add_argument("--lead", type=float, default=0.3, help="frames by which forecasts are read ahead")
    e.add_argument("--smoothness", type=float, default=0.1, help="at which sigma is fitted: the shipped one")
    e.set_defaults(do=export)
    g = commands.add_parser("golden")
    g.add_argument("--out", type=Path, default=REPOSITORY / "tests" / "golden")
    g.set_defaults(do=golden)
    args = p.parse_args()
    args.do(args)


if __name__ == "__main__":
    main()
