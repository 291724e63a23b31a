"""Where training pictures come from: the licence table, what configurations may read, and packs gathered from repositories."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
import tempfile
import tomllib
import unittest
from collections import Counter
from pathlib import Path

import cv2
import numpy as np
from scipy.io import savemat

from posetrain.data import cache, gather, packs
from posetrain.data.licences import (
    SOURCES,
    Licence,
    LicenceError,
    licence_of,
    of_letter,
    page,
    require,
    shipped,
)
from posetrain.keypoints.config import load_config
from posetrain.keypoints.manifest import licence_said
from posetrain.paths import CONFIGS, REPOSITORY


class Licences(unittest.TestCase):
    def test_every_pack_is_in_the_table(self) -> None:
        for pack in packs.KNOWN_PACKS:
            self.assertIn(pack, SOURCES)

    def test_weights_have_the_worst_class_of_their_sources(self) -> None:
        self.assertEqual(licence_of(["rendered", "cmu_mocap"]), Licence.FREE)
        self.assertEqual(licence_of(["rendered", "coco_more", "movenet_thunder"]), Licence.COCO)
        self.assertEqual(licence_of(["rendered", "coco_more", "lspet"]), Licence.RESEARCH)
        self.assertEqual(
            licence_of(["rendered_over_coco"]), Licence.COCO, "a rendered picture has its background's class"
        )

    def test_a_source_of_a_worse_class_is_refused_by_name(self) -> None:
        require(["rendered", "coco_more"], of_letter("b"))
        with self.assertRaisesRegex(
            LicenceError, r"`jhmdb` is of class \(c\), the configuration allows \(b\)"
        ):
            require(["coco_more", "jhmdb"], of_letter("b"))
        with self.assertRaisesRegex(LicenceError, "`somewhere` is not in the licence table"):
            require(["somewhere"], Licence.RESEARCH)
        with self.assertRaisesRegex(LicenceError, "`d` is none of a, b, c"):
            of_letter("d")

    def test_a_configuration_cannot_name_a_pack_that_its_class_forbids(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "usable.toml"
            path.write_text('name = "usable"\nlicence = "b"\npacks = ["coco_more", "lspet"]\n')
            with self.assertRaisesRegex(LicenceError, "lspet"):
                load_config(path)
            path.write_text('name = "usable"\nlicence = "b"\npacks = ["coco_more", "coco_subset"]\n')
            self.assertEqual(load_config(path).licence, "b")

    def test_the_page_is_the_table(self) -> None:
        self.assertEqual((REPOSITORY / "docs" / "data-licences.md").read_text(), page())

    def test_cards_and_the_table_say_the_same_of_our_own_networks(self) -> None:
        for name, data in shipped().items():
            card = tomllib.loads((REPOSITORY / "models" / f"{name}.toml").read_text())["card"]
            if not name.startswith("temporal"):
                self.assertEqual(card["licence"], licence_said(data), name)
            if (known := SOURCES.get(name)) is not None:
                self.assertEqual(licence_of([name]), licence_of(data), name)
                self.assertTrue(set(known.made_from) <= set(data), name)

    def test_no_committed_configuration_breaks_its_own_class(self) -> None:
        for path in (CONFIGS / "keypoints").glob("*.toml"):
            load_config(path)


def jpeg(height: int, width: int, shade: int = 90) -> bytes:
    ok, data = cv2.imencode(".jpg", np.full((height, width, 3), shade, np.uint8))
    assert ok
    return data.tobytes()


def repository(folder: Path, files: dict[str, bytes]) -> gather.Git:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)

    def git(*words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "x")
    return gather.Git(folder / ".git")


def label(joints: list[tuple[float, float, int]], height: int, width: int) -> bytes:
    rest = [(0.0, 0.0, 0)] * (packs.JOINTS - len(joints))
    values = [0.5, 0.5, 0.5, 0.5, *(v for x, y, s in (*joints, *rest) for v in (x / width, y / height, s))]
    return ("0 " + " ".join(f"{v:.6f}" for v in values)).encode()


class Gathered(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def read(self, pack: str) -> list[packs.Picture]:
        self.report = packs.ReadReport()
        return list(packs.read_pack(self.folder, pack, self.report))

    def test_coco_pictures_come_with_their_labels_and_nothing_of_val_gets_in(self) -> None:
        joints = [(12.0, 7.0, 2), (14.0, 6.0, 1), (30.0, 40.0, 2)]
        labels = repository(
            self.folder / "labels",
            {
                "labels/train2017/000000000007.txt": label(joints, 60, 50),
                "labels/train2017/000000000008.txt": label(joints, 60, 50),
                "labels/train2017/000000000010.txt": label(joints, 60, 50),
                "labels/train2017/000000000011.txt": label(joints, 64, 50),
                "labels/val2017/000000000009.txt": label(joints, 60, 50),
            },
        )
        pictures = repository(
            self.folder / "pictures",
            {f"any/{n:012d}.jpg": jpeg(60, 50) for n in (7, 9, 10, 11)}
            | {"x/000000000008.jpg": b"no picture", "x/COCO_train2014_000000000007.jpg": jpeg(60, 50)},
        )
        counts: Counter[str] = Counter()
        entries = gather.coco(labels, [pictures], {10}, counts)
        gather.write(entries, self.folder / "coco_fetched", "coco_fetched", counts)
        self.assertEqual(
            counts["not of COCO's size or aspect"], 1, "a squeezed copy is known by joints between pixels"
        )
        self.assertEqual(counts["corrupt picture"], 1)
        [picture] = self.read("coco_fetched")
        self.assertEqual((picture.key, picture.split), ("000000000007.jpg", "train"))
        np.testing.assert_allclose(picture.persons[0].joints[:3], joints, atol=0.05)
        self.assertEqual(float(picture.persons[0].joints[3:].sum()), 0.0)

    def test_a_copy_of_another_size_is_scaled_to_the_one_that_its_joints_tell(self) -> None:
        joints = [(12.0 + 31 * k, 7.0 + 41 * k % 397, 2) for k in range(12)]
        labels = repository(
            self.folder / "labels",
            {
                f"labels/train2017/{n:012d}.txt": label(joints[:count], 423, 640)
                for n, count in ((7, 12), (8, 12), (9, 3))
            },
        )
        copies = {
            "a/000000000007_MEG_size.jpg": jpeg(635, 961),
            "a/000000000008.jpg": jpeg(640, 640),  # squeezed, or cut: nobody knows which
            "a/000000000009.jpg": jpeg(635, 961),  # too few joints to tell
        }
        pictures = repository(self.folder / "o+n", copies)
        counts: Counter[str] = Counter()
        [entry] = gather.coco(labels, [pictures], set(), counts)
        self.assertEqual((entry.name, entry.size), ("000000000007.jpg", (423, 640)))
        np.testing.assert_allclose(entry.persons[0][0][:12], joints, atol=0.01)
        self.assertEqual(packs.decode(entry.data).shape, (423, 640, 3))  # type: ignore[union-attr]
        self.assertEqual(counts["not of COCO's size or aspect"], 2)

    def test_of_a_picture_that_was_cut_to_its_middle_what_is_left_keeps_its_joints(self) -> None:
        joints = [(5.0 + 57 * k, 11.0 + 37 * k, 2) for k in range(12)]
        text = label(joints, 427, 640).decode()
        middles = next(iter(gather.CUT_TO_THE_MIDDLE))
        found = gather.from_copy(np.zeros((427, 571, 3), np.uint8), text, middles)
        assert found is not None
        data, size, [(left, _)] = found
        self.assertEqual(size, (427, 571))
        shift = (640 - 571) / 2
        np.testing.assert_allclose(left[1:10, 0], [x - shift for x, _, _ in joints[1:10]], atol=0.01)
        self.assertEqual(list(left[[0, 11], 2]), [0, 0], "cut off on the left and on the right")
        self.assertEqual(packs.decode(data).shape[:2], size)  # type: ignore[union-attr]
        self.assertIsNone(gather.from_copy(np.zeros((427, 571, 3), np.uint8), text))

    def test_a_copy_that_is_known_to_be_stretched_is_stretched_back(self) -> None:
        joints = [(12.0 + 31 * k, 7.0 + 41 * k % 397, 2) for k in range(12)]
        labels = repository(
            self.folder / "labels", {"labels/train2017/000000000007.txt": label(joints, 423, 640)}
        )
        stretched = next(iter(gather.STRETCHED))
        copies = {f"test/images/000000000007_jpg.rf.{'0f' * 16}.jpg": jpeg(416, 416)}
        pictures = repository(self.folder / stretched, copies)
        [entry] = gather.coco(labels, [pictures], set(), Counter())
        self.assertEqual((entry.name, entry.size), ("000000000007.jpg", (423, 640)))
        np.testing.assert_allclose(entry.persons[0][0][:12], joints, atol=0.01)
        self.assertEqual(packs.decode(entry.data).shape, (423, 640, 3))  # type: ignore[union-attr]

    def test_boxes_round_persons_become_a_pack_without_joints_and_without_coco(self) -> None:
        coco = f"train/images/000000000007_jpg.rf.{'0f' * 16}.jpg"
        files = {
            "train/images/street.jpg": jpeg(50, 100),
            "train/labels/street.txt": b"0 0.5 0.5 0.2 0.4\n0 0.1 0.2 0.3 0.4 0.5 0.6\n",
            "train/images/alone.jpg": jpeg(50, 100),
            coco: jpeg(50, 100),
            coco.replace("images", "labels").replace(".jpg", ".txt"): b"0 0.5 0.5 0.2 0.4\n",
        }
        counts: Counter[str] = Counter()
        entries = gather.person_boxes(repository(self.folder / "o+n", files), counts)
        gather.write(entries, self.folder / "person_boxes", "person_boxes", counts)
        [picture] = self.read("person_boxes")
        self.assertEqual((picture.key, len(picture.persons)), ("street.jpg", 1), "an outline is no box")
        np.testing.assert_allclose(picture.persons[0].bbox, (40, 15, 20, 20))
        self.assertEqual(float(picture.persons[0].joints.sum()), 0.0)
        self.assertEqual(counts["COCO's own, or without boxes"], 2)

    def test_an_earlier_commit_is_read_by_its_name(self) -> None:
        first = repository(self.folder / "o+n", {"a.txt": b"1"})
        (self.folder / "o+n" / "a.txt").unlink()
        second = repository(self.folder / "o+n", {"b.txt": b"2"})
        self.assertEqual(list(second.blobs), ["b.txt"])
        again = gather.Git.named(f"{first.folder}@{first.commit}")
        self.assertEqual((list(again.blobs), again.read("a.txt")), (["a.txt"], b"1"))
        self.assertEqual(again.source, f"o+n @ {first.commit}")
        self.assertEqual(gather.Git.named(str(first.folder)).commit, second.commit)
        again.blobs["a.txt"] = "0" * 40
        self.assertEqual(again.held("a.txt"), b"", "a copy may lack large files")

    def test_pictures_of_nobody_are_those_that_annotations_show_nobody_in(self) -> None:
        known = {
            "images": [{"id": n} for n in (7, 8, 9)],
            "annotations": [{"image_id": 7, "category_id": 1}, {"image_id": 8, "category_id": 2}],
            "categories": [{"id": 1, "name": "person"}],
        }
        pictures = {f"coco/train2017/{n:012d}.jpg": jpeg(60, 50) for n in (7, 8, 10)}
        git = repository(
            self.folder / "git", pictures | {"a/instances_train2017.json": json.dumps(known).encode()}
        )
        counts: Counter[str] = Counter()
        gather.write(gather.nobody([git], counts), self.folder / "coco_nobody", "coco_nobody", counts)
        self.assertEqual([p.key for p in self.read("coco_nobody")], ["000000000008.jpg"])
        self.assertEqual(counts["no picture, or a corrupt one"], 1)
        cache.build(self.folder, self.folder / "cache", ("coco_nobody",))
        records = cache.load(self.folder / "cache")
        self.assertEqual(records.picture(0).shape, (60, 50, 3))
        self.assertEqual(float(records.joints.sum()), 0.0)

    def test_leeds_benchmark_is_never_written(self) -> None:
        joints = np.zeros((3, 14, 2000))
        joints[:2] = 20 + np.arange(14)[None, :, None]
        joints[2, 9] = 1  # left shoulder hidden
        mat = self.folder / "joints.mat"
        savemat(mat, {"joints": joints})
        numbers = (1, 2, 1000, 1001, 2000)
        files = {f"dataset/LSP/images/im{n:04d}.jpg": jpeg(60, 50) for n in range(1, 1001)}
        files |= {f"dataset/LSP/images/im{n:04d}.jpg": jpeg(60, 50) for n in numbers}
        git = repository(self.folder / "lsp-git", files | {"dataset/LSP/joints.mat": mat.read_bytes()})
        counts: Counter[str] = Counter()
        gather.write(gather.lsp(git, counts), self.folder / "lsp", "lsp", counts)
        read = self.read("lsp")
        self.assertEqual(len(read), 1000)
        self.assertEqual(max(p.key for p in read), "im1000.jpg")
        person = read[0].persons[0].joints
        self.assertEqual(list(person[[16, 5, 6]].ravel()), [19, 19, 2, 28, 28, 1, 27, 27, 2])

    def test_persons_whose_sides_nobody_settled_are_left_out(self) -> None:
        points = np.tile((10 + 2.0 * np.arange(14))[:, None, None], (1, 2, 2))
        mat = self.folder / "labels.mat"
        savemat(mat, {"ptsAll": points})
        files = {f"dataset/PARSE/im{n:04d}.jpg": jpeg(60, 50) for n in (1, 2)}
        git = repository(self.folder / "parse-git", files | {"dataset/PARSE/labels.mat": mat.read_bytes()})
        counts: Counter[str] = Counter()
        gather.write(gather.parse(git, counts), self.folder / "parse", "parse", counts)
        self.assertEqual([len(p.persons) for p in self.read("parse")], [0, 0])
        self.assertEqual(self.report.counts["person whose left and right nobody has settled"], 2)

    def test_of_rendered_people_only_is_learned_what_annotators_would_label(self) -> None:
        points = [20.0 + k for k in range(packs.JOINTS) for _ in range(2)]
        seen = [1 if k in (1, 5) else 2 for k in range(packs.JOINTS)]
        keypoints = [v for k in range(packs.JOINTS) for v in (points[2 * k], points[2 * k + 1], seen[k])]
        pack = self.folder / "rendered"
        pack.mkdir()
        with tarfile.open(pack / "shard-00000.tar", "w") as tar:
            info = tarfile.TarInfo("0.jpg")
            info.size = len(data := jpeg(60, 50))
            tar.addfile(info, io.BytesIO(data))
        image = {
            "id": 1,
            "file_name": "0.jpg",
            "tar": "shard-00000.tar",
            "width": 50,
            "height": 60,
            "split": "train",
        }
        person = {"image_id": 1, "keypoints": keypoints, "bbox": [20, 20, 16, 16], "whole_area": 100.0}
        labels = {
            "images": [image],
            "annotations": [person | {"id": 1, "area": 90.0}, person | {"id": 2, "area": 20.0}],
        }
        (pack / "labels.json").write_text(json.dumps(labels))
        [picture] = self.read("rendered")
        self.assertEqual([p.annotation_id for p in picture.persons], [1])
        self.assertEqual(
            list(picture.persons[0].joints[[1, 2, 5], 2]),
            [0, 2, 1],
            "hidden eyes are no labels, hidden limbs are",
        )
        self.assertEqual(self.report.counts["rendered person who is nearly hidden"], 1)

    def test_sticks_meet_at_the_elbow(self) -> None:
        sticks = np.array(
            [
                [20, 10, 20, 40],
                [10, 12, 5, 25],
                [30, 12, 35, 25],
                [5, 27, 8, 40],
                [35, 25, 33, 40],
                [20, 0, 20, 9],
            ],
            float,
        )
        joints = gather.buffy_joints(sticks)
        self.assertEqual(list(joints[6]), [10, 12, 2])
        self.assertEqual(list(joints[8]), [5, 26, 2])
        self.assertEqual(list(joints[9]), [33, 40, 2])
        self.assertEqual(float(joints[11:].sum()), 0.0)


if __name__ == "__main__":
    unittest.main()
