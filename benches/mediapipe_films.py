"""What MediaPipe Pose answers on labelled films, for `posewire eval films --answers`: the program as its makers ship it.

    python -m posetrain.temporal.films --data PACKS --out FILMS      # in models/train: J-HMDB's clips
    python benches/mediapipe_films.py --films FILMS --out mediapipe.jsonl [--no-smoothing] [--complexity 1]
    posewire eval films --films FILMS --answers "MediaPipe Pose full=mediapipe.jsonl"

Each film is a stream of its own: the program finds the person, follows them and smooths, one person at most. Nothing is left out by its
visibility. Needs mediapipe 0.10.14 (Apache-2.0), whose wheel holds the network `full` (complexity 1), and opencv-python.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import cv2
import mediapipe as mp

#: MediaPipe's landmark of each of COCO's 17 joints.
LANDMARKS = (0, 2, 5, 7, 8, 11, 12, 13, 14, 15, 16, 23, 24, 25, 26, 27, 28)


def answers(labels: Path, complexity: int, smooth: bool) -> list[dict[str, object]]:
    """One record a frame; a joint is x and y in pixels of the picture and the landmark's visibility."""
    film = json.loads(labels.read_text().splitlines()[0])["film"]
    pictures = sorted(p for p in labels.with_suffix("").iterdir() if p.is_file())
    said = []
    with mp.solutions.pose.Pose(model_complexity=complexity, smooth_landmarks=smooth) as pose:
        for picture in pictures:
            image = cv2.cvtColor(cv2.imread(str(picture)), cv2.COLOR_BGR2RGB)
            found = pose.process(image).pose_landmarks
            persons = []
            if found is not None:
                height, width = image.shape[:2]
                marks = [found.landmark[i] for i in LANDMARKS]
                joints = [
                    [round(m.x * width, 2), round(m.y * height, 2), round(max(m.visibility, 1e-3), 3)]
                    for m in marks
                ]
                persons.append({"id": 1, "joints": joints})
            said.append({"film": film, "persons": persons})
    return said


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--films", type=Path, required=True, help="folder of NAME.jsonl beside NAME/")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--complexity", type=int, default=1, help="0 lite, 1 full, 2 heavy")
    parser.add_argument("--no-smoothing", action="store_true", help="without MediaPipe's One-Euro filter")
    args = parser.parse_args()
    films = sorted(args.films.glob("*.jsonl"))
    if not films:
        raise SystemExit(f"{args.films} holds no film: NAME.jsonl beside NAME/")
    with args.out.open("w") as out:
        for done, labels in enumerate(films, 1):
            for record in answers(labels, args.complexity, not args.no_smoothing):
                out.write(json.dumps(record) + "\n")
            print(f"{done} of {len(films)}: {labels.stem}", flush=True)


if __name__ == "__main__":
    main()
