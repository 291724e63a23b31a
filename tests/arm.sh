#!/usr/bin/env bash
# The int8 operators' tests on Arm under qemu-user: as a Cortex-A72 (Pi 4: no dot product), as a Cortex-A76 (Pi 5), and as a
# Cortex-A7 (32-bit systems). And rendered people: the same seed must give the bytes that it gives on x86-64.
#
#   tests/arm.sh [PACKAGE…]      packages to test (default: int8)
#
# Needs Debian's gcc for arm64 and armhf, qemu-user-static, and Rust's std for both: see packaging/toolchain.sh. What is missing is
# installed where that may be done, and said else.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=("${@:-int8}")
# Emulation is tens of times slower: a quarter of the random cases still meets every edge.
export PROPTEST_CASES=${PROPTEST_CASES:-40}

# on TARGET TRIPLE QEMU CPU COMMAND…: cargo for that target, run as that core; the compiler's own choice of toolchain comes first.
on() {
  local target=$1 triple=$2 qemu=$3 cpu=$4 name
  shift 4
  name=$(tr 'a-z-' 'A-Z_' <<<"$target")
  env "CARGO_TARGET_${name}_LINKER=$triple-gcc" "CARGO_TARGET_${name}_RUNNER=$qemu -cpu $cpu -L /usr/$triple" \
    cargo "${toolchain[@]}" "$@" -q --release --target "$target" --target-dir target/arm
}

# ready TARGET TRIPLE ARCHITECTURE QEMU: whether there is all that it takes.
ready() {
  local tool found
  for tool in "$2-gcc" "$4"; do
    command -v "$tool" >/dev/null && continue
    if ! apt-get install -y -q --no-install-recommends "gcc-$2" "libc6-dev-$3-cross" qemu-user-static >/dev/null 2>&1; then
      echo "SKIPPED: $tool is missing: apt-get install gcc-$2 libc6-dev-$3-cross qemu-user-static"
      return 1
    fi
  done
  if ! found=$(packaging/toolchain.sh "$1"); then
    echo "SKIPPED: no std for $1: rustup target add $1"
    return 1
  fi
  toolchain=(${found:+"$found"})
}

# tested TARGET TRIPLE QEMU CPU
tested() {
  echo "== $4"
  on "$@" run -p int8 --example kernels
  for package in "${packages[@]}"; do
    on "$@" test -p "$package"
  done
}

if ready aarch64-unknown-linux-gnu aarch64-linux-gnu arm64 qemu-aarch64-static; then
  arm64=(aarch64-unknown-linux-gnu aarch64-linux-gnu qemu-aarch64-static)
  for cpu in cortex-a72 cortex-a76; do
    tested "${arm64[@]}" $cpu
  done
  echo "== rendered people: bytes"
  on "${arm64[@]}" cortex-a76 test -p people --no-default-features --test same_bytes
fi
if ready armv7-unknown-linux-gnueabihf arm-linux-gnueabihf armhf qemu-arm-static; then
  tested armv7-unknown-linux-gnueabihf arm-linux-gnueabihf qemu-arm-static cortex-a7
fi
