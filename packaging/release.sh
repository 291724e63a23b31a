#!/usr/bin/env bash
# Makes everything that a release consists of, in target/release-VERSION, with checksums.
#
#   packaging/release.sh [amd64|arm64|armhf|any ...]      default: all of them
#
#   amd64, arm64, armhf   posewire_VERSION_ARCH.deb and, for systems without dpkg, posewire-VERSION-ARCH.tar.gz
#   any                   the Python wheel, the Arduino library and the Pico's firmware: eight .uf2
#
# What is there already is made anew; SHA256SUMS covers whatever lies in the folder at the end. PROFILE and what is needed: see
# build.sh and build-deb.sh; for `any` Python with venv, and Rust's targets thumbv6m-none-eabi and thumbv8m.main-none-eabi.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
out=$PWD/target/release-$version
mkdir -p "$out"

# Two builds of one commit are to be the same files.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || date +%s)
export SOURCE_DATE_EPOCH

# The package's own files in another wrapping: what was tested there is what is here.
tarball() {
  local deb=$1 arch=$2 name=posewire-$version-$2 root
  root=$(mktemp -d)
  mkdir "$root/$name"
  dpkg-deb -x "$deb" "$root/deb"
  mv "$root/deb/usr/bin/posewire" "$root/deb/usr/lib/systemd/system/posewire.service" \
    "$root/deb/usr/lib/udev/rules.d/99-posewire.rules" "$root/$name/"
  mv "$root/deb/usr/share/man/man1" "$root/$name/man1"
  mv "$root/deb/etc/posewire.toml" "$root/$name/posewire.example.toml"
  [ ! -d "$root/deb/usr/share/posewire/models" ] || mv "$root/deb/usr/share/posewire/models" "$root/$name/models"
  sed -i 's|/usr/bin/posewire|/usr/local/bin/posewire|' "$root/$name/posewire.service"
  # The weights have terms that the code's licences do not say.
  mv "$root/deb/usr/share/doc/posewire/copyright" "$root/$name/copyright"
  gunzip -c "$root/deb/usr/share/doc/posewire/third-party-licences.gz" > "$root/$name/third-party-licences"
  cp LICENSE-MIT LICENSE-APACHE "$root/$name/"
  tar -C "$root" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -cf - "$name" | gzip -9n > "$out/$name.tar.gz"
  rm -rf "$root"
  echo "$out/$name.tar.gz ($arch)"
}

any() {
  local tools=${XDG_CACHE_HOME:-$HOME/.cache}/posewire/wheel
  [ -x "$tools/bin/pip" ] || python3 -m venv "$tools"
  local root
  root=$(mktemp -d)
  # A copy: setuptools builds where the sources lie.
  cp -r clients/python "$root/python"
  "$tools/bin/pip" wheel -q --no-deps --wheel-dir "$out" "$root/python"
  rm -rf "$root/python"
  # An Arduino library is a zip of one folder; the tests stay here.
  cp -r clients/c "$root/Posewire"
  rm -rf "$root/Posewire/tests"
  cp LICENSE-MIT LICENSE-APACHE "$root/Posewire/"
  find "$root" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
  rm -f "$out/Posewire-arduino-$version.zip"
  python3 - "$root" "$out/Posewire-arduino-$version.zip" <<'PYTHON'
import sys, time, zipfile, os, pathlib
root, out = pathlib.Path(sys.argv[1]), sys.argv[2]
when = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        info = zipfile.ZipInfo(str(path.relative_to(root)), when)
        info.external_attr = 0o644 << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(info, path.read_bytes())
PYTHON
  rm -rf "$root"
  local chip screen line
  for chip in rp2040 rp235x; do
    for screen in ssd1306 st7789; do
      for line in "" usb; do
        firmware/pico.sh "$screen" "$chip" $line >/dev/null
        cp "firmware/target/posewire-$chip-$screen${line:+-$line}.uf2" "$out/posewire-$version-$chip-$screen${line:+-$line}.uf2"
      done
    done
  done
  packaging/notices.py --manifest-path firmware/Cargo.toml --package pico --target thumbv6m-none-eabi --target thumbv8m.main-none-eabi \
    --no-default-features --features rp2040,rp235x,ssd1306,st7789,usb > "$out/posewire-$version-firmware-third-party-licences.txt"
}

[ $# -gt 0 ] || set -- any amd64 arm64 armhf
for what in "$@"; do
  case $what in
    any) any ;;
    amd64 | arm64 | armhf)
      packaging/build-deb.sh "$what"
      cp "target/deb/posewire_${version}_$what.deb" "$out/"
      tarball "$out/posewire_${version}_$what.deb" "$what"
      ;;
    *)
      echo "release.sh: amd64, arm64, armhf and any are known, $what is not" >&2
      exit 2
      ;;
  esac
done
cp packaging/install.sh "$out/"
sed -i "s/^version=.*/version=$version/" "$out/install.sh"
# shellcheck disable=SC2094 # find leaves it out
(cd "$out" && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%f\n' | LC_ALL=C sort | xargs sha256sum > SHA256SUMS)
cat "$out/SHA256SUMS"
