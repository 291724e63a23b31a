"""Drawn limb figures: training data that needs no pack, for smoke runs and tests. They teach nothing about
people."""

from __future__ import annotations

import cv2
import numpy as np

from posetrain.data.cache import SPLITS, Records
from posetrain.data.packs import LIMBS, PACKS, Floats, Pixels, joints_box

SIZE = 160


def figure(rng: np.random.Generator) -> tuple[Pixels, Floats]:
    """One picture [SIZE, SIZE, 3] and joints [17, 3]; the person's left limbs are drawn warm, the right
    ones cold."""
    pixels = np.empty((SIZE, SIZE, 3), np.uint8)
    pixels[:] = rng.integers(0, 256, 3, np.uint8)
    for _ in range(6):
        a, b = rng.integers(0, SIZE, 2), rng.integers(0, SIZE, 2)
        cv2.rectangle(
            pixels, tuple(map(int, a)), tuple(map(int, b)), tuple(int(v) for v in rng.integers(0, 256, 3)), -1
        )
    joints = np.zeros((17, 3), np.float32)
    joints[:, 2] = 2
    unit = float(rng.uniform(20, 28))
    hip = np.array([SIZE / 2, SIZE * 0.55]) + rng.uniform(-6, 6, 2)
    lean = float(rng.uniform(-0.4, 0.4))
    up = np.array([np.sin(lean), -np.cos(lean)])
    side = np.array([-up[1], up[0]])
    neck = hip + up * unit * 1.6
    joints[11, :2], joints[12, :2] = hip + side * unit * 0.35, hip - side * unit * 0.35
    joints[5, :2], joints[6, :2] = neck + side * unit * 0.6, neck - side * unit * 0.6
    for start, middle, end, length in ((5, 7, 9, 0.8), (6, 8, 10, 0.8), (11, 13, 15, 1.0), (12, 14, 16, 1.0)):
        angle = float(rng.uniform(-1.2, 1.2)) + (0 if start > 6 else float(rng.uniform(-1.0, 1.0)))
        joints[middle, :2] = joints[start, :2] + unit * length * np.array([np.sin(angle), np.cos(angle)])
        angle += float(rng.uniform(-0.8, 0.8))
        joints[end, :2] = joints[middle, :2] + unit * length * np.array([np.sin(angle), np.cos(angle)])
    head = neck + up * unit * 0.6
    for face, (across, along) in enumerate(
        ((0, 0), (0.12, 0.12), (-0.12, 0.12), (0.28, 0.05), (-0.28, 0.05))
    ):
        joints[face, :2] = head + side * unit * across + up * unit * along
    for first, second in LIMBS:
        shade = int(rng.integers(150, 256))
        left, right = first % 2 == 1 and second % 2 == 1, first % 2 == 0 and second % 2 == 0
        rgb = (shade, 60, 20) if left else (20, 60, shade) if right else (40, shade, 40)
        ends = [(int(joints[j, 0]), int(joints[j, 1])) for j in (first, second)]
        cv2.line(pixels, ends[0], ends[1], rgb, 5, cv2.LINE_AA)
    cv2.circle(pixels, (int(head[0]), int(head[1])), int(unit * 0.35), (220, 190, 160), -1, cv2.LINE_AA)
    return pixels, joints


def records(count: int, seed: int) -> Records:
    """`count` figures as a cache in memory, one in eight of them `val` and one in eight `calib`."""
    rng = np.random.default_rng(seed)
    pictures, joints = zip(*(figure(rng) for _ in range(count)), strict=True)
    part = np.arange(count) % 8
    split = np.where(
        part == 0, SPLITS.index("val"), np.where(part == 1, SPLITS.index("calib"), SPLITS.index("train"))
    )
    return Records(
        pixels=np.stack(pictures).reshape(-1),
        offset=np.arange(count, dtype=np.int64) * SIZE * SIZE * 3,
        shape=np.full((count, 2), SIZE, np.int32),
        joints=np.stack(joints),
        box=np.stack([np.asarray(joints_box(j), np.float32) for j in joints]),
        pack=np.full(count, PACKS.index("coco_subset"), np.int8),
        split=split.astype(np.int8),
        tier=np.ones(count, np.int8),
        key=np.array([f"figure-{i}" for i in range(count)]),
    )
