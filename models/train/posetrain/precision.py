"""In which numbers a step is worked out: half the bits only where the processor is quicker with them."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path

import torch

# x86 with AVX-512 or AMX, Arm from 8.6 on; without, every product is worked out in pieces, thirty times slower than f32.
FLAGS = {"avx512_bf16", "amx_bf16", "bf16"}
# A layer as the keypoint networks have most of: half a batch at stride 8 of 160 px.
SHAPE, CHANNELS, ROUNDS = (16, 64, 20, 20), 64, 3


def has_bf16(cpuinfo: str) -> bool:
    """Whether a processor that describes itself so multiplies bfloat16."""
    return any(word in FLAGS for word in cpuinfo.split())


def seconds_of_a_layer(is_reduced: bool) -> float:
    """The shortest of a few times that a layer takes, there and back."""
    layer = torch.nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1).to(memory_format=torch.channels_last)
    x = torch.zeros(SHAPE).to(memory_format=torch.channels_last).requires_grad_()
    took = []
    for _ in range(1 + ROUNDS):
        began = time.monotonic()
        # the first to ask may be one who only looks
        with torch.enable_grad():
            with torch.autocast("cpu", torch.bfloat16, enabled=is_reduced):
                y = layer(x)
            y.sum().backward()
        took.append(time.monotonic() - began)
    return min(took[1:])


@cache
def bf16_is_quicker() -> bool:
    """A processor may multiply bfloat16 and be slower with it: a Xeon without AMX takes half as long again, an EPYC half as long."""
    path = Path("/proc/cpuinfo")
    if not path.exists() or not has_bf16(path.read_text()):
        return False
    return seconds_of_a_layer(True) < seconds_of_a_layer(False)


def reduced() -> torch.autocast:
    """`with reduced():` bfloat16 where the processor is quicker with it, else f32."""
    return torch.autocast("cpu", torch.bfloat16, enabled=bf16_is_quicker())
