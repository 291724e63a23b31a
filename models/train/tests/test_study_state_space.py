"""The state space's scan against its definition, frame by frame and in complex numbers, and its gradients against differences."""

from __future__ import annotations

import unittest

import torch
from torch import Tensor

from posetrain.study.state_space import scan


def drawn(width_of_drive: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = ((5, 2, 4), (4, 3), (4, 3), (5, 2, 4, width_of_drive), (2, 2, 4, 3))
    return [torch.randn(s, dtype=torch.double, generator=generator).requires_grad_() for s in shapes]


class Scan(unittest.TestCase):
    def test_it_is_the_recurrence(self) -> None:
        for width in (1, 3):
            rate, a_real, a_imag, drive, first = drawn(width)
            real, imag = scan(rate, a_real, a_imag, drive, first)
            s = torch.complex(*first)
            for t in range(len(rate)):
                z = (rate[t][..., None] * torch.complex(a_real, a_imag)).exp()
                s = z * s + (z - 1) * drive[t]
                torch.testing.assert_close(torch.complex(real[t], imag[t]), s)

    def test_its_gradients_are_those_of_differences(self) -> None:
        for width in (1, 3):
            self.assertTrue(torch.autograd.gradcheck(scan, drawn(width)))


if __name__ == "__main__":
    unittest.main()
