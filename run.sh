#!/usr/bin/env bash
# ./run.sh ARGS...: installs what the build needs and builds, if anything is missing or changed, then runs
# build/translate ARGS...
set -eu
root=$0
[ ! -L "$root" ] || root=$(readlink -f "$root")
case $root in
*/*) root=${root%/*} ;;
*) root=. ;;
esac

# Nothing that the tool is made of is newer than its last build. Folders count too: a file that was removed leaves its folder
# newer.
is_built() {
    [ -x "$root/build/translate" ] && [ -f "$root/build/.built" ] &&
        [ -z "$(find "$root/src" "$root/include" "$root/tools/embed.py" "$root"/meson* -newer "$root/build/.built" \
            -print -quit)" ]
}

more=() # helper programs to build, which not everybody needs
# Only downloads need libcurl; a build without it is configured and built again.
[ "${1-}" != pull ] || [ -x "$root/build/translate-pull" ] || more+=(hub)
# Only the server needs libmicrohttpd; it detects languages, and translates documents.
if [ "${1-}" = serve ]; then
    [ -x "$root/build/translate-serve" ] || more+=(serve)
    [ -x "$root/build/translate-detect" ] || more+=(detect)
    [ -f "$root/build/translate-document.so" ] || more+=(documents)
fi
# Only language detection needs CLD2.
case " $* " in
*' -s auto '* | *' -sauto '* | *' --source auto '* | *' --source=auto '*)
    [ -x "$root/build/translate-detect" ] || more+=(detect)
    ;;
esac
# Only documents need their readers, and the libraries of these.
case " $* " in
*' --format '* | *' --format='* | *' --paragraphs '* | *' --bilingual '* | *' -O'* | *' --output-dir'* | *.csv' '* | \
    *.docx' '* | *.epub' '* | *.htm' '* | *.html' '* | *.json' '* | *.md' '* | *.odt' '* | *.po' '* | *.pptx' '* | \
    *.srt' '* | *.tsv' '* | *.vtt' '* | *.xlf' '* | *.xliff' '* | *.xlsx' '* | *.xml' '* | *.yaml' '* | *.yml' '*)
    [ -f "$root/build/translate-document.so" ] || more+=(documents)
    ;;
esac
if [ ${#more[@]} -eq 0 ] && is_built; then
    exec "$root/build/translate" "$@"
fi

root=$(readlink -f "$root")
# shellcheck source=tools/build.sh
. "$root/tools/build.sh"
needs=("${build_needs[@]}")
# A build that test.sh made keeps its tests.
options=()
[ -f "$root/build/build.ninja" ] || options=(tests=false bench=false levels=native documents=disabled serve=disabled)
for helper in ${more[@]+"${more[@]}"}; do
    case $helper in
    hub) needs+=("${pull_needs[@]}") ;;
    detect) needs+=("${detect_needs[@]}") ;;
    serve) needs+=("${serve_needs[@]}") ;;
    documents) needs+=("${document_needs[@]}") ;;
    esac
    options+=("$helper=enabled")
    rm -f "$root/build/.built"
done
build "$root/build" tools ${options[@]+"${options[@]}"}
exec "$root/build/translate" "$@"
