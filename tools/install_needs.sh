#!/usr/bin/env bash
# install_needs.sh NAME...: installs what the lists NAME_needs of tools/*.sh name, as run.sh and test.sh do. For images.
set -eu
root=$(readlink -f "$0")
root=${root%/tools/*}
# shellcheck source=tools/build.sh
. "$root/tools/build.sh"
# shellcheck source=tools/emulate.sh
. "$root/tools/emulate.sh"
# shellcheck source=tools/engines.sh
. "$root/tools/engines.sh"
needs=()
for name; do
    declare -n list=${name}_needs
    needs+=("${list[@]}")
done
install_needs "${needs[@]}"
