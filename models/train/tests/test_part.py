"""Parts of a cache hold their rows, the cache's own pictures and a teacher's maps of them."""

from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path

import numpy as np

from posetrain.data import cache
from posetrain.data.packs import KNOWN_PACKS
from posetrain.data.part import part


def a_cache(folder: Path, keys: list[str]) -> None:
    folder.mkdir()
    count, side = len(keys), 4
    np.arange(count * side * side * 3, dtype=np.uint8).tofile(folder / "pixels.bin")
    np.savez(
        folder / "index.npz",
        offset=np.arange(count) * side * side * 3,
        shape=np.full((count, 2), side, np.int32),
        joints=np.ones((count, 17, 3), np.float32),
        box=np.tile(np.array([0, 0, side, side], np.float32), (count, 1)),
        pack=np.full(count, KNOWN_PACKS.index("acted_films"), np.int8),
        split=np.zeros(count, np.int8),
        tier=np.ones(count, np.int8),
        key=np.array(keys),
    )
    np.save(folder / "maps.npy", np.arange(count)[:, None])
    (folder / "teachers.json").write_text(json.dumps(["movenet_thunder"]))


class Parts(unittest.TestCase):
    def test_two_halves_are_the_whole(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            whole = Path(name) / "acted"
            a_cache(whole, ["one-0001:1", "two-0001:2", "one-0002:3", "three-0001:4"])
            halves = [Path(name) / "first", Path(name) / "second"]
            counts = [part(whole, ("one", "three"), k == 1, half) for k, half in enumerate(halves)]
            self.assertEqual(counts, [3, 1])
            records, second = cache.load(whole), cache.load(halves[1])
            self.assertEqual(second.key.tolist(), ["two-0001:2"])
            np.testing.assert_array_equal(second.picture(0), records.picture(1))
            self.assertEqual(np.load(halves[0] / "maps.npy").ravel().tolist(), [0, 2, 3])
            self.assertEqual(json.loads((halves[1] / "teachers.json").read_text()), ["movenet_thunder"])

    def test_a_beginning_that_no_key_has_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            a_cache(Path(name) / "acted", ["one-0001:1"])
            with self.assertRaisesRegex(ValueError, "0 of 1 persons.*one-0001"):
                part(Path(name) / "acted", ("two",), False, Path(name) / "out")


if __name__ == "__main__":
    unittest.main()
