#!/usr/bin/env bash
# tools/static.sh [DIR]: builds the minimal engine as one static executable, DIR/translate (default build-static). Debian has
# no static SentencePiece, so it is built from its source archive on PyPI. Needs python3 with pip, cmake and ninja.
set -euo pipefail
root=$(readlink -f "$0")
root=${root%/tools/*}
dir=$(realpath -m "${1:-$root/build-static}")
version=0.1.99
made=$dir/sentencepiece

mkdir -p "$made"
if [ ! -f "$made/lib/libsentencepiece.a" ]; then
    python3 -m pip download -q --no-deps --no-binary :all: -d "$made" "sentencepiece==$version"
    tar -xzf "$made/sentencepiece-$version.tar.gz" -C "$made"
    cmake -S "$made/sentencepiece-$version/sentencepiece" -B "$made/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DSPM_ENABLE_SHARED=OFF -DSPM_ENABLE_TCMALLOC=OFF >"$made/cmake.log"
    ninja -C "$made/build" sentencepiece-static >"$made/ninja.log"
    mkdir -p "$made/lib" "$made/include"
    cp "$made/build/src/libsentencepiece.a" "$made/lib"
    cp "$made/sentencepiece-$version/sentencepiece/src/sentencepiece_processor.h" "$made/include"
    cat >"$made/lib/sentencepiece.pc" <<PC
Name: sentencepiece
Description: SentencePiece
Version: $version
Libs: -L$made/lib -lsentencepiece -lstdc++ -lm
Cflags: -I$made/include
PC
fi
if [ ! -f "$dir/build.ninja" ]; then
    PKG_CONFIG_PATH=$made/lib meson setup "$dir" "$root" -Dimport=disabled -Dstatic=true -Ddefault_library=static \
        -Dtests=false -Dbench=false -Dhub=disabled -Ddetect=disabled >"$dir/meson.log"
fi
ninja -C "$dir" translate >"$dir/ninja.log"
strip -o "$dir/translate.stripped" "$dir/translate"
mv "$dir/translate.stripped" "$dir/translate"
file -b "$dir/translate" | cut -d, -f1-4
stat -c '%s bytes' "$dir/translate"
