#!/usr/bin/env bash
# Builds the example, and has it heard by a Zenoh router on this machine. Not part of the tracker's tests: some 480 crates.
#
#   clients/ros2/native-zenoh/test.sh           # python3 with eclipse-zenoh and rosbags, or the one that POSEWIRE_CLIENT_PYTHON names
set -euo pipefail
cd "$(dirname "$0")"
python=${POSEWIRE_CLIENT_PYTHON:-python3}
cargo test -q
cargo build -q
if "$python" -c 'import rosbags, zenoh' 2>/dev/null; then
  PYTHONPATH=.. timeout 120 "$python" hear.py "${CARGO_TARGET_DIR:-target}/debug/posewire-ros2-zenoh"
else
  echo "SKIPPED: ROS 2 heard by a Zenoh router: $python has no eclipse-zenoh and rosbags (pip install eclipse-zenoh rosbags)"
fi
