#!/usr/bin/env bash
# Installs a package in a clean Debian, runs what is in it, removes it, and looks for anything left behind.
#
#   packaging/test-deb.sh target/deb/posewire_0.1.0_arm64.deb [SUITE]      default: bullseye, Debian 11
#
# Needs root and namespaces; mmdebstrap (fetched by apt if missing) and Debian's archive make the clean root, which is kept in
# target/deb for the next time. For another architecture also qemu-user-static, which is made known to the kernel inside a
# namespace alone (Linux 6.7 and later). Where one of these is not to be had it says SKIPPED, and ends with 0.
set -euo pipefail
deb=$(realpath "${1:?a package}")
suite=${2:-bullseye}
cd "$(dirname "$0")/.."
arch=$(dpkg-deb -f "$deb" Architecture)
# What runs it here, and the kernel's bytes of such a program: ELF, 32 or 64 bits, little-endian, executable or shared, machine.
case $arch in
  amd64) qemu=qemu-x86_64-static bits='\x02' machine='\x3e' ;;
  arm64) qemu=qemu-aarch64-static bits='\x02' machine='\xb7' ;;
  armhf) qemu=qemu-arm-static bits='\x01' machine='\x28' ;;
  *) echo "test-deb.sh: amd64, arm64 and armhf are known, $arch is not" >&2; exit 2 ;;
esac
clean=$PWD/target/deb/$suite-$arch.tar
skip() { echo "SKIPPED: the package in a clean Debian: $*"; exit 0; }
# A command, and the Debian package that has it.
need() { command -v "$1" >/dev/null || apt-get install -y -q --no-install-recommends "$2" >/dev/null 2>&1; }

if [ -z "${IN_NAMESPACE:-}" ]; then
  [ "$(id -u)" = 0 ] || skip "needs root: sudo $0 $*"
  unshare --mount --pid --fork true 2>/dev/null || skip "the kernel gives no namespaces here"
  if [ ! -s "$clean" ]; then
    need mmdebstrap mmdebstrap || skip "apt-get install mmdebstrap"
  fi
  if [ "$arch" != "$(dpkg --print-architecture)" ]; then
    need "$qemu" qemu-user-static || skip "apt-get install qemu-user-static"
    # mmdebstrap asks it whether the kernel would run the foreign programs.
    need arch-test arch-test || skip "apt-get install arch-test"
  fi
  export IN_NAMESPACE=1
  # Mounts and processes end with the namespace.
  spaces=(--mount --pid --fork --kill-child)
  if [ "$arch" = "$(dpkg --print-architecture)" ]; then exec unshare "${spaces[@]}" "$0" "$deb" "$suite"; fi
  # Only in a user namespace has the kernel a list of its own of what runs foreign programs. All ids stay what they are; only
  # from outside may so many be given, while the process waits.
  go=$(mktemp -u) && mkfifo "$go"
  trap 'rm -f "$go"' EXIT
  # shellcheck disable=SC2016 # the inner shell's arguments
  unshare --user "${spaces[@]}" bash -c 'read -r < "$0" && exec "$@"' "$go" "$0" "$deb" "$suite" &
  child=$!
  while [ "/proc/$child/ns/user" -ef /proc/self/ns/user ]; do sleep 0.1; done
  for ids in uid gid; do echo "0 0 65536" > "/proc/$child/${ids}_map"; done
  echo > "$go"
  wait "$child"
  exit
fi
if [ "$arch" != "$(dpkg --print-architecture)" ]; then
  mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
  # F: the interpreter is opened now.
  magic='\x7fELF'"$bits"'\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00'"$machine"'\x00'
  mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
  echo ":posewire-$arch:M::$magic:$mask:$(command -v "$qemu"):F" > /proc/sys/fs/binfmt_misc/register
fi
if [ ! -s "$clean" ]; then
  mkdir -p target/deb
  made=
  # Suites move from the first to the second when their support ends.
  for archive in http://deb.debian.org/debian http://archive.debian.org/debian; do
    mmdebstrap --quiet --format=tar --variant=essential --architectures="$arch" "$suite" "$clean.part" "$archive" &&
      made=1 && break
  done
  [ -n "$made" ] || skip "no clean root of $suite could be made from Debian's archive"
  mv "$clean.part" "$clean"
fi

root=$(mktemp -d)
trap 'umount "$root/proc" 2>/dev/null || true; rm -rf "$root"' EXIT
tar -C "$root" --numeric-owner --exclude='./dev/*' -xf "$clean"
mount -t proc proc "$root/proc"
mkdir -p "$root/dev" && touch "$root/dev/null"
cp "$deb" "$root/posewire.deb"
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp chroot "$root" "$@"; }
say() { echo "ok: $*"; }
fail() { echo "test-deb.sh: $*" >&2; exit 1; }
# By name; dpkg's own logs and copies of its state are not the package's.
files() {
  (cd "$root" && find . -path ./proc -prune -o -path ./tmp -prune -o -path ./dev -prune -o \
    ! -path './var/log/*' ! -path './var/lib/dpkg/*-old' ! -path './var/lib/dpkg/lock*' ! -path './var/lib/dpkg/triggers/*' \
    ! -path ./var/lib/dpkg/status ! -type d -print | LC_ALL=C sort)
}
folders() { (cd "$root" && find . -path ./proc -prune -o -path ./tmp -prune -o -type d -print | LC_ALL=C sort); }

before=$(files; folders)
inside dpkg --install /posewire.deb >/dev/null
# shellcheck disable=SC2016 # dpkg-query's own
[ "$(inside dpkg-query -W -f '${Status}' posewire)" = "install ok installed" ] || fail "not installed"
[ -z "$(inside dpkg --verify posewire)" ] || fail "files differ from the package's list"
say "installed in $suite ($(inside ldd --version | head -n 1 | grep -o '[0-9.]*$'), $(inside dpkg --print-architecture))"

for file in usr/bin/posewire usr/lib/systemd/system/posewire.service usr/lib/udev/rules.d/99-posewire.rules \
  etc/posewire.toml usr/share/man/man1/posewire.1.gz usr/share/man/man1/posewire-run.1.gz \
  usr/share/bash-completion/completions/posewire usr/share/zsh/vendor-completions/_posewire \
  usr/share/fish/vendor_completions.d/posewire.fish; do
  [ -s "$root/$file" ] || fail "no $file"
done
inside bash -n /usr/share/bash-completion/completions/posewire
say "unit, udev rule, configuration, completions and man pages are there"

say "starts: $(inside posewire --version)"
# The int8 engine by name: timing tract against it takes long under emulation, and is tested elsewhere.
lines=$(inside posewire run --config /etc/posewire.toml --engine int8 --synthetic --frames 30 --no-drop --jsonl - 2>/dev/null |
  grep -c '"persons":\[{' || true)
[ "$lines" -ge 20 ] || fail "only $lines of 30 frames show somebody"
say "runs: somebody in $lines of 30 frames of the built-in clip"
if [ -d "$root/usr/share/posewire/models" ]; then
  for file in "$root"/usr/share/posewire/models/keypoints-*.toml; do
    name=$(basename "$file" .toml)
    inside posewire models "${name#keypoints-}" >/dev/null || fail "the network $name beside the binary is not found or not whole"
  done
  say "the networks beside the binary answer to their names"
fi
if command -v systemd-analyze >/dev/null; then
  # Beside this system's units: a minimal root has no targets. Only what is said of this unit counts.
  mkdir -p "$root/tmp/unit"
  sed "s|/usr/bin/posewire|$root&|" "$root/usr/lib/systemd/system/posewire.service" > "$root/tmp/unit/posewire.service"
  verdict=$(systemd-analyze verify --man=no "$root/tmp/unit/posewire.service" 2>&1 | grep -i posewire || true)
  [ -z "$verdict" ] || fail "the unit: $verdict"
  say "systemd finds nothing wrong with the unit"
else
  echo "SKIPPED: systemd-analyze is not here"
fi

mkdir -p "$root/var/lib/private/posewire" && touch "$root/var/lib/private/posewire/recording"
inside dpkg --remove posewire >/dev/null
[ -f "$root/etc/posewire.toml" ] || fail "removing takes the configuration too; only purging may"
[ -f "$root/var/lib/private/posewire/recording" ] || fail "removing takes recordings too; only purging may"
[ ! -e "$root/usr/bin/posewire" ] || fail "the binary is still there"
inside dpkg --purge posewire >/dev/null
rmdir "$root/var/lib/private" 2>/dev/null || true
left=$(diff <(echo "$before") <(files; folders) || true)
[ -z "$left" ] || fail "left behind or missing: $left"
say "removed and purged: the files are what they were"
