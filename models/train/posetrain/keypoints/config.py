"""What a run is told: a configuration names the network, the crops, the budget and what the weights start from."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from posetrain.data.augment import AugmentConfig
from posetrain.data.licences import of_letter, require
from posetrain.data.packs import PACKS
from posetrain.keypoints.codec import HeatmapCodec
from posetrain.keypoints.net import NetConfig
from posetrain.paths import CONFIGS, EXPERIMENTS


@dataclass(frozen=True)
class TrainConfig:
    """`stages` = (part of the budget at which it starts, crop size): small crops see twice as many persons
    an hour. `start` names the configuration whose trained weights this one begins with. `mean_with_start`: the finished
    weights are the mean of the trained ones and of those begun with, two ends of an anneal (after Izmailov et al. 2018).
    `empty_chance` is the share of crops that show nobody: all
    maps are pulled flat there, so that a mistaken find scores low.
    `back_repeat`: how much more often persons
    seen from behind are drawn; `repair_sides`: packs whose labels the starting weights may overrule about a person's
    left and right (`posetrain.keypoints.sides`). `licence`: the worst class that the weights may have
    (`posetrain.data.licences`). `mirror_teacher`: the share of the loss that asks for what the averaged weights see in
    the crop's mirror image (a mean teacher, Tarvainen & Valpola 2017), from `mirror_teacher_from` of the budget on: one
    look is to know what two looks know."""

    name: str = "small"
    seed: int = 1
    start: str = ""
    mean_with_start: bool = False
    input: int = 192
    budget_minutes: float = 80.0
    batch: int = 48
    learning_rate: float = 2e-3
    weight_decay: float = 0.02
    warmup_steps: int = 200
    ema: float = 0.999
    auxiliary: float = 0.3
    pseudo_weight: float = 0.5
    tier2_weight: float = 0.6
    outside_weight: float = 0.1
    empty_chance: float = 0.0
    empty_weight: float = 0.3
    stages: tuple[tuple[float, int], ...] = ((0.0, 128), (0.45, 160), (0.7, 192))
    packs: tuple[str, ...] = PACKS
    licence: str = "c"
    repeat: dict[str, float] = field(default_factory=lambda: {"coco_more": 1.5, "pelota": 0.5, "jhmdb": 0.9})
    back_repeat: float = 1.0
    repair_sides: tuple[str, ...] = ()
    mirror_teacher: float = 0.0
    mirror_teacher_from: float = 0.0
    synthetic_figures: int = 0
    net: NetConfig = field(default_factory=NetConfig)
    augment: AugmentConfig = field(default_factory=AugmentConfig)
    codec: HeatmapCodec = field(default_factory=HeatmapCodec)


@dataclass(frozen=True)
class Run:
    """How the run is spread over the machine. On busy cores, replicas of one thread that average their
    weights every few steps lose far less to waiting than one replica of many threads."""

    replicas: int = 2
    threads: int = 1
    workers: int = 1
    minutes: float = 80.0
    sync_every: int = 6


def load_config(path: Path) -> TrainConfig:
    raw: dict[str, Any] = tomllib.loads(path.read_text())

    def frozen(value: Any) -> Any:
        return tuple(frozen(v) for v in value) if isinstance(value, list) else value

    values = {k: frozen(v) for k, v in raw.items() if not isinstance(v, dict)}
    if "repeat" in raw:
        values["repeat"] = dict(raw["repeat"])
    for name, kind in (("net", NetConfig), ("augment", AugmentConfig), ("codec", HeatmapCodec)):
        values[name] = kind(**{k: frozen(v) for k, v in raw.get(name, {}).items()})
    config = TrainConfig(**values)
    require(config.packs, of_letter(config.licence))
    return config


def configured(name: str) -> TrainConfig:
    """The configuration `name`: one of configs/keypoints, or a run of an experiment that another starts from."""
    for folder in (CONFIGS / "keypoints", *sorted(EXPERIMENTS.glob("*"))):
        if (path := folder / f"{name}.toml").exists():
            return load_config(path)
    raise FileNotFoundError(f"no {name}.toml in {CONFIGS / 'keypoints'} or an experiment of {EXPERIMENTS}")
