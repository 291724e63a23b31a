#!/usr/bin/env bash
# The tests of Posewire: of every crate, the documents, the clients, the firmware and the trainers. What needs hardware, emulators or
# data that are not here says "SKIPPED:" and why, and is counted; where MAX_SKIPPED says how many may be, more of them fail.
# .ci/run has more: tests/test_*.py with browsers and other makers' listeners, Arm, fuzzing, what is behind features, lints.
set -euo pipefail
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# The program that the tests just built, which the documents' examples and the chain to the firmware are tried on.
export POSEWIRE=${POSEWIRE:-${CARGO_TARGET_DIR:-$PWD/target}/debug/posewire}

everything() {
  # What a test that passes prints is shown: a skip must not be silent.
  cargo test --workspace -- --show-output
  local what
  for what in advisories arm64 camera_bed documents endurance install; do python3 -m unittest discover -s tests -p "test_$what.py"; done
  client_python=${POSEWIRE_CLIENT_PYTHON:-python3}
  PYTHONPATH=clients/python/src "$client_python" -m unittest discover -s clients/python/tests
  PYTHONPATH=clients/python/src:clients/ros2 "$client_python" -m unittest discover -s clients/ros2/tests
  # 166 and 484 crates: only where they are asked for.
  [ -z "${POSEWIRE_ROS2_NATIVE:-}" ] || { clients/ros2/native/test.sh && clients/ros2/native-zenoh/test.sh; }
  firmware/test.sh
  python=${POSEWIRE_TRAIN_PYTHON:-python3}
  if "$python" -c 'import cv2, onnx, onnxruntime, scipy, torch' 2>/dev/null; then
    "$python" -m unittest discover -s models/train/tests -t models/train
    "$python" -m unittest discover -s tests -p test_calibrate.py
  else
    echo "SKIPPED: the trainer's tests: $python has no torch (pip install ./models/train, or name another in POSEWIRE_TRAIN_PYTHON)"
  fi
}

everything 2>&1 | tee "$log"
skipped=$(grep -c 'SKIPPED: ' "$log" || true)
echo "passed; $skipped skipped"
if ((skipped > ${MAX_SKIPPED:-$skipped})); then
  printf 'more than %s skipped:\n%s\n' "$MAX_SKIPPED" "$(grep -o 'SKIPPED: .*' "$log")" >&2
  exit 1
fi
