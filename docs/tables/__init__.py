"""The measured tables of the documents, each from the result that is kept of it. `docs/make.py` puts them into their pages."""

from __future__ import annotations

from collections.abc import Callable

from .accuracy import accuracy, films, finder, held_out, lsp, networks, presence, quantised
from .code import crates, line, modules
from .form import ROOT
from .hub import hub, hub_films
from .motion import goals, held_out_clips, identities, smoother
from .peers import peers
from .reliability import camera_bed, endurance, hours
from .speed import bench, boards, engines, instructions, looks

__all__ = ["ROOT", "TABLES"]

TABLES: dict[str, Callable[[], str]] = {
    f.__name__.replace("_", " "): f
    for f in (
        *(
            peers,
            networks,
            accuracy,
            lsp,
            quantised,
            finder,
            presence,
            held_out,
            films,
            held_out_clips,
            smoother,
            goals,
            identities,
        ),
        *(engines, looks, instructions, boards, bench, endurance, hours, camera_bed),
        *(hub, hub_films, modules, crates, line),
    )
}
