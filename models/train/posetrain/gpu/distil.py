"""Trains keypoint networks on one GPU, taught on every crop by larger ones that see the same part of the picture, unspoiled.

    python -m posetrain.gpu.distil --student CONFIG BEGIN.npz OUT.npz --teacher LARGE.npz --pieces DIR --minutes 5
    python -m posetrain.gpu.distil --student small.toml SMALL.npz OUT1.npz --student large.toml LARGE.npz OUT2.npz \\
        --teacher LARGE.npz --teacher TUTOR.npz --pieces DIR --minutes 7

What the teachers say, on average, is asked for where nobody labelled and, by a source's `taught`, beside labels, as
`posetrain.keypoints.taught` does with stored maps; a source of `taught = 1` is learned from the teachers alone. They are asked about every
view, patiently (Beyer et al. 2022). Several students learn from the same crops, each at its own size, so that teachers are asked once;
the first one's configuration says how crops are drawn and spoiled, and a student sees no person whose source its own does not
name. The learning rate follows the part of the minutes that is gone, so a run ends when it must; crops are counted.
Pieces (`posetrain.gpu.pieces`) may arrive while it runs: FILE.ready says that FILE is whole. A run that is stopped is not gone on with:
OUT.part.npz, written every two minutes, holds what it had, at the learning rate of then; OUT is written at the end.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from posetrain.data.licences import of_letter
from posetrain.gpu import pieces
from posetrain.gpu.arrivals import Arrivals
from posetrain.gpu.batches import Batch, Stream, learned
from posetrain.gpu.compiled import half_precision
from posetrain.gpu.judge import Judge
from posetrain.gpu.store import Store
from posetrain.gpu.teachers import network, panel
from posetrain.gpu.tutor import Tutor
from posetrain.keypoints import checkpoints
from posetrain.keypoints.codec import HeatmapCodec
from posetrain.keypoints.net import KeypointNet
from posetrain.keypoints.steady import loss_of
from posetrain.keypoints.steady_config import SteadyConfig, load_config
from posetrain.keypoints.train import LONGEST
from posetrain.loop import average, descend, groups_of, set_rate

WARM_UP, LEVEL = 0.03, 0.35
# Pixels of stored pictures that there is room for.
ROOM_CUDA, ROOM_CPU = 6_000_000_000, 400_000_000
AVERAGE_EVERY, LOOK_EVERY_S, SAY_EVERY_S = 4, 120.0, 10.0
# Seconds since whenever.
Clock = Callable[[], float]
# Of the learning rate, for what has seen ImageNet.
PRETRAINED = 0.4


def losses(config: SteadyConfig, maps: Tensor, rough: Tensor, batch: Batch) -> Tensor:
    fields = (batch.xy, batch.weight, batch.outside)
    taught = (batch.target, batch.target_weight)
    return loss_of(config, maps, rough, batch.images.shape[2], fields, taught)


def rate(part: float) -> float:
    """Of the learning rate, where `part` of the run is gone: up, level, then a cosine's fall to nothing."""
    if part < WARM_UP:
        return part / WARM_UP
    fall = max(0.0, (part - LEVEL) / (1 - LEVEL))
    return float(0.5 * (1 + np.cos(np.pi * min(1.0, fall))))


def optimiser_of(model: KeypointNet | Tutor, config: SteadyConfig) -> torch.optim.Optimizer:
    """Each group's `part` is of the learning rate."""
    groups = []
    for is_pretrained, part in ((False, 1.0), (True, PRETRAINED)):
        chosen = [p for name, p in model.named_parameters() if name.startswith("backbone.") == is_pretrained]
        groups += [
            group | {"part": part} for group in groups_of(chosen, config.weight_decay) if group["params"]
        ]
    return torch.optim.AdamW(groups, lr=config.learning_rate, fused=True)


@dataclass
class Task:
    """What a student is to do: learn by `config` from `begin` on; averaged weights, the crops that they have seen and whether that was the
    end go to `keep`."""

    config: SteadyConfig
    begin: dict[str, Tensor]
    keep: Callable[[dict[str, Tensor], int, bool], None]


class Student:
    def __init__(self, task: Task, stream: Stream) -> None:
        store = stream.store
        self.config, self.keep, self.named = task.config, task.keep, stream.named(task.config)
        self.model = network(task.begin, task.config.net, store.device)
        self.ema, self.optimiser = copy.deepcopy(self.model), optimiser_of(self.model, task.config)
        largest = task.config.largest(0)
        self.judge = Judge(task.config.codec(largest), largest, store)
        self.loss_sum, self.step = torch.zeros((), device=store.device), 0

    def learn(self, batch: Batch, part: float) -> None:
        """One step, `part` of the run being gone."""
        set_rate(self.optimiser, self.config.learning_rate * rate(part))
        self.model.train()
        with half_precision(batch.images.device):
            maps, rough = self.model(batch.images, auxiliary=True)
        loss = losses(self.config, maps, rough, batch)
        descend(loss, self.optimiser, self.model.parameters(), LONGEST)
        self.step += 1
        self.loss_sum += loss.detach()
        if self.step % AVERAGE_EVERY == 0:
            average(self.ema, self.model, self.config.ema**AVERAGE_EVERY, self.step)

    def mean_loss(self, steps: int) -> float:
        """Of the last `steps`. Raises `FloatingPointError` where it is no number."""
        mean = float(self.loss_sum) / max(steps, 1)
        if not np.isfinite(mean):
            raise FloatingPointError(
                f"{self.config.name}: the loss is {mean} after {self.step} steps: look at the labels of what arrived last"
            )
        self.loss_sum.zero_()
        return mean

    def size(self) -> int:
        """Of the next batch's crops, pixels."""
        return self.config.size(self.step * self.config.batch)

    def look(self) -> str:
        self.ema.eval()
        return f"{self.config.name} {self.judge.look(self.ema)}"


def train(tasks: list[Task], stream: Stream, arrivals: Arrivals, seconds: float, clock: Clock) -> None:
    students = [Student(task, stream) for task in tasks]
    step = said_step = 0
    began = said = looked = clock()
    while (part := (clock() - began) / seconds) < 1:
        lesson = stream.lesson()
        batches = dict[int, Batch]()  # of the same size spoiled but once
        for student in students:
            if (size := student.size()) not in batches:
                batches[size] = stream.batch(lesson, size)
            student.learn(learned(batches[size], lesson, student.named), part)
        step += 1
        now = clock()
        crops = step * stream.config.batch
        if now - said > SAY_EVERY_S:
            steps = step - said_step
            means = ", ".join(f"{s.config.name} {s.mean_loss(steps):.4f}" for s in students)
            pace = steps * stream.config.batch / (now - said)
            say(f"{now - began:6.1f} s {crops:9d} crops, loss {means}, {pace:.0f} crops/s")
            said, said_step = now, step
            arrivals.take()
        if now - looked > LOOK_EVERY_S:
            looked = now
            for student in students:
                student.keep(student.ema.state_dict(), crops, False)
                say(f"{now - began:6.1f} s {student.look()}")
    for student in students:
        student.keep(student.ema.state_dict(), step * stream.config.batch, True)
        say(f"end: {step * stream.config.batch} crops, {step} steps; {student.look()}")


def say(line: str) -> None:
    print(line, flush=True)


def task_of(config: SteadyConfig, begin: Path, out: Path) -> Task:
    """From one compact checkpoint to another."""
    weights, before = checkpoints.load(begin)
    partial = out.with_suffix(".part.npz")

    def keep(averaged: dict[str, Tensor], crops: int, is_end: bool) -> None:
        on_cpu = {name: value.cpu() for name, value in averaged.items()}
        checkpoints.store(on_cpu, before + crops, out if is_end else partial)
        if is_end:
            partial.unlink(missing_ok=True)

    return Task(config, weights, keep)


def run(
    tasks: list[Task],
    arrivals: Arrivals,
    teachers: list[Path],
    teacher_net: int,
    seconds: float,
    clock: Clock = time.monotonic,
) -> None:
    """Raises `FileNotFoundError` without a piece, `FloatingPointError` where a loss is no number."""
    arrivals.must()
    store, draw = arrivals.store, tasks[0].config
    torch.manual_seed(draw.seed)
    asked = panel(teachers, store.device)
    stream = Stream(draw, store, asked, teacher_net)
    say(f"the teachers: {Judge(HeatmapCodec(), teacher_net, store).look(asked)}")
    stream.tune()
    train(tasks, stream, arrivals, seconds, clock)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--student", nargs=3, action="append", type=Path, required=True, metavar=("CONFIG", "BEGIN", "OUT"),
        help="a configuration, the compact checkpoint to begin with and the one to write; may be given again",
    )  # fmt: skip
    parser.add_argument(
        "--teacher", action="append", type=Path, required=True, metavar="CHECKPOINT",
        help="compact checkpoint of `large` or of the tutor; may be given again",
    )  # fmt: skip
    parser.add_argument(
        "--pieces", type=Path, required=True, help=f"folder of pieces, each with its {pieces.READY}"
    )
    parser.add_argument("--teacher-size", type=int, default=256, help="pixels at which teachers are asked")
    parser.add_argument("--minutes", type=float, required=True)
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cudnn.benchmark = True
    students = [(load_config(config), begin, out) for config, begin, out in args.student]
    for config, begin, _ in students:
        for path in (begin, *args.teacher):
            checkpoints.inherited(path, of_letter(config.licence))
    tasks = [task_of(*student) for student in students]
    room = ROOM_CUDA if device.type == "cuda" else ROOM_CPU
    arrivals = Arrivals(args.pieces, Store(device, room, tasks[0].config.empty))
    try:
        run(tasks, arrivals, args.teacher, args.teacher_size, args.minutes * 60)
    except (FileNotFoundError, FloatingPointError) as error:
        parser.exit(1, f"{error}\n")


if __name__ == "__main__":
    main()
