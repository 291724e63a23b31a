"""The advisory check on advisories and lock files that are made up: `python3 -m unittest tests/test_advisories.py`."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from advisories import check, concerns, parse, within

REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"


def lock(direct: list[str], packages: dict[str, str]) -> dict[str, Any]:
    ours = {"name": "ours", "version": "0.1.0", "dependencies": direct}
    return {"package": [ours, *({"name": n, "version": v, "source": REGISTRY} for n, v in packages.items())]}


class Ranges(unittest.TestCase):
    def test_versions_lie_in_ranges_as_semver_says(self) -> None:
        inside = [
            (">= 1.2.3", "1.2.3"), (">=1.2", "1.10.0"), ("> 1", "1.0.1"), ("< 2.0.0", "2.0.0-rc.1"), ("<= 0.3.1", "0.3.1"),
            ("^1.2.3", "1.9.0"), ("0.3.4", "0.3.9"), ("^0.0.3", "0.0.3"), (">= 0.4.2, < 0.5", "0.4.9"), ("= 1.0.0", "1.0.0+x"),
            (">= 1.0.0-alpha.2", "1.0.0-alpha.10"), (">= 1.0.0-alpha", "1.0.0"), (">= 1.0.0-beta.1", "1.0.0-rc.0"),
        ]  # fmt: skip
        outside = [
            (">= 1.2.3", "1.2.2"), (">= 1.0.0", "1.0.0-rc.9"), ("> 1", "1.0.0"), ("< 2.0.0", "2.0.0"), ("^1.2.3", "2.0.0"),
            ("^1.2.3", "2.0.0-alpha"), ("0.3.4", "0.4.0"), ("^0.0.3", "0.0.4"), (">= 0.4.2, < 0.5", "0.5.0"),
            (">= 1.0.0-alpha.10", "1.0.0-alpha.2"),
        ]  # fmt: skip
        for range_, found in inside:
            self.assertTrue(within(range_, found), f"{found} in {range_}")
        for range_, found in outside:
            self.assertFalse(within(range_, found), f"{found} in {range_}")

    def test_a_range_that_is_not_understood_is_no_silence(self) -> None:
        with self.assertRaises(ValueError):
            within("~> 1.2", "1.2.0")


class Advisories(unittest.TestCase):
    TEXT = """```toml
[advisory]
id = "RUSTSEC-2099-0001"
package = "leaky"
date = "2099-01-01"
{more}
[affected]
os = {systems}

[versions]
patched = [">= 1.4.2"]
unaffected = ["< 1.2.0"]
```

# It leaks
"""

    def text(self, more: str = "", systems: str = '["linux"]') -> str:
        return self.TEXT.format(more=more, systems=systems)

    def test_what_is_neither_mended_nor_untouched_is_concerned(self) -> None:
        advisory = parse(self.text())
        assert advisory
        found = {v: concerns(advisory, v) for v in ("1.1.9", "1.2.0", "1.4.1", "1.4.2", "2.0.0")}
        self.assertEqual(
            found, {"1.1.9": False, "1.2.0": True, "1.4.1": True, "1.4.2": False, "2.0.0": False}
        )

    def test_withdrawn_ones_and_those_of_other_systems_are_left_out(self) -> None:
        self.assertIsNone(parse(self.text(more='withdrawn = "2099-02-01"')))
        self.assertIsNone(parse(self.text(systems='["windows"]')))
        with self.assertRaises(ValueError):
            parse("# It leaks")

    def test_vulnerable_packages_fail_wherever_they_are_and_unmaintained_ones_where_we_name_them(
        self,
    ) -> None:
        advisories = [
            {"id": "V", "package": "leaky", "patched": [">= 1.4.2"]},
            {"id": "U", "package": "lonely", "patched": [], "kind": "unmaintained"},
            {"id": "S", "package": "shaky", "patched": [], "kind": "unsound"},
        ]
        packages = {"leaky": "1.4.1", "lonely": "0.1.0", "shaky": "3.0.0", "sound": "1.0.0"}
        wrong, told, _ = check({"Cargo.lock": lock(["sound"], packages)}, advisories, set())
        self.assertEqual([w.split(": ")[2].split(",")[0] for w in wrong], ["V", "S"])
        self.assertEqual(len(told), 1)
        wrong, told, _ = check({"Cargo.lock": lock(["lonely 0.1.0"], packages)}, advisories, {"V"})
        self.assertEqual([w.split(": ")[2].split(",")[0] for w in wrong], ["U", "S"])
        self.assertIn("ignored", told[0])

    def test_what_is_ignored_without_need_is_noticed(self) -> None:
        advisories = [{"id": "V", "package": "leaky", "patched": [">= 1.4.2"]}]
        *_, needed = check({"Cargo.lock": lock([], {"leaky": "1.4.2"})}, advisories, {"V"})
        self.assertEqual(needed, set())


if __name__ == "__main__":
    unittest.main()
