#!/usr/bin/env bash
# Every test of Posewire. What needs hardware, emulators or data that are not here says "SKIPPED:" and why.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo test --release --workspace
python3 -m unittest discover -s tests -p test_documents.py
PYTHONPATH=clients/python/src python3 -m unittest discover -s clients/python/tests
firmware/test.sh
python=${POSEWIRE_TRAIN_PYTHON:-python3}
if "$python" -c 'import cv2, onnx, onnxruntime, scipy, torch' 2>/dev/null; then
  "$python" -m unittest discover -s models/train/tests -t models/train
else
  echo "SKIPPED: the trainer's tests: $python has no torch (pip install ./models/train, or name another in POSEWIRE_TRAIN_PYTHON)" >&2
fi
