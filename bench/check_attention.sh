#!/bin/sh
# Runs bench/attention.c: check_attention.sh PROGRAM. A line of JSON for each kind; exact attention has no error, and neither
# has a window over everything; a pattern shows the window.
set -eu
fail() {
    echo "bench attention: $*" >&2
    exit 1
}
output=$("$1" --rounds 1 --threads 1 --heads 2 --size 16 70 \
    exact local:80 local:4 block-sparse:16,1,1,2 linear low-rank:8 pool:4)
printf '%s\n' "$output"
[ "$(printf '%s\n' "$output" | grep -c '^{"kind": .*"median_ms": [0-9.]*, .*"error": .*"working_bytes": .*}$')" = 7 ] ||
    fail 'not a line for each kind'
error() { printf '%s\n' "$output" | sed -n "s/^{\"kind\": \"$1\".*\"error\": \([^,]*\),.*/\1/p"; }
[ "$(error exact)" = 0.000e+00 ] || fail "exact attention is off by $(error exact)"
awk "BEGIN { exit !($(error local:80) < 1e-6) }" || fail "a window over everything is off by $(error local:80)"
awk "BEGIN { exit !($(error local:4) > 1e-2) }" || fail "a window of four is off by $(error local:4) only"
[ "$("$1" --pattern 4 local:1 | tr '\n' ' ')" = 'local:1 ##.. ###. .### ..## ' ] || fail 'the pattern of a window'
[ "$(printf '\n\n' | "$1" --follow 8 linear | grep -c '^$')" = 3 ] || fail 'a round for each line'
if "$1" 8 circular 2>/dev/null; then
    fail 'a kind that there is not was accepted'
fi
