#!/bin/sh
# Runs examples/attention.c: check_attention.sh PROGRAM. The shapes; of both heads a row for each word, whose weights
# sum to 1 and leave the padding out.
set -eu
output=$("$1")
printf '%s\n' "$output"
printf '%s\n' "$output" | grep -qxF 'x [1, 4, 8]  heads [1, 2, 4, 4]  weights [1, 2, 4, 4]  out [1, 4, 8]'
printf '%s\n' "$output" | awk '
    $1 == "head" { heads++; if ($3 " " $4 " " $5 " " $6 != "You are welcome PAD") wrong = 1 }
    $1 ~ /^(You|are|welcome|PAD)$/ {
        rows++
        sum = $2 + $3 + $4
        if (NF != 5 || $2 <= 0 || $3 <= 0 || $4 <= 0 || sum < 0.998 || sum > 1.002 || $5 != 0) {
            print "wrong: " $0
            wrong = 1
        }
    }
    END { exit wrong || heads != 2 || rows != 8 }'
