"""Persons out of labelled films: a frame that shows something new is a person to learn from, one like the last is not."""

from __future__ import annotations

import tempfile
import unittest
from collections import Counter
from pathlib import Path

import numpy as np

from posetrain.data import cache, gather, packs
from posetrain.temporal import acted, films
from tests.test_filmed import PLACES, figure


class Taken(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def film(self, name: str, raised: list[float], known: int = packs.JOINTS) -> Path:
        """A film of the figure with one arm `raised` by so many pixels, of whom so many joints are labelled."""
        joints = np.zeros((len(raised), packs.JOINTS, 3), np.float32)
        joints[:, :, :2] = PLACES
        joints[:, :, 2] = 2.0 * (np.arange(packs.JOINTS) < known)
        joints[:, [7, 9], 1] -= np.array(raised, np.float32)[:, None]
        films.write(self.folder, name, [figure(0.0)] * len(raised), joints)
        return self.folder / f"{name}.jsonl"

    def test_frames_that_show_nothing_new_are_left_out(self) -> None:
        counts = Counter[str]()
        entries = list(acted.taken(self.film("yoga-0123456789ab-1", [0, 1, 2, 60, 61, 0]), counts))
        self.assertEqual([e.name[-9:] for e in entries], ["00001.jpg", "00004.jpg", "00006.jpg"])
        self.assertEqual(counts, {"frame like the one before": 3})
        self.assertEqual(entries[0].source.split(",")[0], "film yoga")
        np.testing.assert_allclose(entries[1].persons[0][0][9, :2], PLACES[9] - (0, 60), atol=0.01)

    def test_a_frame_of_which_too_little_is_known_teaches_nothing(self) -> None:
        counts = Counter[str]()
        self.assertEqual(list(acted.taken(self.film("dance-0123456789ab", [0, 60], known=9), counts)), [])
        self.assertEqual(counts, {"frame of which too little is known": 2})

    def test_the_pack_is_one_that_caches_are_made_of(self) -> None:
        film = self.film("yoga-0123456789ab", [0, 80])
        (self.folder / "yoga-0123456789ab" / "00002.jpg").unlink()
        counts = Counter[str]()
        gather.write(acted.taken(film, counts), self.folder / "out" / acted.PACK, acted.PACK, counts)
        self.assertEqual(counts["picture that cannot be read"], 1)
        cache.build(self.folder / "out", self.folder / "cache", (acted.PACK,))
        records = cache.load(self.folder / "cache")
        self.assertEqual(len(records), 1)
        self.assertEqual(packs.KNOWN_PACKS[int(records.pack[0])], acted.PACK)
        self.assertEqual(records.split[0], cache.SPLITS.index("train"))


if __name__ == "__main__":
    unittest.main()
