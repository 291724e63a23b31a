"""Markers of one person in a file that OpenSim and Mokka read (TRC)."""

from __future__ import annotations

from io import FileIO
from pathlib import Path
from statistics import median
from types import TracebackType

from ._elapsed import Elapsed
from ._files import Lines, Replacement
from ._signals import uninterrupted
from .frames import FrameLike
from .pose import JOINTS, Pose


class TrcRecorder:
    """One person's 3D joints as markers, in metres: x right in the picture, y up, z towards the camera.

    `person` is an identity, or None for the first who has 3D. A frame without them, and a joint that is absent, are empty cells. TRC
    says how many rows there are at its top: they wait in `PATH.part`, below room for it, and become the file in `close`. `elapsed` is
    that of whoever records, who knows when frames come, or None.
    """

    def __init__(self, path: str | Path, person: int | None = None, elapsed: Elapsed | None = None) -> None:
        self.rows = 0
        #: Whether a frame came, with the person or without.
        self.is_begun = False
        #: Moments of sending that show a captured frame once more, for a later time: a row is a frame, when its light fell.
        self.left_out = 0
        self._name = Path(path).name
        self._person = person
        self._were_there = False
        self._with_3d: set[int] = set()
        self._elapsed = elapsed or Elapsed()
        self._began_us = 0
        self._last_us = 0
        #: Of the last row: when the light fell, when it was sent.
        self._last = (0, 0)
        self._steps_us: list[int] = []
        # Of the shortest step and more rows than anybody waits for.
        room = self._head(1, 10**12)
        self._room_bytes = len(room.encode())
        self._replacement = Replacement(path)
        try:
            self._lines = Lines(FileIO(self._replacement.part, "w+"))
            self._lines.add(room)
        except BaseException:
            self._replacement.give_up()
            raise

    def write(self, frame: FrameLike) -> None:
        self.is_begun = True
        pose = self._pose(frame)
        us = self._elapsed.at(frame.captured_us) - self._began_us
        if self.rows == 0 and pose is None:
            # The recording begins with the person.
            return
        if self.rows == 0:
            self._began_us, us = us, 0
        elif us <= self._last_us:
            # Late, sent again, or the first of a tracker that has started anew: time goes forwards in a TRC.
            self.left_out += self._last[0] == frame.captured_us and self._last[1] != frame.sent_us
            return
        with uninterrupted():
            self._lines.add(f"{self.rows + 1}\t{us / 1e6:.6f}\t{_cells(pose)}\n")
            if self.rows:
                self._steps_us.append(us - self._last_us)
            self.rows += 1
            self._last_us, self._last = us, (frame.captured_us, frame.sent_us)

    def _pose(self, frame: FrameLike) -> Pose | None:
        for pose in frame.poses:
            self._were_there = True
            if pose.joints_3d is not None:
                if self._person in (None, pose.track_id):
                    self._person = pose.track_id
                    return pose
                self._with_3d.add(pose.track_id)
        return None

    def nobody(self) -> str:
        """Why there is no row, in words."""
        if self._with_3d:
            others = ", ".join(str(who) for who in sorted(self._with_3d)[:8])
            return f"person {self._person} did not come with 3D, which these had: {others}"
        if self._were_there:
            return (
                "nobody with 3D came: the smoothers xl, gru and s4d give it (--smoother), "
                "and over a serial line it comes with `[serial] with_3d = true`"
            )
        return "nobody came"

    def close(self) -> None:
        """Writes the file and removes its part; where the person did not come, what had its name before stays."""
        if not self._lines.is_closed:
            with uninterrupted():
                self._end()

    def _end(self) -> None:
        try:
            if self.rows:
                self._lines.begin_with(
                    self._head(median(self._steps_us) if self._steps_us else 0, self.rows), self._room_bytes
                )
        finally:
            self._lines.close()
        if self.rows:
            self._replacement.take_place()
        else:
            self._replacement.give_up()

    def _head(self, step_us: float, rows: int) -> str:
        rate = f"{1e6 / step_us:.2f}" if step_us else "0.00"
        count = len(JOINTS)
        names = "\t\t\t".join(JOINTS)
        axes = "\t".join(f"{axis}{i}" for i in range(1, count + 1) for axis in "XYZ")
        return (
            f"PathFileType\t4\t(X/Y/Z)\t{self._name}\n"
            "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames\n"
            f"{rate}\t{rate}\t{rows}\t{count}\tm\t{rate}\t1\t{rows}\n"
            f"Frame#\tTime\t{names}\t\t\n\t\t{axes}\n\n"
        )

    def kept(self) -> str:
        if self._lines.is_closed and self._replacement.part.exists():
            return (
                f"an earlier file stays; the {self.rows} rows are in {self._replacement.part}, without a head"
            )
        return f"the {self.rows} rows before are kept"

    def __enter__(self) -> TrcRecorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _cells(pose: Pose | None) -> str:
    if pose is None or pose.joints_3d is None:
        return "\t\t" + "\t\t\t" * (len(JOINTS) - 1)
    return "\t".join(
        # Half a turn about x: y up, still right-handed.
        f"{x:.5f}\t{-y:.5f}\t{-z:.5f}" if joint.state != "absent" else "\t\t"
        for joint, (x, y, z) in zip(pose.joints, pose.joints_3d, strict=True)
    )
