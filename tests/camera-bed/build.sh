#!/bin/sh
# Builds the bed once: a User-Mode Linux kernel with the USB camera driver, and a static busybox. About four CPU minutes and
# 2 GB while it builds, 10 MB kept. Needs Debian or Raspberry Pi OS on x86-64 and:
#   sudo apt install --no-install-recommends bc bison flex gcc make patch xz-utils
# Usage: build.sh DIR      (DIR/linux, DIR/dummy_hcd.ko, DIR/drivers, DIR/busybox; does nothing where they are there)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bed=$1
mkdir -p "$bed"
bed=$(cd "$bed" && pwd)
# In the order in which they are loaded: what the test drivers stand on, then these.
drivers="font cfbfillrect cfbcopyarea cfbimgblt v4l2-tpg v4l2-mem2mem videobuf2-dma-contig vivid vimc vim2m"
[ -x "$bed/linux" ] && [ -f "$bed/dummy_hcd.ko" ] && [ -x "$bed/busybox" ] && [ -f "$bed/drivers/vim2m.ko" ] && exit 0

skip() { echo "$*" >&2; exit 77; }
[ "$(uname -m)" = x86_64 ] || skip "User-Mode Linux runs on x86-64 alone"
for tool in bc bison flex gcc make patch xz apt-get dpkg-deb; do
    command -v "$tool" >/dev/null || skip "$tool is missing: sudo apt install --no-install-recommends bc bison flex gcc make patch xz-utils"
done

work=$bed/build
mkdir -p "$work"
cd "$work"
source_package=$(apt-cache depends linux-source 2>/dev/null | sed -n 's/.*Depends: \(linux-source-[0-9.]*\)$/\1/p' | head -1)
[ -n "$source_package" ] || skip "apt knows no linux-source package: sudo apt update"
ls "$source_package"_*.deb >/dev/null 2>&1 || apt-get download -q "$source_package" >&2 || skip "cannot download $source_package"
ls busybox-static_*.deb >/dev/null 2>&1 || apt-get download -q busybox-static >&2 || skip "cannot download busybox-static"
[ -d "$source_package" ] || { dpkg-deb -x "$source_package"_*.deb unpacked && tar -xf "unpacked/usr/src/$source_package.tar.xz"; }
dpkg-deb -x busybox-static_*.deb busybox-package
# Hosts with AMX have more state a process than this kernel knows.
grep -q host_xstate "$source_package/arch/x86/um/os-Linux/registers.c" || patch -s -d "$source_package" -p1 <"$here/xstate.patch"

mkdir -p kernel
build() { make -s -C "$source_package" ARCH=um O="$work/kernel" "$@" >>"$work/log" 2>&1; }
: >"$work/log"
build KCONFIG_ALLCONFIG="$here/kernel.config" allnoconfig || { tail -5 "$work/log" >&2; exit 1; }
build -j"${JOBS:-$(nproc)}" linux modules || { tail -20 "$work/log" >&2; exit 1; }
strip -o "$bed/linux.new" kernel/linux
cp kernel/drivers/usb/gadget/udc/dummy_hcd.ko "$bed/dummy_hcd.ko"
strip --strip-debug "$bed/dummy_hcd.ko"
mkdir -p "$bed/drivers"
for driver in $drivers; do
    strip --strip-debug -o "$bed/drivers/$driver.ko" "$(find kernel -name "$driver.ko")"
done
cp busybox-package/bin/busybox "$bed/busybox"
mv "$bed/linux.new" "$bed/linux"
cd "$bed"
rm -rf "$work"
