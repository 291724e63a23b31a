"""Packs the bank of shapes and CMU motion into the one file that the crate embeds. numpy alone; same input, same bytes.

python build.py --mocap PACKS/cmu_mocap --bank bank.npz --out people.bin
python build.py --mocap PACKS/cmu_mocap --all-motion motion.bin [--hz 30] [--split val]

`--all-motion` writes every training sequence, for `people dataset --motion` and `posewire eval films --motion`; with `--split val` those
that nothing is trained on. It needs no bank.
15 Hz are enough for poses; films of people who hurry want 30.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import struct
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
COMPONENTS = 10
INFLUENCES = 4
MAGIC = b"PEOPLE1\0"
CLIP_HZ = 20
# What the built-in clip and pictures without a motion file are made of: sequence, first frame, frames (60 Hz).
CLIPS = [
    ("08_02", 10, 130), ("35_02", 20, 140), ("12_02", 20, 240), ("136_21", 30, 200), ("47_01", 0, 660),
    ("114_13", 0, 600), ("144_33", 300, 600), ("02_05", 120, 500), ("02_06", 0, 700), ("02_10", 200, 600),
    ("06_10", 0, 400), ("60_01", 400, 600), ("61_14", 500, 400), ("94_15", 300, 400), ("01_01", 100, 500),
    ("01_06a", 600, 500), ("02_03", 0, 87), ("135_04", 100, 300),
]  # fmt: skip
STILLS = 700
TRAITS = ("gender", "age", "weight", "african", "asian")


def axes(v: Floats) -> Floats:
    """Anny's axes (left, back, up) to the crate's: left, up, forward."""
    return np.stack([v[..., 0], v[..., 2], -v[..., 1]], axis=-1)


def zigzag(v: npt.NDArray[np.int64]) -> npt.NDArray[np.uint16]:
    return ((v << 1) ^ (v >> 63)).astype(np.uint16)


def planes(v: npt.NDArray[np.uint16]) -> bytes:
    """Low bytes, then high bytes: deflate likes them apart."""
    flat = v.ravel()
    return (flat & 255).astype(np.uint8).tobytes() + (flat >> 8).astype(np.uint8).tobytes()


def deltas(v: npt.NDArray[np.integer], axis: int = 0) -> bytes:
    d = np.diff(
        v.astype(np.int64), axis=axis, prepend=np.zeros_like(np.take(v, [0], axis=axis), dtype=np.int64)
    )
    return planes(zigzag(d.astype(np.int64)))


def occlusion(points: Floats, faces: npt.NDArray[np.int64], normals: Floats, directions: int = 128) -> Floats:
    """How much of the sky over each vertex's own plane is free of the body, cosine-weighted: 0 to 1."""
    rng = np.random.default_rng(1)
    corners = points[faces]
    sides = corners[:, 1:] - corners[:, :1]
    area = np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1) / 2
    count = np.maximum(1, area / 4e-6).astype(int)
    which = np.repeat(np.arange(len(faces)), np.minimum(count, 60))
    u, v = rng.random((2, len(which)))
    over = u + v > 1
    u[over], v[over] = 1 - u[over], 1 - v[over]
    c = corners[which]
    dense = c[:, 0] + u[:, None] * (c[:, 1] - c[:, 0]) + v[:, None] * (c[:, 2] - c[:, 0])
    dense = np.concatenate([dense, points])
    k = np.arange(directions) + 0.5
    z, phi = 1 - 2 * k / directions, np.pi * (1 + 5**0.5) * k
    ring = np.sqrt(1 - z * z)
    free, total = np.zeros(len(points)), np.zeros(len(points))
    for d in np.stack([ring * np.cos(phi), ring * np.sin(phi), z], axis=1):
        side = np.cross(d, [0.3, 0.5, 0.8])
        side /= np.linalg.norm(side)
        flat = np.stack([side, np.cross(d, side), d])
        cell = 0.006
        q = dense @ flat.T
        xy = ((q[:, :2] - q[:, :2].min(axis=0)) / cell).astype(int)
        width = xy[:, 0].max() + 1
        key = xy[:, 1] * width + xy[:, 0]
        high = np.full(key.max() + 1, -9.0)
        np.maximum.at(high, key, q[:, 2])
        cosine = np.maximum(normals @ d, 0)
        own = slice(len(q) - len(points), None)
        seen = high[key[own]] - q[own, 2] < 0.006 + 0.012 * (1 - cosine)
        free += cosine * seen
        total += cosine
    return (free / np.maximum(total, 1e-6)).astype(np.float32)


def vertex_normals(points: Floats, faces: npt.NDArray[np.int64]) -> Floats:
    n = np.zeros_like(points)
    a, b, c = (points[faces[:, k]] for k in range(3))
    f = np.cross(b - a, c - a)
    for k in range(3):
        np.add.at(n, faces[:, k], f)
    return n / np.maximum(np.linalg.norm(n, axis=1, keepdims=True), 1e-12)


def body(bank: np.lib.npyio.NpzFile) -> dict[str, bytes]:
    shapes = axes(bank["vertices"].astype(np.float64))
    quads = bank["faces"].astype(np.int64)
    mean = shapes.mean(axis=0)
    triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    triangles = triangles[
        (np.sort(triangles, axis=1)[:, 1:] != np.sort(triangles, axis=1)[:, :-1]).all(axis=1)
    ]
    light = occlusion(mean, triangles, vertex_normals(mean, triangles))
    # The insides of mouth, nose and eye sockets are never seen.
    quads = quads[(light[quads] > 0.03).any(axis=1)]
    used = np.unique(quads)
    rename = np.full(len(mean), -1)
    rename[used] = np.arange(len(used))
    heads, joints = axes(bank["heads"].astype(np.float64)), bank["joints"].astype(np.float64)
    places = np.einsum("jv,svc->sjc", joints, shapes)
    # A joint follows the bones as the vertices do that it is a mean of: exact for linear blend skinning.
    dense = np.zeros((len(mean), len(bank["bones"])))
    np.add.at(dense, (np.arange(len(mean))[:, None], bank["weight_bones"]), bank["weights"])
    dense /= dense.sum(axis=1, keepdims=True)
    ties = joints @ dense
    anchors = np.einsum("jv,vb,svc->sjbc", joints, dense, shapes)
    points = shapes[:, used]
    flat = points.reshape(len(points), -1)
    middle = flat.mean(axis=0)
    left, size, right = np.linalg.svd(flat - middle, full_matrices=False)
    scores = left[:, :COMPONENTS] * np.sqrt(len(points))
    basis = right[:COMPONENTS] * size[:COMPONENTS, None] / np.sqrt(len(points))
    error = np.sqrt((((flat - middle) - scores @ basis).reshape(len(points), -1, 3) ** 2).sum(axis=-1).mean())
    print(
        f"{len(used)} vertices, {len(quads)} quads, {COMPONENTS} components: {1000 * error:.1f} mm of error (rms)"
    )
    design = np.concatenate([np.ones((len(scores), 1)), scores], axis=1)

    def follow(values: Floats) -> bytes:
        """Values as a linear function of the scores: [1 + COMPONENTS, ...] f32."""
        fit = np.linalg.lstsq(design, values.reshape(len(values), -1), rcond=None)[0]
        print(
            f"  follows within {1000 * np.abs(design @ fit - values.reshape(len(values), -1)).max():.1f} mm"
        )
        return fit.astype("<f4").tobytes()

    weights = dense[used]
    order = np.argsort(-weights, axis=1, kind="stable")[:, :INFLUENCES]
    top = np.take_along_axis(weights, order, axis=1)
    top = np.round(255 * top / top.sum(axis=1, keepdims=True)).astype(int)
    top[:, 0] += 255 - top.sum(axis=1)
    order[top == 0] = 0
    scale = np.abs(basis).max(axis=1) / 127
    grid = middle.reshape(-1, 3)
    labels = list(bank["phenotype_labels"])
    near = np.abs(scores).max() / 127
    return {
        "bones": struct.pack("<I", len(bank["bones"])) + bank["parents"].astype(np.int8).tobytes() + "\n".join(bank["bones"]).encode(),
        "mean": deltas(np.round(grid * 20000).astype(np.int64)),
        "scale": scale.astype("<f4").tobytes(),
        "basis": np.round(basis / scale[:, None]).astype(np.int8).reshape(COMPONENTS, -1, 3).transpose(0, 2, 1).tobytes(),
        "quads": deltas(rename[quads]),
        "influences": order.T.astype(np.uint8).tobytes() + top.T.astype(np.uint8).tobytes(),
        "eyes": struct.pack("<I", int(rename[14598:14742].min(initial=1 << 30, where=rename[14598:14742] >= 0))),
        "light": np.round(255 * light[used]).astype(np.uint8).tobytes(),
        "heads": follow(heads),
        "joints": follow(places),
        "ties": ties.astype("<f4").tobytes(),
        "anchors": follow(anchors),
        "scores": struct.pack("<f", near) + np.round(scores / near).astype(np.int8).tobytes(),
        "traits": np.round(255 * bank["phenotypes"][:, [labels.index(k) for k in TRAITS]].clip(0, 1)).astype(np.uint8).tobytes()
        + bank["years"].astype(np.uint8).tobytes(),
    }  # fmt: skip


class Motion:
    def __init__(self, folder: Path) -> None:
        self.z = dict(np.load(folder / "cmu_mocap.npz"))
        self.index = json.loads((folder / "index.json").read_text())["sequences"]
        self.rows = {s["id"]: k for k, s in enumerate(self.index)}

    def joints(self, row: int) -> Floats:
        a, b = (int(v) for v in self.z["offset"][row : row + 2])
        p = np.cumsum(self.z["rel_delta"][a:b], axis=0, dtype=np.int16) * self.z["rel_scale"]
        return np.asarray(p + self.z["root"][a:b, None], np.float32)

    @staticmethod
    def packed(parts: list[tuple[str, Floats]]) -> bytes:
        """Names and lengths, then steps of 2 mm: pelvis over time, the rest relative to the pelvis over time."""
        head = json.dumps([[name, len(p)] for name, p in parts]).encode()
        body = b""
        every = np.concatenate([p for _, p in parts])
        steps = np.round(every * 500).astype(np.int64)
        steps[:, :17] -= steps[:, 17:18]
        steps[:, 18:] -= steps[:, 17:18]
        body = deltas(steps.reshape(len(steps), -1))
        return struct.pack("<II", len(head), len(steps)) + head + body


def stills(motion: Motion) -> Floats:
    """Poses far from each other, heading turned to +z, pelvis over the origin."""
    frames = np.concatenate(
        [motion.joints(k)[::10] for k, s in enumerate(motion.index) if s["split"] == "train"]
    )
    across = frames[:, 11] - frames[:, 12]
    angle = np.arctan2(across[:, 2], across[:, 0])
    c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
    root = frames[:, 17:18] * (1, 0, 1)
    f = frames - root
    turned = np.stack([f[..., 0] * c + f[..., 2] * s, f[..., 1], f[..., 2] * c - f[..., 0] * s], axis=-1)
    flat = turned[:, 5:17].reshape(len(turned), -1)
    # Farthest point sampling, begun at the mean pose; half of it, the rest drawn evenly.
    chosen = [int(np.argmin(((flat - flat.mean(axis=0)) ** 2).sum(axis=1)))]
    far = ((flat - flat[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < STILLS // 2:
        chosen.append(int(np.argmax(far)))
        far = np.minimum(far, ((flat - flat[chosen[-1]]) ** 2).sum(axis=1))
    rest = np.random.default_rng(1).choice(len(flat), STILLS - len(chosen), replace=False)
    picked = turned[np.concatenate([chosen, rest])]
    order = [0]
    left = set(range(1, len(picked)))
    while left:  # a chain of neighbours packs better
        last = picked[order[-1]]
        nearest = min(left, key=lambda k: float(((picked[k] - last) ** 2).sum()))
        left.remove(nearest)
        order.append(nearest)
    return np.asarray(picked[order], np.float32)


def container(parts: dict[str, bytes]) -> bytes:
    body = b"".join(
        struct.pack("<B", len(k)) + k.encode() + struct.pack("<I", len(v)) + v for k, v in parts.items()
    )
    return MAGIC + struct.pack("<II", len(body), zlib.crc32(body)) + zlib.compress(body, 9)


def write(path: Path, parts: dict[str, bytes]) -> None:
    for name, data in parts.items():
        print(f"  {name:12s}{len(data):9d} bytes, packed {len(zlib.compress(data, 9)):8d}")
    data = container(parts)
    path.write_bytes(data)
    print(f"{path}: {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mocap", type=Path, required=True)
    parser.add_argument("--bank", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--all-motion", type=Path)
    parser.add_argument("--hz", type=int, default=15, choices=[15, 20, 30, 60], help="of --all-motion")
    parser.add_argument("--split", default="train", choices=["train", "val"], help="of --all-motion")
    args = parser.parse_args()
    if (args.bank is None) != (args.out is None) or not (args.out or args.all_motion):
        parser.error("name --bank with --out, or --all-motion, or all three")
    motion = Motion(args.mocap)
    if args.bank:
        every = 60 // CLIP_HZ
        clips = [(name, motion.joints(motion.rows[name])[a : a + n : every]) for name, a, n in CLIPS]
        parts = body(np.load(args.bank))
        parts["clips"] = Motion.packed(clips)
        parts["stills"] = Motion.packed([("stills", stills(motion))])
        write(args.out, parts)
    if args.all_motion:
        every = 60 // args.hz
        sequences = [
            (s["id"], motion.joints(k)[::every])
            for k, s in enumerate(motion.index)
            if s["split"] == args.split
        ]
        # A file without a rate is one of 15 Hz.
        rate = {} if args.hz == 15 else {"hz": bytes([args.hz])}
        write(args.all_motion, rate | {"clips": Motion.packed(sequences)})


if __name__ == "__main__":
    main()
