#!/usr/bin/env bash
# ./run.sh ARGS...: installs what the build needs and builds, if anything is missing or changed, then runs build/translate ARGS...
set -eu
root=$(readlink -f "$0")
root=${root%/*}
# shellcheck source=tools/build.sh
. "$root/tools/build.sh"

needs=("${build_needs[@]}")
# A build that test.sh made keeps its tests.
options=()
[ -f "$root/build/build.ninja" ] || options=(tests=false bench=false)
is_built "$root/build" || build "$root/build" translate ${options[@]+"${options[@]}"}
exec "$root/build/translate" "$@"
