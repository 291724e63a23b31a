"""Pack `found_people`: persons in photos and films of public repositories that say nothing of their terms, found by the finder and
followed by an own network. Class (c).

    python -m posetrain.finder.found --git GIT [--git GIT ...] --finder ../person.onnx --own ../keypoints-base.toml \
        --val CACHES/coco --val CACHES/lspet --val CACHES/jhmdb --val CACHES/unlabelled --lsp GIT --out OUT

GIT is the git directory of one of the repositories of `WHERE`, in a folder of the repository's name (OWNER+NAME/repo); all that its
history holds is read. The labels only say where somebody is: `keypoints.teach` and `keypoints.relabel` label anew, and a network is
never measured on either. A picture in which anybody looks like a person that the project is judged by (`--val`, `--lsp`) is left out
whole, and so is a film of such a frame: the finder learns from whole pictures, and a crop shows who stands beside.
"""

from __future__ import annotations

import argparse
import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np

from posetrain.data.augment import PAD
from posetrain.data.boxes import iou
from posetrain.data.gather import Entry, Everything, Git, Held, box_of, scaled, write
from posetrain.data.packs import BODY, Floats, Pixels, decode, joints_box
from posetrain.finder.evaluate import Finder
from posetrain.keypoints import likeness
from posetrain.keypoints.filmed import at_most, changed, frames
from posetrain.keypoints.likeness import Judged
from posetrain.keypoints.peers import Own
from posetrain.keypoints.relabel import labels

PACK = "found_people"
# A find so sure is followed; of a picture the MAX_PERSONS largest persons are written.
SURE_FIND, MAX_PERSONS = 0.4, 3
MIN_PX, MIN_JOINTS = 60.0, 6
# A joint of which the network is so sure counts; the mean over the body's joints is at least KNOWN.
SURE, KNOWN = 0.5, 0.55
ROUNDS, SAME_PERSON = 2, 0.6
# Frames that are looked at of one film.
OF_A_FILM = 8


SPORTS = (
    "badminton|football|baseball|gymnastics|tennis|ice_hockey|cricket|volleyball|table_tennis|boxing|swimming|wwe|fencing|wrestling|"
    "weight_lifting|hockey|basketball|kabaddi"
)
WHERE = {
    "jurjsorinliviu+Sports-Type-Classifier": Held(rf"^data/({SPORTS})/[^/]+\.(jpg|png)$"),
    "suyashmittal+yoga-pose": Held(r"^dataset[12]/.*\.jpe?g$"),
    "saahil1801+Yoga-Pose-Estimation-using-Transfer-Learning": Held(r"^YogaPoses/.*\.jpg$"),
    "FilippMolnar+PoseRecognition": Held(r"^data/.*\.(jpe?g|png)$"),
    "gtmray+cricket-shots": Held(r"_main\.jpg$"),
    "linh-nguyenngo+image-dance-classification": Held(r"^asean_dances/.*\.(jpg|JPG)$"),
    "quantumnaan+sic_translator": Held(r"^data/Images/.*\.jpg$"),
    "Wangmmstar+hospital-activity-dataset": Held(r"^images/.*\.jpg$", every=2),
    "bearpaw+clothing-co-parsing": Held(r"^photos/.*\.jpg$", every=2),
    # Stanford 40 Actions (Yao et al., ICCV 2011), published for research
    "Mehranai+stanford40_pose": Held(r"^JPEGImages/.*\.jpg$"),
    "yuhonas+free-exercise-db": Held(r"^exercises/.*\.jpg$"),
    "LightningDrop+SkateboardML": Held(r"^Tricks/.*\.(mov|MOV)$"),
    "jennycs0830+basketball_action_dataset": Held(r"^dataset/.*\.mp4$"),
    "riyer8+cs231n-pushfit": Held(r"^datasets/videos/.*\.mp4$", every=2),
    "DarshilPungalia+Major-Project": Held(r"^dataset/.*\.mp4$"),
    "autsadayut1996+WE674-Project-66130377": Held(r"^videos/.*\.mp4$"),
    "seymanurakti+fight-detection-surv-dataset": Held(r"^(fight|noFight)/.*\.mp4$"),
}  # fmt: skip


def settled(own: Own, pixels: Pixels, box: Floats) -> Floats | None:
    """Labelled joints [17, 3] of the person in `box` (x0 y0 x1 y1), looked at again round where they were seen. None for nobody to be
    sure of."""
    for _ in range(ROUNDS):
        centre = (float(box[0] + box[2]) / 2, float(box[1] + box[3]) / 2)
        xy = own.joints(pixels, centre, PAD * float(max(box[2] - box[0], box[3] - box[1], 8.0)))
        seen = np.concatenate([xy, 1 / (1 + np.exp(-own.features[:, None]))], axis=1)
        joints = labels(seen, np.array(pixels.shape[:2], np.int32), SURE)
        if int((joints[BODY, 2] > 0).sum()) < MIN_JOINTS:
            return None
        box = np.array(joints_box(joints), np.float32)
    is_sure = seen[BODY, 2].mean() >= KNOWN and max(box[2:] - box[:2]) >= MIN_PX
    return joints if is_sure else None


class Gatherer:
    """Persons of pictures, nobody twice."""

    def __init__(self, finder: Finder, own: Own, judged: Judged) -> None:
        self.finder, self.own, self.judged = finder, own, judged
        self.done: set[str] = set()
        self.counts: Counter[str] = Counter()

    def persons(self, pixels: Pixels) -> list[Floats] | None:
        """Joints [17, 3] of the MAX_PERSONS largest persons; None where anybody is like one that the project is judged by."""
        boxes, scores = self.finder.find(pixels, SURE_FIND)
        sizes = (boxes[:, 2:] - boxes[:, :2]).max(axis=1)
        out, taken = list[Floats](), list[Floats]()
        for i in (i for i in np.argsort(-sizes * scores) if sizes[i] >= MIN_PX):
            joints = settled(self.own, pixels, boxes[i])
            box = boxes[i] if joints is None else np.array(joints_box(joints), np.float32)
            if self.judged.has(pixels, box):
                return None
            if joints is None:
                self.counts["find of whom the network is not sure"] += 1
            elif taken and iou(box[None], np.stack(taken)).max() > SAME_PERSON:
                self.counts["person found twice"] += 1
            elif len(out) < MAX_PERSONS:
                taken.append(box)
                out.append(joints)
        return out

    def entry(self, pixels: Pixels, name: str, source: str, persons: list[Floats]) -> Entry:
        size = (pixels.shape[0], pixels.shape[1])
        exact = [p.astype(np.float64) for p in persons]
        return Entry(name, scaled(pixels, size), size, [(p, box_of(p)) for p in exact], source)

    def photo(self, data: bytes, name: str, source: str) -> Iterator[Entry]:
        pixels = decode(data)
        if pixels is None:
            self.counts["file that is no picture"] += 1
            return
        pixels = at_most(pixels)
        persons = self.persons(pixels)
        if persons is None:
            self.counts["photo of somebody like one that the project is judged by"] += 1
        elif persons:
            yield self.entry(pixels, f"{name}.jpg", source, persons)
        else:
            self.counts["photo of nobody to be sure of"] += 1

    def film(self, data: bytes, suffix: str, name: str, source: str) -> list[Entry]:
        before: Floats | None = None
        seen, out = list(frames(data, suffix)), list[Entry]()
        for k in np.unique(np.linspace(0, len(seen) - 1, OF_A_FILM).round().astype(int)) if seen else []:
            pixels = at_most(seen[k])
            persons = self.persons(pixels)
            if persons is None:
                self.counts["film of somebody like one that the project is judged by"] += 1
                return []
            if not persons or not changed(persons[0], before):
                self.counts["frame like the one before, or of nobody"] += 1
                continue
            before = persons[0]
            out.append(self.entry(pixels, f"{name}-{k:03d}.jpg", source, persons))
        return out

    def of(self, git: Git, held: Held) -> Iterator[Entry]:
        short = re.sub(r"[^a-z0-9]+", "-", git.folder.parent.name.lower())[:24]
        for path in sorted(p for p in git.blobs if re.search(held.what, p))[:: held.every]:
            blob = git.blobs[path]
            if blob in self.done or not (data := git.held(path)):
                self.counts["the same file again, or one that the copy lacks"] += 1
                continue
            self.done.add(blob)
            name = f"{short}-{hashlib.sha1(path.encode()).hexdigest()[:12]}"
            suffix = Path(path).suffix
            photo = suffix.lower() in (".jpg", ".jpeg", ".png")
            yield from (
                self.photo(data, name, git.source) if photo else self.film(data, suffix, name, git.source)
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--git", type=Path, action="append", required=True, help="git directory; may be given again"
    )
    parser.add_argument("--finder", type=Path, required=True, help="ONNX file of a finder")
    parser.add_argument("--own", type=Path, required=True, help="manifest of an own keypoint network")
    likeness.add_arguments(parser)
    parser.add_argument("--out", type=Path, required=True, help="folder for packs")
    args = parser.parse_args()
    cv2.setNumThreads(1)
    gatherer = Gatherer(
        Finder(args.finder),
        Own.of_manifest(args.own),
        Judged.told(args),
    )
    print(f"{len(gatherer.judged)} persons are not to be met again", flush=True)

    def entries() -> Iterator[Entry]:
        for folder in args.git:
            git = Everything(folder)
            repository = folder.parent.name
            if repository not in WHERE:
                parser.error(f"{repository}: not in WHERE; look at its pictures and add it there")
            written = 0
            for made in gatherer.of(git, WHERE[repository]):
                written += len(made.persons)
                yield made
            print(f"{written:7d} persons of {repository}", flush=True)

    write(entries(), args.out / PACK, PACK, gatherer.counts)
    for what, count in sorted(gatherer.counts.items()):
        print(f"{count:7d} {what}")


if __name__ == "__main__":
    main()
