"""What the Pico's build refuses before it builds anything."""

from __future__ import annotations

import subprocess
import unittest
from pathlib import Path

PICO = Path(__file__).resolve().parent.parent / "pico.sh"


class Words(unittest.TestCase):
    def refused(self, *words: str) -> str:
        done = subprocess.run(["sh", str(PICO), *words], check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        return done.stderr

    def test_two_of_a_kind_are_refused_and_both_are_named(self) -> None:
        for first, second in (("rtscts", "usb"), ("st7789", "ssd1306"), ("rp2040", "rp235x")):
            said = self.refused(first, second)
            self.assertIn(f"'{first}' and '{second}'", said)

    def test_an_unknown_word_is_refused(self) -> None:
        # What is said twice is said once.
        self.assertIn("'oled' is neither", self.refused("usb", "usb", "oled"))


if __name__ == "__main__":
    unittest.main()
