"""What the training loops share: the running mean of weights, a step, the checkpoint, the line that is printed."""

from __future__ import annotations

import contextlib
import copy
import io
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import torch
from torch import nn

from posetrain.loop import Checkpoint, Meter, average, descend, groups_of, set_rate


def filled(value: float) -> nn.Module:
    net = nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1))
    for tensor in net.state_dict().values():
        tensor.fill_(int(value))
    return net


class Loop(unittest.TestCase):
    def test_the_mean_moves_far_at_first_and_takes_counts_over(self) -> None:
        for step, moved in ((0, 9.0), (1_000_000, 1.0)):
            mean = filled(0)
            average(mean, filled(10), 0.9, step)
            for name, value in mean.state_dict().items():
                wanted = 10.0 if name.endswith("num_batches_tracked") else moved
                torch.testing.assert_close(value.float(), torch.full_like(value, wanted).float(), msg=name)

    def test_a_long_gradient_is_cut_and_a_group_takes_its_part_of_the_rate(self) -> None:
        weight = nn.Parameter(torch.zeros(2, 1))
        optimiser = torch.optim.SGD([{"params": [weight], "part": 0.5}], lr=1.0)
        set_rate(optimiser, 0.2)
        descend((weight * 30).sum(), optimiser, [weight], 1.0)
        self.assertAlmostEqual(float(weight.detach().norm()), 0.1, places=5)

    def test_biases_and_norms_do_not_decay(self) -> None:
        decayed, plain = groups_of(filled(1).parameters(), 0.3)
        self.assertEqual([p.ndim for p in decayed["params"]], [2])
        self.assertEqual([p.ndim for p in plain["params"]], [1, 1, 1])
        self.assertEqual((decayed["weight_decay"], plain["weight_decay"]), (0.3, 0.0))

    def test_a_run_takes_over_what_it_kept_and_a_broken_off_save_harms_nothing(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            model, mean = filled(1), filled(2)
            optimiser = torch.optim.AdamW(model.parameters())
            kept = Checkpoint(Path(folder) / "last.pt", model, mean, optimiser, mean_as="mean")
            self.assertIsNone(kept.read())
            kept.save({"step": 7})
            state = copy.deepcopy(kept.read())
            assert state is not None
            self.assertEqual(set(state), {"model", "mean", "optimiser", "step"})
            for net in (model, mean):
                net.load_state_dict(filled(5).state_dict())
            kept.take_over(state)
            self.assertEqual([int(net.state_dict()["0.bias"]) for net in (model, mean)], [1, 2])
            with (
                mock.patch("torch.save", side_effect=lambda _, path: path.write_bytes(b"half") and 1 / 0),
                self.assertRaises(ZeroDivisionError),
            ):
                kept.save({"step": 8})
            again = kept.read()
            assert again is not None
            self.assertEqual(again["step"], 7)

    def test_a_line_tells_of_what_came_since_the_last(self) -> None:
        meter = Meter(30.0, 60.0)
        meter.add(9.0, 100)
        self.assertFalse(meter.is_due(90.0))
        self.assertTrue(meter.is_due(91.0))
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            meter.say(110.0, "step 1")
            for loss in (1.0, 2.0):
                meter.add(loss, 100)
            meter.say(120.0, "step 3")
        self.assertIn("loss 9.0000  2 crops/s", said.getvalue())
        self.assertIn("2.0 min  step 3  loss 1.5000  20 crops/s", said.getvalue())


if __name__ == "__main__":
    unittest.main()
