#!/bin/sh
# format.sh FOLDER: the C and C++ in it is laid out as clang-format leaves it, in the version of Debian 12; another one would
# lay it out otherwise, and is no reason to fail.
set -eu
version=$(clang-format --version | sed 's/.*version \([0-9]*\).*/\1/')
if [ "$version" != 14 ]; then
    echo "clang-format here is version $version, not 14"
    exit 77
fi
cd "$1"
find include src tests bench examples \( -name '*.[ch]' -o -name '*.cc' \) -print0 |
    xargs -0 -P "$(nproc 2>/dev/null || echo 1)" -n 24 clang-format --dry-run -Werror
