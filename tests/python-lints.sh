#!/usr/bin/env bash
# What every Python file is held to (pyproject.toml): ruff's rules and format, mypy's types. Needs the trainer's environment.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${POSEWIRE_TRAIN_PYTHON:-python3}
skipped() { echo "SKIPPED: $1: $python lacks $2 (pip install './models/train[check]', or name another in POSEWIRE_TRAIN_PYTHON)"; }

if "$python" -c 'import ruff' 2>/dev/null; then
  "$python" -m ruff check .
  "$python" -m ruff format --check .
else
  skipped "Python's lints and format" ruff
fi

# Types are those of the libraries that are installed.
if "$python" -c 'import cv2, mypy, numpy, onnx, torch' 2>/dev/null; then
  "$python" -m mypy -p posetrain -p tests
  # Scripts are no packages: two folders may each have one of the same name.
  git ls-files -z '*.py' ':!models/train' | xargs -0 dirname | sort -u | while read -r folder; do
    "$python" -m mypy "$folder"/*.py
  done
else
  skipped "Python's types" "mypy or the trainer's libraries"
fi
