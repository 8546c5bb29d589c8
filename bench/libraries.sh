#!/bin/sh
# The installed size of the shared libraries that a program loads, the C library's own apart: libraries.sh PROGRAM
set -eu
ldd "$1" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (.*/\1/p' | sort -u | while read -r file; do
    printf '%s %s\n' "$(stat -L -c %s "$file")" "${file##*/}"
done | awk '
    # what glibc and GCC install with every program: glibc itself, libgcc and libstdc++
    $2 ~ /^(libc|libm|libpthread|libdl|ld-linux.*|libgcc_s|libstdc\+\+)\.so/ { system_bytes += $1; next }
    { printf "%10d %s\n", $1, $2; bytes += $1; count++ }
    END { printf "%10d in %d libraries\n%10d in the libraries of C and C++\n", bytes, count, system_bytes }'
