#!/bin/sh
# boot.sh FOLDER: starts systemd with the units of this folder in a root of its own, and asks the server that they start.
# FOLDER is where container/root.py has made the image, whose programs it takes. Needs mmdebstrap, root, and cgroup2.
# shellcheck disable=SC2016 # variables of the shells inside
set -eu
here=$(readlink -f "$(dirname "$0")")
folder=$(readlink -f "$1")
root=$folder/systemd

if [ ! -d "$root" ]; then
    rm -rf "$root.new"
    mmdebstrap --quiet --variant=minbase --include=systemd,procps,curl --format=directory bookworm "$root.new" </dev/null
    rm -r "$root.new/usr/share/doc" # links that the image has as folders
    cp -a "$folder/image/usr/." "$root.new/usr/"
    units=$root.new/etc/systemd/system
    sed 's,@bindir@,/usr/bin,' "$here/translate.service.in" >"$units/translate.service"
    cp "$here/translate.socket" "$units/"
    cp "$here/translate.sysusers" "$root.new/usr/lib/sysusers.d/translate.conf"
    mkdir "$units/sockets.target.wants"
    ln -s ../translate.socket "$units/sockets.target.wants/"
    ln -sf /lib/systemd/system/multi-user.target "$units/default.target"
    : >"$root.new/etc/machine-id"
    # Settings of the kernel are those of this machine, not of the root.
    ln -s /dev/null "$units/systemd-sysctl.service"
    mv "$root.new" "$root"
fi

group=$(sed -n 's/^[^ ]* \([^ ]*\) cgroup2 .*/\1/p;T;q' /proc/mounts)/translate-boot-$$
mkdir "$group"
leave() {
    status=$?
    [ "$status" -eq 0 ] || inside journalctl --no-pager -n 20 || true
    kill -KILL "$init" 2>/dev/null || true # and with it all in its namespace
    sleep 1
    find "$group" -depth -type d -exec rmdir {} +
    exit "$status"
}
unshare --mount --pid --ipc --uts --net --fork --kill-child sh -c '
    root=$1
    echo 0 >"$2/cgroup.procs"
    exec unshare --cgroup sh -c "
        set -eu
        cd \"\$1\"
        mount --bind . .
        cd \"\$1\"
        mount -t proc proc proc
        mount -t sysfs sysfs sys
        mount -t cgroup2 cgroup2 sys/fs/cgroup
        mount -t tmpfs -o mode=755 tmpfs dev
        for device in full null random tty urandom zero; do
            : >dev/\$device
            mount --bind /dev/\$device dev/\$device
        done
        ln -s /proc/self/fd dev/fd
        mkdir dev/pts
        mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
        ln -s pts/ptmx dev/ptmx
        mount -t tmpfs tmpfs run
        mount -t tmpfs tmpfs tmp
        pivot_root . mnt
        umount -l mnt
        exec env -i container=boot PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system
    " sh "$root"' sh "$root" "$group" </dev/null >/dev/null 2>&1 &
unshare=$!
init=$unshare
trap leave EXIT
sleep 1
init=$(cat "/proc/$unshare/task/$unshare/children")

inside() { nsenter --target "${init% }" --mount --pid --ipc --uts --net --cgroup --root --wd "$@"; }
ask() { inside curl -sS --max-time 60 "127.0.0.1:5000/$1" -d q=今天天气很好 -d source=zh -d target=en; }

for _ in $(seq 60); do
    inside systemctl is-system-running --quiet 2>/dev/null && break
    sleep 1
done
inside systemctl is-system-running
inside systemctl is-active translate.socket
ask translate
echo
inside sh -c 'process=$(systemctl show -p MainPID --value translate)
    grep -E "^(Uid|CapBnd|NoNewPrivs|Seccomp):" /proc/$process/status
    systemd-analyze security --no-pager translate | tail -n 1'
inside systemctl reload translate
# A restart refuses nobody.
(for _ in $(seq 100); do ask detect || true; echo; done) >"$folder/asked" 2>&1 &
sleep 0.2
inside systemctl restart translate
wait $!
[ "$(grep -c '"language"' "$folder/asked")" -eq 100 ] || {
    grep -v '"language"' "$folder/asked"
    exit 1
}
inside systemctl stop translate.socket translate.service
[ "$(inside systemctl show -p Result --value translate)" = success ]
echo 'all 100 requests during a restart were answered; stopped'
