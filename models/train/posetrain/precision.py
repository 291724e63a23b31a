"""In which numbers a step is worked out: half the bits only where the processor is quicker with them.

A run settles it once, writes it down, and keeps to it when it goes on: a timing under load may come out the other way round.
"""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path

import torch

ARITHMETIC = "arithmetic"  # in checkpoints and logs
BF16, F32 = ARITHMETICS = ("bf16", "f32")
# x86 with AVX-512 or AMX, Arm from 8.6 on; without, every product is worked out in pieces, thirty times slower than f32.
FLAGS = {"avx512_bf16", "amx_bf16", "bf16"}
# A layer as the keypoint networks have most of: half a batch at stride 8 of 160 px.
SHAPE, CHANNELS = (16, 64, 20, 20), 64
# Both take turns, so that what runs beside them slows both; bf16 has to be this much quicker to be worth its coarser numbers.
ROUNDS, MARGIN = 15, 0.9


def has_bf16(cpuinfo: str) -> bool:
    """Whether a processor that describes itself so multiplies bfloat16."""
    return any(word in FLAGS for word in cpuinfo.split())


@cache
def multiplies_bf16() -> bool:
    path = Path("/proc/cpuinfo")
    return path.exists() and has_bf16(path.read_text())


def seconds_of_a_layer(is_reduced: bool) -> float:
    """Of one time there and back."""
    layer = torch.nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1).to(memory_format=torch.channels_last)
    x = torch.zeros(SHAPE).to(memory_format=torch.channels_last).requires_grad_()
    began = time.monotonic()
    # the first to ask may be one who only looks
    with torch.enable_grad():
        with torch.autocast("cpu", torch.bfloat16, enabled=is_reduced):
            y = layer(x)
        y.sum().backward()
    return time.monotonic() - began


@cache
def quicker() -> str:
    """A processor may multiply bfloat16 and be slower with it: a Xeon without AMX takes half as long again, an EPYC half as long."""
    if not multiplies_bf16():
        return F32
    # the first round only warms up
    took = [(seconds_of_a_layer(True), seconds_of_a_layer(False)) for _ in range(1 + ROUNDS)][1:]
    half, whole = (min(times) for times in zip(*took, strict=True))
    return BF16 if half < MARGIN * whole else F32


class _Settled:
    """Of this process."""

    arithmetic: str | None = None


def settle(kept: str | None = None) -> str:
    """What `reduced()` is from here on, one of ARITHMETICS: `kept`, what a checkpoint says, else what it is already, else the quicker one.
    It is f32 where the processor lacks what was kept."""
    if kept == BF16 and not multiplies_bf16():
        print("bf16 was asked for, which this processor does not multiply: f32 from here on", flush=True)
        kept = F32
    _Settled.arithmetic = kept or _Settled.arithmetic or quicker()
    return _Settled.arithmetic


def reduced() -> torch.autocast:
    """`with reduced():` bfloat16 or f32, as was settled."""
    return torch.autocast("cpu", torch.bfloat16, enabled=settle() == BF16)
