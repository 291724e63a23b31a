#!/bin/sh
# Builds the firmware, prints its sizes and holds them to their limits, and runs it in QEMU and in rp2040js.
#
#     firmware/test.sh
#
# FIRMWARE_TOOLCHAIN=NAME names a rustup toolchain that has the targets' standard libraries, where the default one has not
# (`rustup target add thumbv6m-none-eabi thumbv7m-none-eabi` gives them to it).
set -eu
cd "$(dirname "$0")"

cargo_for() {
    # shellcheck disable=SC2086 # the toolchain is one word or none
    cargo ${FIRMWARE_TOOLCHAIN:+"+$FIRMWARE_TOOLCHAIN"} "$@"
}

has_target() {
    rustc ${FIRMWARE_TOOLCHAIN:+"+$FIRMWARE_TOOLCHAIN"} --print target-libdir --target "$1" 2>/dev/null |
        xargs -I{} sh -c 'ls {}/libcore-*.rlib' >/dev/null 2>&1
}

if has_target thumbv6m-none-eabi; then
    ./pico.sh
    python3 sizes.py target/thumbv6m-none-eabi/release/pico --flash 48 --ram 16
else
    echo "SKIPPED: pico: rustup target add thumbv6m-none-eabi" >&2
fi

if has_target thumbv7m-none-eabi; then
    cargo_for build --release --target thumbv7m-none-eabi -p lm3s6965
    python3 sizes.py target/thumbv7m-none-eabi/release/lm3s6965 --flash 48 --ram 16
else
    echo "SKIPPED: lm3s6965 and QEMU: rustup target add thumbv7m-none-eabi" >&2
fi

if command -v npm >/dev/null; then
    (cd emulator && npm ci --silent --no-audit --no-fund) || echo "SKIPPED: rp2040js could not be installed" >&2
else
    echo "SKIPPED: the firmware in rp2040js: apt install nodejs npm" >&2
fi
python3 -B emulator/test_emulators.py
