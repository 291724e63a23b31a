"""What a kept result says of how it was measured."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path


def given(module: str, names: Mapping[Path | None, str]) -> str:
    """The command that runs, with `names` in the place of this machine's files and folders."""

    def shown(word: str) -> str:
        option, equals, value = word.rpartition("=")
        return option + equals + names.get(Path(value), value)

    return shlex.join(["python", "-m", module, *map(shown, sys.argv[1:])])
