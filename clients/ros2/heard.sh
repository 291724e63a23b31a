#!/usr/bin/env bash
# Builds the example in this folder, and has it heard by a program of another make on this machine. Not part of the tracker's tests.
#
#   ../heard.sh PROGRAM "MODULES of Python, by commas" "what pip calls them"
#
# python3 has them, or the one that POSEWIRE_CLIENT_PYTHON names.
set -euo pipefail
python=${POSEWIRE_CLIENT_PYTHON:-python3}
cargo test -q
cargo build -q
if "$python" -c "import $2" 2>/dev/null; then
  PYTHONPATH=.. timeout 120 "$python" hear.py "${CARGO_TARGET_DIR:-target}/debug/$1"
else
  echo "SKIPPED: ROS 2 heard by another make: $python lacks $2 (pip install $3)"
fi
