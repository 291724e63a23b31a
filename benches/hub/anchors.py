#!/usr/bin/env python3
"""The room's people beside what other programs make of the same tracks (`others.py` says of each what it does).

    python3 -m venv anchors
    anchors/bin/pip install --no-deps aniposelib Pose2Sim
    anchors/bin/pip install anytree c3d filterpy jax matplotlib numba numpy opencv-python-headless pandas python-osc rtoml scipy \
        statsmodels tabulate termcolor toml tqdm
    PYTHONPATH=models/train anchors/bin/python benches/hub/anchors.py FOLDER --lines L [--easymocap CHECKOUT]    FOLDER, L: as `causes.py`

All get the same joints of the same pictures and the true places of the cameras, and are told who is who by the truth; the hub is not.
anipose, Pose2Sim, FreeMoCap and EasyMocap see the whole take before they answer; OpenPose goes frame by frame, and the hub answers live.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from causes import (
    THREE_S,
    WALK_S,
    Film,
    dlt,
    errors,
    load,
    table,
    told,
    write_take,
)
from films import BEGIN_S, FPS, between, room_file, true_places, true_room
from others import anipose, easymocap, freemocap, openpose, pose2sim

Program = Callable[[Film], tuple[Any, Any]]


def report(film: Film, work: Path, programs: dict[str, Program]) -> None:
    begin = int(BEGIN_S * FPS)
    rows: list[tuple[str, Any]] = [
        ("plain DLT", (dlt(film, film.seen, film.places) - film.truth)[begin:] * 1e3)
    ]
    for name, make in programs.items():
        at = time.process_time()
        plain, whole = make(film)
        print(f"{film.name}: {name} took {time.process_time() - at:.0f} s of processor time", file=sys.stderr)
        rows.append((f"{name}, triangulated", (plain - film.truth)[begin:] * 1e3))
        rows.append((f"{name}, whole", (whole - film.truth)[begin:] * 1e3))
    take = work / f"{film.name}-measured.take.jsonl"
    write_take(film, take, "measured")
    room = work / "true.toml"
    room.write_text(true_room(film.folder, film.name))
    to = between(true_places(film.folder, film.name), room_file(work, room.name))
    got = errors(film, told(film, take, room, []), to)
    rows.append(("hub, live", got["off"][got["frame"] >= begin]))
    print(f"\n{film.name}: mean distance from the truth, mm\n")
    table(rows)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--lines", default="lines", help="where in FOLDER the trackers' lines are kept")
    parser.add_argument("--film", choices=["walk", "three"], action="append", help="only these")
    parser.add_argument("--easymocap", type=Path, metavar="CHECKOUT", help="of EasyMocap; left out without")
    parser.add_argument("--program", action="append", help="only these")
    args = parser.parse_args()
    programs: dict[str, Program] = {
        "OpenPose": openpose,
        "anipose": anipose,
        "FreeMoCap": freemocap,
        "Pose2Sim": pose2sim,
    }
    if args.easymocap:
        programs["EasyMocap"] = partial(easymocap, checkout=args.easymocap)
    else:
        print("LEFT OUT: EasyMocap, for want of --easymocap", file=sys.stderr)
    if args.program:
        programs = {name: made for name, made in programs.items() if name in args.program}
    folder = args.folder.resolve()
    work = folder / "causes"
    work.mkdir(exist_ok=True)
    for name, persons, seconds in (("three", 3, THREE_S), ("walk", 1, WALK_S)):
        if args.film is None or name in args.film:
            report(load(folder, folder / args.lines, name, persons, seconds), work, programs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
