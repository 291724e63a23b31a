"""What the device runs of the study: the rows' files, and that the golden answers which Rust meets are PyTorch's."""

from __future__ import annotations

import argparse
import json
import struct
import tempfile
import tomllib
import unittest
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import torch

from posetrain.paths import CONFIGS, REPOSITORY
from posetrain.study.device import ROWS, golden, manifest, row_file
from posetrain.study.recurrent import Gated
from posetrain.study.row import Row
from posetrain.study.state_space import StateSpace
from posetrain.study.table import table


class Device(unittest.TestCase):
    def test_the_file_names_its_sizes_and_every_tensor(self) -> None:
        rows: list[tuple[Row, int]] = [(Gated("gru", 6, 2), 1), (StateSpace(6, 2, order=4), 4)]
        for row, states in rows:
            data = row_file(row, 0.25, [1.0, 2.0])
            self.assertEqual(data[:4], b"PWT1")
            self.assertEqual(struct.unpack("<I", data[-4:])[0], zlib.crc32(data[:-4]))
            width, layers, _, _, memory, count = struct.unpack_from("<6I", data, 4)
            self.assertEqual((width, layers, memory, count), (6, 2, states, len(row.state_dict()) + 2))
            for name in row.state_dict():
                self.assertIn(name.encode(), data)
        for row in Gated("lstm", 6, 2), StateSpace(6, 2, order=4, selective=True):
            with self.assertRaisesRegex(ValueError, "only the GRU"):
                row_file(row, 0.25, [1.0, 2.0])

    def test_the_manifest_can_be_read(self) -> None:
        config: dict[str, Any] = tomllib.loads((CONFIGS / table().base).read_text())
        said = tomllib.loads(manifest("gru", Gated("gru", 6, 2), b"", config, 7000, 0.3, [1.2, 1.6]))
        self.assertEqual((said["network"]["kind"], said["network"]["width"]), ("gru", 6))
        self.assertIn("jhmdb", said["card"]["data"])
        self.assertIn("research", said["card"]["licence"])

    def test_golden_answers_are_what_pytorch_says(self) -> None:
        torch.set_num_threads(1)
        with tempfile.TemporaryDirectory() as folder:
            golden(argparse.Namespace(out=Path(folder)))
            made = {kind: json.loads((Path(folder) / f"temporal_{kind}.json").read_text()) for kind in ROWS}
        for kind, now in made.items():
            kept = json.loads((REPOSITORY / "tests" / "golden" / f"temporal_{kind}.json").read_text())
            self.assertEqual(now["observed"], kept["observed"])
            for what in ("places_px", "sigma_px", "lift_m"):
                np.testing.assert_allclose(now[what], kept[what], atol=0.01, err_msg=f"{kind} {what}")
            self.assertGreater(np.ptp(kept["sigma_px"]), 1.0, "weights that say something")


if __name__ == "__main__":
    unittest.main()
