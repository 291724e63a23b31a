"""Reads human poses from a Posewire tracker on a serial line.

    from posewire import PoseReader

    with PoseReader("/dev/ttyUSB0") as reader:
        for pose in reader:
            wrist = pose["right_wrist"]
            if wrist.state == "measured":
                print(pose.track_id, wrist.x, wrist.y)

`posewire.wire` (packets and the decoder) needs nothing but the standard library; `PoseReader` needs pyserial.
"""

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
    "JOINTS",
    "Command",
    "Counters",
    "Decoder",
    "Fault",
    "Hello",
    "Joint",
    "Pose",
    "PosePacket",
    "PoseReader",
    "Receipt",
    "Status",
    "encode_command",
    "encode_receipt",
]
