#!/usr/bin/env bash
# Builds posewire_VERSION_ARCH.deb into target/deb for Debian 11 and later: the binary with its models, `base` and `large` beside
# it, the service, the udev rule, completions, man pages and an example configuration.
#
#   packaging/build-deb.sh [amd64|arm64|armhf ...]      default: all three
#
# BINARY=FILE packs a binary that is there, for tests of the package; it may ask for a newer system than Debian 11.
# PROFILE, FEATURES and what is needed: see build.sh. For another architecture also its strip (binutils-aarch64-linux-gnu,
# binutils-arm-linux-gnueabihf) and qemu-user-static with its libraries (libc6-arm64-cross, libc6-armhf-cross): the binary writes its own man pages and completions, which shows at once that it starts.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
# What a stripped binary with its models may take: a slow SD card or a radio link still carries it in seconds.
max_mb=25

# Before the long build. cargo-zigbuild is installed by pip where it is not there.
may_build() {
  local missing=() tool zigbuild=${XDG_CACHE_HOME:-$HOME/.cache}/posewire/zigbuild/bin/cargo-zigbuild
  for tool in clang cmake nasm pkg-config; do command -v "$tool" >/dev/null || missing+=("$tool"); done
  command -v cargo-zigbuild "$zigbuild" >/dev/null || python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
  [ ${#missing[@]} -gt 0 ] || return 0
  echo "build-deb.sh: ${missing[*]} missing: apt-get install build-essential clang cmake libclang-dev nasm pkg-config python3-venv" >&2
  exit 1
}

build() {
  local arch=$1 target run="" strip
  case $arch in
    amd64) target=x86_64-unknown-linux-gnu ;;
    arm64) target=aarch64-unknown-linux-gnu ;;
    # 32-bit Raspberry Pi OS on a Pi 2, 3, 4 or Zero 2.
    armhf) target=armv7-unknown-linux-gnueabihf ;;
    *) echo "build-deb.sh: amd64, arm64 and armhf are known, $arch is not" >&2; exit 2 ;;
  esac
  strip="strip"
  if [ "$arch" != "$(dpkg --print-architecture)" ]; then
    local cpu triple
    case $arch in
      amd64) cpu=x86_64 triple=x86_64-linux-gnu ;;
      arm64) cpu=aarch64 triple=aarch64-linux-gnu ;;
      armhf) cpu=arm triple=arm-linux-gnueabihf ;;
    esac
    run="qemu-$cpu-static -L /usr/$triple"
    strip=$triple-strip
    local deb=binutils-${triple//_/-} tool
    for tool in "$strip" "qemu-$cpu-static"; do
      command -v "$tool" >/dev/null && continue
      echo "build-deb.sh: $tool is missing: apt-get install $deb qemu-user-static libc6-dev-$arch-cross" >&2
      exit 1
    done
    if [ ! -d "/usr/$triple/lib" ]; then
      echo "build-deb.sh: no C library for $arch under /usr/$triple: apt-get install libc6-dev-$arch-cross" >&2
      exit 1
    fi
  fi
  local binary
  binary=${BINARY:-$(packaging/build.sh "$target" | tail -n 1)}

  root=$(mktemp -d)
  # mktemp makes it private, and the package would make the root directory so.
  chmod 755 "$root"
  put() { install -D -m "$1" "$2" "$root/$3"; }
  put 755 "$binary" usr/bin/posewire
  "$strip" --strip-all "$root/usr/bin/posewire"
  put 644 packaging/99-posewire.rules usr/lib/udev/rules.d/99-posewire.rules
  put 644 posewire.example.toml etc/posewire.toml
  case ${FEATURES:-} in
    *usable*)
      for file in keypoints-base-usable.onnx keypoints-base-usable.toml; do put 644 "models/$file" "usr/share/posewire/models/$file"; done ;;
    *) for file in keypoints-{base,large}.{onnx,toml}; do put 644 "models/$file" "usr/share/posewire/models/$file"; done ;;
  esac
  mkdir -p "$root/usr/share/doc/posewire"
  packaging/copyright.sh > "$root/usr/share/doc/posewire/copyright"
  packaging/notices.py --target "$target" ${FEATURES:+--features "$FEATURES"} | gzip -9n > "$root/usr/share/doc/posewire/third-party-licences.gz"
  chmod 644 "$root/usr/share/doc/posewire"/*
  # The service file names where `cargo install` and the README put the binary; the package's own place is /usr/bin.
  mkdir -p "$root/usr/lib/systemd/system"
  sed 's|/usr/local/bin/posewire|/usr/bin/posewire|' packaging/posewire.service > "$root/usr/lib/systemd/system/posewire.service"

  # shellcheck disable=SC2086 # nothing, or a command with arguments
  posewire() { $run "$root/usr/bin/posewire" "$@"; }
  mkdir -p "$root/usr/share/man/man1" "$root/usr/share/bash-completion/completions" \
    "$root/usr/share/zsh/vendor-completions" "$root/usr/share/fish/vendor_completions.d"
  posewire completions --man "$root/usr/share/man/man1"
  gzip -9n "$root"/usr/share/man/man1/*
  posewire completions bash > "$root/usr/share/bash-completion/completions/posewire"
  posewire completions zsh > "$root/usr/share/zsh/vendor-completions/_posewire"
  posewire completions fish > "$root/usr/share/fish/vendor_completions.d/posewire.fish"

  mkdir "$root/DEBIAN"
  (cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum > DEBIAN/md5sums)
  # The newest glibc symbol that the binary asks for is the oldest glibc that it runs on. zig links its own unwinder.
  local glibc depends
  glibc=$(objdump -T "$root/usr/bin/posewire" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1 | cut -d_ -f2)
  depends="libc6 (>= $glibc)"
  if objdump -p "$root/usr/bin/posewire" | grep -q 'NEEDED.*libgcc_s'; then depends="$depends, libgcc-s1"; fi
  cat > "$root/DEBIAN/control" <<CONTROL
Package: posewire
Version: $version
Architecture: $arch
Maintainer: The Posewire authors <founders@posewire.dev>
Section: utils
Priority: optional
Installed-Size: $(du -sk "$root/usr" "$root/etc" | awk '{ s += $1 } END { print s }')
Depends: $depends
Suggests: ffmpeg
Description: real-time human pose tracking from a USB camera to a serial wire
 Posewire follows the people in front of a camera and sends where their joints
 are, and will be, as JSON lines or over a framed serial protocol. The networks
 are in the binary; nothing is downloaded and no display is needed.
CONTROL
  echo /etc/posewire.toml > "$root/DEBIAN/conffiles"
  cat > "$root/DEBIAN/postinst" <<'SCRIPT'
#!/bin/sh
set -e
if [ "$1" = configure ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    udevadm control --reload || true
    # The rule for what is plugged in already.
    udevadm trigger --action=change --sysname-match='ttyUSB*' --sysname-match='ttyACM*' --sysname-match='video[0-9]*' || true
    # An upgrade: what runs is the old binary still.
    systemctl try-restart posewire.service || true
fi
SCRIPT
  cat > "$root/DEBIAN/prerm" <<'SCRIPT'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    systemctl disable --now posewire.service || true
fi
SCRIPT
  # What the service has written goes with `purge` alone.
  cat > "$root/DEBIAN/postrm" <<'SCRIPT'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
    udevadm control --reload || true
fi
if [ "$1" = purge ]; then
    rm -rf /var/lib/posewire /var/lib/private/posewire
fi
SCRIPT
  chmod 755 "$root"/DEBIAN/{postinst,prerm,postrm}

  mkdir -p target/deb
  local deb=target/deb/posewire_${version}_$arch.deb
  # Ubuntu's dpkg would pack with zstd, which Debian's reads from version 12 on only.
  dpkg-deb -Zxz --root-owner-group --build "$root" "$deb" >/dev/null
  ar t "$deb" | grep -qx 'control\.tar\.[gx]z' || { echo "build-deb.sh: Debian 11 cannot read $deb: $(ar t "$deb" | tr '\n' ' ')" >&2; exit 1; }
  local bytes
  bytes=$(stat -c %s "$root/usr/bin/posewire")
  rm -rf "$root"
  echo "$deb: $(stat -c %s "$deb" | awk '{ printf "%.1f", $1 / 1e6 }') MB;" \
    "binary with models $(awk "BEGIN { printf \"%.1f\", $bytes / 1e6 }") MB (at most $max_mb); $depends"
  # Other profiles leave much of tract unoptimised, which is large.
  [ "${PROFILE:-dist}" != dist ] || [ -n "${BINARY:-}" ] || [ "$bytes" -le $((max_mb * 1000000)) ] || { echo "build-deb.sh: the binary is too large" >&2; exit 1; }
}

root=
trap 'rm -rf "$root"' EXIT
[ $# -gt 0 ] || set -- amd64 arm64 armhf
[ -n "${BINARY:-}" ] || may_build
for arch in "$@"; do build "$arch"; done
