"""Draws a run's validation curve: `python -m posetrain.keypoints.curves [START/log.jsonl] RUN/log.jsonl curves/NAME.png`.

Of several logs each goes on where the one before ended, as a run does that starts from another's weights.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt


def draw(logs: list[Path], out: Path) -> None:
    rows: list[dict[str, float]] = []
    for log in logs:
        before = rows[-1]["pictures"] if rows else 0
        for line in log.read_text().splitlines():
            row = json.loads(line)
            rows.append({**row, "pictures": row["pictures"] + before})
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
    for axis, threshold in zip(axes, ("0.05", "0.1"), strict=True):
        for key in (k for k in rows[-1] if k.endswith(f"@{threshold}")):
            axis.plot([r["pictures"] / 1000 for r in rows], [r[key] for r in rows], label=key.split("@")[0])
        axis.set_xlabel("thousand crops seen")
        axis.set_title(f"PCK@{threshold}, part of val, averaged weights")
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize=8)
    figure.tight_layout()
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=80)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", type=Path, nargs="+")
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    draw(args.logs, args.out)


if __name__ == "__main__":
    main()
