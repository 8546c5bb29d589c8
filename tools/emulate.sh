# shellcheck shell=bash disable=SC2034,SC2154 # variables that the sourcing script sets or uses
# Other CPUs than this one, for test.sh --aarch64 and --avx2. Programs run in QEMU's user mode, which has neither
# AVX-512 nor AVX-VNNI. Source tools/build.sh first.

emulate_needs=('command qemu-x86_64 qemu-user')
aarch64_needs=(
    'command qemu-aarch64 qemu-user'
    'command aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu'
    'command aarch64-linux-gnu-g++ g++-aarch64-linux-gnu'
)
aarch64_packages=(libsentencepiece-dev libjansson-dev libminizip-dev libyaml-dev libunistring-dev zlib1g-dev libcmocka-dev
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
    # libunistring has no file for pkg-config, and the linker must not find the C library beside it.
    mkdir "$dir/links"
    ln -s ../usr/lib/aarch64-linux-gnu/libunistring.so "$dir/links/"
    rm -rf "$dir.apt"
    printf '%s\n' "$packages" >"$dir/.packages"
}

# prepare_aarch64 DIR, prepare_avx2: what must be there before the build. CPUs are given as 'MODEL: LEVELS', the levels being
# those that dispatch must find there; the first is that on which all tests run.
prepare_aarch64() {
    local sysroot=$1/sysroot file=$1/cross.ini
    mkdir -p "$1"
    make_sysroot "$sysroot"
    cat >"$file.new" <<END
[binaries]
c = 'aarch64-linux-gnu-gcc'
cpp = 'aarch64-linux-gnu-g++'
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-aarch64', '-L', '$sysroot', '-cpu', 'max']

[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'

[properties]
needs_exe_wrapper = true
emulator = ['qemu-aarch64', '-L', '$sysroot']
emulated_cpus = ['max: portable neon dotprod i8mm', 'neoverse-n1: portable neon dotprod', 'cortex-a72: portable neon']
sys_root = '$sysroot'
pkg_config_libdir = '$sysroot/usr/lib/aarch64-linux-gnu/pkgconfig'

[built-in options]
c_args = ['-idirafter', '$sysroot/usr/include']
c_link_args = ['-L$sysroot/links', '-Wl,-rpath-link,$sysroot/usr/lib/aarch64-linux-gnu:$sysroot/lib/aarch64-linux-gnu']
cpp_link_args = c_link_args
END
    # An unchanged file stays as it is: Meson configures again when it is newer.
    if cmp -s "$file.new" "$file"; then
        rm "$file.new"
    else
        mv "$file.new" "$file"
    fi
    setup=(--cross-file "$file")
}

# The programs are those of this machine; tools/qemu.sh starts them.
prepare_avx2() {
    export TR_EMULATED='qemu-x86_64; max: portable avx2; Haswell: portable avx2; Nehalem: portable'
}
