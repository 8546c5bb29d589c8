#!/usr/bin/env bash
# tools/static.sh [DIR]: builds the minimal engine as one static executable, DIR/translate (default build-static). Debian has
# no static SentencePiece, so it is built from its source archive on PyPI. Needs python3 with pip, cmake, and what any build
# needs (meson, ninja, pkg-config, gcc, g++).
set -euo pipefail
root=$(readlink -f "$0")
root=${root%/tools/*}
dir=$(realpath -m "${1:-$root/build-static}")
version=0.1.99
checksum=189c48f5cb2949288f97ccdb97f0473098d9c3dcf5a3d99d4eabe719ec27297f
made=$dir/sentencepiece

mkdir -p "$made"
if [ ! -f "$made/lib/libsentencepiece.a" ]; then
    python3 -m pip download -q --no-deps --no-binary :all: -d "$made" "sentencepiece==$version"
    printf '%s  %s\n' "$checksum" "$made/sentencepiece-$version.tar.gz" | sha256sum --check --quiet
    tar -xzf "$made/sentencepiece-$version.tar.gz" -C "$made"
    cmake -S "$made/sentencepiece-$version/sentencepiece" -B "$made/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DSPM_ENABLE_SHARED=OFF -DSPM_ENABLE_TCMALLOC=OFF >"$made/cmake.log"
    ninja -C "$made/build" sentencepiece-static >"$made/ninja.log"
    mkdir -p "$made/lib" "$made/include"
    cp "$made/sentencepiece-$version/sentencepiece/src/sentencepiece_processor.h" "$made/include"
    cat >"$made/lib/sentencepiece.pc" <<PC
Name: sentencepiece
Description: SentencePiece
Version: $version
Libs: -L$made/lib -lsentencepiece -lstdc++ -lm
Cflags: -I$made/include
PC
    cp "$made/build/src/libsentencepiece.a" "$made/lib" # the last one: it is looked for above
fi
if [ ! -f "$dir/build.ninja" ]; then
    PKG_CONFIG_PATH=$made/lib meson setup "$dir" "$root" -Dimport=disabled -Dstatic=true -Ddefault_library=static \
        -Dtests=false -Dbench=false -Dhub=disabled -Ddetect=disabled -Dc_link_args=-s -Dcpp_link_args=-s \
        >"$dir/meson.log"
fi
ninja -C "$dir" translate >"$dir/ninja.log"
stat -c '%n, %s bytes' "$dir/translate"
