"""What a training step of every row costs on this machine, and what the whole table would: `python -m posetrain.study.cost --data PACKS`.

Seconds are those of the processor that the process had, on one thread: other work beside it makes them longer by what caches and clocks
share, not by waiting. Drawing the lanes is the last line's: `posetrain.study.run` draws them once for all rows that it trains together.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import tomllib
from pathlib import Path

import numpy as np
import torch

from posetrain.paths import CONFIGS
from posetrain.study.run import Training, draw
from posetrain.study.table import table
from posetrain.temporal.train import Lanes


def main() -> None:
    rows = table()
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", type=Path, required=True)
    p.add_argument("--rows", nargs="+", choices=list(rows.rows), default=list(rows.rows), metavar="ROW")
    p.add_argument("--budgets", nargs="+", choices=list(rows.budgets), default=list(rows.budgets))
    args = p.parse_args()
    config = tomllib.loads((CONFIGS / rows.base).read_text())
    torch.set_num_threads(1)
    steps = config["train"]["steps"]
    hours: dict[tuple[str, str], float] = {}
    print(f"| row | budget | seconds a step | hours for {steps:,} steps |\n|---|---|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        lanes = Lanes(config, args.data, None)
        drawing = []
        for step in range(3):
            began = time.process_time()
            x = draw(lanes, 1, step)
            drawing.append((time.process_time() - began) / config["data"]["segments"])
        for name in args.rows:
            for budget in args.budgets:
                if budget not in rows.rows[name].sizes:
                    continue
                training = Training(rows.rows[name], budget, 1, config, Path(folder) / "none.pt")
                a_set = []
                for _ in range(3):
                    began = time.process_time()
                    training.lane(x)
                    a_set.append((time.process_time() - began) / config["data"]["segments"])
                each = float(np.median(a_set))
                hours[name, budget] = each * steps / 3600
                print(f"| {name} | {budget} | {each:.3f} | {hours[name, budget]:.2f} |", flush=True)
    print(f"\ndrawing: {np.median(drawing):.3f} s a step of all rows together")
    for budget in args.budgets:
        print(
            f"\n{budget}, one seed of all: {sum(v for (_, b), v in hours.items() if b == budget):.1f} hours of one core"
        )


if __name__ == "__main__":
    main()
