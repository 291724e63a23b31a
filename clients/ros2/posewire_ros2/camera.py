"""A camera's file, as `posewire calibrate` writes it: read, brought to the size that is tracked or refused, and its lens undone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from posewire.frames import FrameLike

#: Two sizes of one sensor mode have sides in the same proportion, to a pixel's rounding.
_SAME_SHAPE = 0.005
#: Rounds of undoing the lens; each makes the error smaller by the distortion itself.
_ROUNDS = 20


@dataclass(frozen=True)
class Intrinsics:
    """Of the camera, pixels of the picture that is tracked; origin at its top left corner."""

    fx: float
    fy: float
    cx: float
    cy: float
    k1: float = 0.0
    k2: float = 0.0

    def direction(self, x_px: float, y_px: float) -> tuple[float, float]:
        """Where a pixel looks, as x / z and y / z, without the lens's distortion."""
        seen_x, seen_y = (x_px - self.cx) / self.fx, (y_px - self.cy) / self.fy
        x, y = seen_x, seen_y
        for _ in range(_ROUNDS):
            r2 = x * x + y * y
            d = 1.0 + self.k1 * r2 + self.k2 * r2 * r2
            if d <= 0.1:
                # Beyond where the polynomial means anything: the lens as it is at the picture's edge.
                break
            x, y = seen_x / d, seen_y / d
        return x, y


class Camera:
    """A camera's file, and the size of pictures whose lines do not say it. `OSError` or `ValueError` where it is none."""

    def __init__(self, path: str | Path, width_px: int, height_px: int) -> None:
        self._path, self._unsaid = path, (width_px, height_px)
        self._said = _numbers(Path(path))
        missing = [
            key
            for key in ("width_px", "height_px", "fx_px", "fy_px", "cx_px", "cy_px")
            if key not in self._said
        ]
        if missing:
            raise ValueError(f"{path}: no {', '.join(missing)}: it is no file of posewire calibrate")
        lengths = [self._said[f"{key}_px"] for key in ("width", "height", "fx", "fy")]
        if min(width_px, height_px, *lengths) <= 0:
            raise ValueError(f"{path}: sizes and focal lengths are above 0")

    def of(self, frame: FrameLike) -> Intrinsics | None:
        """For the pictures that `frame` speaks of; None where it may say only later that they have another shape than was told."""
        if frame.size is not None:
            return self.at(*frame.size)
        try:
            return self.at(*self._unsaid)
        except ValueError as error:
            # A wire's first moments may come before the HELLO that says the size; until then nobody's place is known.
            if frame.frame is None:
                return None
            raise ValueError(
                f"{error}; the lines do not say what size it is: where it is another, name it with -p width:=PIXELS -p height:=PIXELS"
            ) from None

    def at(self, width_px: int, height_px: int) -> Intrinsics:
        """For pictures of this size.

        Another size of the same shape is taken for the same sensor mode, scaled. `ValueError` for any other: it may be a crop,
        and the file does not say of what; calibrate at the size that is tracked.
        """
        said = self._said
        of_width, of_height = said["width_px"], said["height_px"]
        if min(width_px, height_px) <= 0:
            raise ValueError(f"pictures of {width_px}x{height_px} are none: sizes are above 0")
        across, down = width_px / of_width, height_px / of_height
        if abs(across / down - 1.0) > _SAME_SHAPE:
            raise ValueError(
                f"{self._path} is of {of_width:.0f}x{of_height:.0f}, the tracker's pictures have {width_px}x{height_px}: another "
                f"shape is another part of the sensor; run posewire calibrate --size {width_px}x{height_px}"
            )
        return Intrinsics(
            said["fx_px"] * across,
            said["fy_px"] * down,
            said["cx_px"] * across,
            said["cy_px"] * down,
            # Of directions, which no size changes.
            said.get("k1", 0.0),
            said.get("k2", 0.0),
        )


def _numbers(path: Path) -> dict[str, float]:
    """The numbers of a flat TOML file: Python 3.10 has no reader of its own."""
    said: dict[str, float] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        key, is_pair, value = line.partition("=")
        if is_pair and not line.lstrip().startswith("#"):
            try:
                said[key.strip()] = float(value.partition("#")[0])
            except ValueError:
                continue
    return said
