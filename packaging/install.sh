#!/bin/sh
# Installs Posewire on this machine: the package for Debian and its kin, else the archive into /usr/local.
#
#   sh install.sh                   takes what lies beside this script, else fetches it
#   sh install.sh --dry-run         only says what it would do
#
# Everything is held to SHA256SUMS before it is used. POSEWIRE_URL names another place to fetch from.
set -eu
version=0.1.0
url=${POSEWIRE_URL:-https://github.com/posewire/posewire/releases/download/v$version}
dry=
case ${1-} in
--dry-run) dry=1 ;;
'') ;;
*) echo "install.sh: '$1' is not known; nothing, or --dry-run" >&2; exit 2 ;;
esac
here=$(cd "$(dirname "$0")" && pwd)

# The programs' word size counts, not the kernel's: a Pi may run a 32-bit system on a 64-bit kernel.
if command -v dpkg >/dev/null; then
    arch=$(dpkg --print-architecture)
else
    case $(uname -m)-$(getconf LONG_BIT) in
    x86_64-64) arch=amd64 ;;
    aarch64-64) arch=arm64 ;;
    aarch64-32 | armv7l-32) arch=armhf ;;
    *) arch=$(uname -m) ;;
    esac
fi
case $arch in
amd64 | arm64) ;;
armhf)
    # Raspberry Pi OS calls the first Pi and the first Zero armhf too. A 64-bit kernel has another name for NEON.
    if ! grep -qiE 'neon|asimd' /proc/cpuinfo; then
        echo "install.sh: this processor has no NEON; Posewire needs a Pi 2, a Zero 2 or newer" >&2
        exit 1
    fi ;;
*) echo "install.sh: there is no build for $arch; docs/start.md says how to build it from source" >&2; exit 1 ;;
esac
# Some other systems have dpkg as a tool; apt-get alone brings what the package depends on.
if command -v dpkg >/dev/null && command -v apt-get >/dev/null; then file=posewire_${version}_$arch.deb; else file=posewire-$version-$arch.tar.gz; fi

as_root=
if [ "$(id -u)" != 0 ]; then as_root=sudo; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
get() {
    if [ -s "$here/$1" ]; then
        cp "$here/$1" "$work/$1"
    elif command -v curl >/dev/null; then
        curl --fail --location --silent --show-error -o "$work/$1" "$url/$1"
    else
        wget -q -O "$work/$1" "$url/$1"
    fi || { echo "install.sh: $1 is neither beside this script nor at $url" >&2; exit 1; }
}
get SHA256SUMS
get "$file"
chmod 755 "$work"
if ! (cd "$work" && grep " $file\$" SHA256SUMS | sha256sum -c - >/dev/null 2>&1); then
    echo "install.sh: $file is not what SHA256SUMS says; it is damaged or was changed. Nothing was installed." >&2
    exit 1
fi
echo "$file: checksum holds"
if [ -n "$dry" ]; then echo "would install $file${as_root:+ with sudo}"; exit 0; fi
case $file in
*.deb) $as_root apt-get install -y "$work/$file" ;;
*)
    tar -C "$work" -xzf "$work/$file"
    cd "$work/posewire-$version-$arch"
    $as_root install -D -m 755 posewire /usr/local/bin/posewire
    $as_root install -D -m 644 man1/* -t /usr/local/share/man/man1
    if [ -d models ]; then $as_root install -D -m 644 models/* -t /usr/local/share/posewire/models; fi
    [ -e /etc/posewire.toml ] || $as_root install -m 644 posewire.example.toml /etc/posewire.toml
    if [ -d /etc/udev/rules.d ]; then $as_root install -m 644 99-posewire.rules /etc/udev/rules.d/; fi
    if [ -d /etc/systemd/system ]; then $as_root install -m 644 posewire.service /etc/systemd/system/; fi ;;
esac
posewire --version
echo "next: plug a camera in and type: posewire run"
