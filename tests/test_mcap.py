"""What `--mcap` writes, read by the reference's own Python reader: by the index, and a file that was cut off from its beginning.

The interpreter with `mcap` is POSEWIRE_CLIENT_PYTHON, or this one; without it the test is skipped, loudly.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
POSEWIRE = Path(os.environ.get("POSEWIRE", ROOT / "target/debug/posewire")).resolve()
PYTHON = os.environ.get("POSEWIRE_CLIENT_PYTHON", sys.executable)
FRAMES = 40

#: Prints what it finds as JSON.
READER = """
import json, sys
from mcap.reader import NonSeekingReader, SeekingReader

found = {"messages": []}
with open(sys.argv[1], "rb") as file:
    if sys.argv[2] == "seek":
        reader = SeekingReader(file, validate_crcs=True)
        summary = reader.get_summary()
        found["counts"] = {summary.channels[c].topic: n for c, n in summary.statistics.channel_message_counts.items()}
        found["chunks"] = len(summary.chunk_indexes)
        found["schemas"] = {s.name: [s.encoding, json.loads(s.data)] for s in summary.schemas.values()}
        found["middle"] = [m.log_time for _, _, m in reader.iter_messages(["/poses"], 300_000_000, 500_000_000)]
    else:
        reader = NonSeekingReader(file, validate_crcs=True)
    try:
        # Ordered by time, nothing would be told before all was read.
        for schema, channel, message in reader.iter_messages(log_time_order=False):
            found["messages"].append([channel.topic, schema.name, message.log_time, json.loads(message.data)])
    except Exception as error:
        found["error"] = repr(error)
print(json.dumps(found))
"""


class Mcap(unittest.TestCase):
    def setUp(self) -> None:
        there = (
            subprocess.run([PYTHON, "-c", "import mcap"], check=False, capture_output=True).returncode == 0
        )
        if not there:
            print(
                f"SKIPPED: MCAP read by another's reader: {PYTHON} has no mcap (pip install it)",
                file=sys.stderr,
            )
            self.skipTest("no mcap")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file, self.lines = Path(folder.name, "poses.mcap"), Path(folder.name, "poses.jsonl")
        command = [
            POSEWIRE,
            "run",
            "--synthetic",
            "--no-drop",
            "--frames",
            str(FRAMES),
            "--predict",
            "capture",
        ]
        written = [*map(str, command), "--mcap", str(self.file), "--mcap-pixels", "--jsonl", str(self.lines)]
        done = subprocess.run(written, check=False, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)

    def read(self, how: str) -> dict[str, list[object]]:
        done = subprocess.run(
            [PYTHON, "-c", READER, str(self.file), how],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return dict(json.loads(done.stdout))

    def test_every_message_is_read_back_by_the_index(self) -> None:
        found = self.read("seek")
        self.assertNotIn("error", found)
        topics = ["/poses", "/annotations", "/scene", "/camera"]
        self.assertEqual(found["counts"], dict.fromkeys(topics, FRAMES))
        self.assertGreater(int(str(found["chunks"])), 1)
        self.assertEqual(
            sorted(found["schemas"]),
            [
                "foxglove.CompressedImage",
                "foxglove.ImageAnnotations",
                "foxglove.SceneUpdate",
                "posewire.Poses",
            ],
        )
        lines = [json.loads(line) for line in self.lines.read_text().splitlines()]
        middle = [1000 * line["captured_us"] for line in lines if 300_000 <= line["captured_us"] < 500_000]
        self.assertEqual(found["middle"], middle)
        poses = [m for m in found["messages"] if isinstance(m, list) and m[0] == "/poses"]
        for line, (_, _, at_ns, said) in zip(lines, poses, strict=True):
            self.assertEqual(at_ns, 1000 * line["captured_us"])
            self.assertEqual({**said, "emitted_us": 0}, {**line, "emitted_us": 0})
        images = [m[3]["data"] for m in found["messages"] if isinstance(m, list) and m[0] == "/camera"]
        self.assertTrue(all(data.startswith("/9j/") for data in images), "JPEGs")

    def test_of_a_file_that_was_cut_off_everything_before_is_read(self) -> None:
        whole = self.file.read_bytes()
        self.file.write_bytes(whole[: len(whole) * 2 // 3])
        found = self.read("stream")
        self.assertIn("error", found)
        self.assertGreater(len(found["messages"]), 4 * FRAMES // 3)


if __name__ == "__main__":
    unittest.main()
