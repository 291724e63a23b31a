"""All persons' crops in the GPU's memory, one after the other, and tables that say where each lies."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from posetrain.data.packs import Floats, Pixels
from posetrain.gpu.pieces import Piece


@dataclass
class Store:
    """`pixels` [P, 3] uint8, of which the first `used` count; of person i: `offset` [N] (first of its pixels), `shape` [N, 2] (rows,
    columns) and `joints` [N, 17, 3] in its pixels. `ids` = persons of each source, never those of val, and pictures of the source
    `nobody`."""

    device: torch.device
    room: int
    nobody: str = ""
    pixels: Tensor = field(init=False)
    used: int = 0
    offset: Tensor = field(init=False)
    shape: Tensor = field(init=False)
    joints: Tensor = field(init=False)
    ids: dict[str, Tensor] = field(default_factory=dict)
    val: dict[str, list[tuple[Pixels, Floats]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.pixels = torch.zeros((self.room, 3), dtype=torch.uint8, device=self.device)
        self.offset = torch.zeros(0, dtype=torch.int64, device=self.device)
        self.shape = torch.zeros((0, 2), dtype=torch.int64, device=self.device)
        self.joints = torch.zeros((0, 17, 3), device=self.device)

    def __len__(self) -> int:
        return len(self.offset)

    def add(self, piece: Piece, pictures: list[Pixels], joints: Floats) -> None:
        """Takes over a piece's persons, as `Piece.decoded` gives them. Raises `MemoryError` where there is no room for them."""
        for i in np.flatnonzero(piece.val):
            self.val.setdefault(str(piece.names[piece.source[i]]), []).append((pictures[i], joints[i]))
        learned = np.flatnonzero(~piece.val)
        sizes = np.array([pictures[i].shape[0] * pictures[i].shape[1] for i in learned], np.int64)
        if self.used + sizes.sum() > self.room:
            raise MemoryError(f"room for {self.room} pixels, {self.used + sizes.sum()} wanted")
        flat = torch.from_numpy(np.concatenate([pictures[i].reshape(-1, 3) for i in learned]))
        self.pixels[self.used : self.used + len(flat)] = flat.to(self.device)
        begin, first = self.used + np.concatenate([[0], np.cumsum(sizes)[:-1]]), len(self)
        shapes = np.array([pictures[i].shape[:2] for i in learned], np.int64)
        self.offset = torch.cat([self.offset, torch.from_numpy(begin).to(self.device)])
        self.shape = torch.cat([self.shape, torch.from_numpy(shapes).to(self.device)])
        self.joints = torch.cat([self.joints, torch.from_numpy(joints[learned]).to(self.device)])
        self.used += len(flat)
        # a relabelled cache has persons of whom nothing is labelled: there is no box to crop
        usable = (joints[learned, :, 2] > 0).any(axis=1)
        for s in np.unique(piece.source[learned]):
            name = str(piece.names[s])
            taken = (piece.source[learned] == s) & (usable | (name == self.nobody))
            new = torch.from_numpy(first + np.flatnonzero(taken)).to(self.device)
            self.ids[name] = torch.cat([self.ids[name], new]) if name in self.ids else new
