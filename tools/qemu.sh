#!/bin/sh
# qemu.sh PROGRAM ARGS...: how `test.sh --avx2` runs a test. A program of the build runs in QEMU, without AVX-512 and
# AVX-VNNI; a script runs on this CPU and starts programs in QEMU itself.
case $1 in
"${0%/tools/*}"/build/*) exec qemu-x86_64 -cpu max "$@" ;;
*) exec "$@" ;;
esac
