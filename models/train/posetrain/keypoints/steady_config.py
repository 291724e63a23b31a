"""What a long run in pieces is told: sources with their shares and class, crop sizes by crops seen, the network."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from posetrain.data.augment import AugmentConfig
from posetrain.keypoints.codec import HeatmapCodec
from posetrain.keypoints.net import NetConfig


@dataclass(frozen=True)
class Source:
    """`cache` is a folder's name under --caches; `share` of the crops, in proportion to the other sources'; `weight` of its
    labels in the loss; `taught`: the part of a labelled joint's loss that asks for the teacher's map; `part` of its persons
    alone are used, always the same ones, to measure what more of them would bring; `legless`: those alone whom the picture's lower edge
    cuts off above the knees (`posetrain.data.cut_off`)."""

    cache: str
    share: float
    weight: float = 1.0
    taught: float = 0.0
    part: float = 1.0
    legless: bool = False


@dataclass(frozen=True)
class SteadyConfig:
    """`sizes` = (crops seen from which on, crop size in pixels, ...); batches take turns at several sizes. `sigma_px_at_160`: the
    Gaussian round a label on a crop of 160 px; on smaller ones it is smaller, the same part of the person. `val`: caches of which
    the val parts are looked at. `empty`: a cache of pictures of nobody, which `empty_chance` of the crops are parts of; all their
    joints are absent, by `empty_weight` in the loss. `teachers`: the networks that are asked about each crop (`posetrain.gpu.distil`,
    `posetrain.keypoints.asked`), instead of stored maps. `outside_weight`: of the flat map that is asked for where a labelled joint lies
    beyond the crop; 1 where the picture ends across the body. `licence`: the worst class that the weights may have
    (`posetrain.data.licences`)."""

    name: str
    licence: str
    sources: tuple[Source, ...]
    val: tuple[str, ...] = ()
    empty: str = ""
    empty_chance: float = 0.0
    empty_weight: float = 0.2
    teachers: tuple[str, ...] = ()
    seed: int = 1
    batch: int = 64
    learning_rate: float = 2e-3
    weight_decay: float = 0.05
    warmup_crops: int = 12_800
    ema: float = 0.9995
    auxiliary: float = 0.3
    outside_weight: float = 0.1
    sigma_px_at_160: float = 6.0
    sizes: tuple[tuple[int, ...], ...] = ((0, 96),)
    validate_every: int = 25_000
    net: NetConfig = field(default_factory=NetConfig)
    augment: AugmentConfig = field(default_factory=AugmentConfig)

    def untaught(self) -> SteadyConfig:
        """The same, but that no teacher is asked."""
        sources = tuple(replace(source, taught=0.0) for source in self.sources)
        return replace(self, sources=sources, teachers=())

    def size(self, crops: int) -> int:
        """Of the batch that begins when so many crops have been seen, pixels."""
        turns = self._turns(crops)
        return turns[crops // self.batch % len(turns)]

    def largest(self, crops: int) -> int:
        """The size at which the network is looked at, pixels."""
        return max(self._turns(crops))

    def _turns(self, crops: int) -> tuple[int, ...]:
        return [tuple(turns) for start, *turns in self.sizes if crops >= start][-1]

    def codec(self, size: int) -> HeatmapCodec:
        stride = HeatmapCodec().stride
        return HeatmapCodec(stride, max(0.8, self.sigma_px_at_160 * size / 160 / stride))


def read(path: Path) -> dict[str, Any]:
    """A configuration's tables. One that is `like` another, a file beside it, has what that has but for what it says itself, and learns
    of none of the sources that it is `without`. Raises `ValueError` where the other has no such source."""
    raw: dict[str, Any] = tomllib.loads(path.read_text())
    if like := raw.pop("like", ""):
        raw = read(path.parent / like) | raw
    left_out = set(raw.pop("without", []))
    if unknown := left_out - {source["cache"] for source in raw["sources"]}:
        raise ValueError(f"{path}: without {min(unknown)}, of which {like or 'it'} does not learn anyway")
    raw["sources"] = [source for source in raw["sources"] if source["cache"] not in left_out]
    return raw


def load_config(path: Path) -> SteadyConfig:
    raw = read(path)

    def frozen(value: Any) -> Any:
        return tuple(frozen(v) for v in value) if isinstance(value, list) else value

    values = {k: frozen(v) for k, v in raw.items() if k not in ("sources", "net", "augment")}
    values["sources"] = tuple(Source(**source) for source in raw["sources"])
    values["net"] = NetConfig(**{k: frozen(v) for k, v in raw.get("net", {}).items()})
    values["augment"] = AugmentConfig(**raw.get("augment", {}))
    return SteadyConfig(**values)
