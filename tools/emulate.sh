# shellcheck shell=bash disable=SC2034,SC2154 # variables that the sourcing script sets or uses
# Builds for CPUs that this one is not: what test.sh --aarch64 and --avx2 need. Programs run in QEMU's user mode, which has
# neither AVX-512 nor AVX-VNNI. Source tools/build.sh first.

emulate_needs=('command qemu-x86_64 qemu-user')
aarch64_needs=(
    'command qemu-aarch64 qemu-user'
    'command aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu'
    'command aarch64-linux-gnu-g++ g++-aarch64-linux-gnu'
)
aarch64_packages=(libsentencepiece-dev libjansson-dev libminizip-dev libyaml-dev libicu-dev zlib1g-dev libcmocka-dev
    libgomp1)

# make_sysroot DIR: Debian's arm64 libraries, unpacked into DIR by an apt-get with a state of its own: neither this machine's
# packages nor its architectures change.
make_sysroot() {
    local dir=$1 packages="${aarch64_packages[*]}" package
    [ "$(cat "$dir/.packages" 2>/dev/null)" != "$packages" ] || return 0
    command -v apt-get >/dev/null || fail "libraries for aarch64 come from Debian ($packages), and there is no apt-get"
    note "fetching libraries for aarch64…"
    rm -rf "$dir" "$dir.apt"
    mkdir -p "$dir" "$dir.apt/state/lists/partial" "$dir.apt/cache/archives/partial"
    : >"$dir.apt/status"
    local apt=(apt-get -q -o "Dir::State=$dir.apt/state" -o "Dir::State::status=$dir.apt/status"
        -o "Dir::Cache=$dir.apt/cache" -o APT::Architecture=arm64 -o APT::Architectures=arm64
        -o APT::Install-Recommends=false -o Debug::NoLocking=true)
    quietly "${apt[@]}" update || fail 'apt-get update for arm64 failed'
    quietly "${apt[@]}" install -y --download-only "${aarch64_packages[@]}" || fail "$packages for arm64: apt-get failed"
    for package in "$dir.apt/cache/archives/"*.deb; do
        quietly dpkg-deb -x "$package" "$dir" || fail "$package: cannot be unpacked"
    done
    rm -rf "$dir.apt"
    printf '%s\n' "$packages" >"$dir/.packages"
}

# write_cross_file FILE ARCHITECTURE CPUS EMULATOR...: CPUS is a list of 'MODEL: LEVELS', in Meson's words, that dispatch
# must find there; the first is that on which all tests run.
write_cross_file() {
    local file=$1 architecture=$2 cpus=$3 word prefix='' emulator=''
    shift 3
    for word; do
        emulator+="'$word', "
    done
    [ "$architecture" = x86_64 ] || prefix=$architecture-linux-gnu-
    local main=${cpus%%:*}
    main=${main#"'"}
    cat >"$file.new" <<END
[binaries]
c = '${prefix}gcc'
cpp = '${prefix}g++'
ar = '${prefix}ar'
strip = '${prefix}strip'
pkgconfig = 'pkg-config'
exe_wrapper = [$emulator'-cpu', '$main']

[host_machine]
system = 'linux'
cpu_family = '$architecture'
cpu = '$architecture'
endian = 'little'

[properties]
needs_exe_wrapper = true
emulator = [$emulator]
emulated_cpus = [$cpus]
END
    [ "$architecture" = x86_64 ] || cat >>"$file.new" <<END
sys_root = '$sysroot'
pkg_config_libdir = '$sysroot/usr/lib/$architecture-linux-gnu/pkgconfig'

[built-in options]
c_link_args = ['-Wl,-rpath-link,$sysroot/usr/lib/$architecture-linux-gnu:$sysroot/lib/$architecture-linux-gnu']
cpp_link_args = c_link_args
END
    # An unchanged file stays as it is: Meson configures again when it is newer.
    if cmp -s "$file.new" "$file"; then
        rm "$file.new"
    else
        mv "$file.new" "$file"
    fi
}

# prepare_aarch64 DIR, prepare_avx2 DIR: what must be there before build DIR; set `setup`, options of meson setup.
prepare_aarch64() {
    local sysroot=$1/sysroot
    mkdir -p "$1"
    make_sysroot "$sysroot"
    write_cross_file "$1/cross.ini" aarch64 "'max: portable neon dotprod i8mm', 'neoverse-n1: portable neon dotprod',
  'cortex-a72: portable neon'" qemu-aarch64 -L "$sysroot"
    setup=(--cross-file "$1/cross.ini")
}

prepare_avx2() {
    mkdir -p "$1"
    write_cross_file "$1/cross.ini" x86_64 "'max: portable avx2', 'Haswell: portable avx2', 'Nehalem: portable'" qemu-x86_64
    setup=(--cross-file "$1/cross.ini")
}
