#!/usr/bin/env python3
"""Takes a picture of the preview's page, on a machine that does nothing else.

    POSEWIRE=target/release/posewire docs/images/record_preview.py docs/images/preview.jpg [--seconds 19]

The built-in clip with a zone before its shelf, in Chromium without a window. Needs chromium and ffmpeg.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ZONES = """\
[[zone]]
name = "shelf"
at = "feet"
polygon = [[0.55, 0.57], [0.85, 0.57], [0.97, 0.99], [0.6, 0.99]]
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=19.0, help="from when somebody is there")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        zones = Path(folder, "zones.toml")
        zones.write_text(ZONES)
        os.environ["POSEWIRE_SCREENSHOTS"] = folder
        # The browser that the tests drive, and the page as they open it.
        sys.path.insert(0, str(ROOT / "tests"))
        page = importlib.import_module("test_preview").Preview("test_the_page_shows_what_the_messages_say")
        try:
            page.serve("run", "--synthetic", "--web-pixels", "--zones", str(zones))
            browser = page.open_live(960, 600)
            time.sleep(args.seconds)
            browser.screenshot("page")
        finally:
            page.doCleanups()
        command = ["ffmpeg", "-v", "error", "-y", "-i", f"{folder}/page.png", "-q:v", "3", str(args.out)]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
