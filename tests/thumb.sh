#!/usr/bin/env bash
# Compiles the crates that firmware shares for a Cortex-M0+ (no_std, no atomics, no allocator).
# Uses rustup's target where it is installed or can be had; else a `debian` toolchain with that target's core library.
set -euo pipefail
cd "$(dirname "$0")/.."
target=thumbv6m-none-eabi
if rustup target add "$target" >/dev/null 2>&1; then
  toolchain=()
elif [ -x "${POSEWIRE_SHARED:-../shared}/tools/ensure-target-std.sh" ]; then
  "${POSEWIRE_SHARED:-../shared}/tools/ensure-target-std.sh" "$target"
  toolchain=(+debian)
else
  echo "SKIPPED: $target is not installed and cannot be had here: rustup target add $target"
  exit 0
fi
cargo "${toolchain[@]}" build --release --target "$target" --target-dir target/thumb -p pose -p pose-wire -p pose-draw
echo "$target: pose, pose-wire, pose-draw compile"
