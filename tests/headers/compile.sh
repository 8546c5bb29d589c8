#!/bin/sh
# compile.sh FOLDER: each header in FOLDER/translate compiles alone, and twice, as C11 and as C++17, without a warning.
# CC and CXX are the compilers' commands.
set -eu
compiled=0
for header in "$1"/translate/*.h; do
    name=translate/${header##*/}
    program=$(printf '#include <%s>\n#include <%s>\nint main(void);\nint main(void) { return 0; }\n' "$name" "$name")
    for language in "$CC -std=c11 -x c" "$CXX -std=c++17 -x c++"; do
        # shellcheck disable=SC2086 # a command of several words
        printf '%s\n' "$program" | $language -Wall -Wextra -Werror -pedantic -fsyntax-only -I"$1" - ||
            { echo "$name: does not compile with $language" >&2; exit 1; }
        compiled=$((compiled + 1))
    done
done
[ "$compiled" -ge 2 ]
