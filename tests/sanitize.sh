#!/usr/bin/env bash
# The crates with unsafe code, and those that every byte of the wire goes through, under AddressSanitizer and under miri.
#
#   tests/sanitize.sh [address] [miri]
#
# The sanitizer's run-time library comes with every toolchain; the switch for it is taken from a stable compiler by
# RUSTC_BOOTSTRAP. It sees the kernels that this CPU runs. Miri needs a nightly with its sources
# (rustup component add miri rust-src --toolchain nightly) and sees the portable kernel: it checks aliasing, uninitialised
# memory and arithmetic on pointers, which no sanitizer sees, a thousand times slower.
set -euo pipefail
cd "$(dirname "$0")/.."
what=${*:-address miri}
crates=(-p int8 -p pose -p pose-wire)

if [[ $what == *address* ]]; then
  echo "== address"
  # Optimised as shipped, but with every check that a shipped binary leaves out.
  RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address -C debug-assertions=on -C overflow-checks=on" \
    cargo test -q --release "${crates[@]}" --lib --tests --target x86_64-unknown-linux-gnu --target-dir target/sanitize
fi

if [[ $what == *miri* ]]; then
  echo "== miri"
  if ! cargo +nightly miri --version >/dev/null 2>&1 ||
    ! [ -d "$(rustc +nightly --print sysroot 2>/dev/null)/lib/rustlib/src/rust/library" ]; then
    echo "SKIPPED: rustup component add miri rust-src --toolchain nightly"
    exit 0
  fi
  # Interpreted: the unit tests with few random cases; the operators on pictures and the wire's properties take hours.
  MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=${PROPTEST_CASES:-2} \
    cargo +nightly miri test -q "${crates[@]}" --lib --target-dir target/miri
fi
