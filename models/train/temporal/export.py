"""Writes the shipped weights and their manifest. `export.py --checkpoint last.pt --models DIR [--metrics metrics.toml]`.

The file's format is described in `src/temporal/xl/weights.rs`. `metrics.toml` is what `posewire eval clips` wrote; its rows go
into the card as they are.
"""

from __future__ import annotations

import argparse
import hashlib
import struct
import zlib
from pathlib import Path

import torch
from model import Hyper, TemporalXl

VERSION = 1


def pwt(hyper: Hyper, state: dict[str, torch.Tensor]) -> bytes:
    out = b"PWT1" + struct.pack("<6I", hyper.width, hyper.layers, hyper.heads, hyper.feed_forward, hyper.memory, len(state))
    for name, value in state.items():
        text = name.encode()
        out += bytes([len(text)]) + text + bytes([value.dim()]) + struct.pack(f"<{value.dim()}I", *value.shape)
        out += value.detach().float().contiguous().numpy().astype("<f4").tobytes()
    return out + struct.pack("<I", zlib.crc32(out))


def manifest(hyper: Hyper, digest: str, config: dict, steps: int, parameters: int, metrics: str) -> str:
    banks = [p.removeprefix("jhmdb-").removesuffix("-train.npz") for p in config["data"]["errors"]]
    return f"""name = "temporal-xl"
task = "temporal"
file = "temporal-xl.pwt"
sha256 = "{digest}"
version = {VERSION}
skeleton = "coco17"

[network]
kind = "transformer-xl"
width = {hyper.width}
layers = {hyper.layers}
heads = {hyper.heads}
feed_forward = {hyper.feed_forward}
# observations a layer looks back on, beside the present one
memory = {hyper.memory}
norm = "{hyper.norm}"
horizons_us = [0, 50000, 100000, 150000]

[card]
data = {["cmu_mocap", "penn_action", *(["jhmdb"] if banks else [])]!r}
error_models = {["made-up", *banks]!r}
licence = "Weights: for research and evaluation. Trained partly on research-only labels (penn_action, jhmdb); no pixel or label is in the file."
credit = "The motion data was obtained from mocap.cs.cmu.edu. The database was created with funding from NSF EIA-0196217."
made_by = "models/train/temporal: detect.py, train.py, export.py"
steps = {steps}
parameters = {parameters}
{metrics}""".replace("['", '["').replace("', '", '", "').replace("']", '"]')


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--checkpoint", type=Path, required=True)
    p.add_argument("--models", type=Path, required=True)
    p.add_argument("--lead", type=float, default=0.0, help="frames by which forecasts are read ahead, chosen on train clips")
    p.add_argument("--metrics", type=Path)
    args = p.parse_args()
    z = torch.load(args.checkpoint, weights_only=False)
    hyper = Hyper(**z["config"]["model"])
    if hyper.norm != "pre":
        raise SystemExit("only networks with norm = 'pre' run on the device; train one with that option")
    model = TemporalXl(hyper)
    model.load_state_dict(z["mean"])
    data = pwt(hyper, model.state_dict() | {"lead_frames": torch.tensor([args.lead])})
    (args.models / "temporal-xl.pwt").write_bytes(data)
    metrics = args.metrics.read_text() if args.metrics else ""
    parameters = sum(v.numel() for v in model.parameters())
    text = manifest(hyper, hashlib.sha256(data).hexdigest(), z["config"], z["step"], parameters, metrics)
    (args.models / "temporal-xl.toml").write_text(text)


if __name__ == "__main__":
    main()
