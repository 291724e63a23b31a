#!/usr/bin/env bash
# Prints the cargo argument (such as "+debian", or nothing) of a toolchain that has a standard library for a target.
#
#   cargo $(packaging/toolchain.sh aarch64-unknown-linux-gnu) build --target aarch64-unknown-linux-gnu
#
# rustup's own where it can be had; else, for AArch64, Debian's: rustc-web and cargo-web linked as `debian`, with the arm64
# package of its std unpacked over /.
set -euo pipefail
target=${1:?a target}
has_std() { ls "$1/lib/rustlib/$target/lib/"libstd-*.rlib >/dev/null 2>&1; }

if has_std "$(rustc --print sysroot)" || rustup target add "$target" >/dev/null 2>&1; then
  exit 0
fi
if ! has_std /usr; then
  version=$(dpkg-query -W -f '${Version}' rustc-web 2>/dev/null || true)
  if [ "$target" != aarch64-unknown-linux-gnu ] || [ -z "$version" ]; then
    echo "no std for $target: rustup target add $target" >&2
    exit 1
  fi
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  dpkg --add-architecture arm64
  if ! { apt-get update -q && (cd "$folder" && apt-get download "libstd-rust-web-dev:arm64=$version"); } >/dev/null 2>&1; then
    echo "no std for $target: rustup target add $target" >&2
    exit 1
  fi
  dpkg -x "$folder"/*.deb /
fi
rustup toolchain list | grep -q '^debian' || rustup toolchain link debian /usr
echo +debian
