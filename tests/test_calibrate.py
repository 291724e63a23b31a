"""`posewire calibrate` beside OpenCV, on rendered boards before cameras that are known: focal lengths, barrel distortion, blur, noise.

POSEWIRE=target/debug/posewire python3 tests/test_calibrate.py -v     # with numpy and opencv-python-headless
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path
from typing import Any

try:
    import cv2
    import numpy as np
except ImportError:
    cv2 = None  # type: ignore[assignment]

ROOT = Path(__file__).resolve().parent.parent
# Whole paths: some tests work in folders of their own.
POSEWIRE = str(Path(os.environ.get("POSEWIRE", ROOT / "target/debug/posewire")).resolve())

COLUMNS, ROWS = 9, 6
#: Focal length, principal point, k1, k2.
Camera = tuple[float, tuple[float, float], float, float]
WIDTH, HEIGHT = 640, 480
#: Focal length, principal point (pixels from the picture's corner), k1, k2: narrow, usual and wide.
CAMERAS = (
    (900.0, (326.0, 236.0), -0.12, 0.05),
    (620.0, (314.0, 247.0), -0.20, 0.06),
    (430.0, (329.0, 244.0), -0.28, 0.08),
)
#: Turned about x and y (degrees), and where in the picture the board's middle is (shares).
VIEWS = tuple(
    (pitch, yaw, x, y)
    for (pitch, yaw), (x, y) in zip(
        [(0, 0), (32, 5), (-32, 5), (5, 36), (5, -36), (25, 25), (-25, 25), (25, -25), (-25, -25)] * 2,
        [(0.5, 0.5), (0.34, 0.34), (0.66, 0.34), (0.34, 0.66), (0.66, 0.66), (0.36, 0.5), (0.64, 0.5)] * 3,
        strict=False,
    )
)
#: OpenCV counts from the middle of the first pixel, Posewire from its corner.
HALF_PX = 0.5


@functools.cache
def rays(camera: Camera) -> Any:
    """Each pixel's two by two directions x and y (z is 1), the lens's bending taken out by fixed-point steps."""
    focal, (cx, cy), k1, k2 = camera
    along = (np.arange(2) + 0.5) / 2
    u = (np.arange(WIDTH)[:, None] + along).reshape(-1)
    v = (np.arange(HEIGHT)[:, None] + along).reshape(-1)
    bent_x, bent_y = np.meshgrid((u - cx) / focal, (v - cy) / focal)
    x, y = bent_x.copy(), bent_y.copy()
    for _ in range(12):
        r2 = x * x + y * y
        by = 1 + r2 * (k1 + r2 * k2)
        x, y = bent_x / by, bent_y / by
    return x, y


def rendered(camera: Camera, view: Any, rng: Any) -> Any:
    """A picture of the chessboard, each pixel the mean of four rays, a little blurred and noisy."""

    def light(x: Any, y: Any) -> Any:
        return np.where((np.floor(x) + np.floor(y)) % 2 == 0, 40.0, 215.0)

    return seen(camera, view, rng, light)


#: OpenCV's own board, with a marker in every light square.
MARKER_PX = 40


def charuco_board() -> Any:
    words = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50)
    return cv2.aruco.CharucoBoard((COLUMNS + 1, ROWS + 1), 1.0, 0.7, words)


def marked(camera: Camera, view: Any, rng: Any) -> Any:
    """The same of OpenCV's ChArUco board."""
    size = ((COLUMNS + 1) * MARKER_PX, (ROWS + 1) * MARKER_PX)
    drawn = charuco_board().generateImage(size).astype(float) * (175 / 255) + 40

    def light(x: Any, y: Any) -> Any:
        at = [np.clip((v * MARKER_PX).astype(int), 0, n - 1) for v, n in ((y, size[1]), (x, size[0]))]
        return drawn[at[0], at[1]]

    return seen(camera, view, rng, light)


def seen(camera: Camera, view: Any, rng: Any, pattern: Any) -> Any:
    """A picture of a board that has `pattern`'s light at (x, y), squares from its corner."""
    focal, (cx, cy), _, _ = camera
    pitch, yaw, share_x, share_y = view
    x, y = rays(camera)
    turn, _ = cv2.Rodrigues(np.radians([pitch, yaw, 0.0]))
    # As far away as the board fills a little more than half of the picture.
    far = 1.75 * focal * (COLUMNS + 1) / WIDTH
    middle = far * np.array([(share_x * WIDTH - cx) / focal, (share_y * HEIGHT - cy) / focal, 1.0])
    # Where each ray meets the board's plane.
    normal = turn[:, 2]
    depth = normal @ middle / (normal[0] * x + normal[1] * y + normal[2])
    at = (x * depth - middle[0], y * depth - middle[1], depth - middle[2])
    on = [
        sum(at[i] * turn[i, k] for i in range(3)) + half
        for k, half in ((0, (COLUMNS + 1) / 2), (1, (ROWS + 1) / 2))
    ]
    inside = (on[0] >= 0) & (on[0] < COLUMNS + 1) & (on[1] >= 0) & (on[1] < ROWS + 1)
    light = np.where(inside, pattern(*on), 215.0)
    picture = light.reshape(HEIGHT, 2, WIDTH, 2).mean((1, 3))
    picture = cv2.GaussianBlur(picture, (0, 0), 0.7) + rng.normal(0, 3.0, picture.shape)
    return np.clip(picture + 0.5, 0, 255).astype(np.uint8)


def by_opencv(pictures: list[Any]) -> tuple[float, Any, int]:
    """Error, camera matrix and number of views of OpenCV's own corners and solver, with k1 and k2 alone."""
    board = np.zeros((COLUMNS * ROWS, 3), np.float32)
    board[:, :2] = np.mgrid[:COLUMNS, :ROWS].T.reshape(-1, 2)
    seen = []
    for picture in pictures:
        found, corners = cv2.findChessboardCorners(picture, (COLUMNS, ROWS))
        if found:
            stop = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_MAX_ITER, 40, 0.001)
            seen.append(cv2.cornerSubPix(picture, corners, (5, 5), (-1, -1), stop))
    flags = cv2.CALIB_ZERO_TANGENT_DIST | cv2.CALIB_FIX_K3
    rms, matrix, *_ = cv2.calibrateCamera(
        [board] * len(seen),
        seen,
        (WIDTH, HEIGHT),
        None,
        None,
        flags=flags,
    )
    return rms, matrix, len(seen)


def by_charuco(pictures: list[Any]) -> tuple[float, float, float, int]:
    """Focal length, principal point and number of views of OpenCV's ChArUco detector and solver."""
    board = charuco_board()
    detector = cv2.aruco.CharucoDetector(board)
    places, corners = [], []
    for picture in pictures:
        found, ids, _, _ = detector.detectBoard(picture)
        if ids is not None and len(ids) >= 12:
            place, corner = board.matchImagePoints(found, ids)
            places.append(place)
            corners.append(corner)
    flags = cv2.CALIB_ZERO_TANGENT_DIST | cv2.CALIB_FIX_K3
    _, matrix, *_ = cv2.calibrateCamera(places, corners, (WIDTH, HEIGHT), None, None, flags=flags)
    return (matrix[0, 0] + matrix[1, 1]) / 2, matrix[0, 2], matrix[1, 2], len(places)


class Calibrate(unittest.TestCase):
    """Focal length within 0.5 %, principal point within 1 % of the width, error at most 0.3 px."""

    def setUp(self) -> None:
        if cv2 is None:
            print("SKIPPED: calibration beside OpenCV: no cv2 (pip install opencv-python-headless)")
            self.skipTest("no cv2")

    def test_known_cameras_come_back_and_opencv_agrees(self) -> None:
        for number, camera in enumerate(CAMERAS):
            focal, (cx, cy), k1, _ = camera
            rng = np.random.default_rng(number)
            pictures = [rendered(camera, view, rng) for view in VIEWS]
            with self.subTest(focal=focal), tempfile.TemporaryDirectory() as folder:
                views = Path(folder, "views")
                views.mkdir()
                for i, picture in enumerate(pictures):
                    cv2.imwrite(str(views / f"{i:02}.png"), picture)
                out = Path(folder, "camera.toml")
                command = [POSEWIRE, "calibrate", "--replay", str(views), "--out", str(out)]
                told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
                self.assertEqual(told.returncode, 0, told.stderr)
                ours = tomllib.loads(out.read_text())
                rms, theirs, seen = by_opencv(pictures)
                sys.stderr.write(
                    f"true {focal} ({cx}, {cy}); posewire {ours['fx_px']:.2f} {ours['fy_px']:.2f} "
                    f"({ours['cx_px']:.2f}, {ours['cy_px']:.2f}), {ours['rms_px']:.3f} px of {ours['views']} views; "
                    f"OpenCV {theirs[0, 0]:.2f} {theirs[1, 1]:.2f} ({theirs[0, 2] + HALF_PX:.2f}, "
                    f"{theirs[1, 2] + HALF_PX:.2f}), {rms:.3f} px of {seen} views\n"
                )
                for key, opencv in (("fx_px", theirs[0, 0]), ("fy_px", theirs[1, 1])):
                    self.assertLess(abs(ours[key] / focal - 1), 0.005)
                    self.assertLess(abs(ours[key] / opencv - 1), 0.005)
                for key, true, opencv in (("cx_px", cx, theirs[0, 2]), ("cy_px", cy, theirs[1, 2])):
                    self.assertLess(abs(ours[key] - true), 0.01 * WIDTH)
                    self.assertLess(abs(ours[key] - opencv - HALF_PX), 0.01 * WIDTH)
                self.assertLess(abs(ours["k1"] - k1), 0.05)
                self.assertLessEqual(ours["rms_px"], 0.3)
                self.assertGreaterEqual(ours["views"], 12)

    def test_boards_half_out_of_sight_count_as_those_with_markers_do(self) -> None:
        """Every view shows a part of the board alone: beside OpenCV's ChArUco board of as many corners, before the same camera."""
        camera = CAMERAS[1]
        focal, (cx, cy), _, _ = camera
        rng = np.random.default_rng(4)
        edges = [(0.04, 0.3), (0.97, 0.6), (0.45, 0.03), (0.6, 0.98), (0.05, 0.9), (0.95, 0.08)]
        views = [(p, y, *edges[i % len(edges)]) for i, (p, y, _, _) in enumerate(VIEWS)]
        pictures = [rendered(camera, view, rng) for view in views]
        with tempfile.TemporaryDirectory() as folder:
            for i, picture in enumerate(pictures):
                cv2.imwrite(str(Path(folder, f"{i:02}.png")), picture)
                found, _ = cv2.findChessboardCorners(picture, (COLUMNS, ROWS))
                self.assertFalse(found, "a whole board")
            out = Path(folder, "camera.toml")
            command = [POSEWIRE, "calibrate", "--replay", folder, "--out", str(out)]
            told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
            self.assertEqual(told.returncode, 0, told.stderr)
            ours = tomllib.loads(out.read_text())
        charuco = by_charuco([marked(camera, view, rng) for view in views])
        sys.stderr.write(
            f"parts: true {focal} ({cx}, {cy}); posewire {ours['fx_px']:.2f} ({ours['cx_px']:.2f}, {ours['cy_px']:.2f}), "
            f"{ours['rms_px']:.3f} px of {ours['views']} views, {ours['coverage']:.2f} of the picture; "
            f"OpenCV's ChArUco {charuco[0]:.2f} ({charuco[1] + HALF_PX:.2f}, {charuco[2] + HALF_PX:.2f}) of {charuco[3]} views\n"
        )
        for key, opencv in (("fx_px", charuco[0]), ("fy_px", charuco[0])):
            self.assertLess(abs(ours[key] / focal - 1), 0.005)
            self.assertLess(abs(ours[key] / opencv - 1), 0.01)
        for key, true in (("cx_px", cx), ("cy_px", cy)):
            self.assertLess(abs(ours[key] - true), 0.01 * WIDTH)
        self.assertLessEqual(ours["rms_px"], 0.3)
        self.assertGreaterEqual(ours["views"], 12)

    def test_one_sided_and_too_few_views_are_refused_with_what_is_missing(self) -> None:
        rng = np.random.default_rng(9)
        flat = [
            (0, 0, x, y)
            for x, y in ((0.5, 0.5), (0.35, 0.5), (0.65, 0.5), (0.5, 0.35), (0.5, 0.65), (0.4, 0.4))
        ]
        for views, word in (([VIEWS[0], VIEWS[1]], "view"), (flat, "tilt")):
            with self.subTest(word), tempfile.TemporaryDirectory() as folder:
                for i, view in enumerate(views):
                    cv2.imwrite(str(Path(folder, f"{i}.png")), rendered(CAMERAS[1], view, rng))
                out = Path(folder, "camera.toml")
                command = [POSEWIRE, "calibrate", "--replay", folder, "--out", str(out)]
                told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
                self.assertEqual(told.returncode, 1, told.stderr)
                self.assertIn(word, told.stderr)
                self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main()
