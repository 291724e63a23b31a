"""Several cameras as one room."""

from __future__ import annotations

from .form import kept, markdown


def hub() -> str:
    """Places of cameras and people by `posewire-hub study`: `benches/results/hub.json`."""
    rows = []
    results = kept("hub.json")["rows"]
    for cameras in sorted({r["cameras"] for r in results}):
        for persons in sorted({r["persons"] for r in results}):
            some = [r for r in results if (r["cameras"], r["persons"]) == (cameras, persons)]

            def span(key: str, digits: int, times: float = 1.0, of: list[dict[str, float]] = some) -> str:
                low, high = min(r[key] for r in of) * times, max(r[key] for r in of) * times
                return f"{low:.{digits}f}–{high:.{digits}f}"

            rows.append(
                [
                    str(cameras),
                    str(persons),
                    span("worst_degrees", 2),
                    span("worst_distance", 1, 100),
                    span("mpjpe_mm", 0),
                    span("dlt_mm", 0),
                    span("told", 1, 100),
                    str(sum(r["switches"] for r in some)),
                    span("ghosts", 3),
                ]
            )
    heads = [
        "cameras",
        "persons",
        "worst angle °",
        "worst distance %",
        "MPJPE mm",
        "plain DLT mm",
        "joints told %",
        "identities changed",
        "ghosts a moment",
    ]
    return markdown(heads, rows, right=9)
