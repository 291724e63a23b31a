"""What other programs answer on labelled films, for `posewire eval films --answers`: each as its makers ship it.

    python -m posetrain.temporal.films --data PACKS --out FILMS      # in models/train: J-HMDB's clips
    python benches/other_programs.py mediapipe --films FILMS --out mediapipe.jsonl [--no-smoothing]
    python benches/other_programs.py movenet --films FILMS --out movenet.jsonl
    posewire eval films --films FILMS --answers "MediaPipe Pose full=mediapipe.jsonl" --answers "MoveNet Lightning int8=movenet.jsonl"

Each film is a stream of its own, and each program finds and follows one person by itself: MediaPipe Pose `full` with its detector and
One-Euro filter; MoveNet Lightning int8 with the crops of its makers' tutorial (round the torso of the frame before, else the whole
picture) and no filter. No joint is left out by its score. Needs opencv-python, and mediapipe 0.10.14, whose wheel holds the network, or
ai-edge-litert and MoveNet's file in $POSEWIRE_SHARED/peers (default: `shared` beside the checkout).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from peers import MOVENET

Picture = npt.NDArray[np.uint8]
#: x and y in pixels of the picture, and a score, of COCO's 17 joints; None where nobody is found.
Joints = npt.NDArray[np.float64] | None
#: One film's pictures in, answers out.
Follow = Callable[[Picture], Joints]

#: MediaPipe's landmark of each of COCO's joints.
LANDMARKS = (0, 2, 5, 7, 8, 11, 12, 13, 14, 15, 16, 23, 24, 25, 26, 27, 28)


def mediapipe(smooth: bool) -> Callable[[], Follow]:
    import mediapipe as mp

    def film() -> Follow:
        pose = mp.solutions.pose.Pose(model_complexity=1, smooth_landmarks=smooth)

        def follow(picture: Picture) -> Joints:
            found = pose.process(picture).pose_landmarks
            if found is None:
                return None
            height, width = picture.shape[:2]
            marks = [found.landmark[i] for i in LANDMARKS]
            return np.array([[m.x * width, m.y * height, m.visibility] for m in marks])

        return follow

    return film


#: MoveNet's tutorial: a joint is seen from this score on, and these many times the torso's and the body's reach are the crop.
SEEN, TORSO, BODY = 0.2, 1.9, 1.2
SHOULDERS, HIPS = (5, 6), (11, 12)


def next_crop(joints: Joints, width: int, height: int) -> tuple[float, float, float]:
    """Left, top and side of the square in which the next frame is looked at."""
    side = max(width, height)
    whole = ((width - side) / 2, (height - side) / 2, float(side))
    if joints is None:
        return whole
    seen = joints[:, 2] > SEEN
    if not (seen[list(SHOULDERS)].any() and seen[list(HIPS)].any()):
        return whole
    centre = joints[list(HIPS), :2].mean(0)
    reach = np.abs(joints[:, :2] - centre)
    torso = reach[[*SHOULDERS, *HIPS]].max()
    half = max(TORSO * torso, BODY * reach[seen].max())
    half = min(half, max(centre[0], width - centre[0], centre[1], height - centre[1]))
    if half > side / 2:
        return whole
    return (centre[0] - half, centre[1] - half, 2 * half)


def movenet() -> Callable[[], Follow]:
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(MOVENET), num_threads=1)
    interpreter.allocate_tensors()
    put, got = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
    size = int(put["shape"][1])

    def film() -> Follow:
        last: Joints = None

        def follow(picture: Picture) -> Joints:
            nonlocal last
            height, width = picture.shape[:2]
            left, top, side = next_crop(last, width, height)
            scale = size / side
            moved = np.array([[scale, 0, -left * scale], [0, scale, -top * scale]])
            crop: Any = cv2.warpAffine(picture, moved, (size, size), flags=cv2.INTER_LINEAR)
            interpreter.set_tensor(put["index"], crop[None].astype(put["dtype"]))
            interpreter.invoke()
            y, x, score = interpreter.get_tensor(got["index"]).reshape(17, 3).T.astype(np.float64)
            last = np.stack([left + x * side, top + y * side, score], 1)
            return last

        return follow

    return film


def read(path: Path) -> Picture:
    """Red, green, blue."""
    picture = cv2.imread(str(path))
    if picture is None:
        raise SystemExit(f"{path} is no picture")
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_BGR2RGB), np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", choices=("mediapipe", "movenet"))
    parser.add_argument("--films", type=Path, required=True, help="folder of NAME.jsonl beside NAME/")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--no-smoothing", action="store_true", help="MediaPipe without its filter")
    args = parser.parse_args()
    films = sorted(args.films.glob("*.jsonl"))
    if not films:
        raise SystemExit(f"{args.films} holds no film: NAME.jsonl beside NAME/")
    begin = mediapipe(not args.no_smoothing) if args.program == "mediapipe" else movenet()
    with args.out.open("w") as out:
        for done, labels in enumerate(films, 1):
            name, follow = (
                json.loads(labels.read_text().splitlines()[0])["film"],
                begin(),
            )
            for path in sorted(p for p in labels.with_suffix("").iterdir() if p.is_file()):
                joints = follow(read(path))
                persons = []
                if joints is not None:
                    # A score of nothing would say that there is no joint.
                    joints[:, 2] = np.maximum(joints[:, 2], 1e-3)
                    persons.append({"id": 1, "joints": joints.round(3).tolist()})
                out.write(json.dumps({"film": name, "persons": persons}) + "\n")
            print(f"{done} of {len(films)}: {labels.stem}", flush=True)


if __name__ == "__main__":
    main()
