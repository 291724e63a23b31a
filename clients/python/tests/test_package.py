"""What goes to PyPI: builds from a clean copy, describes itself, carries its licences and types."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
LICENCES = ("LICENSE-MIT", "LICENSE-APACHE")


class Package(unittest.TestCase):
    def test_licences_are_those_of_the_project(self) -> None:
        for name in LICENCES:
            self.assertEqual((PACKAGE / name).read_bytes(), (PACKAGE.parents[1] / name).read_bytes(), name)

    def test_wheel_and_source_build_and_pypi_would_take_them(self) -> None:
        missing = [
            name for name in ("build", "setuptools", "twine") if importlib.util.find_spec(name) is None
        ]
        if missing:
            print(f"SKIPPED: the package for PyPI: no {', '.join(missing)} (pip install it)", file=sys.stderr)
            self.skipTest("cannot build")
        with tempfile.TemporaryDirectory() as folder:
            # A copy: setuptools builds where the sources lie.
            copy = Path(folder) / "posewire"
            shutil.copytree(
                PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
            )
            out = Path(folder) / "out"
            self.run_quietly("build", "--no-isolation", "--outdir", str(out), str(copy))
            built = sorted(path.name for path in out.iterdir())
            self.assertEqual(built, ["posewire-0.1.0-py3-none-any.whl", "posewire-0.1.0.tar.gz"])
            self.run_quietly("twine", "check", "--strict", *(str(out / name) for name in built))
            with zipfile.ZipFile(out / built[0]) as wheel:
                names = wheel.namelist()
                metadata = wheel.read("posewire-0.1.0.dist-info/METADATA").decode()
        self.assertIn("posewire/py.typed", names)
        for name in LICENCES:
            self.assertIn(f"posewire-0.1.0.dist-info/licenses/{name}", names)
        self.assertIn("License-Expression: MIT OR Apache-2.0", metadata)
        for extra in ("numpy", "plot", "parquet", "lsl"):
            self.assertIn(f"Provides-Extra: {extra}", metadata)

    def run_quietly(self, *words: str) -> None:
        done = subprocess.run([sys.executable, "-m", *words], check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
