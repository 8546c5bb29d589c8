#!/bin/sh
# links.sh FILE.md...: the targets of links exist. The target of a link [`name`](path) contains the name, such as that of
# a function.
set -eu
failures=0
for page; do
    folder=$(dirname "$page")
    links=$(grep -o '\[[^][]*\]([^)]*)' "$page" | sort -u)
    [ -n "$links" ] || continue
    while IFS= read -r link; do
        name=${link%%](*}
        name=${name#[}
        target=${link##*](}
        target=${target%)}
        path=${target%%#*}
        case $target in
        *:* | '#'*) continue ;;
        esac
        if [ ! -e "$folder/$path" ]; then
            echo "$page: $path is not there"
            failures=$((failures + 1))
            continue
        fi
        case $name in
        '`'*'`')
            name=${name#?}
            name=${name%?}
            if [ -f "$folder/$path" ] && [ "${path##*/}" != "$name" ] && ! grep -qwF -- "$name" "$folder/$path"; then
                echo "$page: $path does not hold $name"
                failures=$((failures + 1))
            fi
            ;;
        esac
    done <<END
$links
END
done
[ "$failures" = 0 ]
