"""Parts of a cache hold their rows, the cache's own pictures and a teacher's maps of them."""

from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path

import numpy as np

from posetrain.data import cache
from posetrain.data.packs import KNOWN_PACKS
from posetrain.data.part import by_keys, of_half, part


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
            records = cache.load(whole)
            chosen = [by_keys(records, ("one", "three"), but) for but in (False, True)]
            self.assertEqual([part(whole, *of) for of in zip(chosen, halves, strict=True)], [3, 1])
            second = cache.load(halves[1])
            self.assertEqual(second.key.tolist(), ["two-0001:2"])
            np.testing.assert_array_equal(second.picture(0), records.picture(1))
            self.assertEqual(np.load(halves[0] / "maps.npy").ravel().tolist(), [0, 2, 3])
            self.assertEqual(json.loads((halves[1] / "teachers.json").read_text()), ["movenet_thunder"])

    def test_a_beginning_that_no_key_has_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            a_cache(Path(name) / "acted", ["one-0001:1"])
            with self.assertRaisesRegex(ValueError, "0 of 1 persons.*one-0001"):
                by_keys(cache.load(Path(name) / "acted"), ("two",), False)

    def test_a_video_is_in_one_half_whatever_its_clips_show(self) -> None:
        keys = [
            f"{action}/{video}_{action}_f_nm_np1_fr_med_0.avi#{k}:{k}"
            for video in "abcdefgh"
            for action in ("sit", "walk")
            for k in range(2)
        ]
        with tempfile.TemporaryDirectory() as name:
            a_cache(Path(name) / "jhmdb", keys)
            records = cache.load(Path(name) / "jhmdb")
            first, second = (of_half(records, half).reshape(8, 4) for half in ("first", "second"))
            self.assertTrue((first != second).all() and (first == first[:, :1]).all())
            self.assertTrue(0 < first[:, 0].sum() < 8)
            with self.assertRaisesRegex(ValueError, "a, b, c.*--half"):
                by_keys(records, ("sit/",), False)


if __name__ == "__main__":
    unittest.main()
