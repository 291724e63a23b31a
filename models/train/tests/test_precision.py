"""bfloat16 only where the processor multiplies it."""

from __future__ import annotations

import unittest

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


if __name__ == "__main__":
    unittest.main()
