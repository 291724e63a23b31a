"""The decoder against the golden vectors and against damage."""

from __future__ import annotations

import json
import random
import unittest
from pathlib import Path

from transcript import moments, transcript

from posewire import JOINTS, Command, Decoder, Fault, PosePacket, Receipt, encode_command, encode_receipt
from posewire.wire import MAX_FRAME, Notice, PlacePacket, sigma_steps, stuff, unstuff

GOLDEN = Path(__file__).resolve().parents[3] / "tests" / "golden" / "wire_v1.json"


class Golden(unittest.TestCase):
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))

    def test_every_stream_gives_its_lines_however_it_is_portioned(self) -> None:
        self.assertGreater(len(self.golden["streams"]), 20)
        for stream in self.golden["streams"]:
            data = bytes.fromhex(stream["hex"])
            for portion in (1, 7, 4096):
                with self.subTest(stream["name"], portion=portion):
                    self.assertEqual(transcript(data, portion), stream["lines"])

    def test_every_stream_of_moments_gives_its_lines(self) -> None:
        self.assertGreater(len(self.golden["moments"]), 10)
        for stream in self.golden["moments"]:
            with self.subTest(stream["name"]):
                self.assertEqual(moments(bytes.fromhex(stream["hex"])), stream["lines"])

    def test_poses_in_pixels(self) -> None:
        checked = 0
        for stream in self.golden["streams"]:
            if "pose" not in stream:
                continue
            (packet,) = Decoder().feed(bytes.fromhex(stream["hex"]))
            assert isinstance(packet, PosePacket)
            pose, expected = packet.pose(), stream["pose"]
            assert pose is not None
            self.assertEqual(pose.track_id, expected["id"])
            self.assertAlmostEqual(pose.score, expected["score"], places=6)
            for name, (x, y, score, sigma, state) in zip(JOINTS, expected["keypoints"], strict=True):
                joint = pose[name]
                self.assertEqual((joint.x, joint.y, joint.sigma, joint.state), (x, y, sigma, state))
                self.assertAlmostEqual(joint.score, score, places=6)
            if expected["keypoints3d"] is None:
                self.assertIsNone(pose.joints_3d)
            else:
                assert pose.joints_3d is not None
                for got, wanted in zip(pose.joints_3d, expected["keypoints3d"], strict=True):
                    for a, b in zip(got, wanted, strict=True):
                        self.assertAlmostEqual(a, b, places=5)
            checked += 1
        self.assertGreaterEqual(checked, 3)

    def test_what_this_client_sends_are_the_golden_bytes(self) -> None:
        by_name = {s["name"]: bytes.fromhex(s["hex"]) for s in self.golden["streams"]}
        self.assertEqual(encode_command(Command(1, 0)), by_name["command_request_hello"])
        self.assertEqual(encode_command(Command(2, 3000)), by_name["command_set_rate"])
        self.assertEqual(encode_command(Command(3, 0)), by_name["command_reset"])
        (receipt,) = Decoder().feed(by_name["receipt"])
        assert isinstance(receipt, Receipt)
        self.assertEqual(encode_receipt(receipt), by_name["receipt"])

    def test_places_and_notices_in_plain_values(self) -> None:
        by_name = {s["name"]: bytes.fromhex(s["hex"]) for s in self.golden["streams"]}
        (place,) = Decoder().feed(by_name["place"])
        assert isinstance(place, PlacePacket)
        self.assertEqual(
            (place.track_id, place.distance_mm, place.place().at), (7, 3165, (-0.42, 0.31, 3.122))
        )
        (notice,) = Decoder().feed(by_name["notice_enter"])
        assert isinstance(notice, Notice)
        self.assertEqual((notice.event, notice.zone_text, notice.persons), ("enter", "hinter der T", 2))
        self.assertEqual(notice._replace(code=200).event, "")
        for name, text in ((b"ab\xffcd", "ab"), (b"caf\xc3\xa9 \xe2\x82", "café "), (b"\xff", "")):
            self.assertEqual(notice._replace(zone_name=name.ljust(12, b"\0")).zone_text, text)


class Damage(unittest.TestCase):
    def test_random_bytes_give_no_packet_and_the_next_frame_arrives(self) -> None:
        rng = random.Random(1)
        decoder = Decoder()
        events = decoder.feed(rng.randbytes(200_000))
        self.assertTrue(all(isinstance(e, Fault) for e in events))
        decoder.feed(b"\0")
        self.assertEqual(decoder.feed(encode_command(Command(1, 0))), [Command(1, 0)])

    def test_noise_without_a_zero_is_told_once_and_not_kept(self) -> None:
        decoder = Decoder()
        for _ in range(100):
            decoder.feed(b"\x07" * 1000)
        self.assertEqual(decoder.counters.overfull, 1)
        self.assertLessEqual(len(decoder._pending), MAX_FRAME)

    def test_stuffing_is_undone(self) -> None:
        rng = random.Random(2)
        for length in range(255):
            payload = bytes(rng.choice(b"\0\0\1\2\xff") for _ in range(length))
            frame = stuff(payload)
            self.assertEqual(frame.find(0), len(frame) - 1)
            self.assertEqual(unstuff(frame[:-1]), payload)
        with self.assertRaisesRegex(ValueError, "255 bytes"):
            stuff(bytes(255))

    def test_sigma_codes_rise(self) -> None:
        steps = [sigma_steps(code) for code in range(256)]
        self.assertEqual(steps, sorted(set(steps)))
        self.assertEqual(steps[-1], 4032)


if __name__ == "__main__":
    unittest.main()
