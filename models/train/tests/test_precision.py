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

    def test_the_quicker_one_is_taken_where_it_is_much_quicker(self) -> None:
        with torch.no_grad():
            self.assertGreater(precision.seconds_of_a_layer(is_reduced=False), 0)
        for multiplies, half, whole, expected in [
            (True, 1.0, 2.0, "bf16"),
            (True, 1.9, 2.0, "f32"),
            (True, 2.0, 1.0, "f32"),
            (False, 1.0, 2.0, "f32"),
        ]:
            took = {True: half, False: whole}
            with (
                mock.patch.object(precision, "multiplies_bf16", return_value=multiplies),
                mock.patch.object(precision, "seconds_of_a_layer", side_effect=took.get),
            ):
                self.assertEqual(precision.quicker.__wrapped__(), expected)

    def test_both_take_turns_so_that_a_slow_while_slows_both(self) -> None:
        rounds = 1 + precision.ROUNDS
        slow = iter([9.0] * rounds + [1.0] * rounds)

        def seconds(is_reduced: bool) -> float:
            return next(slow) * (0.5 if is_reduced else 1.0)

        with (
            mock.patch.object(precision, "multiplies_bf16", return_value=True),
            mock.patch.object(precision, "seconds_of_a_layer", side_effect=seconds),
        ):
            self.assertEqual(precision.quicker.__wrapped__(), "bf16")

    def test_what_was_settled_holds_until_a_checkpoint_says_otherwise(self) -> None:
        with (
            mock.patch.object(precision._Settled, "arithmetic", None),
            mock.patch.object(precision, "quicker", side_effect=["f32"]),
            mock.patch.object(precision, "multiplies_bf16", side_effect=[True, False]),
        ):
            self.assertEqual([precision.settle(), precision.settle()], ["f32", "f32"])
            self.assertEqual(precision.settle("bf16"), "bf16")
            self.assertEqual(precision.settle(), "bf16")
            self.assertEqual(precision.settle("bf16"), "f32", "on a processor that lacks it")


if __name__ == "__main__":
    unittest.main()
