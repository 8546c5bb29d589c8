#!/usr/bin/env bash
# Installs what the tests of pages in a browser need: Chromium, a font with Chinese characters, and in build/browser, once
# and again when their list changes, the Python packages of tests/browser/requirements.txt.
set -eu
root=$(readlink -f "$0")
root=${root%/tools/*}
# shellcheck source=tools/build.sh
. "$root/tools/build.sh"

install_needs "${browser_needs[@]}"
install_python "$root/build/browser" tests/browser/requirements.txt
