"""Pieces into the store as they come, decoded beside what else is done: FILE.ready says that FILE is whole."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from posetrain.data.packs import Floats, Pixels
from posetrain.gpu import pieces
from posetrain.gpu.pieces import Piece
from posetrain.gpu.store import Store


class Arrivals:
    def __init__(self, folder: Path, store: Store) -> None:
        self.folder, self.store, self.known = folder, store, set[Path]()
        self.pool = ThreadPoolExecutor(1)
        self.decoding: list[Future[tuple[Path, Piece, list[Pixels], Floats]]] = []

    def _decoded(self, path: Path) -> tuple[Path, Piece, list[Pixels], Floats]:
        piece = pieces.load(path)
        return path, piece, *piece.decoded(os.cpu_count() or 1)

    def take(self, wait: bool = False) -> None:
        for ready in sorted(set(self.folder.glob(f"*{pieces.READY}")) - self.known):
            self.known.add(ready)
            self.decoding.append(self.pool.submit(self._decoded, ready.with_suffix("")))
        while self.decoding and (wait or self.decoding[0].done()):
            path, piece, pictures, joints = self.decoding.pop(0).result()
            self.store.add(piece, pictures, joints)
            print(f"{path.name}: {len(self.store)} persons", flush=True)

    def must(self) -> None:
        """Takes what is there. Raises `FileNotFoundError` without a piece."""
        self.take(wait=True)
        if not len(self.store):
            raise FileNotFoundError(
                f"{self.folder}: no piece with its {pieces.READY}; `python -m posetrain.gpu.pieces` makes them"
            )
