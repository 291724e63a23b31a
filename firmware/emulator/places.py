"""Where things are, and how a test that cannot run says so. Import before `posewire`."""

from __future__ import annotations

import os
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "clients/python/src"))

TARGET = ROOT / "firmware/target"
LM3S6965 = TARGET / "thumbv7m-none-eabi/release/lm3s6965"
STM32 = TARGET / "thumbv7em-none-eabihf/release/stm32"
PICTURE = TARGET / "release/examples/picture"
#: The host's program, as `cargo build --release` makes it.
POSEWIRE = Path(os.environ.get("POSEWIRE", ROOT / "target/release/posewire"))

#: More than enough for a loaded machine.
PATIENCE_S = 120.0


def skipped(reason: str) -> unittest.SkipTest:
    """Raise it."""
    print(f"SKIPPED: {reason}", file=sys.stderr)
    return unittest.SkipTest(reason)
