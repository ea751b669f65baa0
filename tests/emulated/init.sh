#!/bin/busybox sh
# The first process of the emulated machine (machine.py): runs each line of /plan, its name and its
# command with a tab between them, and says how it went.
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /tmp
mkdir /dev/shm
mount -t tmpfs tmpfs /dev/shm
export HOME=/tmp PATH=/bin
tab="$(printf '\t')"
while IFS="$tab" read -r name command; do
    echo "@begin $name"
    code=0
    sh -c "$command" </dev/null >/tmp/output 2>&1 || code=$?
    tail -c 6000 /tmp/output
    echo
    echo "@end $code"
done </plan
echo "@done"
sleep 1000000
