"""A run's averaged weights in few bytes, to be committed: what a long run goes on from on another machine.

    python -m posetrain.keypoints.checkpoints work/small-usable/checkpoint.pt checkpoints/small-usable.npz --config CONFIG --caches DIR
    python -m posetrain.keypoints.checkpoints checkpoints/large.npz LARGE.npz --mean-with checkpoints/large-taught.npz

Halves (float16) of the averaged weights and statistics, and what they learned from; a card beside it says so too, and how good they are.
`--mean-with`: `--share` of one and the rest of another, for the next run to begin with; without a card.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from posetrain.data import cache
from posetrain.data.licences import LETTER, Licence, LicenceError, licence_of, require
from posetrain.data.packs import EMPTY_PACKS, KNOWN_PACKS
from posetrain.keypoints.mixture import teachers_of
from posetrain.keypoints.steady_config import SteadyConfig, load_config

LEARNED = "learned"
# Of a card.
LEARNED_FROM = re.compile(r"^- learned from: (.+?); class \(", re.MULTILINE)


def store(weights: dict[str, Tensor], crops: int, path: Path, learned: Iterable[str] = ()) -> None:
    """`learned`: the sources that the weights learned from; none where only the card will say so."""
    arrays: dict[str, Any] = {}
    for name, value in weights.items():
        plain = value.detach().numpy()
        arrays[name] = plain.astype(np.float16) if value.dtype.is_floating_point else plain
        if not np.isfinite(arrays[name]).all():
            raise ValueError(f"{name} does not fit float16")
    path.parent.mkdir(parents=True, exist_ok=True)
    if names := sorted(set(learned)):
        arrays[LEARNED] = np.array(names)
    # whole or not at all: whoever stops it while it writes keeps what was there
    partial = path.with_name(f"{path.name}.part")
    with partial.open("wb") as file:
        np.savez_compressed(file, **arrays, crops=np.int64(crops))
    partial.rename(path)


def load(path: Path) -> tuple[dict[str, Tensor], int]:
    """Weights as float32, and the crops that they have seen."""
    kept = np.load(path)
    weights = {}
    for name in (n for n in kept.files if n != LEARNED):
        value = kept[name]
        weights[name] = torch.from_numpy(
            value.astype(np.float32) if value.dtype == np.float16 else value.copy()
        )
    return weights, int(weights.pop("crops"))


def weights_of(path: Path) -> dict[str, Tensor]:
    """Averaged weights of a run's checkpoint.pt or final.pt, or of a compact checkpoint."""
    if path.suffix == ".npz":
        return load(path)[0]
    weights: dict[str, Tensor] = torch.load(path, weights_only=True)["ema"]
    return weights


def learned_from(path: Path) -> tuple[str, ...]:
    """Sources of the weights, as their file says or the card beside it; none where neither does."""
    if path.suffix == ".npz":
        kept = np.load(path)
        if LEARNED in kept.files:
            return tuple(str(name) for name in kept[LEARNED])
    else:
        return tuple(torch.load(path, weights_only=True).get(LEARNED, ()))
    card = path.with_suffix(".md")
    said = LEARNED_FROM.search(card.read_text()) if card.exists() else None
    return tuple(name.split(" (")[0] for name in said[1].split(", ")) if said else ()


def inherited(path: Path, allowed: Licence) -> tuple[str, ...]:
    """`learned_from`, for weights that are to be of class `allowed` at worst. Raises `LicenceError` where these are of a worse one, or
    nothing says of which."""
    names = learned_from(path)
    if allowed < Licence.RESEARCH:
        if not names:
            raise LicenceError(
                f"{path}: nothing says what these weights learned from, so they are for class (c) alone"
            )
        require(names, allowed)
    return names


def history(path: Path) -> tuple[int, float]:
    """Crops that the weights have seen, and the minutes of this run that are known."""
    if path.suffix == ".npz":
        return load(path)[1], 0.0
    state = torch.load(path, weights_only=True)
    return int(state["crops"]), float(state["spent"]) / 60


def mean(trained: dict[str, Tensor], other: dict[str, Tensor], share: float) -> dict[str, Tensor]:
    """`share` of the trained weights and the rest of the others; counters as trained."""
    return {
        name: share * value + (1 - share) * other[name] if value.dtype.is_floating_point else value
        for name, value in trained.items()
    }


def sources(config: SteadyConfig, caches: Path) -> dict[str, int]:
    """Training persons of each pack; teachers and pictures of nobody are among them with none."""
    out: dict[str, int] = {}
    train = cache.SPLITS.index("train")
    # a cache may be a source twice, the second time of some of its persons alone
    for name in dict.fromkeys(source.cache for source in config.sources):
        records = cache.load(caches / name)
        for pack, count in zip(
            *np.unique(records.pack[records.split == train], return_counts=True), strict=True
        ):
            out[KNOWN_PACKS[pack]] = out.get(KNOWN_PACKS[pack], 0) + int(count)
    for source in config.sources:
        out |= dict.fromkeys(teachers_of(config, source, caches), 0)
    return out | dict.fromkeys(EMPTY_PACKS if config.empty else (), 0)


def card(
    path: Path,
    name: str,
    crops: int,
    packs: dict[str, int],
    val: dict[str, Any],
    command: str,
    annealed: int = 0,
) -> str:
    """`annealed`: over how many of the last crops the learning rate fell to nothing."""
    licence = LETTER[licence_of(packs)]
    persons = ", ".join(f"{pack} ({count} persons)" if count else pack for pack, count in packs.items())
    figures = ", ".join(f"{k} {v}" for k, v in val.items())
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    state = f"annealed over the last {annealed:,} crops" if annealed else "not annealed, not shipped"
    return (
        f"# {path.name}\n\n"
        f"Averaged weights of the long run `{name}`, float16; {state}.\n\n"
        f"- learned from: {persons}; class ({licence}), see docs/data-licences.md\n"
        f"- crops seen: {crops:,}\n"
        f"- val as the run logs it (250 persons of each pack, crop 1.25 x the joints' extent): {figures}\n"
        f"- sha256 {digest}, {path.stat().st_size:,} bytes\n"
        f"- go on: `{command}`\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkpoint", type=Path, help="checkpoint.pt of posetrain.keypoints.steady")
    parser.add_argument("out", type=Path)
    parser.add_argument("--config", type=Path, help="of the run, for the card")
    parser.add_argument("--caches", type=Path, help="that it learned from, for the card")
    parser.add_argument("--mean-with", type=Path, help="checkpoint to average the weights with")
    parser.add_argument("--share", type=float, default=0.5, help="of the first in that mean")
    args = parser.parse_args()
    if args.mean_with:
        both = mean(weights_of(args.checkpoint), weights_of(args.mean_with), args.share)
        said = [learned_from(path) for path in (args.checkpoint, args.mean_with)]
        store(both, history(args.checkpoint)[0], args.out, sum(said, ()) if all(said) else ())
        return
    if args.config is None or args.caches is None:
        parser.error("a card needs --config and --caches")
    config = load_config(args.config)
    state = torch.load(args.checkpoint, weights_only=True)
    packs = dict.fromkeys(state.get(LEARNED, ()), 0) | sources(config, args.caches)
    store(state["ema"], state["crops"], args.out, packs)
    rows = [json.loads(line) for line in (args.checkpoint.parent / "log.jsonl").read_text().splitlines()]
    val = {k: v for k, v in rows[-1].items() if k not in ("minutes",)}
    command = (
        f"python -m posetrain.keypoints.steady configs/steady/{config.name}.toml --caches DIR "
        f"--out work/{config.name} --begin checkpoints/{args.out.name}"
    )
    annealed = state["crops"] - state["anneal_from"] if state["anneal_from"] >= 0 else 0
    text = card(args.out, config.name, state["crops"], packs, val, command, annealed)
    args.out.with_suffix(".md").write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
