"""Where the trainer's files lie: in a checkout, but for `SPLITS`, which are part of the package."""

from __future__ import annotations

from pathlib import Path

TRAIN = Path(__file__).resolve().parents[1]
REPOSITORY = TRAIN.parents[1]
CONFIGS = TRAIN / "configs"
EXPERIMENTS = TRAIN / "experiments"
SPLITS = Path(__file__).resolve().parent / "data" / "splits"
