"""The read-me's comparison with others."""

from __future__ import annotations

from .form import kept, markdown, share


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
