"""The measured tables of the documents, each from the result that is kept of it. `docs/make.py` puts them into their pages."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benches/results"
NETWORKS = ("base", "small", "nano")
PACKS = {"lspet": "LSPET", "jhmdb": "J-HMDB", "coco_more": "COCO"}

sys.path.insert(0, str(ROOT / "benches"))


def kept(name: str) -> Any:
    return json.loads((RESULTS / name).read_text())


def manifest(name: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / "models" / f"{name}.toml").read_text())


def markdown(heads: Iterable[str], rows: Iterable[Iterable[str]], right: int = 0) -> str:
    """A table whose last `right` columns stand to the right."""
    titles = list(heads)
    rule = ["---"] * (len(titles) - right) + ["---:"] * right
    lines = ["| " + " | ".join(titles) + " |", "|" + "|".join(rule) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def share(value: float | None) -> str:
    """.668, as the field writes shares."""
    return "" if value is None else f"{value:.3f}".removeprefix("0")


def two_digits(value: float) -> str:
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def with_interval(value: list[float]) -> str:
    middle, low, high = map(share, value)
    return f"{middle} ({low}–{high})"


def printed(*command: str) -> str:
    """What a program of this repository prints, as a block."""
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=True)
    return f"```text\n{done.stdout.rstrip()}\n```"


def networks() -> str:
    """The networks in the binary: the manifests."""
    rows = []
    for name in NETWORKS:
        of = manifest(f"keypoints-{name}")
        looks = 2 if of["codec"].get("mirror") else 1
        size = (ROOT / "models" / of["file"]).stat().st_size / 1e6
        rows.append(
            [
                f"`{name}`",
                f"{of['input']['width']} × {of['input']['height']}",
                str(looks),
                f"{of['card']['macs'] / 1e6:.0f} million",
                f"{of['card']['parameters'] / 1e6:.1f} million",
                f"{size:.1f} MB",
            ]
        )
    return markdown(["network", "input", "looks", "multiply-adds", "parameters", "file"], rows, right=4)


def accuracy() -> str:
    """PCK on the packs' val parts: the manifests' cards and `benches/results/keypoints-peers.json`."""
    rows = []
    for pack, title in PACKS.items():
        own = [
            (f"**`{name}`**", metric)
            for name in NETWORKS
            for metric in manifest(f"keypoints-{name}")["card"]["metrics"]
            if metric["pack"] == pack and metric["precision"] == "int8"
        ]
        peers = [(row["system"], row) for row in kept("keypoints-peers.json")["rows"] if row["pack"] == pack]
        rows += [
            [f"{title}, {m['persons']}", name, *(with_interval(m[k]) for k in ("pck_05", "pck_1", "pck_2"))]
            for name, m in own + peers
        ]
    return markdown(["val of, persons", "network", "PCK.05", "PCK.1", "PCK.2"], rows)


def quantised() -> str:
    """What int8 costs against f32: the manifests' cards."""
    rows = []
    for name in NETWORKS:
        cells = []
        for pack in PACKS:
            of = {
                m["precision"]: m["pck_1"][0]
                for m in manifest(f"keypoints-{name}")["card"]["metrics"]
                if m["pack"] == pack
            }
            cells.append(f"{100 * (of['int8'] - of['f32']):+.1f}")
        rows.append([f"`{name}`", *cells, f"{manifest(f'keypoints-{name}')['card']['ece']:.3f}"])
    heads = [f"{title}, points of PCK.1" for title in PACKS.values()]
    return markdown(["network", *heads, "scores' calibration error"], rows, right=4)


def finder() -> str:
    """The person finder on val: its manifest's card."""
    rows = []
    for m in manifest("person")["card"]["metrics"]:
        if m["precision"] == "int8":
            recall = with_interval(m["recall_iou_50"]) if "recall_iou_50" in m else ""
            rows.append(
                [PACKS.get(m["set"], m["set"]), str(m["pictures"]), recall, f"{m['false_per_picture']:.2f}"]
            )
    return markdown(["val of", "pictures", "found (IoU .5)", "false persons a picture"], rows, right=3)


def held_out() -> str:
    """Given crops of two scales on pictures nobody here trained on: `benches/results/held-out.json`."""
    rows = [
        [
            row["system"],
            row["scale"],
            *(
                share(row.get(k))
                for k in ("coco", "coco_05", "oks_ap", "lspet", "lspet_05", "jhmdb", "jhmdb_05")
            ),
        ]
        for row in kept("held-out.json")["crops"]
    ]
    heads = ["COCO PCK.1", ".05", "OKS-AP", "LSPET PCK.1", ".05", "J-HMDB PCK.1", ".05"]
    return markdown(["network", "crop", *heads], rows, right=7)


def held_out_clips() -> str:
    """Filters after networks on clips nobody here trained on: `benches/results/held-out.json`."""
    rows = [
        [
            row["system"],
            f"{row['mpjpe']:.2f}",
            share(row["pck_1"]),
            f"{row['acceleration']:.2f}",
            f"{row['lag']:+.2f}",
        ]
        for row in kept("held-out.json")["smoothed_on_given_crops"]
    ]
    return markdown(["crops given", "MPJPE %", "PCK.1", "Accel %", "lag, frames"], rows, right=4)


def whole() -> str:
    """Whole programs on those clips: `benches/results/held-out.json`."""
    rows = []
    for row in kept("held-out.json")["whole"]:
        before = f"{share(row['raw_jhmdb'])} → " if "raw_jhmdb" in row else ""
        smooth = ["", ""]
        if "lag" in row:
            smooth = [
                f"{row['raw_acceleration']:.2f} → {row['acceleration']:.2f}",
                f"{row['raw_lag']:+.2f} → {row['lag']:+.2f}",
            ]
        rows.append([row["system"], before + share(row["jhmdb"]), *smooth])
    return markdown(["program", "PCK.1", "Accel %", "lag, frames"], rows, right=3)


def peers() -> str:
    """The read-me's comparison: `benches/results/held-out.json`, `xeon-avx512.json` and the licences."""
    held = kept("held-out.json")
    crops = {(row["system"], row["scale"]): row for row in held["crops"]}
    programs = {row["system"]: row for row in held["whole"]}
    times = {row["system"]: row for row in held["time"]}
    small_time = next(
        r["median_ratio"] for r in kept("xeon-avx512.json")["rows"] if "keypoints-small: int8" in r["name"]
    )

    def at(system: str, pack: str) -> str:
        scales = [share(crops.get((system, scale), {}).get(pack)) or "–" for scale in ("tight", "loose")]
        return "–" if scales == ["–", "–"] else " / ".join(scales)

    def motion(system: str) -> str:
        row = programs.get(system, {})
        return f"{row['acceleration']:.1f} % at {row['lag'] - row['raw_lag']:+.2f}" if "lag" in row else "–"

    def whole_program(system: str) -> str:
        return share(programs.get(system, {}).get("jhmdb")) or "–"

    unfiltered = next(r for r in held["smoothed_on_given_crops"] if "no filter" in r["system"])[
        "acceleration"
    ]
    rtm = times["a network of RTMPose-t's shape"]
    research = "MIT or Apache-2.0; weights for research"
    rows = []
    for name, title, time, moves, licence in (
        (
            "Posewire `small`",
            "**Posewire** `small`",
            f"{small_time:.2f}",
            motion("Posewire `small`"),
            research,
        ),
        ("Posewire `base`", "**Posewire** `base`", f"{times['Posewire `base`']['ratio']:.2f}", "–", research),
        (
            "MoveNet Lightning int8",
            "MoveNet Lightning int8",
            "1",
            f"{unfiltered:.1f} %, no filter",
            "Apache-2.0",
        ),
        (
            "MediaPipe Pose full",
            "MediaPipe Pose full",
            f"{times['MediaPipe Pose full']['tracking']:.1f}",
            motion("MediaPipe Pose full"),
            "Apache-2.0",
        ),
        (
            "RTMPose-t",
            "RTMPose-t",
            f"{rtm['int8']:.1f}–{rtm['f32']:.1f} ⁴",
            "–, no filter",
            "Apache-2.0; weights disputed",
        ),
    ):
        rows.append([title, at(name, "lspet"), at(name, "coco"), whole_program(name), time, moves, licence])
    heads = [
        "",
        "photos, LSPET ¹",
        "photos, COCO ¹",
        "video, alone ¹",
        "time ²",
        "shaking, added lag ³",
        "licence",
    ]
    return markdown(heads, rows)


def engine_rows(name: str, wanted: dict[str, str]) -> list[list[str]]:
    """Rows of a run of `benches/peers.py` whose names hold one of the words; the words of the table come with them."""
    rows = []
    for row in kept(name)["rows"]:
        for words, title in wanted.items():
            if all(word in row["name"] for word in words.split("+")):
                rows.append([title, f"{row['min_ratio']:.2f}", f"{row['median_ratio']:.2f}"])
                break
    return rows


def engines() -> str:
    """The networks on several engines beside MoveNet: `benches/results/xeon-avx512.json` and `-dist.json`."""
    rows = engine_rows(
        "xeon-avx512.json",
        {
            "MoveNet": "MoveNet Lightning int8, LiteRT/XNNPACK",
            "posewire keypoints-small+int8": "**`small`, Posewire's int8 operators**",
            "ONNX+keypoints-small+int8": "`small`, ONNX Runtime int8",
            "ONNX+keypoints-small+f32": "`small`, ONNX Runtime f32",
            "posewire keypoints-nano+int8": "**`nano`, Posewire's int8 operators**",
            "ONNX+keypoints-nano+int8": "`nano`, ONNX Runtime int8",
            "posewire person+int8": "**finder, Posewire's int8 operators**",
            "ONNX+person+int8": "finder, ONNX Runtime int8",
        },
    )
    rows += engine_rows(
        "xeon-avx512-dist.json",
        {
            "QDQ as it is+tract": "`small`, tract, quantised",
            "tract f32": "`small`, tract f32",
            "rten+QDQ": "`small`, rten, quantised",
            "rten+f32": "`small`, rten f32",
        },
    )
    return markdown(["network and engine", "least", "median"], rows, right=2)


def instructions() -> str:
    """Instructions of one inference on Arm cores: `benches/results/aarch64-instructions.json`."""
    kinds = ("multiply", "fold", "dot", "other vector", "load", "store", "other")
    rows = []
    for row in kept("aarch64-instructions.json")["rows"]:
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

    result = kept("aarch64-instructions.json")
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


def line() -> str:
    """What a line carries: the lengths of `tests/golden/wire_v1.json`, nine tenths of the line, ten bits a byte."""
    vectors = {
        v["name"]: len(v["hex"]) // 2
        for v in json.loads((ROOT / "tests/golden/wire_v1.json").read_text())["streams"]
    }
    once_a_second = vectors["hello"] + vectors["status"]

    def rate_hz(baud: int, pose_bytes: int, persons: int) -> str:
        rate = (0.9 * baud / 10 - once_a_second) / (pose_bytes * persons)
        return str(int(rate)) if rate >= 10 else str(int(10 * rate) / 10)

    rows = [
        [
            str(baud),
            *(
                rate_hz(baud, vectors[name], persons)
                for name in ("pose_measured", "pose_3d")
                for persons in (1, 2, 4)
            ),
        ]
        for baud in (9600, 57600, 115200, 230400, 460800, 921600)
    ]
    heads = ["one person", "two", "four", "one, with 3D", "two", "four"]
    return markdown(["baud", *heads], rows, right=7)


def bench() -> str:
    """Where the time of a frame goes: `benches/results/bench-xeon-avx512.txt`."""
    return f"```text\n{(RESULTS / 'bench-xeon-avx512.txt').read_text().rstrip()}\n```"


def smoother() -> str:
    """The smoother beside the classic filters at 0.2 frame of added lag: `benches/results/clips`."""
    sets = {
        "jhmdb-own-val": "real, `small`",
        "jhmdb-movenet-val": "real, MoveNet",
        "mocap-movenet-val": "virtual, MoveNet",
    }
    families = ("none", "one-euro", "exponential", "kalman", "xl, as shipped")
    rows = []
    for name, title in sets.items():
        for row in kept(f"clips/{name}.json"):
            if row["family"] in families and row["budget"] in (None, 0.2):
                r = row["report"]
                bold = "**" if row["family"].startswith("xl") else ""
                rows.append(
                    [
                        title,
                        f"{bold}{row['family']}{bold}",
                        f"{r['mpjpe']['value']:.2f}",
                        share(r["pck_10"]["value"]),
                        share(r["pck_05"]),
                        f"{r['acceleration']['value']:.2f}",
                        f"{r['still_jitter']:.2f}",
                        f"{r['added_lag']:+.2f}",
                        f"{r['ahead']:.2f}",
                    ]
                )
    heads = ["MPJPE %", "PCK.1", "PCK.05", "Accel %", "jitter %", "added lag", "100 ms ahead %"]
    return markdown(["clips, detector", "filter", *heads], rows, right=7)


def endurance() -> str:
    """An hour at full rate: `benches/results/endurance.json`."""
    return printed("tests/endurance.py", "--show")


def hours() -> str:
    """A day of faults in simulated time: `benches/results/camera-bed-hours.jsonl`."""
    return printed("tests/camera-bed/run.py", "--hours", "benches/results/camera-bed-hours.jsonl")


def camera_bed() -> str:
    """Every scenario of the camera bed: `benches/results/camera-bed.jsonl`."""
    done = printed("tests/camera-bed/run.py", "--show", "benches/results/camera-bed.jsonl")
    return "\n".join(done.splitlines()[1:-1])


TABLES: dict[str, Callable[[], str]] = {
    f.__name__.replace("_", " "): f
    for f in (
        peers,
        networks,
        accuracy,
        quantised,
        finder,
        held_out,
        held_out_clips,
        whole,
        engines,
        instructions,
        boards,
        line,
        bench,
        smoother,
        endurance,
        hours,
        camera_bed,
    )
}
