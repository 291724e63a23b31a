"""What rendered people bring at equal steps: real alone, rendered alone, rendered then real, and mixed, with all and with parts
of the real persons.

    python -m posetrain.keypoints.mixing configs/steady/small-usable.toml --caches DIR --rendered CACHE --work work/mixing --crops 40000

Every run begins with nothing and sees the same number of crops while the learning rate falls to nothing. The sources in the
configuration that are not `--rendered` are the real ones. All are worked out in one arithmetic (`posetrain.precision`). Finished runs are
not made again: the command goes on, and prints the table of all that are there.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
from dataclasses import replace
from pathlib import Path

from posetrain.keypoints import steady
from posetrain.keypoints.steady_config import Source, SteadyConfig, load_config
from posetrain.precision import settle

PARTS = (1.0, 0.3, 0.1)
MIXED = 0.5
PACKS = ("lspet", "jhmdb", "coco_more")


# the sources of the first and of the second half of a run's crops
Halves = tuple[tuple[Source, ...], tuple[Source, ...]]


def arms(config: SteadyConfig, rendered: str) -> dict[str, Halves]:
    """Name of each run -> its sources in the first and in the second half of the crops."""
    real = [s for s in config.sources if s.cache != rendered]
    whole = sum(s.share for s in real)
    drawn = (Source(rendered, 1.0),)
    out: dict[str, Halves] = {"rendered": (drawn, drawn)}
    for part in PARTS:
        these = tuple(replace(s, part=part, share=s.share / whole) for s in real)
        mixed = (
            *(replace(s, share=s.share * (1 - MIXED)) for s in these),
            Source(rendered, MIXED),
        )
        name = f"{part:.0%} real"
        out[name] = (these, these)
        out[f"rendered, then {name}"] = (drawn, these)
        out[f"{name}, mixed"] = (mixed, mixed)
    return out


def run(
    config: SteadyConfig, halves: tuple[tuple[Source, ...], ...], args: argparse.Namespace, out: Path
) -> None:
    quiet = replace(config, validate_every=10**9)
    first, second = (replace(quiet, sources=sources) for sources in halves)
    if first.sources == second.sources:
        apart(first, args.caches, out, anneal=args.crops)
        return
    # the learning rate falls in the second half, on the pictures that the network is for
    begun = out / "first-half"
    apart(first, args.caches, begun, until=args.crops // 2)
    apart(second, args.caches, out, anneal=args.crops - args.crops // 2, begin=begun / "checkpoint.pt")


def apart(*args: object, **options: object) -> None:
    """`steady.train` in a process of its own: the loader's worker is forked, and hangs where another training's threads have run."""
    process = multiprocessing.get_context("spawn").Process(
        target=steady.train, args=args, kwargs=options | {"arithmetic": settle()}
    )
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(process.exitcode)


def result(out: Path, crops: int) -> dict[str, float] | None:
    """What a finished run's last line says, or None."""
    log = out / "log.jsonl"
    # a run that was stopped has a log without a line
    lines = log.read_text().splitlines() if log.exists() else []
    last: dict[str, float] = json.loads(lines[-1]) if lines else {}
    return last if last.get("crops", 0) >= crops else None


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("config", type=Path)
    parser.add_argument("--caches", type=Path, required=True)
    parser.add_argument("--rendered", required=True, help="cache of rendered people under --caches")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--crops", type=int, default=40_000)
    parser.add_argument("--only", action="append", help="this run alone; may be given again")
    args = parser.parse_args()
    config = load_config(args.config)
    runs = arms(config, args.rendered)
    rows = []
    for name, halves in runs.items():
        out = args.work / f"{name} {args.crops}".replace(" ", "-").replace(",", "").replace("%", "")
        if result(out, args.crops) is None and (not args.only or name in args.only):
            run(config, halves, args, out)
        if (found := result(out, args.crops)) is not None:
            cells = ("/".join(f"{found[f'{p}@{t}']:.3f}"[1:] for t in steady.THRESHOLDS) for p in PACKS)
            rows.append(f"| {name} | " + " | ".join(cells) + " |")
    print(f"| {args.crops:,} crops | " + " | ".join(PACKS) + " |\n" + "|---" * (len(PACKS) + 1) + "|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
