"""The read-me's comparison with others."""

from __future__ import annotations

from typing import Any

from .form import kept, markdown, share

RESEARCH = "MIT or Apache-2.0; weights for research"


def peers() -> str:
    """The read-me's comparison: `lsp.json`, `films.json`, the measured times and the licences."""
    photos = {(row["system"], row["crop"]): row["torso_02"][0] for row in kept("lsp.json")["rows"]}
    films: dict[str, dict[str, Any]] = {
        row["setting"]: row
        for name, rows in kept("films.json")["sets"]
        if name == "jhmdb-val"
        for row in rows
    }
    held = {row["system"]: row for row in kept("held-out.json")["time"]}
    timed = [kept(name)["rows"] for name in ("epyc-avx512.json", "xeon-looks.json")]

    def time(network: str) -> str:
        """Medians of one look, on either processor."""
        of = f"posewire keypoints-{network}: int8"
        return " / ".join(
            f"{next(row['median_ratio'] for row in rows if of in row['name']):.2f}" for rows in timed
        )

    def on_xeon(system: str, ratio: str) -> str:
        """Of an entry measured apart: on a Xeon alone, against MoveNet, with a mark where nothing says what statistic it is."""
        row = held[system]
        if "Xeon" not in row["processor"] or "MoveNet" not in row["unit"]:
            raise SystemExit(
                f"held-out.json: {system} is not beside MoveNet on a Xeon, as the read-me's column is"
            )
        return f"– / {ratio}{' ⁵' if row['statistic'] is None else ''}"

    def on_photos(system: str) -> str:
        return " / ".join(share(photos[system, crop]) for crop in ("tight", "loose"))

    def on_films(program: str) -> list[str]:
        row = films[program]
        return [
            f"{share(row['pck_10']['value'])} / {share(row['pck_05']['value'])}",
            f"{100 * row['missed_persons']['value']:.1f}",
            f"{row['acceleration']['value']:.1f}",
        ]

    def own(name: str, program: str) -> list[str]:
        photos_of, films_of = on_photos(f"Posewire `{name}`"), on_films(program)
        return [f"**Posewire** `{name}`", photos_of, *films_of, time(name), RESEARCH]

    shape = "a network of RTMPose-t's shape"
    rtm = held[shape]
    lightning, full = "MoveNet Lightning int8", "MediaPipe Pose full"
    rows = [
        own("small", "as shipped"),
        own("base", "`base`"),
        own("large", "`large`"),
        [lightning, on_photos(lightning), *on_films(lightning), "1 / 1", "Apache-2.0"],
        [full, "–", *on_films(full), on_xeon(full, f"{held[full]['tracking']:.1f}"), "Apache-2.0"],
        [
            "RTMPose-t",
            "–",
            "–",
            "–",
            "–",
            on_xeon(shape, f"{rtm['int8']:.1f}–{rtm['f32']:.1f} ⁴"),
            "Apache-2.0; weights disputed",
        ],
    ]
    heads = [
        "",
        "photos of sport ¹",
        "videos ²",
        "person missed %",
        "jitter %",
        "time ³, EPYC / Xeon",
        "licence",
    ]
    return markdown(heads, rows)
