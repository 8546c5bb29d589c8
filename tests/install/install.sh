#!/bin/sh
# install.sh SOURCE-FOLDER BUILD-FOLDER PREFIX TOOL MODEL: installs into an empty folder; the installed tool runs from there
# with the installed model, and the example program compiles against the installed library through pkg-config, shared and
# static, and runs. TOOL and MODEL are where they are to be installed, "" if not at all. CC is the compiler's command.
set -eu
source=$1 build=$2 prefix=$3 tool=$4 model=$5
sentence=今天天气很好
work=$(mktemp -d)
trap 'rm -rf "$work" "$work.moved"' EXIT
unset TRANSLATE_MODEL TRANSLATE_MODELS TRANSLATE_CPU LD_LIBRARY_PATH

fail() {
    echo "install: $*" >&2
    exit 1
}

meson install -C "$build" --destdir "$work" --no-rebuild >"$work/log" 2>&1 || { cat "$work/log"; fail 'meson install failed'; }
installed=$work$prefix
pc=$(find "$installed" -name libtranslate.pc)
[ -n "$pc" ] || fail 'no libtranslate.pc'
library=$(dirname "$(dirname "$pc")")
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
# The files lie under another prefix than the one they are made for.
flags() { pkg-config --define-variable=prefix="$installed" --cflags --libs "$@" libtranslate; }

[ -z "$model" ] || [ -f "$work$model" ] || fail "$model is not installed"

translation=
if [ -n "$tool" ]; then
    "$work$tool" --version | grep -q '[0-9]\.[0-9]' || fail 'translate --version prints no version'
    if [ -x "$build/translate-pull" ]; then
        # Its other half must be found; the port is one that nobody listens on.
        says=$(HOME=$work HF_ENDPOINT=http://127.0.0.1:1 "$work$tool" pull a/b --retries 0 2>&1) && fail 'pull: nobody is there'
        printf '%s\n' "$says" | grep -q '127.0.0.1:1' || fail "translate pull says \"$says\""
    fi
    if [ -n "$model" ] && [ -x "$build/translate-detect" ]; then
        # And so must this one.
        says=$("$work$tool" -m "$work$model" -s auto "$sentence") || fail 'translate -s auto failed'
        printf '%s\n' "$says" | grep -q '[A-Za-z]' || fail "translate -s auto prints \"$says\""
        ! readelf -d "$work$tool" | grep -q 'NEEDED.*cld2' || fail 'translate is linked to CLD2'
    fi
    if [ -n "$model" ]; then
        # Moved, so that the tool must find the model beside itself.
        mv "$work" "$work.moved"
        translation=$(cd / && "$work.moved$tool" "$sentence") || fail 'the installed tool failed'
        mv "$work.moved" "$work"
        printf '%s\n' "$translation" | grep -q '[A-Za-z]' || fail "the installed tool prints \"$translation\""
    fi
fi

run_example() { # run_example PROGRAM: it runs, and says what the tool says
    [ -n "$model" ] || return 0
    output=$(LD_LIBRARY_PATH=$library "$1" "$work$model" "$sentence") || fail "$1 failed"
    printf '%s\n' "$output" | grep -q '[A-Za-z]' || fail "$1 prints \"$output\""
    printf '%s\n' "$output" | grep -qF -- "$translation" || fail "$1 prints \"$output\", the tool \"$translation\""
}

run_attention() { # run_attention PROGRAM: the example of the other header
    output=$(LD_LIBRARY_PATH=$library "$1") || fail "$1 failed"
    printf '%s\n' "$output" | grep -q 'weights \[1, 2, 4, 4\]' || fail "$1 prints \"$output\""
}

uses_shared() { readelf -d "$1" | grep -q 'NEEDED.*libtranslate'; }

for name in translate attention; do
    # shellcheck disable=SC2046,SC2086 # commands of several words
    $CC -std=c11 -Wall -Wextra -Werror -o "$work/shared-$name" "$source/examples/$name.c" $(flags) ||
        fail "shared: $name.c does not compile"
    uses_shared "$work/shared-$name" || fail "shared: $name is not linked to libtranslate.so"

    # shellcheck disable=SC2046,SC2086
    $CC -std=c11 -Wall -Wextra -Werror -o "$work/static-$name" "$source/examples/$name.c" \
        $(flags --static | sed 's/-ltranslate/-l:libtranslate.a/') || fail "static: $name.c does not compile"
    ! uses_shared "$work/static-$name" || fail "static: $name is linked to libtranslate.so"
done
for linked in shared static; do
    run_example "$work/$linked-translate"
    run_attention "$work/$linked-attention"
done
