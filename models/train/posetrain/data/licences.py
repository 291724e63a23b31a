"""What may be done with weights by what they were trained on: one table of every source.

    python -m posetrain.data.licences            # docs/data-licences.md

A configuration names the worst class that its weights may have (`licence`); a source that is worse is refused, and so are weights to
begin from that learned from one.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path


class Licence(IntEnum):
    """From best to worst; weights have the worst class of all that they learned from, teachers included."""

    FREE = 0
    COCO = 1
    RESEARCH = 2


LETTER = {Licence.FREE: "a", Licence.COCO: "b", Licence.RESEARCH: "c"}
MEANING = {
    Licence.FREE: "rendered, CMU motion, CC0, public domain: weights may be used for anything",
    Licence.COCO: "COCO's annotations are CC BY 4.0; its pictures are Flickr's, and weights are used as "
    "everybody's COCO-trained weights are",
    Licence.RESEARCH: "published for research, or terms that nobody states: weights are for research alone",
}


class LicenceError(ValueError):
    """A source that a configuration's class forbids, or that no table knows."""


@dataclass(frozen=True)
class Source:
    """`terms` as the source states them. `used` says what for; `made_from` names sources whose class it takes on."""

    licence: Licence
    terms: str
    used: str
    made_from: tuple[str, ...] = ()


#: Manifests of what is shipped: they say what each network learned from.
MODELS = Path(__file__).resolve().parents[3]

SOURCES: dict[str, Source] = {
    "rendered": Source(
        Licence.FREE, "made here of CC0 bodies, clothes by procedures and CMU motion", "keypoints, finder",
        ("makehuman", "cmu_mocap"),
    ),
    "rendered_tracks": Source(
        Licence.FREE, "what `keypoints-small` said of rendered films, beside exact truth", "temporal model",
        ("rendered", "keypoints-small"),
    ),
    "rendered_tracks_usable": Source(
        Licence.FREE, "what `keypoints-small-usable` said of rendered films, beside exact truth", "temporal model",
        ("rendered", "keypoints-small-usable"),
    ),
    "still_tracks_usable": Source(
        Licence.COCO, "what `keypoints-small-usable` said of windows that move over COCO pictures, beside their labels", "temporal model",
        ("coco_more", "keypoints-small-usable"),
    ),
    "acted_tracks_usable": Source(
        Licence.FREE, "what `keypoints-small-usable` said of films of `free_films`, beside a teacher's labels", "temporal model",
        ("free_films", "movenet_thunder", "keypoints-base-usable", "keypoints-small-usable"),
    ),
    "rendered_over_coco": Source(
        Licence.COCO, "rendered people before or clothed in parts of COCO pictures", "keypoints, finder",
        ("rendered", "coco_more"),
    ),
    "makehuman": Source(Licence.FREE, "CC0: base mesh, targets, garments, hair", "rendered people"),
    "cmu_mocap": Source(
        Licence.FREE, "free for research and commercial use; credit asked; do not resell the data itself",
        "temporal model, rendered people",
    ),
    "synthetic": Source(Licence.FREE, "figures drawn by this package", "tests, smoke runs"),
    "coco_subset": Source(Licence.COCO, "annotations CC BY 4.0; pictures Flickr, a licence each", "keypoints, finder"),
    "coco_more": Source(Licence.COCO, "annotations CC BY 4.0; pictures Flickr, a licence each", "keypoints, finder"),
    "coco_fetched": Source(
        Licence.COCO, "annotations CC BY 4.0; pictures Flickr, a licence each", "keypoints, finder"
    ),
    "coco_nobody": Source(
        Licence.COCO, "annotations CC BY 4.0; pictures Flickr, a licence each", "keypoints and finder: nobody"
    ),
    "free_films": Source(
        Licence.FREE, "films and photos that those who made them publish under MIT, BSD-3-Clause or CC BY 4.0 (credit below)",
        "keypoints, finder", ("movenet_thunder",),
    ),
    **{
        name: Source(Licence.RESEARCH, "weights of this project (above)", "teacher")
        for name in ("keypoints-nano", "keypoints-small", "keypoints-base", "keypoints-large")
    },
    "efficientnet_lite": Source(
        Licence.RESEARCH, "weights under Apache-2.0; trained by Google on ImageNet, whose pictures are for research",
        "where the tutor began",
    ),
    "keypoints-tutor": Source(
        Licence.RESEARCH, "weights of this project, of the pictures of `large`; never shipped", "teacher",
        ("efficientnet_lite", "found_people", "acted_films", "keypoints-large"),
    ),
    "keypoints-small-usable": Source(
        Licence.FREE, "weights of this project (above)", "where the usable finder began",
        ("rendered", "coco_more", "coco_subset", "coco_fetched", "coco_nobody", "free_films", "movenet_thunder", "keypoints-base-usable"),
    ),
    "keypoints-base-usable": Source(
        Licence.FREE, "weights of this project (above)", "teacher",
        ("rendered", "coco_more", "coco_subset", "coco_fetched", "coco_nobody", "free_films", "movenet_thunder"),
    ),
    "fastestdet": Source(
        Licence.COCO, "BSD-3-Clause; trained on COCO by its author", "teacher: people without a label, for the finder"
    ),
    "movenet_thunder": Source(
        Licence.COCO, "Apache-2.0; trained by Google on COCO and an own set of its", "teacher: maps for stored crops"
    ),
    "lspet": Source(Licence.RESEARCH, "Flickr pictures published for research; no licence text", "keypoints, finder"),
    "lsp": Source(Licence.RESEARCH, "Flickr pictures published for research; 1-1000 alone", "keypoints"),
    "parse": Source(Licence.RESEARCH, "published for research; no licence text", "keypoints"),
    "buffy": Source(Licence.RESEARCH, "frames of a television series, labels for research", "keypoints"),
    "jhmdb": Source(
        Licence.RESEARCH, "HMDB51 says CC BY 4.0, but its clips come from films; labels for research",
        "keypoints, finder, temporal model",
    ),
    "pelota": Source(Licence.RESEARCH, "press photos; no licence", "keypoints"),
    "penn_action": Source(Licence.RESEARCH, "published for research", "temporal model"),
    "unlabelled/free_exercise": Source(
        Licence.RESEARCH, "repository claims the public domain, origin of its photos not stated", "keypoints, finder"
    ),
    "unlabelled/ccp": Source(Licence.RESEARCH, "photos of fashion sites; unclear", "keypoints, finder"),
    "unlabelled/people": Source(
        Licence.RESEARCH, "Stanford 40 Actions, published for research; photos of web searches", "keypoints, finder"
    ),
    "acted_tracks": Source(
        Licence.RESEARCH,
        "what keypoint networks said of films of yoga, exercise and streets that public repositories hold, beside a teacher's labels; "
        "terms not stated",
        "temporal model", ("movenet_thunder", "keypoints-large", "keypoints-small"),
    ),
    "found_people": Source(
        Licence.RESEARCH,
        "photos and films of sport, gyms, hospitals, streets that public repositories hold, terms not stated; Stanford 40 Actions",
        "keypoints, finder", ("movenet_thunder", "keypoints-large"),
    ),
    "acted_films": Source(
        Licence.RESEARCH,
        "frames of films of yoga, exercise, fights, streets that public repositories hold, labelled over the whole film; terms not stated",
        "keypoints", ("movenet_thunder", "keypoints-large"),
    ),
    "person_boxes": Source(
        Licence.RESEARCH, "streets, crowds and portraits, put together under CC BY 4.0; whose the photos are is not stated", "finder"
    ),
    "stanford40_more": Source(
        Licence.RESEARCH, "the rest of Stanford 40 Actions", "keypoints", ("movenet_thunder",)
    ),
}  # fmt: skip


def licence_of(names: Iterable[str]) -> Licence:
    """The class of weights that learn from all of `names`.

    Raises `LicenceError` for a source that the table lacks: what nobody looked up may not be trained on.
    """
    worst = Licence.FREE
    for name in names:
        if name not in SOURCES:
            raise LicenceError(
                f"source `{name}` is not in the licence table: add it to posetrain/data/licences.py first"
            )
        source = SOURCES[name]
        worst = max(worst, source.licence, licence_of(source.made_from))
    return worst


def require(names: Iterable[str], at_most: Licence) -> None:
    """Refuses sources that would make weights of a worse class than `at_most`."""
    for name in names:
        if (found := licence_of([name])) > at_most:
            raise LicenceError(
                f"source `{name}` is of class ({LETTER[found]}), the configuration allows ({LETTER[at_most]}) at worst"
            )


def of_letter(letter: str) -> Licence:
    for licence, its in LETTER.items():
        if its == letter:
            return licence
    raise LicenceError(f"licence class `{letter}` is none of {', '.join(LETTER.values())}")


def shipped() -> dict[str, list[str]]:
    """What each network in `models/` learned from, as its card says: its joints, and whether anybody is there."""
    cards = {path.stem: tomllib.loads(path.read_text())["card"] for path in sorted(MODELS.glob("*.toml"))}
    return {
        name: list(dict.fromkeys([*card["data"], *card.get("presence", {}).get("data", [])]))
        for name, card in cards.items()
    }


def page() -> str:
    """docs/data-licences.md."""
    lines = [
        "# What the networks may be used for, by what they learned from",
        "",
        "Weights have the worst class of everything they were trained on, teachers included.",
        "",
        *(f"- **({LETTER[c]})** {MEANING[c]}." for c in Licence),
        "",
        "| network in `models/` | class | learned from |",
        "|---|---|---|",
        *(
            f"| `{name}` | {LETTER[licence_of(data)]} | {', '.join(f'`{source}`' for source in data)} |"
            for name, data in shipped().items()
        ),
        "",
        "A training configuration names the class that it allows (`licence`), and the trainer refuses a source of a worse one, and weights",
        "to begin from that learned from one. Each card names what the network learned from, the weights that it began from included.",
        "This page is printed by `python -m posetrain.data.licences`; a test compares.",
        "",
        "| source | class | terms | used for |",
        "|---|---|---|---|",
    ]
    for name, source in sorted(SOURCES.items(), key=lambda item: (licence_of([item[0]]), item[0])):
        of = f"; made from {', '.join(f'`{m}`' for m in source.made_from)}" if source.made_from else ""
        lines.append(f"| `{name}` | {LETTER[licence_of([name])]} | {source.terms}{of} | {source.used} |")
    lines += [
        "",
        "`free_films` is labelled by MoveNet Thunder alone. Its pictures, with thanks: GMDCSA24 (Ekram Alam, MIT; falls and",
        "daily life), Intel's sample videos (CC BY 4.0), Pose2Sim's and Sports2D's demonstrations (David Pagnon,",
        "BSD-3-Clause), custom-gesture-dataset (emrecandir9, MIT).",
        "",
        "Never trained on, whatever their class: COCO val2017; the original LSP's 1001-2000; the last 1,000 of LSPET;",
        "J-HMDB's test clips and clips cut from the same films; what a pack holds as `val`.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    print(page(), end="")


if __name__ == "__main__":
    main()
