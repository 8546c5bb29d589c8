#!/bin/sh
# qemu.sh PROGRAM ARGS...: how `test.sh --avx2` runs a test: what was built here in QEMU, without AVX-512 and AVX-VNNI. A
# script starts there what it wants to.
case $1 in
"${0%/tools/*}"/build/*) exec qemu-x86_64 -cpu max "$@" ;;
*) exec "$@" ;;
esac
