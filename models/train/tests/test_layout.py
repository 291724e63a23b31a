"""Arrows between the parts go one way, as README has them."""

from __future__ import annotations

import ast
import unittest
from collections.abc import Iterator
from pathlib import Path

from posetrain.paths import TRAIN

PACKAGE = TRAIN / "posetrain"
SHARED = {"inference", "kept", "loop", "metrics", "paths", "precision", "resumed"}
MAY_USE = {
    "data": SHARED - {"kept", "loop", "metrics", "precision", "resumed"},
    "keypoints": SHARED | {"data"},
    "finder": SHARED | {"data", "keypoints"},
    "temporal": SHARED | {"data", "keypoints"},
    "gpu": SHARED | {"data", "keypoints"},
    "study": SHARED | {"data", "temporal"},
}


def imported(path: Path) -> Iterator[str]:
    """Modules of the package that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.startswith("posetrain."))
        elif isinstance(node, ast.ImportFrom) and node.module == "posetrain":
            yield from (f"posetrain.{name.name}" for name in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("posetrain."):
            yield node.module or ""


class Arrows(unittest.TestCase):
    def test_every_part_has_its_arrows_written_down(self) -> None:
        parts = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
        self.assertEqual(parts, set(MAY_USE))

    def test_parts_import_only_what_they_may(self) -> None:
        for part, allowed in MAY_USE.items():
            for path in sorted((PACKAGE / part).glob("*.py")):
                for module in imported(path):
                    to = module.split(".")[1]
                    self.assertIn(to, allowed | {part}, f"{path.relative_to(TRAIN)} imports {module}")


if __name__ == "__main__":
    unittest.main()
