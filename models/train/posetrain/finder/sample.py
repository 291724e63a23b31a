"""What the person finder is shown: pictures letterboxed as on the device, and training pictures put together from scenes."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from posetrain.data.packs import Floats, Pixels
from posetrain.data.scenes import Scene
from posetrain.finder.net import Size

# Width over height: 4:3 twice as often as 16:9, square and upright ones.
SHAPES = (4 / 3, 4 / 3, 16 / 9, 1.0, 3 / 4)
# How often a scene is turned by so many quarters: photos show few people who lie, fall or stand on their hands.
QUARTERS = (0.88, 0.05, 0.02, 0.05)


def letterbox(pixels: Pixels, size: Size) -> tuple[Pixels, float]:
    """The device's input: the picture scaled into the top left corner; and the scale."""
    height, width = pixels.shape[:2]
    s = min(size.width / width, size.height / height)
    matrix = np.array([[s, 0, 0.5 * s - 0.5], [0, s, 0.5 * s - 0.5]], np.float32)
    # a picture more than twice too large is averaged down first: bilinear sampling alone would skip pixels
    if s < 0.5:
        twice = (round(width * s * 2), round(height * s * 2))
        pixels = np.asarray(cv2.resize(pixels, twice, interpolation=cv2.INTER_AREA), np.uint8)
        matrix = np.array([[0.5, 0, -0.25], [0, 0.5, -0.25]], np.float32)
    return np.asarray(cv2.warpAffine(pixels, matrix, size, flags=cv2.INTER_LINEAR), np.uint8), s


def turned(s: Scene, quarters: int) -> Scene:
    """The scene turned counterclockwise by quarters of a turn."""
    quarters %= 4
    height, width = s.pixels.shape[:2]

    def boxes(of: Floats) -> Floats:
        x0, y0, x1, y1 = of.T
        by = {
            0: (x0, y0, x1, y1),
            1: (y0, width - x1, y1, width - x0),
            2: (width - x1, height - y1, width - x0, height - y0),
            3: (height - y1, x0, height - y0, x1),
        }
        return np.stack(by[quarters], axis=1)

    return Scene(
        np.ascontiguousarray(np.rot90(s.pixels, quarters)), boxes(s.persons), boxes(s.doubtful), s.pack
    )


def warped(
    pixels: Pixels,
    matrix: Floats,
    size: tuple[int, int],
    nearest: bool,
    border: int = cv2.BORDER_CONSTANT,
    shade: tuple[int, ...] = (0, 0, 0),
) -> Pixels:
    """The picture drawn by `matrix` into (width, height) pixels: a pixel of one that shrinks to a half or less is the mean of four
    samples, from a quarter on of sixteen, as on the device (crates/picture/src/resize.rs)."""
    scale = abs(float(matrix[1, 1]))
    across = 1 if nearest or scale > 0.5 else 2 if scale > 0.25 else 4
    finer = across * matrix
    finer[:, 2] += 0.5 * across - 0.5
    drawn = cv2.warpAffine(
        pixels,
        finer,
        (across * size[0], across * size[1]),
        flags=cv2.INTER_NEAREST if nearest else cv2.INTER_LINEAR,
        borderMode=border,
        borderValue=shade,
    )
    if across > 1:
        drawn = cv2.resize(drawn, size, interpolation=cv2.INTER_AREA)
    return np.asarray(drawn, np.uint8)


def _place(
    canvas: Pixels,
    region: tuple[int, int, int, int],
    s: Scene,
    rng: np.random.Generator,
    whole: bool,
    persons: list[Floats],
    doubtful: list[Floats],
) -> None:
    """Draws a scene into a region (x, y, w, h) of the canvas, mirrored half the time, and adds
    what is seen of its boxes."""
    x, y, w, h = region
    height, width = s.pixels.shape[:2]
    if whole or not len(s.persons):
        scale = min(w / width, h / height) * float(rng.uniform(0.85, 1.15))
        tx, ty = rng.uniform(-0.08, 0.08, 2) * (w, h)
    else:
        box = s.persons[int(rng.integers(len(s.persons)))]
        size = np.maximum(box[2:] - box[:2], 4)
        target = max(w, h) * float(np.exp(rng.uniform(np.log(0.2), np.log(1.0))))
        scale = float(np.clip(target / size.max(), 0.15, 2.5))
        room = np.maximum(np.array([w, h]) - size * scale, 0)
        corner = rng.uniform(0, 1, 2) * room - rng.uniform(0, 0.15, 2) * size * scale * (rng.random(2) < 0.3)
        tx, ty = corner - box[:2] * scale
    flip = rng.random() < 0.5
    matrix = np.array([[scale, 0, tx], [0, scale, ty]], np.float32)
    if flip:
        matrix = np.array([[-scale, 0, w - 1 - tx], [0, scale, ty]], np.float32)
    # now and then as programs beside this one shrink frames
    nearest = rng.random() < 0.1
    # beside the picture: mostly black as on the device, else smeared edges or one colour, so that black
    # alone is no sign
    border = cv2.BORDER_REPLICATE if rng.random() < 0.25 else cv2.BORDER_CONSTANT
    shade = tuple(int(v) for v in rng.integers(0, 256, 3)) if rng.random() < 0.3 else (0, 0, 0)
    canvas[y : y + h, x : x + w] = warped(s.pixels, matrix, (w, h), nearest, border, shade)
    for boxes, seen_as in ((s.persons, persons), (s.doubtful, doubtful)):
        for box in boxes:
            xs, ys = matrix[0, 0] * box[[0, 2]] + matrix[0, 2], scale * box[[1, 3]] + ty
            moved = np.array([xs.min(), ys.min(), xs.max(), ys.max()], np.float32)
            cut = np.clip(moved, 0, (w, h, w, h))
            area, seen = float((moved[2:] - moved[:2]).prod()), float((cut[2:] - cut[:2]).prod())
            if seen <= 0:
                continue
            cut[[0, 2]] += x
            cut[[1, 3]] += y
            small = (cut[2:] - cut[:2]).max() < 12
            # less than a third in view, or smaller than a cell and a half: neither a person nor background
            (doubtful if seen < 0.33 * area or small else seen_as).append(cut)


def sample(
    scenes: list[Scene], share: npt.NDArray[np.float64], rng: np.random.Generator, size: Size
) -> tuple[Pixels, Floats, Floats]:
    """One training picture [height, width, 3], persons and doubtful boxes in its pixels."""
    canvas = np.zeros((size.height, size.width, 3), np.uint8)
    persons: list[Floats] = []
    doubtful: list[Floats] = []

    def pick() -> Scene:
        s = scenes[int(rng.choice(len(scenes), p=share))]
        return turned(s, int(rng.choice(4, p=QUARTERS)))

    kind = rng.random()
    if kind < 0.35:
        s = pick()
        height, width = s.pixels.shape[:2]
        fitted = min(size.width / width, size.height / height)
        w, h = max(8, int(fitted * width)), max(8, int(fitted * height))
        _place(canvas, (0, 0, w, h), s, rng, True, persons, doubtful)
    elif kind < 0.65:
        # the shapes that cameras give, in the top left corner
        shape = SHAPES[int(rng.integers(len(SHAPES)))]
        h = min(size.height, int(size.width / shape))
        w = int(h * shape)
        _place(canvas, (0, 0, w, h), pick(), rng, False, persons, doubtful)
    else:
        cx, cy = (int(rng.integers(side * 3 // 10, side * 7 // 10)) for side in size)
        for x, y, w, h in (
            (0, 0, cx, cy),
            (cx, 0, size.width - cx, cy),
            (0, cy, cx, size.height - cy),
            (cx, cy, size.width - cx, size.height - cy),
        ):
            if rng.random() < 0.9:
                _place(canvas, (x, y, w, h), pick(), rng, rng.random() < 0.3, persons, doubtful)
    empty = np.zeros((0, 4), np.float32)
    return canvas, np.array(persons) if persons else empty, np.array(doubtful) if doubtful else empty
