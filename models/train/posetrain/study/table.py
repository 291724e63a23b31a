"""The table of rows, configs/study/rows.toml: `python -m posetrain.study.table` prints it with every row's parameters and multiply-adds."""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from posetrain.paths import CONFIGS
from posetrain.study.encoder_decoder import EncoderDecoder
from posetrain.study.linear import OfflineMixer, Performer
from posetrain.study.recurrent import BidirectionalLstm, ElmanHidden, ElmanOutput, Gated, Seq2SeqBahdanau
from posetrain.study.row import Row, macs_per_frame, parameters
from posetrain.study.smoothnet import SmoothNet
from posetrain.study.sparse import AdaptiveSpan, Blockwise, Reformer, SlidingGlobal, Strided, TopK
from posetrain.study.state_space import StateSpace
from posetrain.study.taxonomy import CoAttention, Hierarchical, MultiDimensional, MultiRepresentational
from posetrain.study.transformer import Encoder, EncoderDecoderTransformer

TABLE = CONFIGS / "study" / "rows.toml"
KINDS: dict[str, Callable[..., Row]] = {
    "elman-hidden": ElmanHidden,
    "elman-output": ElmanOutput,
    "gated": Gated,
    "bidirectional-lstm": BidirectionalLstm,
    "seq2seq": Seq2SeqBahdanau,
    "encoder-decoder": EncoderDecoder,
    "encoder": Encoder,
    "encoder-decoder-transformer": EncoderDecoderTransformer,
    "blockwise": Blockwise,
    "strided": Strided,
    "adaptive-span": AdaptiveSpan,
    "sliding-global": SlidingGlobal,
    "top-k": TopK,
    "reformer": Reformer,
    "performer": Performer,
    "offline-mixer": OfflineMixer,
    "smoothnet": SmoothNet,
    "state-space": StateSpace,
    "co-attention": CoAttention,
    "hierarchical": Hierarchical,
    "multi-representational": MultiRepresentational,
    "multi-dimensional": MultiDimensional,
}


@dataclass(frozen=True)
class Entry:
    """One row of the table. `sizes`: options a budget of multiply-adds a frame, by the budget's name. `train`: what of its training differs
    from all others' (`posetrain.study.optimise`)."""

    name: str
    title: str
    group: str
    kind: str
    options: dict[str, Any]
    sizes: dict[str, dict[str, Any]]
    train: dict[str, Any] = field(default_factory=dict)

    def make(self, budget: str, seed: int) -> Row:
        torch.manual_seed(seed)
        return KINDS[self.kind](**self.options, **self.sizes[budget])


@dataclass(frozen=True)
class Table:
    base: str  # configuration of posetrain.temporal that gives data, losses, rates and the number of steps
    budgets: dict[str, int]  # multiply-adds a frame
    main: list[str]  # the rows that stand for the rest: they are trained first, and most often
    rows: dict[str, Entry]

    @property
    def groups(self) -> list[str]:
        return list(dict.fromkeys(entry.group for entry in self.rows.values()))


def table() -> Table:
    said = tomllib.loads(TABLE.read_text())
    rows = {}
    for name, row in said["rows"].items():
        sizes = {budget: row[budget] for budget in said["budgets"] if budget in row}
        options, train = row.get("options", {}), row.get("train", {})
        rows[name] = Entry(name, row["title"], row["group"], row["kind"], options, sizes, train)
    return Table(said["base"], said["budgets"], said["main"], rows)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    torch.set_num_threads(1)
    print("| group | row | name | budget | parameters | multiply-adds a frame |\n" + "|---" * 6 + "|")
    for entry in table().rows.values():
        for budget in entry.sizes:
            row = entry.make(budget, 0)
            print(
                f"| {entry.group} | {entry.title}{'' if row.causal else ' (offline)'} | {entry.name} | {budget} "
                f"| {parameters(row):,} | {macs_per_frame(row.eval()):,} |"
            )


if __name__ == "__main__":
    main()
