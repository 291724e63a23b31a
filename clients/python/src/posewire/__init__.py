"""Reads human poses from a Posewire tracker on a serial line.

    from posewire import PoseReader

    with PoseReader("/dev/ttyUSB0") as reader:
        for pose in reader:
            wrist = pose["right_wrist"]
            if wrist.state == "measured":
                print(pose.track_id, wrist.x, wrist.y)

`posewire.wire` (packets and the decoder) and `posewire.moments` need nothing but the standard library; `PoseReader` needs pyserial.
"""

from .jsonl import FORMATS, as_line, as_lines, first_row
from .moments import MAX_PERSONS, Assembly, Moment, MomentCounters
from .reader import PoseReader
from .wire import (
    JOINTS,
    Command,
    Counters,
    Decoder,
    Fault,
    Hello,
    Joint,
    Pose,
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
    "Assembly",
    "Command",
    "Counters",
    "Decoder",
    "Fault",
    "Hello",
    "Joint",
    "Moment",
    "MomentCounters",
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
]
