"""What a run that goes on from its own checkpoint must have in common with the one that was stopped: all that it was told but its length.

Weights that one configuration began and another finished are of neither, and a card would name the last alone.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# How long a run lasts, and on how much of the machine: a stopped run may go on with other values.
LENGTH = ("steps", "minutes", "budget_minutes", "threads")


def as_kept(told: dict[str, Any]) -> dict[str, Any]:
    """The same in the types that JSON has, as a checkpoint keeps it."""
    kept: dict[str, Any] = json.loads(json.dumps(told))
    return kept


def named(told: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Values by their dotted names, without a run's length."""
    out: dict[str, Any] = {}
    for name, value in told.items():
        if isinstance(value, dict):
            out |= named(value, f"{before}{name}.")
        elif name not in LENGTH:
            out[before + name] = value
    return out


def completed(kept: dict[str, Any], told: DataclassInstance) -> dict[str, Any]:
    """What a checkpoint keeps of a configuration like `told`, with the defaults of fields that came after it was written, which are what
    runs did until then."""
    out = asdict(type(told)()) | kept
    for name in kept.keys() & {field.name for field in fields(told)}:
        value = getattr(told, name)
        if is_dataclass(value) and not isinstance(value, type):
            out[name] = completed(kept[name], value)
    return out


def require_same(path: Path, kept: dict[str, Any], told: dict[str, Any]) -> None:
    """Raises SystemExit where the checkpoint in `path`, of a run that was told `kept`, is of another run than `told`."""
    before, now = named(as_kept(kept)), named(as_kept(told))
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    if names:
        differ = ", ".join(f"{name} {before.get(name)!r}, not {now.get(name)!r}" for name in names[:4])
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        raise SystemExit(f"{path} is of another run ({differ}{more}): give a folder of its own")
