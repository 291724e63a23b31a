#!/usr/bin/env bash
# Builds the binary against an old glibc, whatever this machine's is: zig carries the symbols of every version.
#
#   packaging/build.sh [TARGET]        default: this machine's; or aarch64-unknown-linux-gnu,
#                                      armv7-unknown-linux-gnueabihf. Prints the binary's path last.
#
# FEATURES=usable builds one whose networks and weights anybody may use and hand on (docs/accuracy.md).
# PROFILE=release builds in minutes; the default, dist, is smaller and takes much longer.
# Needs cargo-zigbuild, or Python with venv to install it (and zig) under ~/.cache/posewire; clang and cmake as every build;
# for the ARMs also libc6-dev-arm64-cross or libc6-dev-armhf-cross, whose headers v4l is generated from.
set -euo pipefail
cd "$(dirname "$0")/.."
# Debian 11, and with it JetPack 5: the oldest systems that boards in use run.
glibc=2.31
target=${1:-$(rustc -vV | sed -n 's/^host: //p')}
profile=${PROFILE:-dist}
out=${CARGO_TARGET_DIR:-target}

if ! command -v cargo-zigbuild >/dev/null; then
  # Outside of the tree: zig names its headers relative to where it stands, and build scripts stand elsewhere.
  tools=${XDG_CACHE_HOME:-$HOME/.cache}/posewire/zigbuild
  if [ ! -x "$tools/bin/cargo-zigbuild" ]; then
    python3 -m venv "$tools"
    "$tools/bin/pip" install -q cargo-zigbuild==0.24.0 ziglang==0.17.1
  fi
  PATH=$tools/bin:$PATH
fi
if [ "$target" = armv7-unknown-linux-gnueabihf ]; then
  # For a Pi 2 and later. NEON, which the target leaves out, is asked of the kernel where the networks run; libjpeg-turbo is not built
  # without it.
  export CARGO_TARGET_ARMV7_UNKNOWN_LINUX_GNUEABIHF_RUSTFLAGS="-C target-cpu=cortex-a7"
  export CFLAGS_armv7_unknown_linux_gnueabihf=-mcpu=cortex_a7
fi
toolchain=$(packaging/toolchain.sh "$target")
[ -z "$toolchain" ] || export RUSTUP_TOOLCHAIN=${toolchain#+}
# Level 3 for the binary alone, which is little: it is what the linking optimiser goes by, see Cargo.toml.
cargo-zigbuild rustc --profile "$profile" --target "$target.$glibc" --package posewire --bin posewire \
  ${FEATURES:+--features "$FEATURES"} -- -C opt-level=3
binary=$out/$target/$profile/posewire

needed=$(objdump -T "$binary" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
if [ "$(printf '%s\n' "GLIBC_$glibc" "$needed" | sort -V | tail -n 1)" != "GLIBC_$glibc" ]; then
  echo "build.sh: $binary asks for $needed" >&2
  exit 1
fi
echo "newest glibc symbol: $needed; libraries: $(objdump -p "$binary" | awk '$1 == "NEEDED" { printf "%s ", $2 }')" >&2
echo "$binary"
