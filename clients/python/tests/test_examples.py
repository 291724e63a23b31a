"""The example notebooks, run cell by cell as their readers would, each in a folder of its own."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
#: What a notebook needs, and the extra that brings it.
NEEDS = {"movement.ipynb": ("matplotlib", "plot"), "recordings.ipynb": ("pyarrow", "parquet")}


def cells(path: Path) -> list[str]:
    """The code of a notebook, which is JSON: nothing else is needed to run it."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4, path
    found = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None, (
                f"{path.name}: clear all outputs"
            )
            found.append("".join(cell["source"]))
    return found


class Notebooks(unittest.TestCase):
    def said(self, name: str) -> list[str]:
        """What each cell of a notebook prints."""
        needed, extra = NEEDS[name]
        if importlib.util.find_spec(needed) is None:
            print(f"SKIPPED: {name}: no {needed} (pip install './clients/python[{extra}]')", file=sys.stderr)
            self.skipTest(f"no {needed}")
        os.environ["MPLBACKEND"] = "agg"
        said = []
        before = Path.cwd()
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(EXAMPLES / "clip.jsonl", folder)
            os.chdir(folder)
            try:
                names: dict[str, Any] = {}
                for number, code in enumerate(cells(EXAMPLES / name)):
                    out = io.StringIO()
                    with contextlib.redirect_stdout(out):
                        exec(compile(code, f"{name}, cell {number}", "exec"), names)
                    said.append(out.getvalue())
            finally:
                os.chdir(before)
        return said

    def test_all_are_run(self) -> None:
        self.assertEqual({path.name for path in EXAMPLES.glob("*.ipynb")}, set(NEEDS))

    def test_movement(self) -> None:
        said = self.said("movement.ipynb")
        self.assertEqual(said[0], "90 frames, persons [1]\n")
        self.assertRegex(said[2], r"^median \d+ px/s, \d\.\d\d m/s\n$")
        self.assertRegex(said[3], r"^bent by \d+ to \d+ degrees\n$")

    def test_recordings(self) -> None:
        said = self.said("recordings.ipynb")
        self.assertEqual(said[0], "[90, 90, 90] rows\n")
        self.assertRegex(said[1], r"^90 rows of \['seq', .*\n.*\n\d+ bytes; \d+ as CSV\n$")
        self.assertTrue(said[3].startswith("PathFileType\t4"), said[3])


if __name__ == "__main__":
    unittest.main()
