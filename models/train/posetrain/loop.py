"""What the training loops share: batches from workers, a step down the loss, the running mean of weights, the checkpoint, log lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset

T = TypeVar("T")


def batches(stream: IterableDataset[T], workers: int) -> Iterator[T]:
    """An endless stream's batches, made by so many processes, or in this one."""
    return iter(
        DataLoader(stream, batch_size=None, num_workers=workers, prefetch_factor=4 if workers else None)
    )


def groups_of(parameters: Iterable[nn.Parameter], weight_decay: float) -> list[dict[str, Any]]:
    """An optimiser's groups: biases and norms do not decay."""
    every = list(parameters)
    return [
        {"params": [p for p in every if p.ndim > 1], "weight_decay": weight_decay},
        {"params": [p for p in every if p.ndim <= 1], "weight_decay": 0.0},
    ]


def set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    """The learning rate of the next step; a group may ask for a `part` of it."""
    for group in optimiser.param_groups:
        group["lr"] = rate * group.get("part", 1.0)


def descend(
    loss: Tensor, optimiser: torch.optim.Optimizer, parameters: Iterable[nn.Parameter], longest: float
) -> None:
    """One step of the optimiser down `loss`, along a gradient of the norm `longest` at most."""
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(parameters, longest)
    optimiser.step()


@torch.no_grad()
def average(mean: nn.Module, model: nn.Module, decay: float, step: int) -> None:
    """Moves `mean` towards `model` by what `decay` leaves, further in the first steps; counts are taken over."""
    part = 1 - min(decay, (1 + step) / (10 + step))
    into, values = ([*net.parameters(), *net.buffers()] for net in (mean, model))
    for a, b in zip(into, values, strict=True):
        if a.dtype.is_floating_point:
            a.lerp_(b, part)
        else:
            a.copy_(b)


def save(path: Path, state: dict[str, Any]) -> None:
    """Whole or not at all."""
    partial = path.with_suffix(".part")
    torch.save(state, partial)
    partial.rename(path)


@dataclass(frozen=True)
class Checkpoint:
    """The file that a run goes on from: weights, their running mean under the name `mean_as`, the optimiser's state, and what else the run
    writes beside them."""

    path: Path
    model: nn.Module
    mean: nn.Module
    optimiser: torch.optim.Optimizer
    mean_as: str = "ema"

    def read(self) -> dict[str, Any] | None:
        """What the file holds, where there is one; nothing is taken over yet (`posetrain.resumed.require_same` first)."""
        if not self.path.exists():
            return None
        state: dict[str, Any] = torch.load(self.path, weights_only=True)
        return state

    def take_over(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.mean.load_state_dict(state[self.mean_as])
        self.optimiser.load_state_dict(state["optimiser"])

    def save(self, facts: dict[str, Any]) -> None:
        weights = {"model": self.model.state_dict(), self.mean_as: self.mean.state_dict()}
        save(self.path, weights | {"optimiser": self.optimiser.state_dict()} | facts)


class Meter:
    """Mean loss and pace since the last line, which is due every so many seconds of a run's clock."""

    def __init__(self, every_s: float, now: float) -> None:
        self.every_s, self.last = every_s, now
        self.losses: list[float] = []
        self.crops = 0

    def add(self, loss: float, crops: int) -> None:
        self.losses.append(loss)
        self.crops += crops

    def is_due(self, now: float) -> bool:
        return now - self.last > self.every_s

    def say(self, now: float, where: str) -> None:
        """Prints a line, with `where` the run is, and begins anew."""
        mean, pace = sum(self.losses) / len(self.losses), self.crops / max(now - self.last, 1e-9)
        print(f"{now / 60:6.1f} min  {where}  loss {mean:.4f}  {pace:.0f} crops/s", flush=True)
        self.last, self.losses, self.crops = now, [], 0


class Trend:
    """Running means of what steps say, by name."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}

    def add(self, parts: dict[str, float]) -> None:
        for name, value in parts.items():
            self.values[name] = 0.98 * self.values.get(name, value) + 0.02 * value

    def __str__(self) -> str:
        return " ".join(f"{name} {value:.4f}" for name, value in self.values.items())


def write_row(log: Path, row: dict[str, Any]) -> None:
    """A line more in a run's log, printed too."""
    with log.open("a") as file:
        file.write(json.dumps(row) + "\n")
    print(row, flush=True)
