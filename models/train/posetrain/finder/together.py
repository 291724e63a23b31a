r"""Finder and keypoint network together say who is somebody, as in the program: how, chosen on train pictures and measured on val.

    python -m posetrain.finder.together ../person.toml --keypoints ../keypoints-small.toml --data PACKS --peers PEERS \
        --scenes DIR [--scenes DIR ...]

A keypoint network that tells persons from the rest gives each find a presence. Its odds are multiplied by a power of the
finder's against those of a neutral find: a sure find needs little presence, and a doubtful one much. Writes the rule, and what
comes of it, into the finder's manifest; `posetrain.finder.make` does so for a new finder.
"""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from posetrain.data import scenes as stored
from posetrain.data.augment import plain_crop
from posetrain.data.licences import LETTER, licence_of, of_letter
from posetrain.data.packs import Floats
from posetrain.data.scenes import FastestDet, Scene
from posetrain.finder import manifest
from posetrain.finder.evaluate import Finder, Rule, Test, test, val_scenes
from posetrain.inference import as_input, session

# A look at a find costs time, and weaker ones are hardly ever told of: from .15 to .3 F1 is level.
MIN_SCORE = 0.25
RULES = [
    Rule(MIN_SCORE, neutral, weight)
    for neutral in (0.3, 0.35, 0.4, 0.45, 0.5)
    for weight in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
]


class Witness:
    """A keypoint network that says whether its crop shows a person."""

    def __init__(self, manifest: Path) -> None:
        said = tomllib.loads(manifest.read_text())
        if "presence" not in said["codec"]:
            raise SystemExit(
                f"{manifest}: this network does not tell persons from the rest; posetrain.finder.presence teaches it"
            )
        self.session, self.output = session(manifest.with_name(said["file"])), said["codec"]["presence"]
        self.net = int(self.session.get_inputs()[0].shape[2])

    def presence(self, pixels: npt.NDArray[np.uint8], boxes: Floats) -> npt.NDArray[np.float64]:
        """Probabilities [N]; `boxes` [N, 4], x0 y0 x1 y1 in pixels, as the finder hands them over."""
        crops = (as_input(plain_crop(pixels, box, self.net)[0]) for box in boxes)
        said = [float(self.session.run([self.output], {"image": crop})[0].mean()) for crop in crops]
        return np.asarray(1 / (1 + np.exp(-np.asarray(said))))


def on_train(finder: Finder, scenes: list[Scene], witness: Witness) -> Test:
    """On some 800 train pictures, and on the parts of them that show nobody."""
    rng = np.random.default_rng(8)
    some = scenes[:: max(1, len(scenes) // 800)]
    nobody = [part for s in some if (part := stored.empty_part(s, rng)) is not None]
    return test(finder, [(s, str(k)) for k, s in enumerate([*some, *nobody])], witness.presence)


def choose(result: Test) -> Rule:
    """The rule of the best F1: whom both let pass is told of, so a false person costs as much as a missed one."""
    return max(RULES, key=lambda rule: result.f1(result.together(rule)))


def given(text: str) -> Rule:
    neutral, weight = text.split(",")
    return Rule(MIN_SCORE, float(neutral), float(weight))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("finder", type=Path, help="manifest")
    parser.add_argument("--keypoints", type=Path, required=True, help="manifest of the network that is asked")
    parser.add_argument("--data", type=Path, required=True, help="folder with the packs")
    parser.add_argument("--peers", type=Path, required=True, help="folder with fastestdet.onnx, the teacher")
    parser.add_argument(
        "--scenes", type=Path, action="append", default=[], help="to choose the rule by; may be given again"
    )
    parser.add_argument(
        "--licence",
        default="c",
        choices=sorted(LETTER.values()),
        help="the worst class of scenes to choose by",
    )
    parser.add_argument(
        "--rule",
        type=given,
        metavar="NEUTRAL,WEIGHT",
        help="instead of the best on train pictures, where films have decided",
    )
    args = parser.parse_args()
    if not (args.scenes or args.rule):
        parser.error("--scenes to choose a rule by, or --rule")
    said = tomllib.loads(args.finder.read_text())
    finder, witness = Finder(args.finder.with_name(said["file"])), Witness(args.keypoints)
    allowed = of_letter(args.licence)
    scenes = [s for store in args.scenes for s in stored.load(store) if licence_of([s.pack]) <= allowed]
    rule = args.rule
    if not rule:
        rule = choose(chosen_by := on_train(finder, scenes, witness))
        for tried in RULES:
            print(f"{tried}: F1 {chosen_by.f1(chosen_by.together(tried)):.4f}")
    val = val_scenes(args.data, FastestDet(args.peers / "fastestdet.onnx"))
    results = {name: test(finder, v, witness.presence) for name, v in val.items()}
    manifest.rewrite(args.finder, rule, results)
    print(rule)
    for name, result in results.items():
        print(f"{name}: " + ", ".join(manifest.figures(result, said["codec"]["threshold"], rule)))


if __name__ == "__main__":
    main()
