#!/bin/sh
# install.sh SOURCE-FOLDER BUILD-FOLDER PREFIX TOOL MODEL OPTIMISED: installs into an empty folder; the installed tool runs
# from there with the installed model, and the example program compiles against the installed library through pkg-config,
# shared and static, and runs. The installed files are hardened. TOOL and MODEL are where they are to be installed, "" if not
# at all; OPTIMISED: whether the compiler was to. CC is its command.
set -eu
source=$1 build=$2 prefix=$3 tool=$4 model=$5 optimised=$6
sentence=今天天气很好
work=$(mktemp -d)
trap 'rm -rf "$work" "$work.moved"' EXIT
unset TRANSLATE_MODEL TRANSLATE_MODELS TRANSLATE_CPU LD_LIBRARY_PATH

fail() {
    echo "install: $*" >&2
    exit 1
}

meson install -C "$build" --destdir "$work" --no-rebuild >"$work/log" 2>&1 || {
    cat "$work/log"
    fail 'meson install failed'
}
installed=$work$prefix
pc=$(find "$installed" -name libtranslate.pc)
[ -n "$pc" ] || fail 'no libtranslate.pc'
library=$(dirname "$(dirname "$pc")")
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
# The files lie under another prefix than the one they are made for.
flags() { pkg-config --define-variable=prefix="$installed" --cflags --libs "$@" libtranslate; }

# hardened FILE: the flags of the build have had their effect on it (see `hardening` in meson.build).
hardened() {
    readelf -hldWs "$1" >"$work/elf"
    for wanted in 'Type: *DYN' GNU_RELRO 'BIND_NOW\|Flags:.*NOW' 'GNU_STACK .* RW ' ' __stack_chk_fail' $fortified; do
        grep -q "$wanted" "$work/elf" || fail "$1: no \"$wanted\" in what readelf tells"
    done
    ! grep -q '(TEXTREL)' "$work/elf" || fail "$1: has relocations in its code"
    # clang adds the folder of its OpenMP.
    ! grep '(RPATH)\|(RUNPATH)' "$work/elf" | grep -v '\[/usr/lib[^:]*\]' || fail "$1: looks for libraries elsewhere"
    # The linker keeps the mark of branch protection only where the compiler's own objects have it as well.
    [ -z "$protected" ] || readelf -nW "$1" | grep -q "$protected" || fail "$1: is not marked with \"$protected\""
}

fortified=_chk@
[ "$optimised" = true ] || fortified=
case $(uname -m) in
x86_64) protection=-fcf-protection=full mark='x86 feature: IBT, SHSTK' ;;
aarch64) protection=-mbranch-protection=standard mark='AArch64 feature: BTI, PAC' ;;
*) protection='' mark='' ;;
esac
protected=
if [ -n "$mark" ]; then
    members=$(ar t "$library/libtranslate.a" | wc -l)
    marked=$(readelf -nW "$library/libtranslate.a" | grep -c "$mark") || true
    [ "$marked" -eq "$members" ] || fail "libtranslate.a: $marked of $members objects are marked with \"$mark\""
    # shellcheck disable=SC2086 # commands of several words
    echo 'int main(void) { return 0; }' | $CC $protection -x c -o "$work/empty" -
    ! readelf -nW "$work/empty" | grep -q "$mark" || protected=$mark
fi
hardened "$library/libtranslate.so"
for program in "$work$tool" "$installed"/*/translate/translate-*; do
    [ -f "$program" ] || continue
    hardened "$program"
    grep -q INTERP "$work/elf" || fail "$program: is not a program"
done

[ -z "$model" ] || [ -f "$work$model" ] || fail "$model is not installed"

translation=
if [ -n "$tool" ]; then
    "$work$tool" --version | grep -q '[0-9]\.[0-9]' || fail 'translate --version prints no version'
    for place in bash-completion/completions/translate.bash zsh/site-functions/_translate \
        fish/vendor_completions.d/translate.fish; do
        grep -q verbose "$(find "$installed" -path "*/$place")" || fail "$place is not installed"
    done
    if [ -x "$build/translate-pull" ]; then
        # translate-pull must be found; no server listens on this port.
        says=$(HOME=$work HF_ENDPOINT=http://127.0.0.1:1 "$work$tool" pull a/b --retries 0 2>&1) &&
            fail 'pull: succeeds without a server'
        printf '%s\n' "$says" | grep -q '127.0.0.1:1' || fail "translate pull says \"$says\""
    fi
    if [ -n "$model" ] && [ -x "$build/translate-detect" ]; then
        # translate-detect must be found, too.
        says=$("$work$tool" -m "$work$model" -s auto "$sentence") || fail 'translate -s auto failed'
        printf '%s\n' "$says" | grep -q '[A-Za-z]' || fail "translate -s auto prints \"$says\""
        ! readelf -d "$work$tool" | grep -q 'NEEDED.*cld2' || fail 'translate is linked to CLD2'
    fi
    if [ -x "$build/translate-serve" ]; then
        # translate-serve must be found; it is what reads this file.
        says=$("$work$tool" serve --config "$work/none" 2>&1) && fail 'serve: succeeds without its file'
        printf '%s\n' "$says" | grep -q "$work/none: No such file" || fail "translate serve says \"$says\""
        ! readelf -d "$work$tool" | grep -q 'NEEDED.*microhttpd' || fail 'translate is linked to libmicrohttpd'
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

# The program in a page runs as it is there, beside a model.
run_page() { # run_page PAGE
    awk '/^```/ { if (inside) exit; inside = $0 == "```c"; next } inside' "$source/$1" >"$work/page.c"
    # shellcheck disable=SC2046,SC2086
    $CC -std=c11 -Wall -Wextra -Werror -o "$work/page" "$work/page.c" $(flags) || fail "$1: its program does not compile"
    [ -n "$model" ] || return 0
    output=$(cd "${work}${model%/*}" && LD_LIBRARY_PATH=$library "$work/page") || fail "$1: its program failed"
    [ "$output" = "$translation" ] || fail "$1: its program prints \"$output\", the tool \"$translation\""
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
run_page README.md
run_page README.zh.md
for linked in shared static; do
    run_example "$work/$linked-translate"
    run_attention "$work/$linked-attention"
done
