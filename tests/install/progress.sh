#!/usr/bin/env bash
# What tools/build.sh shows of a build, with a ninja that only talks: progress.sh SOURCE
set -euo pipefail
root=$1
fail() {
    echo "progress: $*" >&2
    exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/ninja" <<'END'
#!/bin/sh
echo "ninja: Entering directory"
[ "$3" != nothing ] || { echo 'ninja: no work to do.'; exit; }
printf '%s\n' '[1/2] cc a.c' '[2/2] cc b.c'
[ "$3" != broken ] || { echo 'b.c:1: error'; exit 1; }
END
chmod +x "$work/ninja"
# run INTERVAL TARGET: prints what goes to stderr, and "stdout: ..." if anything goes there.
run() {
    # shellcheck disable=SC2016 # for the inner bash
    PATH=$work:$PATH bash -c '. "$1/tools/build.sh"
        progress_interval=$2
        run_ninja dir "$3"' _ "$root" "$1" "$2" >"$work/stdout" 2>"$work/stderr" && status=0 || status=$?
    cat "$work/stderr"
    sed 's/^/stdout: /' "$work/stdout"
    return "$status"
}
[ -z "$(run 0 nothing)" ] || fail 'says something where there is nothing to build'
[ -z "$(run 15 all)" ] || fail 'says something in the first seconds'
[ "$(run 0 all)" = $'building 1/2…\nbuilding 2/2…' ] || fail 'does not say how far it is'
said=$(run 15 broken) && fail 'a build that failed counts as done'
[[ $said == *'b.c:1: error'* ]] || fail 'does not show the error'
