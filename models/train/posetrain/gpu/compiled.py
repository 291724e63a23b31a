"""Half precision, and `torch.compile` where it is worth it: tried on the batch that is to come, timed beside what it replaces, left alone
where it fails."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

ROUNDS = 8


def half_precision(device: torch.device) -> torch.autocast:
    return torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")


def seconds(work: Callable[[], Any]) -> float:
    """Of one round of `work` on the GPU, after two that are not counted."""
    for _ in range(2):
        work()
    torch.cuda.synchronize()
    began = time.monotonic()
    for _ in range(ROUNDS):
        work()
    torch.cuda.synchronize()
    return (time.monotonic() - began) / ROUNDS


def quicker(
    name: str, plain: Callable[..., Any], work: Callable[[Callable[..., Any]], Any]
) -> Callable[..., Any]:
    """`plain` or it compiled, whichever does `work` (which is handed the one or the other) sooner. On a CPU always `plain`."""
    if not torch.cuda.is_available():
        return plain
    before = seconds(lambda: work(plain))
    began = time.monotonic()
    try:
        made: Callable[..., Any] = torch.compile(plain, dynamic=False)
        after = seconds(lambda: work(made))
    except Exception as error:  # a compiler's faults are of many kinds, and none of them may end a run
        print(f"{name}: {before * 1e3:.1f} ms; not compiled: {str(error).splitlines()[0][:200]}", flush=True)
        return plain
    took = time.monotonic() - began
    print(f"{name}: {before * 1e3:.1f} ms, compiled {after * 1e3:.1f} ms, in {took:.0f} s", flush=True)
    return made if after < before else plain
