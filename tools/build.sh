# shellcheck shell=bash disable=SC2034,SC2154 # variables that the sourcing script sets or uses
# What run.sh, test.sh, .ci/run and tools/browser.sh share: installing what is needed, and building with Meson.
# The script that sources it sets `root`, the project's folder, and before build() the list `needs`.
# Nothing here writes to stdout or reads stdin: they belong to the user.

c_compiler=${CC:-cc} cpp_compiler=${CXX:-c++}
# KIND NAME PACKAGE...: what must be there, and the Debian and Ubuntu packages that bring it. SentencePiece 0.2 (Debian 13,
# Ubuntu 24.04) asks for protobuf-lite in its pkg-config file, but its package does not bring that.
tool_needs=(
    'command meson meson'
    'command ninja ninja-build'
    'command pkg-config pkg-config'
)
build_needs=(
    "${tool_needs[@]}"
    "command ${c_compiler%% *} gcc"
    "command ${cpp_compiler%% *} g++"
    'library sentencepiece libsentencepiece-dev libprotobuf-dev'
    'library jansson libjansson-dev'
    'library minizip libminizip-dev'
    'library yaml-0.1 libyaml-dev'
    'header unictype.h libunistring-dev'
    'library zlib zlib1g-dev'
)
# What `translate pull` needs; without them the rest is built all the same.
pull_needs=('library libcurl libcurl4-openssl-dev' 'library libcrypto libssl-dev')
# What `translate -s auto` needs; the same.
detect_needs=('header cld2/public/encodings.h libcld2-dev')
# What documents need; the same.
document_needs=('library expat libexpat1-dev' 'library gumbo libgumbo-dev' 'library md4c libmd4c-dev')
# What `translate serve` needs; the same.
serve_needs=('library libmicrohttpd libmicrohttpd-dev')
test_needs=(
    'library cmocka libcmocka-dev'
    "${pull_needs[@]}" "${detect_needs[@]}" "${document_needs[@]}" "${serve_needs[@]}"
)
# What test.sh leaves out where these are missing: checks of texts, units and YAML, completion in other shells.
optional_needs=(
    'command clang-format clang-format'
    'command shellcheck shellcheck'
    'command mandoc mandoc'
    'command zsh zsh'
    'command fish fish'
    'command systemd-analyze systemd'
    'file /usr/share/bash-completion/bash_completion bash-completion'
    'file /usr/lib/python3/dist-packages/yaml/__init__.py python3-yaml'
)
# The same of pages in a browser; tools/browser.sh installs these, and Python packages.
browser_needs=(
    'command chromium chromium'
    'venv python3 python3-venv'
    'file /usr/share/fonts/truetype/wqy/wqy-microhei.ttc fonts-wqy-microhei'
)
# What people use beside them.
developer_needs=(
    'command git git'
    'command ccache ccache'
    'command curl curl'
    'command gdb gdb'
    'file /etc/ssl/certs/ca-certificates.crt ca-certificates'
)
clang_needs=('command clang clang' 'openmp clang libomp-dev')

fail() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

note() { # a message for a person at a terminal
    [ ! -t 2 ] || printf '%s\n' "$1" >&2
}

quietly() { # quietly COMMAND...: shows what the command says only if it fails
    local output
    output=$("$@" 2>&1 </dev/null 9>&-) && return
    printf '%s\n' "$output" >&2
    return 1
}

progress_interval=15 # seconds between two lines of progress where stderr is no terminal
# show_progress: passes on what ninja says, and shows on stderr how far it is.
show_progress() {
    local line said=$SECONDS
    while IFS= read -r line; do
        printf '%s\n' "$line"
        [[ $line =~ ^\[([0-9]+/[0-9]+)\] ]] || continue
        if [ -t 2 ]; then
            printf '\rbuilding %s…' "${BASH_REMATCH[1]}" >&2
        elif ((SECONDS - said >= progress_interval)); then
            said=$SECONDS
            printf 'building %s…\n' "${BASH_REMATCH[1]}" >&2
        fi
    done
    [ ! -t 2 ] || printf '\r\033[K' >&2
}

run_ninja() { # run_ninja DIR TARGET...: shows what ninja says only if it fails
    local output
    output=$(
        set -o pipefail
        NINJA_STATUS='[%f/%t] ' ninja -C "$@" 2>&1 </dev/null 9>&- | show_progress
    ) && return
    printf '%s\n' "$output" >&2
    return 1
}

is_there() { # is_there KIND NAME
    case $1 in
    command) command -v "$2" ;;
    library) pkg-config --exists "$2" ;;
    header) printf '#include <%s>\n' "$2" | ${cpp_compiler} -fsyntax-only -x c++ - ;;
    file) [ -f "$2" ] ;;
    venv) "$2" -c 'import ensurepip, venv' ;;
    openmp) printf '#include <omp.h>\n' | "$2" -fopenmp -fsyntax-only -x c - ;;
    esac >/dev/null 2>&1
}

# list_missing NEED...: sets `packages` and `names` to those that are not there.
list_missing() {
    local need kind name bring
    packages=() names=()
    for need; do
        read -r kind name bring <<<"$need"
        is_there "$kind" "$name" && continue
        names+=("$name")
        # shellcheck disable=SC2206 # several words
        packages+=($bring)
    done
}

install_needs() { # install_needs NEED...
    local packages names
    list_missing "$@"
    [ ${#packages[@]} -gt 0 ] || return 0
    local missing="missing: ${names[*]} (Debian and Ubuntu packages: ${packages[*]})"
    command -v apt-get >/dev/null || fail "$missing; install them and run this again"
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "$missing; install them as root and run this again"
        apt=(sudo "${apt[@]}")
    fi
    local install=("${apt[@]}" install -y --no-install-recommends "${packages[@]}")
    note "installing ${packages[*]}…"
    # The package lists of a fresh machine are empty or old; only then are they fetched.
    if ! quietly "${install[@]}" 2>/dev/null; then
        quietly "${apt[@]}" update || fail "$missing; apt-get update failed"
        quietly "${install[@]}" || fail "$missing; apt-get install failed"
    fi
    list_missing "$@"
    [ ${#packages[@]} -eq 0 ] || fail "still missing after apt-get: ${names[*]}"
}

# install_python DIR LIST: a Python environment in DIR with the packages that the file LIST of the project names, made anew
# when the list changes.
install_python() {
    cmp -s "$root/$2" "$1/.installed" && return
    note "installing Python packages in $1…"
    rm -rf "$1"
    quietly python3 -m venv "$1" || fail "$1: python3 -m venv failed"
    quietly "$1/bin/python" -m pip install -r "$root/$2" || fail "$1: pip install -r $2 failed (it needs the network)"
    cp "$root/$2" "$1/.installed"
}

setup=() # more arguments of meson setup
# configure DIR OPTION=VALUE...: sets DIR up, or changes only the options that differ.
configure() {
    local dir=$1 option
    shift
    if [ ! -f "$dir/build.ninja" ]; then
        note 'configuring…'
        quietly meson setup "$dir" "$root" ${setup[@]+"${setup[@]}"} "${@/#/-D}" || fail "$dir: meson setup failed"
        return
    fi
    for option; do
        grep -qsx "${option%%=*} = ${option#*=}" "$dir/meson-private/cmd_line.txt" ||
            meson configure "$dir" "-D$option" >/dev/null 2>&1 </dev/null 9>&- ||
            quietly meson setup --reconfigure "$dir" "$root" "-D$option" || # the option is newer than the folder
            fail "$dir: meson configure failed"
    done
}

# build DIR TARGET OPTION=VALUE...: one build at a time in DIR; a second one waits, and then has nothing to do: the
# caller's is_built says so for the target `tools`. The target `chosen` is what the caller's function of that name prints.
build() {
    local dir=$1 target=$2 targets
    shift 2
    (
        mkdir -p "$dir"
        exec 9>"$dir/.lock"
        flock 9
        [ "$target" = tools ] && is_built && exit
        install_needs "${needs[@]}"
        configure "$dir" "$@"
        if [ "$target" = chosen ]; then
            quietly ninja -C "$dir" build.ninja || fail "$dir: meson setup failed"
            mapfile -t targets < <(chosen targets)
            [ ${#targets[@]} -eq 0 ] || run_ninja "$dir" "${targets[@]}" || fail "$dir: the build failed"
            exit
        fi
        touch "$dir/.building"
        run_ninja "$dir" "$target" || fail "$dir: the build failed"
        mv "$dir/.building" "$dir/.built"
    )
}
