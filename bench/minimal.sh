#!/usr/bin/env bash
# bench/minimal.sh [DIR]: what the minimal engine and its command are made of (meson -Dimport=disabled, in DIR or in
# build-size): source files and lines that are compiled, bytes of the stripped program, libraries that it loads.
set -euo pipefail
root=$(readlink -f "$0")
root=${root%/bench/*}
dir=$(realpath -m "${1:-$root/build-size}")
[ -f "$dir/build.ninja" ] || meson setup "$dir" "$root" -Dimport=disabled -Dtests=false -Dbench=false -Dhub=disabled \
    -Ddetect=disabled >/dev/null
ninja -C "$dir" translate >/dev/null

# Each source and each header of the project that the program's objects depend on.
list=$(ninja -C "$dir" -t deps | sed -n 's/^    //p' | while read -r file; do realpath -m "$dir/$file"; done |
    grep -E "^$root/(src|include)/" | sort -u)
engine=$(grep -v "/src/cli/" <<<"$list")
count() { printf '%s: %d files, %d lines\n' "$1" "$(wc -l <<<"$2")" "$(xargs cat <<<"$2" | wc -l)"; }
count 'engine and command' "$list"
count 'engine' "$engine"
strip -o "$dir/translate.stripped" "$dir/translate"
printf 'program: %d bytes, stripped\n' "$(stat -c %s "$dir/translate.stripped")"
"$root/bench/libraries.sh" "$dir/translate"
