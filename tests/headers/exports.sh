#!/bin/sh
# exports.sh FOLDER SHARED-LIBRARY STATIC-LIBRARY: the shared library exports exactly the functions that the headers in
# FOLDER/translate mark with TR_API, and the static one defines no name without the prefix tr_. (Instances of C++ templates,
# weak in every program that has them, do not count.)
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat "$1"/translate/*.h | tr '\n' ' ' | grep -o 'TR_API [^(;]*(' | grep -o '[a-z0-9_]*($' | tr -d '(' |
    grep -v '^__attribute__$' | LC_ALL=C sort >"$work/declared"
nm -D --defined-only "$2" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | LC_ALL=C sort >"$work/exported"
[ -s "$work/declared" ]
diff -u "$work/declared" "$work/exported" || { echo "$2: does not export what the headers declare" >&2; exit 1; }

nm -g --defined-only "$3" | awk 'NF == 3 && $2 ~ /[A-Z]/ && $2 !~ /[VWu]/ && $3 !~ /^tr_/ { print $3 }' >"$work/foreign"
[ ! -s "$work/foreign" ] || { cat "$work/foreign"; echo "$3: defines these names without the prefix tr_" >&2; exit 1; }
