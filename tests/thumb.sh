#!/usr/bin/env bash
# Compiles the crates that firmware shares for a Cortex-M0+ (no_std, no atomics, no allocator).
# FIRMWARE_TOOLCHAIN=NAME names a rustup toolchain that has the target, where the default one has not.
set -euo pipefail
cd "$(dirname "$0")/.."
target=thumbv6m-none-eabi
toolchain=()
[ -z "${FIRMWARE_TOOLCHAIN:-}" ] || toolchain=("+$FIRMWARE_TOOLCHAIN")
if ! ls "$(rustc "${toolchain[@]}" --print target-libdir --target "$target")"/libcore-*.rlib >/dev/null 2>&1; then
  echo "SKIPPED: $target is not installed: rustup target add $target"
  exit 0
fi
cargo "${toolchain[@]}" build --release --target "$target" --target-dir target/thumb -p pose -p pose-wire -p pose-draw
echo "$target: pose, pose-wire, pose-draw compile"
