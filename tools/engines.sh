# shellcheck shell=bash disable=SC2034,SC2154 # variables that the sourcing script sets or uses
# For ./test.sh --all: the engines that the fixtures come from, and the scripts that run them again. They are installed in
# build/engines once, and again when their list changes.

engine_needs=('venv python3 python3-venv')
engine_dir=$root/build/engines
# Each makes fixtures, and with --check compares the committed ones with its engine and with this project's program.
engine_scripts=(
    tests/attention/make_fixtures.py
    tests/reference/make_fixtures.py
    tests/scores/make_expected.py
    tests/search/make_search.py
    tests/search/make_coverage.py
    tests/ensemble/make_ensemble.py
    tests/ctranslate2/make_models.py
    tests/formats/make_torch.py
    tests/tokenizer/make_fixtures.py
    tests/tokenizer/make_words.py
    tests/default_model/make_expected.py
    tests/languages/make_models.py
    tests/llama/make_models.py
    tests/argos/make_models.py
    tests/marian/make_models.py
    tests/bergamot/compare.py
    tests/serve/clients_deepl.py
    tests/serve/clients_libretranslate.py
)
# The same with an engine that runs under Node.js: left out where that or npm is missing. Packages:
# tests/engines/package.json.
node_scripts=('tests/bergamot/compare.py --node' 'tests/serve/clients_deepl.py --node')

prepare_node() { # false: there is no Node.js, or nothing to install for it
    local packages=$root/tests/engines/package.json
    command -v node >/dev/null && command -v npm >/dev/null && [ -f "$packages" ] || return 1
    export NODE_PATH=$engine_dir/node_modules
    cmp -s "$packages" "$engine_dir/package.json" && return
    cp "$packages" "$engine_dir/package.json"
    quietly npm install --prefix "$engine_dir" || {
        rm -f "$engine_dir/package.json"
        fail "$engine_dir: npm install failed (it needs the network)"
    }
}

# check_engines TRANSLATE: adds to `passed`, `failed` and `skipped`.
check_engines() {
    local script output words
    install_needs "${engine_needs[@]}"
    install_python "$engine_dir" tests/engines/requirements.txt
    for script in "${engine_scripts[@]}" "${node_scripts[@]}"; do
        read -ra words <<<"$script"
        if [[ $script == *' --node' ]] && ! prepare_node; then
            printf '%-40s skipped: no node, npm or package.json\n' "$script"
            skipped=$((skipped + 1))
        elif output=$(
            "$engine_dir/bin/python" "$root/${words[0]}" --check --tool "$1" "${words[@]:1}" 2>&1 </dev/null
        ); then
            printf '%-40s %s\n' "$script" "${output##*$'\n'}"
            passed=$((passed + 1))
        else
            printf '%s\n%-40s FAILED\n' "$output" "$script"
            failed=$((failed + 1))
        fi
    done
}
