#!/usr/bin/env bash
# What every Python file is held to (pyproject.toml): ruff's rules and format, mypy's types. Needs the trainer's environment.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${POSEWIRE_TRAIN_PYTHON:-python3}
if ! "$python" -c 'import mypy, ruff, torch' 2>/dev/null; then
  echo "SKIPPED: Python's lints: $python lacks ruff, mypy or torch (pip install './models/train[check]', or name another in POSEWIRE_TRAIN_PYTHON)" >&2
  exit
fi
"$python" -m ruff check .
"$python" -m ruff format --check .
"$python" -m mypy -p posetrain -p tests
# Scripts are no packages: two folders may each have one of the same name.
git ls-files -z '*.py' ':!models/train' | xargs -0 dirname | sort -u | while read -r folder; do
  "$python" -m mypy "$folder"/*.py
done
