"""Poses as numpy arrays (the extra `numpy`).

for frame in frames_from("udp:9100"):
    people = arrays(frame)
    print(people.xy.shape, np.nanmean(people.xy, axis=(0, 1)))
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .frames import STATES as STATES  # what the numbers in `state` mean, by index
from .frames import FrameLike
from .pose import JOINTS, Pose

_STATE = {name: i for i, name in enumerate(STATES)}
_COUNT = len(JOINTS)

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Arrays:
    """P persons, or one person at P moments. What is not known is NaN."""

    ids: NDArray[np.int64]  #: (P,)
    captured_us: NDArray[np.int64]  #: (P,)
    person_score: Floats  #: (P,)
    xy: Floats  #: (P, 17, 2), pixels of the source image
    sigma: Floats  #: (P, 17), pixels
    score: Floats  #: (P, 17), 0 where the joint is absent
    state: NDArray[np.uint8]  #: (P, 17): 0 absent, 1 measured, 2 predicted
    xyz: Floats  #: (P, 17, 3), metres from the middle of the hips
    place: Floats  #: (P, 3), metres before the camera, where its lens is known

    def joint(self, name: str) -> Floats:
        """The (P, 2) places of one joint."""
        return self.xy[:, JOINTS.index(name)]


def arrays(frame: FrameLike) -> Arrays:
    """Everybody of one moment."""
    return _stacked([(frame.captured_us, pose) for pose in frame.poses])


def over_time(frames: Iterable[FrameLike], track_id: int) -> Arrays:
    """One person, a row for each frame that has them."""
    return _stacked([(f.captured_us, pose) for f in frames for pose in f.poses if pose.track_id == track_id])


def _stacked(poses: list[tuple[int, Pose]]) -> Arrays:
    n = len(poses)
    xy = np.full((n, _COUNT, 2), np.nan, np.float32)
    sigma = np.full((n, _COUNT), np.nan, np.float32)
    xyz = np.full((n, _COUNT, 3), np.nan, np.float32)
    score = np.zeros((n, _COUNT), np.float32)
    state = np.zeros((n, _COUNT), np.uint8)
    place = np.full((n, 3), np.nan, np.float32)
    for i, (_, pose) in enumerate(poses):
        if pose.place is not None:
            place[i] = pose.place.at
        for j, joint in enumerate(pose.joints):
            if joint.state == "absent":
                continue
            xy[i, j] = joint.x, joint.y
            sigma[i, j], score[i, j], state[i, j] = joint.sigma, joint.score, _STATE[joint.state]
            if pose.joints_3d is not None:
                xyz[i, j] = pose.joints_3d[j]
    return Arrays(
        ids=np.array([pose.track_id for _, pose in poses], np.int64),
        captured_us=np.array([at_us for at_us, _ in poses], np.int64),
        person_score=np.array([pose.score for _, pose in poses], np.float32),
        xy=xy,
        sigma=sigma,
        score=score,
        state=state,
        xyz=xyz,
        place=place,
    )
