#!/usr/bin/env bash
# Every test of Posewire. What needs hardware, emulators or data that are not here says "SKIPPED:" and why.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo test --release --workspace
PYTHONPATH=clients/python/src python3 -m unittest discover -s clients/python/tests
firmware/test.sh
