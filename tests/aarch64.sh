#!/usr/bin/env bash
# The int8 operators' tests on AArch64 under qemu-user: as a Cortex-A72 (Pi 4: no dot product) and as a Cortex-A76 (Pi 5).
# And rendered people: the same seed must give the bytes that it gives on x86-64.
#
#   tests/aarch64.sh [PACKAGE…]      packages to test (default: int8)
#
# Needs Debian's aarch64-linux-gnu-gcc and qemu-aarch64-static, and an AArch64 std: see packaging/toolchain.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
target=aarch64-unknown-linux-gnu
for tool in aarch64-linux-gnu-gcc qemu-aarch64-static; do
  command -v "$tool" >/dev/null && continue
  if ! apt-get install -y -q --no-install-recommends gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static >/dev/null 2>&1; then
    echo "SKIPPED: $tool is missing: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static"
    exit 0
  fi
done
if ! found=$(packaging/toolchain.sh $target); then
  echo "SKIPPED: no std for $target: rustup target add $target"
  exit 0
fi
toolchain=(${found:+"$found"})
packages=("${@:-int8}")
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
# Emulation is tens of times slower: a quarter of the random cases still meets every edge.
export PROPTEST_CASES=${PROPTEST_CASES:-40}
for cpu in cortex-a72 cortex-a76; do
  export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64-static -cpu $cpu -L /usr/aarch64-linux-gnu"
  echo "== $cpu"
  cargo "${toolchain[@]}" run -q --release --target "$target" --target-dir target/aarch64 -p int8 --example kernels
  for package in "${packages[@]}"; do
    cargo "${toolchain[@]}" test -q --release --target "$target" --target-dir target/aarch64 -p "$package"
  done
done
echo "== rendered people: bytes"
cargo "${toolchain[@]}" test -q --release --target "$target" --target-dir target/aarch64 -p people --no-default-features --test same_bytes
