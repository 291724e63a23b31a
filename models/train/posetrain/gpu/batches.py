"""What a step learns from: augmented crops out of the store, their labels, and what a teacher says of the same crops unspoiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from posetrain.data.packs import JOINTS
from posetrain.gpu.compiled import half_precision, quicker
from posetrain.gpu.damage import spoiled
from posetrain.gpu.store import Store
from posetrain.gpu.teachers import asked_quicker
from posetrain.gpu.views import Aim, Sampler, aimed, of_nobody, sampled, viewed
from posetrain.keypoints.believed import believed
from posetrain.keypoints.codec import HeatmapCodec
from posetrain.keypoints.steady_config import SteadyConfig
from posetrain.keypoints.train import JOINT_WEIGHT


@dataclass
class Batch:
    """What a step learns from: `images` [B, 3, net, net] in 0..1, labels as `posetrain.keypoints.mixture.TaughtBatch` has them."""

    images: Tensor
    xy: Tensor
    weight: Tensor
    outside: Tensor
    target: Tensor
    target_weight: Tensor


@dataclass
class Lesson:
    """Crops that several students learn from: `ids` [B] of persons with the number of their `source`, where the crops lie, and what the
    teacher says of them, logits [B, 17, cells, cells]. `nobody` [E]: ids of pictures of nobody."""

    ids: Tensor
    source: Tensor
    aim: Aim
    said: Tensor
    nobody: Tensor


class Stream:
    """Lessons out of the store, as a configuration's shares say of the sources that have arrived, and a student's batch of each."""

    def __init__(
        self, config: SteadyConfig, store: Store, teacher: Callable[[Tensor], Tensor], teacher_net: int
    ) -> None:
        self.config, self.store, self.teacher, self.teacher_net = config, store, teacher, teacher_net
        self.joint_weight = torch.from_numpy(JOINT_WEIGHT).to(store.device)
        self.told = torch.tensor([(s.taught, s.weight) for s in config.sources], device=store.device)
        self.sample: Sampler = sampled

    def named(self, student: SteadyConfig) -> Tensor | None:
        """1 for each source that a student learns of, else 0; `None` where those are all."""
        names = {s.cache for s in student.sources}
        each = [float(s.cache in names) for s in self.config.sources]
        return None if all(each) else torch.tensor(each, device=self.store.device)

    @property
    def persons(self) -> int:
        """Of a lesson: crops of somebody."""
        return self.config.batch - round(self.config.batch * self.config.empty_chance)

    def tune(self) -> None:
        """Chooses the quickest way to ask the teacher, and to draw crops."""
        store = self.store
        self.teacher = asked_quicker(self.teacher, self.persons, self.teacher_net, store.device)
        ids = self._persons(self.persons)[0]
        matrix = aimed(store.joints[ids], self.config.augment).image_from_net(self.teacher_net)

        def work(sample: Sampler) -> None:
            sample(store.pixels, store.offset[ids], store.shape[ids], matrix, self.teacher_net)

        self.sample = quicker("drawing crops", sampled, work)

    def _persons(self, count: int) -> tuple[Tensor, Tensor]:
        """Ids, and the number of each one's source."""
        here = [s.cache in self.store.ids for s in self.config.sources]
        share = torch.tensor(
            [s.share * is_here for s, is_here in zip(self.config.sources, here, strict=True)],
            device=self.store.device,
        )
        which = torch.multinomial(share / share.sum(), count, replacement=True)
        draw, ids = torch.rand(count, device=self.store.device), torch.zeros_like(which)
        for k, source in enumerate(self.config.sources):
            if here[k]:
                held = self.store.ids[source.cache]
                ids = torch.where(which == k, held[(draw * len(held)).long().clamp(max=len(held) - 1)], ids)
        return ids, which

    @torch.no_grad()
    def lesson(self) -> Lesson:
        config, store, count = self.config, self.store, self.persons
        nobody = store.ids.get(config.empty)
        if nobody is None:
            nobody, count = torch.zeros(0, dtype=torch.int64, device=store.device), config.batch
        else:
            nobody = nobody[torch.randint(len(nobody), (config.batch - count,), device=store.device)]
        ids, source = self._persons(count)
        aim = aimed(store.joints[ids], config.augment)
        seen = viewed(store, ids, aim, self.teacher_net, self.sample, is_ended=False).images
        with half_precision(store.device):
            said = self.teacher(as_input(seen))
        return Lesson(ids, source, aim, said, nobody)

    @torch.no_grad()
    def batch(self, lesson: Lesson, net: int) -> Batch:
        """A lesson at `net` pixels."""
        store, aim, ids, config = self.store, lesson.aim, lesson.ids, self.config
        taught, source_weight = self.told[lesson.source].unbind(1)
        views = viewed(store, ids, aim, net, self.sample)
        images = spoiled(views.images, config.augment, views.ends.mask(net))
        stride = HeatmapCodec().stride
        cells = net // stride
        joints = store.joints[ids]
        labelled = joints[..., 2:] > 0
        low = torch.where(labelled, joints[..., :2], torch.inf).amin(1)
        high = torch.where(labelled, joints[..., :2], -torch.inf).amax(1)
        extent = (high - low).amax(1).clamp(min=1.0) * cells / aim.side
        target, belief = believed(lesson.said, views, extent, cells, stride, taught >= 1)
        believes = self.joint_weight * source_weight[:, None]
        belief = belief * (taught > 0)[:, None]
        part = torch.where(views.inside, taught[:, None] * belief, belief)
        label_part = torch.where(taught[:, None] >= 1, 0.0, 1 - part)
        weight = views.inside * believes * label_part
        outside = views.outside * torch.where(views.is_cut_off, 1.0, config.outside_weight)[:, None]
        target_weight, xy = part * believes, views.xy
        if empty := len(lesson.nobody):
            plain = viewed(store, lesson.nobody, of_nobody(store.shape[lesson.nobody]), net)
            images = torch.cat([images, spoiled(plain.images, config.augment, plain.ends.mask(net))])
            nothing = torch.zeros(empty, JOINTS, device=store.device)
            weight, target_weight = torch.cat([weight, nothing]), torch.cat([target_weight, nothing])
            outside = torch.cat([outside, nothing + config.empty_weight])
            xy = torch.cat([xy, nothing[..., None].expand(-1, -1, 2)])
            target = torch.cat([target, torch.zeros_like(target[:1]).expand(empty, -1, -1, -1)])
        return Batch(as_input(images), xy, weight, outside, target, target_weight)


def learned(batch: Batch, lesson: Lesson, named: Tensor | None) -> Batch:
    """A lesson's batch as a student sees it: rows of persons whose source is `named` (`Stream.named`), and of nobody. What a student sees
    in training moves its norms' statistics, which ship, so rows of others are not there, not even without weight. As many rows as before,
    lest every step have a shape of its own: the first again, which count once."""
    if named is None:
        return batch
    rows = len(batch.xy)
    is_own = torch.ones(rows, device=batch.xy.device)
    is_own[: len(lesson.ids)] = named[lesson.source]
    count = is_own.sum()
    place = torch.arange(rows, device=count.device)
    own = is_own.argsort(descending=True, stable=True)[(place % count.clamp(min=1)).long()]
    # of a lesson without any row of its own it sees black pictures and learns nothing
    once = ((place < count) * 1.0)[:, None]
    images = batch.images[own] * (count > 0)
    return Batch(
        images.contiguous(memory_format=torch.channels_last),
        batch.xy[own],
        batch.weight[own] * once,
        batch.outside[own] * once,
        batch.target[own],
        batch.target_weight[own] * once,
    )


def as_input(images: Tensor) -> Tensor:
    """0..255 in whole steps, as a camera's, to 0..1."""
    return (images.round() / 255).contiguous(memory_format=torch.channels_last)
