"""How fast the networks and a frame are."""

from __future__ import annotations

import sys
import tomllib
from typing import Any

from .form import RESULTS, ROOT, kept, markdown, two_digits

sys.path.insert(0, str(ROOT / "benches"))


def engine_rows(name: str, wanted: dict[str, str]) -> list[list[str]]:
    """Rows of a run of `benches/peers.py` whose names hold one of the words; the words of the table come with them."""
    rows = []
    for row in kept(name)["rows"]:
        for words, title in wanted.items():
            if all(word in row["name"] for word in words.split("+")):
                rows.append([title, f"{row['min_ratio']:.2f}", f"{row['median_ratio']:.2f}"])
                break
    return rows


def side_by_side(wanted: dict[str, str], *names: str) -> list[list[str]]:
    """`engine_rows` of several runs, joined by their titles. Raises `ValueError` where a run lacks a row that another has."""
    joined = []
    for rows in zip(*(engine_rows(name, wanted) for name in names), strict=True):
        titles = {title for title, *_ in rows}
        if len(titles) > 1:
            raise ValueError(f"{', '.join(names)}: {' and '.join(sorted(titles))} stand beside each other")
        joined.append([rows[0][0], *(cell for _, *cells in rows for cell in cells)])
    return joined


def engines() -> str:
    """The networks on several engines beside MoveNet: `epyc-avx512.json`, `xeon-looks.json`; rten: `xeon-avx512-dist.json`."""
    wanted = {
        "MoveNet": "MoveNet Lightning int8, LiteRT/XNNPACK",
        "posewire keypoints-small: int8": "**`small`, Posewire's int8 operators**",
        "ONNX+keypoints-small: int8": "`small`, ONNX Runtime int8",
        "ONNX+keypoints-small: f32": "`small`, ONNX Runtime f32",
        "posewire keypoints-small+QDQ as it is": "`small`, tract, quantised",
        "posewire keypoints-small: tract f32": "`small`, tract f32",
        "posewire keypoints-nano: int8": "**`nano`, Posewire's int8 operators**",
        "ONNX+keypoints-nano: int8": "`nano`, ONNX Runtime int8",
        "posewire person: int8": "**finder, Posewire's int8 operators**",
        "ONNX+person: int8": "finder, ONNX Runtime int8",
    }
    rows = side_by_side(wanted, "epyc-avx512.json", "xeon-looks.json")
    rten = {"rten+QDQ": "`small`, rten, quantised ¹", "rten+f32": "`small`, rten f32 ¹"}
    rows += [[title, "", "", *times] for title, *times in engine_rows("xeon-avx512-dist.json", rten)]
    return markdown(["network and engine", "EPYC: least", "median", "Xeon: least", "median"], rows, right=4)


def looks() -> str:
    """What a look of each network takes: `benches/results/epyc-avx512.json` and `xeon-looks.json`."""
    names = ("nano", "small", "base", "large")
    wanted = {f"posewire keypoints-{name}: int8": f"`{name}`" for name in names}
    wanted |= {"posewire person: int8": "finder", "posewire person-usable: int8": "finder `person-usable`"}
    rows = side_by_side(wanted, "epyc-avx512.json", "xeon-looks.json")
    return markdown(["network", "EPYC: least", "median", "Xeon: least", "median"], rows, right=4)


def counted() -> dict[str, Any]:
    """`benches/results/aarch64-instructions.json`, if it is of the networks that ship."""
    result = kept("aarch64-instructions.json")
    for row in result["rows"]:
        card = tomllib.loads((ROOT / f"models/{row['network']}.toml").read_text())["card"]
        # The topology leaves out the presence head, some thousandths.
        if abs(row["macs"] - card["macs"]) > 0.01 * card["macs"]:
            raise SystemExit(
                f"aarch64-instructions.json: {row['network']} has {card['macs']} multiply-adds today, not {row['macs']}: "
                "run benches/instructions.py again"
            )
    return result


def instructions() -> str:
    """Instructions of one inference on Arm cores: `benches/results/aarch64-instructions.json`."""
    kinds = ("multiply", "fold", "dot", "other vector", "load", "store", "other")
    rows = []
    for row in counted()["rows"]:
        counts = [f"{row['kinds'][k] / 1e6:.1f}" if row["kinds"][k] else "" for k in kinds]
        core = row["core"].removeprefix("Cortex-")
        rows.append(
            [
                f"`{row['network'].removeprefix('keypoints-')}`, {core} ({row['kernel']})",
                f"{row['instructions'] / 1e6:.1f}",
                *counts,
            ]
        )
    return markdown(
        [
            "network, core (kernel)",
            "all",
            "smull, smlal",
            "sadalp",
            "sdot",
            "other vector",
            "loads",
            "stores",
            "the rest",
        ],
        rows,
        right=8,
    )


def boards() -> str:
    """An ESTIMATE of the time on boards: `benches/results/aarch64-instructions.json` and the clocks of `benches/instructions.py`."""
    from instructions import BOARDS

    result = counted()
    by_network: dict[str, list[str]] = {}
    for board in BOARDS:
        for row in (r for r in result["rows"] if r["core"] == board.core):
            least_ms = row["least_cycles"] / board.clock_ghz / 1e6
            by_network.setdefault(row["network"].removeprefix("keypoints-"), []).append(
                f"{two_digits(least_ms)} / {two_digits(least_ms / result['reached'])} ms"
            )
    heads = [f"{board.name}, {board.clock_ghz} GHz" for board in BOARDS]
    return markdown(
        ["network: at least / about", *heads],
        ([f"`{name}`", *cells] for name, cells in by_network.items()),
        right=len(heads),
    )


def bench() -> str:
    """Where the time of a frame goes: `benches/results/bench-xeon-avx512.txt`."""
    return f"```text\n{(RESULTS / 'bench-xeon-avx512.txt').read_text().rstrip()}\n```"
