"""The shipped weights' file, PWT1: what `export` writes, what the commands that measure read.

`crates/temporal/src/learned/weights.rs` describes it.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from posetrain.data.packs import JOINTS
from posetrain.temporal.model import INERTIA_NEAR, OUTPUTS, Hyper, TemporalXl

CURVE = "score_curve"  # and .NAME of one kind of detector (`posetrain.temporal.scores`)
NEAR = "inertia_near"  # the tensor of that name in Hyper; files without it mean INERTIA_NEAR


@dataclass(frozen=True)
class Shipped:
    """A model as shipped. `lead`: frames by which forecasts are read ahead; `widen`: what sigma is multiplied by, [2] for
    measured and predicted joints; `shown`: how much of what is seen shows through (`posetrain.temporal.residual`); `curve`: what leads
    from sigma to a score (`posetrain.temporal.scores`)."""

    model: TemporalXl
    lead: float
    widen: np.ndarray
    shown: float = 0.0
    curve: np.ndarray | None = None


def pwt(hyper: Hyper, state: dict[str, Tensor]) -> bytes:
    if hyper.inertia_near != INERTIA_NEAR:
        state = state | {NEAR: torch.tensor([hyper.inertia_near])}
    out = b"PWT1" + struct.pack(
        "<6I", hyper.width, hyper.layers, hyper.heads, hyper.feed_forward, hyper.memory, len(state)
    )
    for name, value in state.items():
        text, shape = name.encode(), value.shape
        out += bytes([len(text)]) + text + bytes([len(shape)]) + struct.pack(f"<{len(shape)}I", *shape)
        out += value.detach().float().contiguous().numpy().astype("<f4").tobytes()
    return out + struct.pack("<I", zlib.crc32(out))


def tensors(path: Path) -> tuple[Hyper, dict[str, Tensor]]:
    """A file's sizes and all that it holds but `inertia_near`, which is among the sizes."""
    data = path.read_bytes()
    width, layers, heads, feed, memory, count = struct.unpack_from("<6I", data, 4)
    at, state = 28, {}
    for _ in range(count):
        n = data[at]
        name = data[at + 1 : at + 1 + n].decode()
        rank = data[at + 1 + n]
        shape = struct.unpack_from(f"<{rank}I", data, at + 2 + n)
        at += 2 + n + 4 * rank
        size = int(np.prod(shape))
        state[name] = torch.from_numpy(np.frombuffer(data, "<f4", size, at).reshape(shape).copy())
        at += 4 * size
    more = len(state["head.bias"]) - OUTPUTS
    near = round(float(state.pop(NEAR, torch.tensor(INERTIA_NEAR))), 6)
    return (
        Hyper(
            width, layers, heads, feed, memory, exchange=more > 0, inertia=more > JOINTS, inertia_near=near
        ),
        state,
    )


def read_pwt(path: Path, error_model: str = "") -> Shipped:
    """With what was fitted for one kind of detector, where the file knows it."""
    hyper, state = tensors(path)
    model = TemporalXl(hyper)
    lead, widen = float(state.pop("lead_frames")), state.pop("sigma_scale").numpy()
    kinds = {
        k: state.pop(k).numpy()
        for k in list(state)
        if k.startswith(("error_model.", "shows_through.", CURVE))
    }
    model.load_state_dict(state)
    shown = 0.0
    if (fitted := kinds.get(f"error_model.{error_model}")) is not None:
        lead, widen = float(fitted[0]), fitted[1:]
        shown = float(kinds.get(f"shows_through.{error_model}", [0.0])[0])
    curve = kinds.get(f"{CURVE}.{error_model}", kinds.get(CURVE))
    return Shipped(model.eval(), lead, widen, shown, curve)
