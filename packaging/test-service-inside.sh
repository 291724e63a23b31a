#!/usr/bin/env bash
# What test-service.sh does inside the booted system.
set -euo pipefail
say() { echo "ok: $*"; }
fail() {
  echo "FAIL: $*"
  systemctl --no-pager --lines=0 status posewire || true
  journalctl --no-pager -u posewire -n 40 || true
  exit 1
}
until_so() {
  local what=$1 i
  shift
  for ((i = 0; i < 300; i++)); do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.1
  done
  fail "$what"
}
property() { systemctl show -P "$1" posewire; }
told() { journalctl --no-pager -u posewire -o cat | grep -q "$1"; }
is_active() { [ "$(property ActiveState)" = active ]; }
lines() { wc -l < /var/lib/posewire/poses.jsonl 2>/dev/null || echo 0; }
more_lines_than() { [ "$(lines)" -gt $(("$1" + 3)) ]; }
camera() { cp /board/camera /board/dev/.video0 && mv /board/dev/.video0 /board/dev/video0; }

export DEBIAN_FRONTEND=noninteractive
dpkg --install /posewire.deb >/dev/null
[ "$(systemctl is-enabled posewire || true)" = disabled ] || fail "installing enables it"
cat > /etc/posewire.toml <<'TOML'
[serial]
port = "/run/ttyLATER"
[jsonl]
path = "/var/lib/posewire/poses.jsonl"
[models]
keypoints = "nano"
TOML
# The service alone reads it, and who may use ports: the mode of a configuration with a password.
chgrp dialout /etc/posewire.toml
chmod 640 /etc/posewire.toml
mkdir -p /etc/systemd/system/posewire.service.d
printf '[Service]\nEnvironment=LD_PRELOAD=/board/nodes.so BOARD=/board\n' > /etc/systemd/system/posewire.service.d/imitated.conf
# Nodes whose drivers are not loaded: nothing of them is in /proc/devices while the unit starts.
unloaded=
for node in "ttyUSB9 188 9" "ttyACM9 166 9" "video9 81 9"; do
  read -r name major minor <<< "$node"
  if grep -q "^ *$major " /proc/devices; then
    say "SKIPPED: $name: this kernel has its driver loaded"
    continue
  fi
  unloaded+=" /dev/$name"
  mknod -m 666 "/dev/$name" c "$major" "$minor"
done
cat > /etc/systemd/system/posewire.service.d/unloaded.conf <<UNIT
[Service]
ExecStartPre=/usr/bin/env -u LD_PRELOAD perl -MErrno=EPERM -e 'for (@ARGV) { open(my \$f, "+<", \$_) or \$! != EPERM or print "forbidden: \$_\\n" }'$unloaded
UNIT
systemctl daemon-reload

began=$(date +%s%N)
systemctl enable --now posewire 2>/dev/null
say "ready $((($(date +%s%N) - began) / 1000000)) ms after the start, without camera and port"
until_so "it does not say that it waits" told "no camera found.*waiting for it"
sleep 12
is_active || fail "it ended"
[ "$(property NRestarts)" = 0 ] || fail "started again $(property NRestarts) times"
[ "$(lines)" = 0 ] || fail "poses of nobody"
! told '^forbidden: ' || fail "what is plugged in later is forbidden: $(journalctl --no-pager -u posewire -o cat | grep '^forbidden: ' | tr '\n' ' ')"
rm /etc/systemd/system/posewire.service.d/unloaded.conf
systemctl daemon-reload
[ -z "$unloaded" ] || say "ports and cameras whose drivers are loaded later are allowed from the start:$unloaded"
say "12 s later: running still, nobody shown, $(journalctl --no-pager -u posewire -o cat | wc -l) lines in the journal"

perl -e '
  open(my $hand, "+<", "/dev/ptmx") or die; my ($zero, $number) = (pack("i", 0), pack("i", 0));
  ioctl($hand, 0x40045431, $zero) or die; ioctl($hand, 0x80045430, $number) or die;
  my $path = "/dev/pts/" . unpack("i", $number);
  chmod(0660, $path); chown(0, scalar(getgrnam("dialout")), $path); symlink($path, "/run/ttyLATER") or die;
  open(my $heard, ">", "/heard") or die; $heard->autoflush(1);
  my $bytes; while (1) { if (defined(sysread($hand, $bytes, 4096))) { print $heard $bytes } else { select(undef, undef, undef, 0.1) } }
' &
until_so "nothing on the port that came" test -s /heard
say "the port that came is spoken to; its group alone may open it"

camera
until_so "the camera that came is not opened" more_lines_than 0
say "the camera that came gives poses"
rm /board/dev/video0
until_so "the loss is not told" told "opening it again"
sleep 2
is_active || fail "it ended with its camera"
before=$(lines)
camera
until_so "the camera is not found again" more_lines_than "$before"
say "the camera that was pulled out and put back gives poses again"

pid=$(property MainPID)
if [ "$(awk '{ print $1 ":" $3; exit }' "/proc/$pid/uid_map")" != "0:4294967295" ]; then say "a user namespace of its own"; else fail "PrivateUsers"; fi
status() { awk -v name="$1:" '$1 == name { print $2 }' "/proc/$pid/status"; }
[ "$(status CapEff)" = 0000000000000000 ] || fail "capabilities $(status CapEff)"
[ "$(status NoNewPrivs) $(status Seccomp)" = "1 2" ] || fail "no filter of system calls"
if nsenter -t "$pid" -m touch /etc/written 2>/dev/null; then fail "it may write to /etc"; fi
nsenter -t "$pid" -m test ! -e /proc/meminfo || fail "all of /proc is there"
say "no capabilities, filtered system calls, /etc read-only, of /proc its own; $(status VmRSS) KiB of $(property MemoryMax) bytes"

dpkg --install /posewire.deb >/dev/null
is_another() { [ "$(property MainPID)" != "$pid" ]; }
until_so "the upgrade leaves the old one running" is_another
until_so "it does not run after the upgrade" is_active
before=$(lines)
until_so "no poses after the upgrade" more_lines_than "$before"
say "an upgrade starts it again, and lines go on in the same file"

pid=$(property MainPID)
kill -KILL "$pid"
is_again() { [ "$(property NRestarts)" = 1 ] && is_active; }
until_so "killed, it is not started again" is_again
say "killed, it is started again"

if [ -s /board/clip.mp4 ]; then
  printf '[source]\nreplay = "/board/clip.mp4"\n[jsonl]\npath = "/var/lib/posewire/mp4.jsonl"\n' > /etc/posewire.toml
  systemctl restart posewire
  is_over() { [ "$(property ActiveState) $(property ExecMainStatus)" = "inactive 0" ]; }
  until_so "an MP4 is not played to its end" is_over
  played=$(wc -l < /var/lib/posewire/mp4.jsonl)
  [ "$played" -gt 0 ] || fail "an MP4 gives no poses"
  say "an MP4 is played to its end inside the sandbox, through ffmpeg: $played lines"
fi

# A camera on the board's connector, through a stand-in for the maker's program that first looks for what libcamera needs.
install -m 755 /board/rpicam-vid /usr/local/bin/rpicam-vid
# Device nodes as a Pi has them, by numbers that this kernel has given to something else.
mount --bind /board/devices /proc/devices
mkdir -p /dev/dma_heap
media=$(awk '$2 == "media" { print $1 }' /proc/devices) heap=$(awk '$2 == "dma_heap" { print $1 }' /proc/devices)
mknod -m 660 /dev/media0 c "$media" 0
mknod -m 660 /dev/dma_heap/linux,cma c "$heap" 200
mknod -m 666 /dev/forbidden c "$(awk '$2 == "forbidden" { print $1 }' /proc/devices)" 0
chgrp video /dev/media0 /dev/dma_heap/linux,cma
printf '[source]\ncamera = "csi"\n[jsonl]\npath = "/var/lib/posewire/csi.jsonl"\n[models]\nkeypoints = "nano"\n' > /etc/posewire.toml
systemctl restart posewire
csi_lines() { [ "$(wc -l < /var/lib/posewire/csi.jsonl)" -gt 5 ]; }
until_so "a camera's program gives no poses" csi_lines
told 'CSI camera 0' || fail "it does not say which camera it is"
say "--camera csi: its program has media and DMA heap nodes, udev's messages, shared memory and twenty threads, and no other device"

# Addresses: the network is closed twice. One door opened, the other has to hold.
printf '[source]\ncamera = "csi"\n[udp]\naddress = "127.0.0.1:9999"\n[models]\nkeypoints = "nano"\n' > /etc/posewire.toml
perl -MIO::Socket::INET -e '
  my $s = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => 9999, Proto => "udp") or die;
  open(my $heard, ">>", "/heard-udp") or die; $heard->autoflush(1);
  my $b; while (defined($s->recv($b, 65535))) { print $heard "x" }
' &
dropin=/etc/systemd/system/posewire.service.d/network.conf
heard() { stat -c %s /heard-udp 2>/dev/null || echo 0; }
through() { [ "$(heard)" -gt 2 ]; }
printf '[Service]\nRestrictAddressFamilies=AF_INET\n' > "$dropin"
systemctl daemon-reload
systemctl restart posewire
sleep 6
is_active || fail "it ended where no datagram may be sent"
if [ "$(stat -fc %T /sys/fs/cgroup)" = cgroup2fs ]; then
  [ "$(heard)" = 0 ] || fail "IPAddressDeny lets $(heard) datagrams through"
  say "IPAddressDeny alone stops every datagram: $(journalctl --no-pager -u posewire -o cat | grep -im 1 'permitted\|denied' || echo 'the log says nothing')"
else
  echo "SKIPPED: IPAddressDeny needs control groups of the second version: $(heard) datagrams went through"
fi
printf '[Service]\nRestrictAddressFamilies=AF_INET AF_INET6\nIPAddressDeny=\n' > "$dropin"
systemctl daemon-reload
systemctl restart posewire
: > /heard-udp
until_so "with both lines of the page nothing is sent" through
rm "$dropin"
systemctl daemon-reload
say "with the two lines of the page datagrams go out"

# What lies in a home is hidden from it.
mkdir -p /home/pi /etc/posewire
for folder in /home/pi /etc/posewire; do
  printf '[[zone]]\nname = "door"\npolygon = [[0.1, 0.5], [0.4, 0.5], [0.4, 1.0]]\n' > "$folder/zones.toml"
  printf '[events]\npath = "/var/lib/posewire/events.jsonl"\nzones = "%s/zones.toml"\n' "$folder" > /etc/posewire.toml
  systemctl restart posewire 2>/dev/null || true
  [ "$folder" != /home/pi ] || until_so "it does not say that zones in a home cannot be read" told "/home/pi/zones.toml: cannot be read"
done
until_so "zones in /etc/posewire are not read" is_active
say "zones are read below /etc/posewire, not in a home, and that is said"

printf '[serial]\nbuad = 1\n' > /etc/posewire.toml
systemctl restart posewire 2>/dev/null || true
sleep 8
[ "$(property ActiveState) $(property ExecMainStatus)" = "failed 2" ] || fail "a mistake in the configuration: $(property ActiveState), $(property ExecMainStatus)"
say "a mistake in the configuration ends it with status 2, once"

exposure=$(systemd-analyze security --no-pager posewire | sed -n 's/.*level for posewire.service: \([0-9.]*\) .*/\1/p')
awk -v e="$exposure" 'BEGIN { exit !(e != "" && e <= 1.2) }' || fail "systemd-analyze security: $exposure"
say "systemd-analyze security: $exposure (at most 1.2)"

dpkg --purge posewire >/dev/null 2>&1
[ ! -e /usr/bin/posewire ] || fail "purged, the program is left"
[ ! -e /var/lib/private/posewire ] || fail "purged, its state is left"
[ "$(systemctl is-enabled posewire 2>/dev/null || true)" != enabled ] || fail "purged, it is enabled still"
say "purged"
echo "all of it"
