"""Reads human poses from a Posewire tracker: from a serial line, from JSON lines, from datagrams.

    from posewire import PoseReader

    with PoseReader("/dev/ttyUSB0") as reader:
        for pose in reader:
            wrist = pose["right_wrist"]
            if wrist.state == "measured":
                print(pose.track_id, wrist.x, wrist.y)

`frames_from` also reads JSON lines and datagrams; `posewire.arrays` makes numpy arrays, `posewire.aio` iterates in asyncio,
`posewire.record` writes CSV, Parquet and TRC, `posewire.plot` draws, and `posewire.lsl` is an outlet of Lab Streaming Layer.

`posewire.pose` (what a pose is), `posewire.wire` (packets and the decoder), `posewire.moments` and `posewire.frames` need nothing but the
standard library; `PoseReader` needs pyserial, `posewire.arrays` numpy, `posewire.plot` matplotlib, `posewire.lsl` pylsl.
"""

from ._datagrams import frames_from_udp
from .frames import Floor, Frame, FrameLike, frames_from, frames_from_lines
from .jsonl import FORMATS, as_line, as_lines, first_row
from .moments import MAX_PERSONS, Assembly, Moment, MomentCounters
from .pose import JOINTS, Joint, Place, Pose
from .reader import PoseReader
from .wire import (
    NOTICES,
    Command,
    Counters,
    Decoder,
    Fault,
    Hello,
    Notice,
    PlacePacket,
    PosePacket,
    Receipt,
    Status,
    encode_command,
    encode_receipt,
)

__all__ = [
    "FORMATS",
    "JOINTS",
    "MAX_PERSONS",
    "NOTICES",
    "Assembly",
    "Command",
    "Counters",
    "Decoder",
    "Fault",
    "Floor",
    "Frame",
    "FrameLike",
    "Hello",
    "Joint",
    "Moment",
    "MomentCounters",
    "Notice",
    "Place",
    "PlacePacket",
    "Pose",
    "PosePacket",
    "PoseReader",
    "Receipt",
    "Status",
    "as_line",
    "as_lines",
    "encode_command",
    "encode_receipt",
    "first_row",
    "frames_from",
    "frames_from_lines",
    "frames_from_udp",
]
