#!/usr/bin/env bash
# Builds the example, and has it heard by another DDS on this machine. Not part of the tracker's tests: some 170 crates.
#
#   clients/ros2/native/test.sh           # python3 with cyclonedds, or the one that POSEWIRE_CLIENT_PYTHON names
set -euo pipefail
cd "$(dirname "$0")"
python=${POSEWIRE_CLIENT_PYTHON:-python3}
cargo test -q
cargo build -q
if "$python" -c 'import cyclonedds' 2>/dev/null; then
  PYTHONPATH=.. timeout 120 "$python" hear.py "${CARGO_TARGET_DIR:-target}/debug/posewire-ros2"
else
  echo "SKIPPED: ROS 2 heard by Cyclone DDS: $python has no cyclonedds (pip install cyclonedds)"
fi
