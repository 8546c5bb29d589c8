#!/usr/bin/env bash
# Installs what the tests need, builds, and runs them. The last line is the total: "N passed, N failed[, N skipped]".
#   ./test.sh [NAME...]    all tests, or those whose name contains a NAME
#   --all                  and the engines that the fixtures come from, live: a Python environment in build/engines, once
#   --werror               warnings are errors
#   --sanitize             in build-asan, with AddressSanitizer and UndefinedBehaviorSanitizer
#   --tsan                 in build-tsan, with ThreadSanitizer, the tests of suite `threads`
#   --clang                in build-clang, with clang
#   --aarch64              in build-aarch64, for ARM, under QEMU: the tests of what differs from CPU to CPU (Debian)
#   --avx2                 in build-avx2, under QEMU without AVX-512 and AVX-VNNI: these tests
set -eu
root=$(readlink -f "$0")
root=${root%/*}
# shellcheck source=tools/build.sh
. "$root/tools/build.sh"
# shellcheck source=tools/emulate.sh
. "$root/tools/emulate.sh"
# shellcheck source=tools/engines.sh
. "$root/tools/engines.sh"

dir=$root/build
needs=("${build_needs[@]}" "${test_needs[@]}")
options=(tests=true bench=true)
select=()
runner=()
patterns=()
prepare=
live=false
emulated=(-e kernels -e network -e team -e 'loop detection' -e 'default model' -e levels)
# A test program that a sanitizer stops must not look like one that ended with a status the test expected.
export ASAN_OPTIONS=abort_on_error=1 TSAN_OPTIONS=halt_on_error=1:abort_on_error=1
export UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1:print_stacktrace=1

for argument; do
    case $argument in
    --all) live=true ;;
    --werror) options+=(werror=true) ;;
    --sanitize)
        dir=$root/build-asan
        options+=(werror=true buildtype=debugoptimized 'b_sanitize=address,undefined' b_lundef=false)
        ;;
    --tsan)
        dir=$root/build-tsan
        options+=(werror=true buildtype=debugoptimized b_sanitize=thread b_lundef=false)
        select+=(--suite threads)
        # ThreadSanitizer needs its own places in the address space, which some kernels' randomisation takes.
        ! setarch -R true 2>/dev/null || runner=(setarch -R)
        ;;
    --clang)
        dir=$root/build-clang
        export CC=clang CXX=clang++
        needs+=("${clang_needs[@]}")
        options+=(werror=true)
        ;;
    --aarch64)
        dir=$root/build-aarch64
        needs=("${tool_needs[@]}" "${aarch64_needs[@]}")
        options+=(werror=true bench=false)
        prepare=prepare_aarch64
        emulated+=(-e reference)
        ;;
    --avx2)
        dir=$root/build-avx2
        needs+=("${emulate_needs[@]}")
        options+=(werror=true bench=false)
        prepare=prepare_avx2
        ;;
    -*)
        printf '%s: %s: unknown option\n' "${0##*/}" "$argument" >&2
        exit 2
        ;;
    *) patterns+=(-e "$argument") ;;
    esac
done

if [ "$prepare" ]; then
    "$prepare" "$dir"
    [ ${#patterns[@]} -gt 0 ] || patterns=("${emulated[@]}")
fi
build "$dir" all "${options[@]}"

if [ ${#patterns[@]} -gt 0 ]; then
    # Meson lists "PROJECT:SUITE / NAME", newer ones "SUITE - PROJECT:NAME".
    mapfile -t names < <(meson test -C "$dir" --no-rebuild --list "${select[@]}" 2>/dev/null </dev/null |
        sed -E 's#^[^/]* / ##; t; s#^([^:]* - )?[^:]*:##' | grep -F "${patterns[@]}")
    [ ${#names[@]} -gt 0 ] || fail "no test has a name like that; meson test -C $dir --list shows them"
    select+=("${names[@]}")
fi

status=0
results=$dir/meson-logs/testlog.json
rm -f "$results"
# The tests of a sanitizer or under an emulator take some times as long.
"${runner[@]}" meson test -C "$dir" --no-rebuild --quiet --print-errorlogs --timeout-multiplier 10 "${select[@]}" \
    </dev/null || status=$?

count() { grep -cE "\"result\": \"($1)\"" "$results" || true; }
[ -s "$results" ] || fail 'no test ran'
passed=$(count 'OK|EXPECTEDFAIL')
skipped=$(count SKIP)
failed=$(($(wc -l <"$results") - passed - skipped))
[ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || fail "meson test failed with status $status"
if "$live"; then
    check_engines "$dir/translate"
fi
[ "$skipped" -eq 0 ] && note='' || note=", $skipped skipped"
printf '%d passed, %d failed%s\n' "$passed" "$failed" "$note"
[ "$failed" -eq 0 ]
