"""The hub's avatars as python-osc hears them: bones and trackers of a simulated take, beside the hub's own lines of the same moments.

POSEWIRE_HUB=target/debug/posewire-hub python3 -m unittest tests/test_hub_avatars.py
The interpreter of the listeners is POSEWIRE_CLIENT_PYTHON, or this one; what it lacks is skipped, loudly.
"""

from __future__ import annotations

import json
import math
import os
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from test_bridges import POSEWIRE, PYTHON, ROOT, has, program, running

HUB = Path(os.environ.get("POSEWIRE_HUB", POSEWIRE.with_name("posewire-hub"))).resolve()


class Avatars(unittest.TestCase):
    """One simulated person before four cameras, replayed as it was recorded."""

    @classmethod
    def setUpClass(cls) -> None:
        how = "cargo build -p posewire-hub, or name one in POSEWIRE_HUB"
        if not program(HUB, "the hub's avatars", how):
            raise unittest.SkipTest("no posewire-hub")

    def setUp(self) -> None:
        if not has("pythonosc", "the hub's avatars"):
            self.skipTest("no python-osc")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.hub("simulate", "--out", "walk", "--seconds", "20")
        replay = ("--replay", "walk/take.jsonl", "--out", "room.toml")
        self.hub("calibrate", "walk/cameras.toml", "--stature", "1.7", *replay)
        self.hub("simulate", "--out", "short", "--seconds", "4")

    def hub(self, *words: str) -> None:
        subprocess.run([HUB, *words], cwd=self.folder, check=True, capture_output=True)

    def heard(self, peer: list[str], kind: str, rate_hz: int, end: bytes) -> dict[str, Any]:
        """What the peer has understood of the take; a rate at which everything fits into the socket's buffer, however late it is read."""
        with running([PYTHON, "-B", *peer], self.folder, stdout=subprocess.PIPE) as ear:
            assert ear.stdout is not None
            port = ear.stdout.readline().split()[0]
            room = ["run", "walk/cameras.toml", "--room", "room.toml", "--replay", "short/take.jsonl"]
            to = ["--osc", f"127.0.0.1:{port}", "--osc-format", kind, "--rate", str(rate_hz)]
            self.hub(*room, *to, "--jsonl", "lines.jsonl")
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mouth:
                mouth.sendto(end, ("127.0.0.1", int(port)))
            told: dict[str, Any] = json.loads(ear.stdout.read())
        return told

    def test_bones_hung_on_each_other_lie_where_the_rooms_joints_are(self) -> None:
        told = self.heard([str(ROOT / "tests/vmc_peer.py"), "lines.jsonl"], "vmc", 20, b"end")
        self.assertGreater(told["joints"], 400, told)
        # Bones keep their lengths; the walker straightens their back meanwhile.
        self.assertLess(told["median_mm"], 25, told)
        self.assertLess(told["p95_mm"], 100, told)
        print(f"the hub's VMC: {told}", file=sys.stderr)

    def test_trackers_are_where_the_rooms_joints_are(self) -> None:
        end = b"/end\0\0\0\0,\0\0\0"
        places = self.heard([str(ROOT / "tests/osc_peer.py")], "vrchat", 10, end)["places"]
        lines = [json.loads(line) for line in (Path(self.folder) / "lines.jsonl").read_text().splitlines()]
        persons = [line["persons"][0]["joints"] for line in lines if line["persons"]]
        self.assertGreater(len(persons), 25)
        # COCO's numbers of hips, ankles, knees and elbows.
        for tracker, joints in {
            "1": (11, 12),
            "3": (15,),
            "4": (16,),
            "5": (13,),
            "6": (14,),
            "7": (7,),
        }.items():
            known = [[person[j] for j in joints] for person in persons]
            known = [all_of for all_of in known if all(all_of)]
            middles = [[sum(axis) / len(joints) for axis in zip(*all_of, strict=True)] for all_of in known]
            self.assertEqual(len(places[tracker]), len(middles), tracker)
            for (x, y, z), middle in zip(places[tracker], middles, strict=True):
                # Unity's axes; lines have a tenth of a millimetre.
                self.assertLess(math.dist((x, y, z), (-middle[0], middle[2], -middle[1])), 2e-4, tracker)
        heights = sorted(y for _, y, _ in places["head"])
        self.assertTrue(1.3 < heights[len(heights) // 2] < 1.7, heights)


if __name__ == "__main__":
    unittest.main()
