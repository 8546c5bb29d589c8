#!/bin/sh
# units.sh FOLDER PROGRAM: systemd finds nothing wrong with the units in packaging/systemd, with PROGRAM in place of the
# installed one, and the service is exposed no more than 1.5 of 10.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed "s,@bindir@/translate,$(readlink -f "$2")," "$1/translate.service.in" >"$work/translate.service"
cp "$1/translate.socket" "$work"
cd "$work"
said=$(systemd-analyze verify --man=no ./translate.service ./translate.socket 2>&1) || {
    echo "${said:-systemd-analyze verify failed}"
    exit 1
}
[ -z "$said" ] || { # it warns of misspelt names, and succeeds
    echo "$said"
    exit 1
}
systemd-analyze security --offline=yes --threshold=15 ./translate.service >"$work/exposure" 2>&1 || {
    cat "$work/exposure"
    exit 1
}
tail -n 1 "$work/exposure"
