"""How accurate the networks are, and what they are."""

from __future__ import annotations

from typing import Any

from .form import ROOT, kept, manifest, markdown, share, with_interval

NETWORKS = ("large", "base", "small", "nano")
USABLE = ("base-usable", "small-usable")
PACKS = {"lspet": "LSPET", "jhmdb": "J-HMDB", "coco_more": "COCO"}
FINDER_SETS = {
    **PACKS,
    "coco": "COCO",
    "single photos": "photos of one person",
    "nobody": "parts that show nobody",
}


def networks() -> str:
    """The networks of an ordinary installation: the manifests."""
    rows = []
    for name in NETWORKS:
        of = manifest(f"keypoints-{name}")
        looks = 2 if of["codec"].get("flip_test") else 1
        size = (ROOT / "models" / of["file"]).stat().st_size / 1e6
        rows.append(
            [
                f"`{name}`",
                f"{of['input']['width']} × {of['input']['height']}",
                str(looks),
                f"{of['card']['macs'] / 1e6:.0f} million",
                f"{of['card']['parameters'] / 1e6:.1f} million",
                f"{size:.1f} MB",
            ]
        )
    return markdown(["network", "input", "looks", "multiply-adds", "parameters", "file"], rows, right=4)


def accuracy() -> str:
    """PCK on the packs' val parts: the manifests' cards and `benches/results/keypoints-peers.json`."""
    rows = []
    for pack, title in PACKS.items():
        own = [
            (f"**`{name}`**", metric)
            for name in (*NETWORKS, *USABLE)
            for metric in manifest(f"keypoints-{name}")["card"]["metrics"]
            if metric["pack"] == pack and metric["precision"] == "int8"
        ]
        peers = [(row["system"], row) for row in kept("keypoints-peers.json")["rows"] if row["pack"] == pack]
        rows += [
            [f"{title}, {m['persons']}", name, *(with_interval(m[k]) for k in ("pck_05", "pck_1", "pck_2"))]
            for name, m in own + peers
        ]
    return markdown(["val of, persons", "network", "PCK.05", "PCK.1", "PCK.2"], rows)


def lsp() -> str:
    """The published test part of Leeds Sports Pose: `benches/results/lsp.json`."""
    rows = [
        [
            row["system"],
            row["crop"],
            with_interval(row["torso_02"]),
            *(
                share(row["joints"][joint])
                for joint in ("shoulder", "elbow", "wrist", "hip", "knee", "ankle")
            ),
            share(row["extent_005"][0]),
            f"{100 * row['exchanged']:.1f}",
        ]
        for row in kept("lsp.json")["rows"]
    ]
    joints = ["shoulder", "elbow", "wrist", "hip", "knee", "ankle"]
    heads = ["network", "crop", "PCK@0.2 of the torso", *joints, "PCK.05 of the extent", "exchanged %"]
    return markdown(heads, rows, right=9)


def quantised() -> str:
    """Int8 less f32: the manifests' cards."""
    rows = []
    for name in (*NETWORKS, *USABLE):
        cells = []
        for pack in PACKS:
            of = {
                m["precision"]: m["pck_1"][0]
                for m in manifest(f"keypoints-{name}")["card"]["metrics"]
                if m["pack"] == pack
            }
            cells.append(f"{100 * (of['int8'] - of['f32']):+.2f}")
        card = manifest(f"keypoints-{name}")["card"]
        each = ", ".join(f"{card['ece_of'][pack]:.3f}" for pack in PACKS)
        rows.append([f"`{name}`", *cells, f"{card['ece']:.3f} ({each})"])
    heads = [f"{title}, points of PCK.1" for title in PACKS.values()]
    return markdown(["network", *heads, "scores' calibration error: together (each)"], rows, right=4)


def finder() -> str:
    """The person finders on val: their manifests' cards."""
    rows = []
    for name in ("person", "person-usable"):
        for m in manifest(name)["card"]["metrics"]:
            if m["precision"] == "int8":
                cells = [
                    cell
                    for after in ("", "_told")
                    for cell in (
                        with_interval(m[f"recall_iou_50{after}"]) if f"recall_iou_50{after}" in m else "",
                        f"{m[f'false_per_picture{after}']:.2f}",
                    )
                ]
                rows.append([f"`{name}`", FINDER_SETS[m["set"]], str(m["pictures"]), *cells])
    heads = ["found (IoU .5)", "false persons a picture", "told of", "false ones told of"]
    return markdown(["finder", "val of", "pictures", *heads], rows, right=5)


def presence() -> str:
    """Whether a network tells persons from the rest: the manifests' cards, at the least score with which somebody begins."""
    rows = []
    for name in ("large", "base", "small", "nano", *USABLE):
        said = manifest(f"keypoints-{name}")["card"]["presence"]
        at = next(a for a in said["at"] if a["score"] == 0.25)
        rows.append(
            [f"`{name}`", f"{said['persons']}, {said['others']}", f"{said['auc']:.3f}", f"{said['ece']:.3f}"]
            + [with_interval(said["ece_by_chance"])]
            + [with_interval(at[k]) for k in ("refused", "passed")]
        )
    heads = ["persons, others", "area under the curve", "calibration error", "that by chance alone"]
    return markdown(["network", *heads, "persons refused at .25", "others let through"], rows, right=6)


def held_out() -> str:
    """Given crops of two scales on pictures nobody here trained on: `benches/results/held-out.json`."""
    rows = [
        [
            row["system"],
            row["scale"],
            *(
                share(row.get(k))
                for k in ("coco", "coco_05", "oks_ap", "lspet", "lspet_05", "jhmdb", "jhmdb_05")
            ),
        ]
        for row in kept("held-out.json")["crops"]
    ]
    heads = ["COCO PCK.1", ".05", "OKS-AP", "LSPET PCK.1", ".05", "J-HMDB PCK.1", ".05"]
    return markdown(["network", "crop", *heads], rows, right=7)


def same_differences(name: str, rows: list[dict[str, Any]]) -> None:
    """Refuses a row whose kept difference is not that from the row that it names: rows of several runs may stand in one set."""
    of = {row["setting"]: row for row in rows}
    for row in rows:
        if less := row.get("less"):
            for figure in ("mpjpe", "pck_05", "pck_10"):
                difference = row[figure]["value"] - of[less["of"]][figure]["value"]
                if abs(difference - less[figure]["value"]) > 1e-9:
                    raise SystemExit(
                        f"films.json: {name}, {row['setting']}: {figure} is {difference:+} {less['of']}'s"
                    )


def films() -> str:
    """The whole program on films: `benches/results/films.json`."""

    def figure(of: dict[str, float], factor: float, digits: int) -> str:
        value, low, high = (f"{factor * of[k]:.{digits}f}" for k in ("value", "low", "high"))
        return f"{value} ({low}–{high})"

    titles = {"rendered": "rendered", "jhmdb-val": "J-HMDB val", "strangers": "strangers"}
    rows = []
    for name, of_set in kept("films.json")["sets"]:
        same_differences(name, of_set)
        for r in of_set:
            has_ghosts = r["ghosts"]["value"] is not None
            rows.append(
                [
                    f"{titles[name]}, {r['films']}",
                    r["setting"],
                    figure(r["mpjpe"], 1, 1),
                    figure(r["pck_05"], 1, 3),
                    figure(r["pck_10"], 1, 3),
                    "" if r["hidden_pck_10"] is None else f"{r['hidden_pck_10']:.3f}",
                    figure(r["acceleration"], 1, 1),
                    f"{r['lag']:+.2f}",
                    figure(r["exchanged"], 100, 1),
                    f"{r['score_error']['value']:.3f}" if "score_error" in r else "",
                    figure(r["missed_persons"], 100, 1),
                    f"{100 * r['first']:.0f}",
                    figure(r["ghosts"], 1, 3) if has_ghosts else "",
                    str(r["oldest_ghost"]) if has_ghosts else "",
                ]
            )
    heads = [
        "MPJPE %",
        "PCK.05",
        "PCK.1",
        "that of hidden joints",
        "Accel %",
        "lag to the labels, frames",
        "sides exchanged %",
        "ECE of scores",
        "persons missed %",
    ]
    more = ["first frame answered %", "ghosts a frame", "oldest ghost, frames"]
    return markdown(["films", "program", *heads, *more], rows, right=12)
