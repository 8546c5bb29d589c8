#!/usr/bin/env bash
# A compiler that does not know some CPU levels: they are left out. old_compiler.sh SOURCE COMPILER...
set -euo pipefail
root=$1
shift
fail() {
    echo "old compiler: $*" >&2
    exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/cc" <<'END'
#!/bin/sh
for argument; do
    case $argument in
    -mavx512bf16 | -mamx-int8)
        echo "error: unrecognized command-line option '$argument'" >&2
        exit 1
        ;;
    esac
done
END
printf 'exec %s "$@"\n' "$*" >>"$work/cc"
chmod +x "$work/cc"
CC=$work/cc meson setup "$work/build" "$root" -Dtests=false -Dbench=false >"$work/log" 2>&1 ||
    fail "meson setup failed: $(tail -n 5 "$work/log")"
levels=$(sed -n 's/#define TR_COMPILED_LEVELS //p' "$work/build/src/kernels/compiled_levels.h")
[[ $levels == *'LEVEL(avx512vnni)' ]] || fail "compiles $levels"
! grep -q 'level_amx.c' "$work/build/build.ninja" || fail 'compiles amx all the same'
