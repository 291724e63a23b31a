"""PCK on the val persons of a store, while a run goes on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from posetrain.data.augment import plain_crop
from posetrain.data.packs import Floats, joints_box
from posetrain.gpu.compiled import half_precision
from posetrain.gpu.store import Store
from posetrain.keypoints.codec import HeatmapCodec
from posetrain.keypoints.train import to_input
from posetrain.metrics import pck

ROWS = 128


class Judge:
    """At one size of crop, pixels. Crops are cut out once for as many persons as there are."""

    def __init__(self, codec: HeatmapCodec, net: int, store: Store) -> None:
        self.codec, self.net, self.store = codec, net, store
        self.crops: dict[str, tuple[Tensor, list[Floats]]] = {}

    def _crops(self, name: str) -> tuple[Tensor, list[Floats]]:
        persons = self.store.val[name]
        if name not in self.crops or len(self.crops[name][1]) != len(persons):
            cut = [plain_crop(p, joints_box(j), self.net) for p, j in persons]
            self.crops[name] = (torch.from_numpy(np.stack([c for c, _ in cut])), [m for _, m in cut])
        return self.crops[name]

    @torch.no_grad()
    def look(self, maps_of: Callable[[Tensor], Tensor]) -> str:
        """`maps_of` images [B, 3, net, net] in 0..1, on the store's device."""
        out = []
        for name in sorted(self.store.val):
            images, places = self._crops(name)
            maps = []
            for k in range(0, len(images), ROWS):
                rows = to_input(images[k : k + ROWS]).to(self.store.device)
                with half_precision(self.store.device):
                    maps.append(maps_of(rows).float().cpu())
            xy = self.codec.decode_batch(torch.cat(maps))[0].numpy()
            values = []
            for threshold in (0.05, 0.1):
                rates = [
                    pck(xy[k], joints, place, threshold)
                    for k, ((_, joints), place) in enumerate(zip(self.store.val[name], places, strict=True))
                ]
                hits, known = (sum(float(r[i].sum()) for r in rates) for i in (0, 1))
                values.append(hits / max(known, 1))
            out.append(f"{name} {values[0]:.3f}/{values[1]:.3f}")
        return ", ".join(out)
