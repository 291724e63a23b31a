"""Every row of the study's table: what it costs, that it does not see the future, and that a stream gives what a batch gives."""

from __future__ import annotations

import itertools
import unittest

import torch
from torch import Tensor

from posetrain.study.row import INPUTS, Network, Row, detached, macs_per_frame
from posetrain.study.table import Entry, table
from posetrain.temporal.model import OUTPUTS

LANES, FRAMES = 1, 72  # longer than every memory, so that what is forgotten is forgotten alike
TABLE = table()


def observed(seed: int) -> tuple[Tensor, Tensor]:
    """Observations at irregular times, dropped frames among them."""
    drawn = torch.Generator().manual_seed(seed)
    dt = torch.rand(LANES, FRAMES, generator=drawn) * 2 + 0.1
    dt[:, 20] = 17.5
    return torch.randn(LANES, FRAMES, INPUTS, generator=drawn) * 0.5, dt


def made(entry: Entry) -> Row:
    """With parameters moved from where they begin: many begin at zero."""
    row = entry.make("small", 0).eval()
    with torch.no_grad():
        for p in row.parameters():
            p.add_(0.05 * torch.randn(p.shape, generator=torch.Generator().manual_seed(p.numel())))
    return row


class Rows(unittest.TestCase):
    def setUp(self) -> None:
        torch.set_num_threads(1)
        self.enterContext(torch.no_grad())
        self.rows = {name: made(entry) for name, entry in TABLE.rows.items()}

    def test_every_row_keeps_within_its_budget(self) -> None:
        for entry in TABLE.rows.values():
            for budget in entry.sizes:
                with self.subTest(entry.name, budget=budget):
                    wanted = TABLE.budgets[budget]
                    got = macs_per_frame(entry.make(budget, 0).eval())
                    self.assertLess(abs(got - wanted), 0.12 * wanted, f"{got:,}")

    def test_no_causal_row_sees_a_later_frame(self) -> None:
        x, dt = observed(1)
        later, dt_later = observed(2)
        for name, row in self.rows.items():
            y, _ = row.sequence(x, dt)
            self.assertEqual(y.shape, (LANES, FRAMES, OUTPUTS), name)
            for t in (1, 16, 47):
                with self.subTest(name, frame=t):
                    other = torch.cat([x[:, :t], later[:, t:]], 1)
                    z, _ = row.sequence(other, torch.cat([dt[:, :t], dt_later[:, t:]], 1))
                    before = (y[:, :t] - z[:, :t]).abs().max().item()
                    if row.causal:
                        self.assertLess(before, 1e-5)
                    self.assertGreater((y[:, t] - z[:, t]).abs().max().item(), 1e-4, "it hears nothing")

    def test_offline_rows_do_see_later_frames(self) -> None:
        x, dt = observed(1)
        other = x.clone()
        other[:, 40] += 1
        for name, row in self.rows.items():
            if not row.causal:
                change = (row.sequence(x, dt)[0] - row.sequence(other, dt)[0])[:, 39].abs().max().item()
                self.assertGreater(change, 1e-6, name)

    def test_a_stream_gives_what_the_batch_gives(self) -> None:
        """In chunks of random lengths, and frame by frame."""
        x, dt = observed(3)
        drawn = torch.Generator().manual_seed(4)
        cuts = [0, *sorted(torch.randperm(FRAMES - 1, generator=drawn)[:9].add(1).tolist()), FRAMES]
        for name, row in self.rows.items():
            if not row.causal:
                continue
            with self.subTest(name):
                y, _ = row.sequence(x, dt)
                state, out = None, []
                for a, z in itertools.pairwise(cuts):
                    part, state = row.sequence(x[:, a:z], dt[:, a:z], state)
                    state = detached(state)
                    out.append(part)
                torch.testing.assert_close(torch.cat(out, 1), y, rtol=1e-3, atol=2e-4)
                state, out = None, []
                for t in range(FRAMES):
                    one, state = row.step(state, x[:, t], dt[:, t])
                    out.append(one)
                torch.testing.assert_close(torch.stack(out, 1), y, rtol=1e-3, atol=2e-4)

    def test_relative_rows_know_no_beginning(self) -> None:
        """Once the first frames are out of reach, a lane that began earlier answers alike."""
        x, dt = observed(5)
        row = self.rows["encoder-relative-time"]
        whole, late = row.sequence(x, dt)[0], row.sequence(x[:, 5:], dt[:, 5:])[0]
        torch.testing.assert_close(whole[:, -1], late[:, -1], rtol=1e-3, atol=2e-4)


class Training(unittest.TestCase):
    def test_every_row_learns_through_its_own_memory(self) -> None:
        """Two segments, as training cuts them; every parameter that is learned has a gradient."""
        x, dt = (v[:, :12] for v in observed(6))
        truth = torch.randn(LANES, 12, 34, generator=torch.Generator().manual_seed(7))
        for name, entry in TABLE.rows.items():
            with self.subTest(name):
                row = made(entry).train()
                state = None
                for a in (0, 6):
                    y, state = row.sequence(
                        x[:, a : a + 6], dt[:, a : a + 6], detached(state), truth[:, a : a + 6]
                    )
                (y.square().mean() + row.extra_loss()).backward()
                for parameter, p in row.named_parameters():
                    if p.requires_grad:
                        assert p.grad is not None, parameter
                        self.assertTrue(p.grad.isfinite().all(), parameter)

    def test_a_network_takes_times_across_calls(self) -> None:
        torch.manual_seed(0)
        network = Network(made(TABLE.rows["s4d"]))
        features, bank = torch.randn(1, 6, INPUTS - 102), torch.randn(1, 6, 3, 17, 2)
        times = torch.tensor([[0.0, 1, 2.5, 9, 10, 11]], dtype=torch.float64)
        with torch.no_grad():
            whole, _ = network(features, bank, times, network.empty(1))
            memory, places = network.empty(1), []
            for a, z in ((0, 2), (2, 6)):
                answer, memory = network(features[:, a:z], bank[:, a:z], times[:, a:z], memory)
                places.append(answer.place)
        torch.testing.assert_close(torch.cat(places, 1), whole.place, rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
