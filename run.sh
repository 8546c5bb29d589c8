#!/usr/bin/env bash
# ./run.sh ARGS...: installs what the build needs and builds, if anything is missing or changed, then runs
# build/translate ARGS...
set -eu
root=$(readlink -f "$0")
root=${root%/*}
# shellcheck source=tools/build.sh
. "$root/tools/build.sh"

needs=("${build_needs[@]}")
# A build that test.sh made keeps its tests.
options=()
[ -f "$root/build/build.ninja" ] || options=(tests=false bench=false)
# Only downloads need libcurl; a build without it is configured and built again.
if [ "${1-}" = pull ] && [ ! -x "$root/build/translate-pull" ]; then
    needs+=("${pull_needs[@]}")
    options+=(hub=enabled)
    rm -f "$root/build/.built"
fi
# Only language detection needs CLD2.
case " $* " in
*' -s auto '* | *' -sauto '* | *' --source auto '* | *' --source=auto '*)
    if [ ! -x "$root/build/translate-detect" ]; then
        needs+=("${detect_needs[@]}")
        options+=(detect=enabled)
        rm -f "$root/build/.built"
    fi
    ;;
esac
is_built "$root/build" || build "$root/build" tools ${options[@]+"${options[@]}"}
exec "$root/build/translate" "$@"
