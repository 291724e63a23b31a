#!/bin/sh
# Process 1 of the bed. The host's files are the root, read-only; BED, OUT, JOB come from the kernel's command line.
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs run /run
mount -t tmpfs mnt /mnt
mkdir /mnt/out /mnt/tmp
mount -t hostfs -o "$OUT" none /mnt/out
mount -t configfs configfs /sys/kernel/config
export TMPDIR=/mnt/tmp
# Two busses: the camera's and the microcontroller's.
"$BED/busybox" insmod "$BED/dummy_hcd.ko" num=2
sh -c "$(cat /mnt/out/job)" >/mnt/out/log 2>&1
echo $? >/mnt/out/status
sync
exec "$BED/busybox" poweroff -f
