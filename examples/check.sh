#!/bin/sh
# Runs an example: check.sh PROGRAM MODEL. A line out for each text in, none of them empty; one line for a model that
# is missing.
set -eu
output=$("$1" "$2" '今天天气很好' '你好。再见！' '谢谢')
printf '%s\n' "$output"
test "$(printf '%s\n' "$output" | grep -c '[A-Za-z]')" = 3
test "$(printf '%s\n' "$output" | wc -l)" = 3
if message=$("$1" "$2.missing" text 2>&1); then
    echo "a missing model was accepted"
    exit 1
fi
test "$(printf '%s\n' "$message" | wc -l)" = 1
if "$1" 2>/dev/null; then
    echo "missing arguments were accepted"
    exit 1
fi
