"""In which numbers a step is worked out: half the bits only where the processor has them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import torch

# x86 with AVX-512 or AMX, Arm from 8.6 on; without, every product is worked out in pieces, thirty times slower than f32.
FLAGS = {"avx512_bf16", "amx_bf16", "bf16"}


def has_bf16(cpuinfo: str) -> bool:
    """Whether a processor that describes itself so multiplies bfloat16."""
    return any(word in FLAGS for word in cpuinfo.split())


@cache
def this_one_has_bf16() -> bool:
    path = Path("/proc/cpuinfo")
    return path.exists() and has_bf16(path.read_text())


def reduced() -> torch.autocast:
    """`with reduced():` bfloat16 where the processor has it, else f32."""
    return torch.autocast("cpu", torch.bfloat16, enabled=this_one_has_bf16())
