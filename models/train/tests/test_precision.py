"""bfloat16 only where the processor multiplies it, and is quicker so."""

from __future__ import annotations

import unittest
from unittest import mock

import torch

from posetrain import precision
from posetrain.precision import has_bf16


class Precision(unittest.TestCase):
    def test_flags_of_processors(self) -> None:
        for flags, expected in [
            ("flags\t\t: fpu avx2 avx512f avx512_bf16 avx512vl", True),
            ("flags\t\t: fpu avx2 avx512f amx_bf16 amx_tile", True),
            ("flags\t\t: fpu sse4_2 avx avx2 fma bmi2", False),
            ("Features\t: fp asimd asimddp i8mm bf16", True),
            ("Features\t: fp asimd asimddp", False),
        ]:
            self.assertEqual(has_bf16(flags), expected, flags)

    def test_the_quicker_one_is_taken(self) -> None:
        with torch.no_grad():
            self.assertGreater(precision.seconds_of_a_layer(is_reduced=False), 0)
        for multiplies, half, whole, expected in [
            (True, 1.0, 2.0, True),
            (True, 2.0, 1.0, False),
            (False, 1.0, 2.0, False),
        ]:
            took = {True: half, False: whole}
            with (
                mock.patch.object(precision, "has_bf16", return_value=multiplies),
                mock.patch.object(precision, "seconds_of_a_layer", side_effect=took.get),
            ):
                self.assertEqual(precision.bf16_is_quicker.__wrapped__(), expected)


if __name__ == "__main__":
    unittest.main()
