#!/usr/bin/env bash
# Boots a clean Debian with its systemd, installs a package there and tries the service: without camera and port, with both later,
# unplugged, upgraded, killed, misconfigured.
#
#   packaging/test-service.sh target/deb/posewire_0.1.0_amd64.deb [SUITE]      default: bookworm, Debian 12
#
# FFMPEG=1 puts ffmpeg into the root, half a gigabyte, and plays an MP4 inside the sandbox too. Camera and board are imitated (tests/boards), the port is a pseudo-terminal that its group alone may open. Needs root, the package's own
# architecture, systemd-nspawn (systemd-container) and mmdebstrap; the clean root is kept in target/deb. Where one of these is not to be
# had it says SKIPPED, and ends with 0.
set -euo pipefail
deb=$(realpath "${1:?a package}")
suite=${2:-bookworm}
cd "$(dirname "$0")/.."
arch=$(dpkg-deb -f "$deb" Architecture)
clean=$PWD/target/deb/booted-$suite-$arch${FFMPEG:+-ffmpeg}.tar
skip() { echo "SKIPPED: the service in a booted Debian: $*"; exit 0; }
need() { command -v "$1" >/dev/null || apt-get install -y -q --no-install-recommends "$2" >/dev/null 2>&1; }

[ "$(id -u)" = 0 ] || skip "needs root: sudo $0 $*"
[ "$arch" = "$(dpkg --print-architecture)" ] || skip "the package is for $arch"
need systemd-nspawn systemd-container || skip "apt-get install systemd-container"
if [ ! -s "$clean" ]; then
  need mmdebstrap mmdebstrap || skip "apt-get install mmdebstrap"
  mkdir -p target/deb
  mmdebstrap --quiet --format=tar --variant=essential --include="systemd,systemd-sysv,dbus,udev${FFMPEG:+,ffmpeg}" "$suite" "$clean.part" ||
    skip "no clean root of $suite could be made from Debian's archive"
  mv "$clean.part" "$clean"
fi

second='umount -R /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup'
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
tar -C "$root" --numeric-owner --exclude='./dev/*' -xf "$clean"
cp "$deb" "$root/posewire.deb"
mkdir -p "$root"/board/{dev/v4l/by-id,sys/class/video4linux,pictures}
cc -shared -fPIC -O1 -o "$root/board/nodes.so" tests/boards/nodes.c -ldl
dpkg-deb --fsys-tarfile "$deb" | tar -xO ./usr/bin/posewire > "$root/board/posewire"
chmod 755 "$root/board/posewire"
"$root/board/posewire" record "$root/board/clip.avi" --synthetic --frames 60 2>/dev/null
[ -z "${FFMPEG:-}" ] || ffmpeg -v error -i "$root/board/clip.avi" -c:v mpeg4 "$root/board/clip.mp4"
python3 - "$root/board" <<'PYTHON'
import pathlib, sys
board = pathlib.Path(sys.argv[1])
rest = (board / "clip.avi").read_bytes()
for i in range(6):
    start = rest.index(b"\xff\xd8\xff")
    end = rest.index(b"\xff\xd9", start) + 2
    (board / f"pictures/{i}.jpg").write_bytes(rest[start:end])
    rest = rest[end:]
PYTHON
cat > "$root/board/camera" <<'NODE'
driver uvcvideo
card HD Webcam
caps 04200001
format MJPG 640x480 30
sends 10
NODE
# As /proc/devices: numbers that this kernel has, under the names that a Pi's has them by; the last is in no list of the unit's.
other() { awk -v n="$1" '$2 == n { print $1; exit }' /proc/devices; }
printf 'Character devices:\n  1 mem\n  4 ttyS\n  5 /dev/tty\n  5 /dev/ptmx\n136 pts\n%3s media\n%3s dma_heap\n%3s forbidden\n' \
  "$(other cpu/cpuid)" "$(other misc)" "$(other input)" > "$root/board/devices"
cat > "$root/board/rpicam-vid" <<'PROGRAM'
#!/bin/bash
# What libcamera and rpicam-vid do on a Pi before the first picture, as far as a unit can forbid it.
case "$*" in *--help*) exit ;; esac
refused=$(perl -e '
  use Errno qw(EPERM EACCES);
  sub refused { print "$_[0]: $!\n" if $! == EPERM || $! == EACCES }
  for ("/dev/media0", "/dev/dma_heap/linux,cma") { open(my $f, "+<", $_) or refused($_) }
  open(my $f, "<", "/dev/forbidden") and print "/dev/forbidden may be opened\n";
  $! == EPERM or print "/dev/forbidden: $!\n";
  socket(my $s, 16, 3, 15) or print "no socket for udev: $!\n";
  bind($s, pack("SSLL", 16, 0, 0, 2)) or print "not told by udev: $!\n";
  opendir(my $d, "/sys/class") or print "/sys: $!\n";
  ! -e "/run/udev" or opendir($d, "/run/udev/data") or print "/run/udev: $!\n";
  open($f, "<", "/proc/self/maps") or print "/proc/self: $!\n";
  syscall(319, "shared", 1) >= 0 or print "shared memory: $!\n";
')
if [ -n "$refused" ]; then
  echo "$refused" | tr '\n' ';' >&2
  exit 1
fi
for i in {1..20}; do sleep 1000 & done
trap 'kill $(jobs -p)' EXIT
while true; do cat /board/pictures/*.jpg || exit; sleep 0.2; done
PROGRAM
cp packaging/test-service-inside.sh "$root/board/inside.sh"
cat > "$root/etc/systemd/system/tried.service" <<'UNIT'
[Unit]
After=multi-user.target
[Service]
ExecStart=/bin/bash /board/inside.sh
ExecStopPost=/bin/systemctl --no-block poweroff
StandardOutput=file:/said
StandardError=file:/said
UNIT
ln -s ../tried.service "$root/etc/systemd/system/multi-user.target.wants/tried.service" 2>/dev/null ||
  { mkdir -p "$root/etc/systemd/system/multi-user.target.wants" && ln -s ../tried.service "$root/etc/systemd/system/multi-user.target.wants/"; }
# Half a minute of booting and all that is waited for inside, at most.
boot=(timeout 600 systemd-nspawn --quiet --directory="$root" --boot --register=no --keep-unit --console=pipe --system-call-filter=bpf)
# Addresses are filtered by control groups of the second version alone. Where the system mixes both, the container gets those.
# shellcheck disable=SC2016 # the inner shell's arguments
if [ "$(stat -fc %T /sys/fs/cgroup)" != cgroup2fs ] && unshare --mount bash -c "$second" 2>/dev/null; then
  boot=(unshare --mount bash -c "$second"' && exec "$@"' second "${boot[@]}")
fi
"${boot[@]}" < /dev/null > "$root.log" 2>&1 || true
cat "$root/said" 2>/dev/null || { tail -n 20 "$root.log"; rm -f "$root.log"; skip "systemd does not boot in a container here"; }
rm -f "$root.log"
grep -q '^all of it$' "$root/said"
