"""What temporal weights learned from: of a run by its configuration, of files by what they say, and whether that may be.

A run that begins from weights has learned from all that they had, so a configuration's `licence` holds for both.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from posetrain.data.licences import LicenceError, of_letter, require

LEARNED = "learned"  # of a checkpoint


def sources(data: dict[str, Any]) -> list[str]:
    """What a run with this `[data]` learns from, by the names of posetrain.data.licences."""
    stills, acted = "stills-small-usable", "free-actors-small-usable"
    tracks = [name.startswith("rendered-small-usable") for name in data.get("exact", [])]
    films = [*data["errors"], *data.get("acted", [])]
    used = {
        "penn_action": data["penn_share"] > 0,
        "jhmdb": any(not name.startswith(stills) for name in data["errors"]),
        "still_tracks_usable": any(name.startswith(stills) for name in films),
        "rendered_tracks_usable": any(tracks),
        "rendered_tracks": not all(tracks),
        "acted_tracks_usable": any(name.startswith(acted) for name in films),
        "acted_tracks": any(not name.startswith((acted, stills)) for name in data.get("acted", [])),
    }
    return ["cmu_mocap", *(name for name, is_used in used.items() if is_used)]


def learned_from(path: Path) -> list[str]:
    """Sources of the weights in a checkpoint, as it says, or in a .pwt file, as its card does. Raises `LicenceError` where nothing says."""
    if path.suffix == ".pwt":
        card = path.with_suffix(".toml")
        said = tomllib.loads(card.read_text()) if card.exists() else {}
        is_its_own = said.get("sha256") == hashlib.sha256(path.read_bytes()).hexdigest()
        names = said["card"]["data"] if is_its_own else []
    else:
        names = torch.load(path, weights_only=False).get(LEARNED, [])
    if not names:
        raise LicenceError(
            f"{path}: nothing says what these weights learned from, neither a checkpoint nor a card with the file's sum beside it"
        )
    return [str(name) for name in names]


def learned(config: dict[str, Any], begun: Iterable[Path] = ()) -> list[str]:
    """What weights have learned from at the end of a run that began from those of the files `begun`. Raises `LicenceError` where any is of
    a worse class than the configuration allows, or a file does not say."""
    names = [name for path in begun for name in learned_from(path)]
    names = list(dict.fromkeys([*names, *sources(config["data"])]))
    require(names, of_letter(config.get("licence", "")))
    return names
