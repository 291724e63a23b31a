"""How long a serial line takes to carry a frame, which is sent when all of it is handed over and has come with its last byte.

Only what surely went over the line is counted. A frame for which too little is taken off is merely late, as a slow one, and moves nothing;
too much would make every stamp early.
"""

from __future__ import annotations

from posewire.frames import FrameLike, can_wait

#: What docs/wire.md says of each packet, framing and checksum included, bytes.
POSE_BYTES, POSE_3D_BYTES, NOBODY_BYTES, PLACE_BYTES = 140, 242, 38, 42
#: 8N1: a start bit and a stop bit.
_BITS_PER_BYTE = 10


def is_line(source: str) -> bool:
    """Whether `source` is a serial port; the others, as `frames_from` tells them apart, bring a frame at once."""
    return not (source.startswith("udp:") or can_wait(source))


def line_ns(frame: FrameLike, baud: int) -> int:
    """From the moment that all of `frame` was handed to the line to the arrival of its last byte, where nothing else is on it."""
    poses = sum(POSE_BYTES if pose.joints_3d is None else POSE_3D_BYTES for pose in frame.poses)
    places = sum(PLACE_BYTES for pose in frame.poses if pose.place is not None)
    return (poses + places or NOBODY_BYTES) * _BITS_PER_BYTE * 1_000_000_000 // baud
