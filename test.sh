#!/usr/bin/env bash
# Installs what the tests need, builds, and runs them. The last line is the total: "N passed, N failed[, N skipped]".
#   ./test.sh [NAME...]    all tests, or those whose name contains a NAME
#   --all                  and the engines that the fixtures come from, live: a Python environment in build/engines, once
#   --werror               warnings are errors
#   --sanitize             in build-asan, with AddressSanitizer and UndefinedBehaviorSanitizer
#   --tsan                 in build-tsan, with ThreadSanitizer, the tests of suite `threads`
#   --minimal              in build-minimal, without the formats of other programs (-Dimport=disabled) and without OpenMP
#   --clang                in build-clang, with clang
#   --aarch64              in build-aarch64, for ARM, under QEMU: the tests of what differs from CPU to CPU (Debian)
#   --avx2                 under QEMU without AVX-512 and AVX-VNNI: these tests
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
options=(tests=true bench=true levels=all documents=enabled hub=enabled detect=enabled serve=enabled)
select=() # arguments of meson test
suite=
wrapper=
runner=()
patterns=()
texts=true # whether the tests of suites `texts` and `browser` run: they do not depend on the compiler
prepare=
live=false
emulated=(kernels network team 'default model' levels)
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
        texts=false
        ;;
    --tsan)
        dir=$root/build-tsan
        options+=(werror=true buildtype=debugoptimized b_sanitize=thread b_lundef=false)
        suite=threads
        # ThreadSanitizer needs fixed addresses, which the address randomisation of some kernels uses.
        ! setarch -R true 2>/dev/null || runner=(setarch -R)
        ;;
    --minimal)
        dir=$root/build-minimal
        options+=(werror=true import=disabled openmp=disabled bench=false documents=auto hub=auto detect=auto serve=auto)
        texts=false
        ;;
    --clang)
        dir=$root/build-clang
        export CC=clang CXX=clang++
        needs+=("${clang_needs[@]}")
        options+=(werror=true)
        texts=false
        # Programs as their users see them are the same with every compiler.
        select+=(--no-suite cli --no-suite hub --no-suite serve)
        ;;
    --aarch64)
        dir=$root/build-aarch64
        needs=("${tool_needs[@]}" "${aarch64_needs[@]}")
        options+=(werror=true bench=false documents=auto hub=auto detect=auto serve=auto)
        prepare=prepare_aarch64
        emulated+=(reference)
        ;;
    --avx2)
        needs+=("${emulate_needs[@]}")
        prepare=prepare_avx2
        wrapper=$root/tools/qemu.sh
        select+=(--wrapper "$wrapper")
        ;;
    -*)
        printf '%s: %s: unknown option\n' "${0##*/}" "$argument" >&2
        exit 2
        ;;
    *) patterns+=("$argument") ;;
    esac
done

if [ "$prepare" ]; then
    "$prepare" "$dir"
    [ ${#patterns[@]} -gt 0 ] || patterns=("${emulated[@]}")
fi
# chosen names|targets: of the selected tests. Only their targets are built.
chosen() { python3 "$root/tools/choose_tests.py" "$1" "$dir" "$suite" "${patterns[@]}"; }
if [ "$suite" ] || [ ${#patterns[@]} -gt 0 ]; then
    "$live" && target=all || target=chosen
    build "$dir" "$target" "${options[@]}"
    mapfile -t names < <(chosen names)
    [ ${#names[@]} -gt 0 ] || fail "no test has a name like that; meson test -C $dir --list shows them"
    select+=("${names[@]}")
else
    build "$dir" all "${options[@]}"
    "$texts" || select+=(--no-suite texts --no-suite browser)
fi

status=0
results=$dir/meson-logs/testlog${wrapper:+-${wrapper##*/}}.json # Meson's name for it
rm -f "$results"
# With a sanitizer or under an emulator, tests take several times as long.
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
