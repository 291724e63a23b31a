"""Answers that go on as the ones before foretold."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch

from posetrain.temporal import weights
from posetrain.temporal.answers import answers, places_px
from posetrain.temporal.inertia import go_on, with_inertia
from posetrain.temporal.model import Answer, Hyper, TemporalXl

FRAMES, SCALE_PX, SPEED_PX, NEAR = 40, 200.0, 3.0, 0.05
SMALL = Hyper(
    width=32, layers=1, heads=2, feed_forward=48, memory=8, exchange=True, inertia=True, inertia_near=0.2
)


def shaking(noise_px: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Places [1,T,4,17,2] of joints that move SPEED_PX a frame, `noise_px` [T] off; scale and times beside."""
    times = torch.arange(FRAMES, dtype=torch.float64)[None]
    ahead = times[:, :, None] + 1.5 * torch.arange(4)
    place = (SPEED_PX * ahead + noise_px[None, :, None])[..., None, None].expand(1, FRAMES, 4, 17, 2).float()
    return place, torch.full((1, FRAMES), SCALE_PX), times


class GoOn(unittest.TestCase):
    def test_what_shakes_is_held_without_lag_and_every_horizon_goes_along(self) -> None:
        noise = torch.tensor([1.0, -1.0]).repeat(FRAMES // 2)
        place, scale, times = shaking(noise)
        out, _ = go_on(place, torch.zeros(1, FRAMES, 17), scale, times, None, NEAR)
        off = out[0, :, 0, 0, 0] - SPEED_PX * times[0]
        self.assertEqual(off[0].item(), 1.0)
        self.assertLess(off[10:].abs().max().item(), 0.5)
        self.assertLess(abs(off[10:].mean().item()), 0.05)
        torch.testing.assert_close(out[:, :, 1:] - out[:, :, :1], place[:, :, 1:] - place[:, :, :1])

    def test_what_jumps_is_believed(self) -> None:
        noise = torch.zeros(FRAMES)
        noise[20:] = 20 * NEAR * SCALE_PX
        place, scale, times = shaking(noise)
        out, _ = go_on(place, torch.zeros(1, FRAMES, 17), scale, times, None, NEAR)
        self.assertLess((out[0, 20, 0] - place[0, 20, 0]).abs().max().item(), 0.1 * NEAR * SCALE_PX)

    def test_segments_one_after_another_are_the_whole(self) -> None:
        place, scale, times = shaking(torch.randn(FRAMES, generator=torch.Generator().manual_seed(3)))
        inertia = torch.randn(1, FRAMES, 17, generator=torch.Generator().manual_seed(4))
        whole, _ = go_on(place, inertia, scale, times, None, NEAR)
        first, before = go_on(place[:, :17], inertia[:, :17], scale[:, :17], times[:, :17], None, NEAR)
        second, _ = go_on(place[:, 17:], inertia[:, 17:], scale[:, 17:], times[:, 17:], before, NEAR)
        torch.testing.assert_close(torch.cat([first, second], 1), whole)


class Networks(unittest.TestCase):
    def test_what_is_trained_is_what_is_measured_and_a_file_keeps_it(self) -> None:
        torch.manual_seed(5)
        model = TemporalXl(SMALL).eval()
        rng = np.random.default_rng(5)
        times = np.cumsum(rng.choice([0.5, 1.0, 3.0], (1, FRAMES)), 1)
        xy = (100 + rng.normal(0, 40, (1, 1, 17, 2)) + rng.normal(0, 2, (1, FRAMES, 17, 2))).astype(
            np.float32
        )
        framed, a = answers(model, times, xy, np.ones((1, FRAMES, 17)), 0.1)
        assert a.inertia is not None
        centre, scale = torch.from_numpy(framed.centre_px), torch.from_numpy(framed.scale_px)
        trained, _ = with_inertia(a, centre, scale, torch.from_numpy(times), None)
        measured = places_px(framed, a)
        np.testing.assert_allclose(
            trained.place.numpy() * framed.scale_px[..., None, None, None]
            + framed.centre_px[:, :, None, None],
            measured,
            atol=1e-2,
        )
        plain = places_px(framed, Answer(a.place, a.log_sigma, a.unit, a.log_metres))
        self.assertGreater(np.abs(measured - plain).max(), 0.1)
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        knobs = {"lead_frames": torch.zeros(1), "sigma_scale": torch.ones(2)}
        (folder / "w.pwt").write_bytes(weights.pwt(SMALL, model.state_dict() | knobs))
        again, b = answers(weights.read_pwt(folder / "w.pwt").model, times, xy, np.ones((1, FRAMES, 17)), 0.1)
        np.testing.assert_array_equal(places_px(again, b), measured)


if __name__ == "__main__":
    unittest.main()
