"""Every configuration loads, and every command that is written down exists."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import sys
import tomllib
import unittest
from pathlib import Path
from unittest import mock

from posetrain.kept import given
from posetrain.keypoints import evaluate, lsp
from posetrain.keypoints.config import configured
from posetrain.paths import CONFIGS, EXPERIMENTS, REPOSITORY, TRAIN
from posetrain.temporal.learned import learned
from posetrain.temporal.model import Hyper

WRITTEN_DOWN = [
    TRAIN / "README.md",
    TRAIN / "BUDGET.md",
    *(TRAIN / "shipped").glob("*.md"),
    *(TRAIN / "checkpoints").glob("*.md"),
    *(REPOSITORY / "models").glob("*.toml"),
    *(REPOSITORY / "docs").glob("*.md"),
    *(REPOSITORY / "docs" / "decisions").glob("*.md"),
    *(TRAIN / "posetrain").rglob("*.py"),
]


class Configurations(unittest.TestCase):
    def test_every_keypoint_network_can_be_made_from_nothing(self) -> None:
        names = [p.stem for p in (CONFIGS / "keypoints").glob("*.toml")]
        self.assertIn("small", names)
        for name in names:
            seen = [name]
            config = configured(name)
            while earlier := config.start:
                self.assertNotIn(earlier, seen, "runs that start from each other")
                seen.append(earlier)
                config = configured(earlier)

    def test_a_run_is_named_as_its_file(self) -> None:
        paths = [*(CONFIGS / "keypoints").glob("*.toml"), *EXPERIMENTS.glob("*-small/*.toml")]
        stems = [path.stem for path in paths]
        self.assertEqual(len(stems), len(set(stems)), "a configuration is found by its name")
        for stem in stems:
            self.assertEqual(configured(stem).name, stem)

    def test_a_name_that_is_not_there_says_where_it_was_looked_for(self) -> None:
        with self.assertRaisesRegex(FileNotFoundError, "no tiny.toml in .*keypoints"):
            configured("tiny")

    def test_temporal_configurations_fit_the_model(self) -> None:
        runs = [p for p in (CONFIGS / "temporal").glob("*.toml") if not p.stem.startswith("detectors")]
        self.assertTrue(runs)
        for path in runs:
            config = tomllib.loads(path.read_text())
            Hyper(**config["model"])
            self.assertLessEqual({"model", "data", "loss", "train"}, config.keys(), path.name)
            self.assertEqual(config["licence"], "b" if "usable" in path.stem else "c", path.name)
            learned(config)


def commands(path: Path) -> list[tuple[str, str]]:
    """Each module that a text asks to be run, and the rest of the line, or of the quotation, that it stands on."""
    text = path.read_text().replace("\\\n", " ")
    return re.findall(r"python -m (posetrain(?:\.\w+)+)([^`\n]*)", text)


def said_on_help(module: str) -> str:
    """What `python -m MODULE --help` prints. A module without arguments of its own would start to work instead: it fails here."""
    said = io.StringIO()
    loaded = sys.modules.pop(module, None)
    try:
        with mock.patch.object(sys, "argv", [module, "--help"]), contextlib.redirect_stdout(said):
            runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code:
            raise AssertionError(f"{module} --help exits with {end.code}") from end
        return said.getvalue()
    finally:
        if loaded is not None:
            sys.modules[module] = loaded
    raise AssertionError(f"{module} takes no --help")


class Commands(unittest.TestCase):
    def test_every_command_written_down_answers_help_and_knows_its_options(self) -> None:
        found: dict[str, list[tuple[Path, str]]] = {}
        for path in WRITTEN_DOWN:
            for module, rest in commands(path):
                found.setdefault(module, []).append((path, rest))
        self.assertGreater(len(found), 15)
        self.assertIn(
            REPOSITORY / "models/keypoints-small.toml", [p for p, _ in found["posetrain.keypoints.ship"]]
        )
        for module, places in sorted(found.items()):
            with self.subTest(module):
                known = said_on_help(module)
                self.assertIn("usage:", known)
                for path, rest in places:
                    for option in re.findall(r"--[a-z][a-z-]*", rest):
                        self.assertRegex(known, rf"{option}\b", f"{path} names it")
                    for config in re.findall(r"configs/[\w/-]+\.toml", rest):
                        self.assertTrue((TRAIN / config).exists(), f"{path} names {config}")

    def test_what_is_kept_is_of_everything_and_names_the_command_that_was_given(self) -> None:
        files = {
            evaluate: ["--cache", "/here/cache"],
            lsp: ["--git", "/here/lsp"],
        }
        for module, words in files.items():
            said = io.StringIO()
            with (
                mock.patch.object(sys, "argv", ["", *words, "--every", "2", "--json", "/here/kept.json"]),
                contextlib.redirect_stderr(said),
                self.assertRaises(SystemExit),
            ):
                module.main()
            self.assertIn("--json", said.getvalue())
        words = [
            "--git=/here/lsp",
            "--model",
            "/here/keypoints-small.toml",
            "--model",
            "../keypoints-nano.toml",
        ]
        with mock.patch.object(sys, "argv", ["", *words, "--json", "/here/kept.json"]):
            command = given(
                "posetrain.keypoints.lsp",
                {
                    Path("/here/lsp"): "LSP_GIT",
                    Path("/here/keypoints-small.toml"): "../keypoints-small.toml",
                    Path("/here/kept.json"): "FILE",
                    None: "PEERS",
                },
            )
        self.assertEqual(
            command,
            "python -m posetrain.keypoints.lsp --git=LSP_GIT --model ../keypoints-small.toml --model ../keypoints-nano.toml --json FILE",
        )


if __name__ == "__main__":
    unittest.main()
