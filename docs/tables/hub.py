"""Several cameras as one room."""

from __future__ import annotations

from .form import kept, markdown


def hub_films() -> str:
    """From four films to metres, by `benches/hub/films.py`: `benches/results/hub-films.json`."""
    r = kept("hub-films.json")
    p50, p99 = r["light_to_osc_ms"]
    rows = [
        [
            "worst angle and distance between two cameras",
            f"{r['worst_degrees']:.2f}°, {100 * r['worst_distance']:.1f} %",
        ],
        [
            "joints from the truth: mean, median, 95th percentile",
            f"{r['mpjpe_mm']:.0f}, {r['median_mm']:.0f}, {r['p95_mm']:.0f} mm",
        ],
        [
            "persons told; identities changed; ghosts",
            f"{100 * r['persons_told']:.1f} %; {r['identities_changed']}; {r['ghosts_a_moment']:.3f} a moment",
        ],
        ["light to OSC heard: p50, p99", f"{p50:.0f}, {p99:.0f} ms"],
        [
            "a board's line to OSC heard: p50, p99",
            f"{r['line_to_osc_ms'][0]:.1f}, {r['line_to_osc_ms'][1]:.1f} ms",
        ],
        [
            "of it in the hub, from arrival to sent: p50, p99",
            f"{r['arrival_to_sent_ms'][0]:.1f}, {r['arrival_to_sent_ms'][1]:.1f} ms",
        ],
        ["pictures a second and camera, of 25", f"{r['pictures_a_second_and_camera']:.1f}"],
        ["the hub's share of one core", f"{100 * r['hub_cpu_share']:.1f} %"],
    ]
    return markdown(["", "measured"], rows, right=1)


def hub() -> str:
    """Places of cameras and people by `posewire-hub study`: `benches/results/hub.json`."""
    rows = []
    results = kept("hub.json")["rows"]
    kinds = [(r["turned"], r["cameras"], r["persons"]) for r in results]
    for turned, cameras, persons in sorted(set(kinds)):
        some = [r for r, kind in zip(results, kinds, strict=True) if kind == (turned, cameras, persons)]

        def span(key: str, digits: int, times: float = 1.0, of: list[dict[str, float]] = some) -> str:
            low, high = min(r[key] for r in of) * times, max(r[key] for r in of) * times
            return f"{low:.{digits}f}–{high:.{digits}f}"

        rows.append(
            [
                f"{100 * turned:.0f}",
                str(cameras),
                str(persons),
                span("worst_degrees", 2),
                span("worst_distance", 1, 100),
                span("mpjpe_mm", 0),
                span("dlt_mm", 0),
                span("offline_mm", 0),
                span("told", 1, 100),
                str(sum(r["switches"] for r in some)),
                span("ghosts", 3),
            ]
        )
    heads = [
        "backs taken for fronts %",
        "cameras",
        "persons",
        "worst angle °",
        "worst distance %",
        "MPJPE mm",
        "plain DLT mm",
        "offline mm",
        "joints told %",
        "identities changed",
        "ghosts a moment",
    ]
    return markdown(heads, rows, right=11)
