#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a program in an emulated machine of several NUMA nodes: pages and threads lie there as on a real one, times mean
# nothing. machine.sh NODES PROCESSORS-A-NODE FOLDER PROGRAM [ARGUMENTS]
# The Linux that it boots is any vmlinuz in FOLDER, where `./dev numa` puts one; else that in /boot. Exits with what the
# program does, or with 77 where emulator, kernel or what makes the root of its file system are not installed.
set -euo pipefail
nodes=$1 processors=$2 folder=$3 program=$4
shift 4

for tool in qemu-system-x86_64 busybox cpio; do
  command -v "$tool" > /dev/null || { echo "numa: no $tool here; ./dev numa installs what it takes"; exit 77; }
done
[[ $(uname -m) == x86_64 ]] || { echo "numa: the emulated machine is x86-64"; exit 77; }
kernel=$({ find "$folder" /boot -maxdepth 2 -name 'vmlinuz-*' -readable 2> /dev/null || true; } | head -1)
[[ -n $kernel ]] || { echo "numa: no kernel in $folder or /boot; ./dev numa fetches one"; exit 77; }

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{bin,proc,sys,dev,tmp,root}
cp "$(command -v busybox)" "$root/bin/busybox"
ldd "$root/bin/busybox" > /dev/null 2>&1 && { echo "numa: busybox is not static (Debian: busybox-static)"; exit 77; }
cp -L "$program" "$root/program"
ldd "$program" | grep -oE '/[^ ]+' | sort -u | while read -r library; do
  mkdir -p "$root$(dirname "$library")"
  cp -L "$library" "$root$library"
done
{
  echo '#!/bin/busybox sh'
  echo '/bin/busybox --install -s /bin; export HOME=/root PATH=/bin TMPDIR=/tmp'
  echo 'mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmpfs /tmp'
  echo 'echo 0 > /proc/sys/kernel/numa_balancing # pages lie where the program puts them, and move_pages sees them'
  printf 'echo "--- output"; /program'
  [[ $# -eq 0 ]] || printf ' %q' "$@"
  echo '; echo "--- status $?"; poweroff -f'
} > "$root/init"
chmod +x "$root/init"
(cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) > "$root.gz"
trap 'rm -rf "$root" "$root.gz"' EXIT

megabytes=768 machine=()
for ((i = 0; i < nodes; i++)); do
  machine+=(-object "memory-backend-ram,size=${megabytes}M,id=m$i"
    -numa "node,memdev=m$i,cpus=$((i * processors))-$(((i + 1) * processors - 1)),nodeid=$i")
done
for ((i = 0; i < nodes; i++)); do
  for ((j = 0; j < nodes; j++)); do
    [[ $i -eq $j ]] || machine+=(-numa "dist,src=$i,dst=$j,val=21")
  done
done
timeout 300 qemu-system-x86_64 -accel tcg,thread=multi -cpu max -m $((nodes * megabytes)) \
  -smp "$((nodes * processors)),sockets=$nodes,cores=$processors,threads=1" "${machine[@]}" -kernel "$kernel" \
  -initrd "$root.gz" -append "console=ttyS0 panic=-1 quiet" -nographic -no-reboot < /dev/null |
  tr -d '\r' | sed 's,\x1b[^a-zA-Z]*[a-zA-Z],,g' > "$root/output" || true
sed -n '/--- output/,$p' "$root/output" | sed '1d;/^--- status/,$d'
status=$(sed -n 's/^--- status //p' "$root/output")
[[ -n $status ]] || { echo "numa: the machine did not come to its end:"; tail -5 "$root/output"; exit 1; }
exit "$status"
