#!/bin/sh
# Installs Posewire on this machine: the package for Debian and its kin, else the archive into /usr/local.
#
#   sh install.sh                   takes what lies beside this script, else fetches it
#   sh install.sh --dry-run         only says what it would do
#
# Everything is held to SHA256SUMS before it is used. POSEWIRE_URL names another place to fetch from, POSEWIRE_ROOT another root
# folder for what is in the archive, as an image that is being made.
set -eu
version=0.1.0
url=${POSEWIRE_URL:-https://github.com/posewire/posewire/releases/download/v$version}
root=${POSEWIRE_ROOT-}
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
fetch() {
    if command -v curl >/dev/null; then
        curl --fail --location --silent --show-error -o "$work/$1" "$url/$1"
    else
        wget -q -O "$work/$1" "$url/$1"
    fi
}
get() {
    if [ -s "$here/$1" ]; then cp "$here/$1" "$work/$1"; else fetch "$1"; fi || { echo "install.sh: $1 is neither beside this script nor at $url" >&2; exit 1; }
}
listed() { grep -q " $file\$" "$work/SHA256SUMS"; }
get SHA256SUMS
# That of another release, or of something else, may lie beside the script.
listed || fetch SHA256SUMS || true
if ! listed; then
    echo "install.sh: SHA256SUMS, beside this script and at $url, has no line for $file. Nothing was installed." >&2
    exit 1
fi
get "$file"
chmod 755 "$work"
if ! (cd "$work" && grep " $file\$" SHA256SUMS | sha256sum -c - >/dev/null 2>&1); then
    echo "install.sh: $file is not what SHA256SUMS says; it is damaged or was changed. Nothing was installed." >&2
    exit 1
fi
echo "$file: checksum holds"
if [ -n "$dry" ]; then echo "would install $file${as_root:+ with sudo}"; exit 0; fi

# One that was edited stays, as with dpkg: what this script put there last tells which is.
put() {
    there=$root$2/$1 last=$root/usr/local/share/posewire/installed/$1
    if [ -e "$there" ] && ! cmp -s "$1" "$there" && ! cmp -s "$last" "$there"; then
        $as_root install -m 644 "$1" "$there.new"
        echo "install.sh: $there is not as it was installed, and stays; compare it with this release's: $there.new" >&2
    else
        $as_root install -m 644 "$1" "$there"
    fi
    $as_root install -D -m 644 "$1" "$last"
}

case $file in
*.deb)
    $as_root apt-get install -y "$work/$file"
    posewire --version ;;
*)
    tar -C "$work" -xzf "$work/$file"
    cd "$work/posewire-$version-$arch"
    $as_root install -D -m 755 posewire "$root/usr/local/bin/posewire"
    $as_root install -D -m 644 man1/* -t "$root/usr/local/share/man/man1"
    if [ -d models ]; then $as_root install -D -m 644 models/* -t "$root/usr/local/share/posewire/models"; fi
    [ -e "$root/etc/posewire.toml" ] || $as_root install -D -m 644 posewire.example.toml "$root/etc/posewire.toml"
    # Serial ports belong to another group on Arch and its kin.
    if grep -q '^uucp:' "$root/etc/group" 2>/dev/null && ! grep -q '^dialout:' "$root/etc/group"; then
        sed -i 's/dialout/uucp/' posewire.service 99-posewire.rules
    fi
    if [ -d "$root/etc/udev/rules.d" ]; then put 99-posewire.rules /etc/udev/rules.d; fi
    if [ -d "$root/etc/systemd/system" ]; then put posewire.service /etc/systemd/system; fi
    if [ -z "$root" ] && [ -d /run/systemd/system ]; then
        # As the package does; an upgrade restarts a service that runs.
        $as_root systemctl daemon-reload
        $as_root udevadm control --reload || true
        # The rule for what is plugged in already.
        $as_root udevadm trigger --action=change --sysname-match='ttyUSB*' --sysname-match='ttyACM*' --sysname-match='video[0-9]*' || true
        $as_root systemctl try-restart posewire.service || true
    fi
    "$root/usr/local/bin/posewire" --version
    case :$PATH: in
    *:/usr/local/bin:*) ;;
    *) echo "install.sh: /usr/local/bin is not in PATH: add it, or type /usr/local/bin/posewire" >&2 ;;
    esac ;;
esac
echo "next: plug a camera in and type: posewire run"
