"""What was survived."""

from __future__ import annotations

from .form import printed


def endurance() -> str:
    """An hour at full rate: `benches/results/endurance.json`."""
    return printed("benches/endurance.py", "--show")


def hours() -> str:
    """A day of faults in simulated time: `benches/results/camera-bed-hours.jsonl`."""
    return printed("tests/camera-bed/run.py", "--hours", "benches/results/camera-bed-hours.jsonl")


def camera_bed() -> str:
    """Every scenario of the camera bed: `benches/results/camera-bed.jsonl`."""
    done = printed("tests/camera-bed/run.py", "--show", "benches/results/camera-bed.jsonl")
    return "\n".join(done.splitlines()[1:-1])
