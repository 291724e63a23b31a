#!/bin/sh
# Builds posewire_VERSION_ARCH.deb into target/deb: the binary with its models, the service, the udev rule, completions,
# man pages and an example configuration.
#
#   packaging/build-deb.sh                                  for this machine
#   packaging/build-deb.sh aarch64-unknown-linux-gnu        cross-built; needs that target's linker and
#                                                           qemu-user (the binary writes its own man pages)
# PROFILE=release builds in minutes; the default, dist, is smaller and takes longer.
set -eu
cd "$(dirname "$0")/.."
target=${1:-$(rustc -vV | sed -n 's/^host: //p')}
profile=${PROFILE:-dist}
case $target in
    x86_64-*) arch=amd64 run= ;;
    aarch64-*) arch=arm64 run=$([ "$(uname -m)" = aarch64 ] || echo "qemu-aarch64-static -L /usr/aarch64-linux-gnu") ;;
    *) echo "build-deb.sh: no Debian architecture is known for $target" >&2; exit 2 ;;
esac
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)

cargo build --profile "$profile" --target "$target" --package posewire --bin posewire
binary=${CARGO_TARGET_DIR:-target}/$target/$profile/posewire

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
# mktemp makes it private, and the package would make the root directory so.
chmod 755 "$root"
put() { install -D -m "$1" "$2" "$root/$3"; }
put 755 "$binary" usr/bin/posewire
put 644 packaging/99-posewire.rules usr/lib/udev/rules.d/99-posewire.rules
put 644 posewire.example.toml etc/posewire.toml
put 644 LICENSE-MIT usr/share/doc/posewire/copyright
# The service file names where `cargo install` and the README put the binary; the package's own place is /usr/bin.
sed 's|/usr/local/bin/posewire|/usr/bin/posewire|' packaging/posewire.service > "$root/posewire.service"
put 644 "$root/posewire.service" usr/lib/systemd/system/posewire.service
rm "$root/posewire.service"

posewire() { $run "$root/usr/bin/posewire" "$@"; }
mkdir -p "$root/usr/share/man/man1" "$root/usr/share/bash-completion/completions" \
    "$root/usr/share/zsh/vendor-completions" "$root/usr/share/fish/vendor_completions.d"
posewire completions --man "$root/usr/share/man/man1"
gzip -9n "$root"/usr/share/man/man1/*
posewire completions bash > "$root/usr/share/bash-completion/completions/posewire"
posewire completions zsh > "$root/usr/share/zsh/vendor-completions/_posewire"
posewire completions fish > "$root/usr/share/fish/vendor_completions.d/posewire.fish"

mkdir "$root/DEBIAN"
# The newest glibc symbol that the binary asks for is the oldest glibc that it runs on.
glibc=$(objdump -T "$root/usr/bin/posewire" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1 | cut -d_ -f2)
cat > "$root/DEBIAN/control" <<CONTROL
Package: posewire
Version: $version
Architecture: $arch
Maintainer: The Posewire authors <founders@posewire.dev>
Section: utils
Priority: optional
Installed-Size: $(du -sk "$root/usr" "$root/etc" | awk '{ s += $1 } END { print s }')
Depends: libc6 (>= $glibc), libgcc-s1
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
fi
SCRIPT
cat > "$root/DEBIAN/prerm" <<'SCRIPT'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    systemctl disable --now posewire.service || true
fi
SCRIPT
chmod 755 "$root/DEBIAN/postinst" "$root/DEBIAN/prerm"

mkdir -p target/deb
deb=target/deb/posewire_${version}_$arch.deb
dpkg-deb --root-owner-group --build "$root" "$deb"
dpkg-deb --info "$deb" | sed -n 's/^ \(Package\|Version\|Architecture\|Depends\)/\1/p'
