"""What a pose is: the joints and their names, a person at one moment, and where they stand. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: COCO's joints in COCO's order; left and right are the person's own.
JOINTS = (
    "nose",
    "left_eye",
    "right_eye",
    "left_ear",
    "right_ear",
    "left_shoulder",
    "right_shoulder",
    "left_elbow",
    "right_elbow",
    "left_wrist",
    "right_wrist",
    "left_hip",
    "right_hip",
    "left_knee",
    "right_knee",
    "left_ankle",
    "right_ankle",
)
_INDEX = {name: i for i, name in enumerate(JOINTS)}

State = Literal["absent", "measured", "predicted"]


@dataclass(frozen=True)
class Joint:
    """One joint. `x`, `y` and `sigma` are pixels of the source image; sigma 0 means that none is given."""

    x: float
    y: float
    score: float
    sigma: float
    state: State


@dataclass(frozen=True)
class Place:
    """Where a person stands before the camera: x right in the picture, y down, z along the lens's axis, metres."""

    at: tuple[float, float, float]  #: the middle of the hips
    sigma: tuple[float, float, float]  #: standard deviation along each axis
    distance: float  #: from the camera to there
    distance_sigma: float


@dataclass(frozen=True)
class Pose:
    """One person at one moment."""

    seq: int
    captured_us: int  #: capture time on the host's monotonic clock
    age_us: int  #: how old that was when the packet was sent
    horizon_us: int  #: what the pose describes: this long after the capture
    track_id: int  #: stable identity, from 1
    score: float
    index: int  #: which of the moment's persons, from 0
    persons: int  #: how many the moment has
    joints: tuple[Joint, ...]  #: 17, in the order of JOINTS
    joints_3d: tuple[tuple[float, float, float], ...] | None  #: metres, hip-centred, y down
    place: Place | None = None  #: where the camera's lens is known; on the wire a packet of its own
    #: Metres to the right of the point of the floor below the camera, and ahead of it; in lines that have a floor.
    ground: tuple[float, float] | None = None

    def __getitem__(self, joint: str) -> Joint:
        return self.joints[_INDEX[joint]]
