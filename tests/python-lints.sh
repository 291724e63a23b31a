#!/usr/bin/env bash
# What every Python file is held to (pyproject.toml): ruff's rules and format. Needs the trainer's environment.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${POSEWIRE_TRAIN_PYTHON:-python3}
if ! "$python" -c 'import ruff' 2>/dev/null; then
  echo "SKIPPED: Python's lints: $python has no ruff (pip install './models/train[check]', or name another in POSEWIRE_TRAIN_PYTHON)" >&2
  exit
fi
"$python" -m ruff check .
"$python" -m ruff format --check .
