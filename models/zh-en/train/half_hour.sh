#!/usr/bin/env bash
# Half an hour on a lent GPU, from a prepared corpus to a model (README.md, "On a GPU for half an hour").
#
#   half_hour.sh run WORK             all stages; those that WORK has the results of are passed over
#   half_hour.sh wait WORK SECONDS    waits for `run` to end, SECONDS at most, and tells how far it is
#   half_hour.sh deliver WORK OUT     what there is by now, in files of at most 15 MiB
#
# WORK/data is what corpus.py and tokenizer.py wrote. The student gets the seconds that the other stages leave of BUDGET.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
work=$2
python=${PYTHON:-python3}
device=${DEVICE:-cuda}
budget=${BUDGET:-1500}
# shellcheck disable=SC2206 # several words each
{
# Minutes of the reverse model, back-translating, the teacher, translating; what is left is the student's.
minutes=(${MINUTES:-3.5 1.5 7.5 1.5})
teacher=(${TEACHER:---d-model 512 --ffn 2048 --encoder-layers 6 --decoder-layers 6 --dropout 0.3 --rate 7e-4 --rdrop 5})
student=(${STUDENT:---d-model 256 --ffn 1024 --encoder-layers 6 --decoder-layers 2 --dropout 0.05 --rate 1.5e-3})
common=(${COMMON:---tokens 16384 --lengths 128 --warmup 600 --ema 0.999 --processes 12 --save-minutes 1})
}

step() { "$python" "$here/$1.py" "${@:2}"; }

seconds_left() { echo $((budget - $(date +%s) + $(cat "$work/began"))); }

# train NAME DATA MINUTES OPTIONS...
train() {
    local out=$work/$1
    [ ! -e "$out/done" ] || return 0
    echo "== $1: $3 minutes, $(seconds_left) s left"
    local options=("$work/$2" "$out" --device "$device" --minutes "$3" "${common[@]}" "${@:4}")
    # What cannot be compiled can still be run; it goes on from the last checkpoint.
    [ "$device" = cpu ] || { step train "${options[@]}" --compile && touch "$out/done"; } || echo "== $1: not compiled"
    [ -e "$out/done" ] || step train "${options[@]}"
    touch "$out/done"
}

# distill NAME CHECKPOINT MINUTES OPTIONS...: WORK/NAME.tsv
distill() {
    [ ! -e "$work/$1.tsv" ] || return 0
    echo "== $1: at most $3 minutes, $(seconds_left) s left"
    step distill "$work/data" "$work/$2/last.pt" "$work/$1.part" --minutes "$3" --device "$device" "${@:4}"
    mv "$work/$1.part" "$work/$1.tsv"
}

# together NAME FILE...: a data folder whose training text is that of data and the FILEs
together() {
    mkdir -p "$work/$1"
    cp "$work"/data/{dev.tsv,avoid.txt,spm.model} "$work/$1"
    cat "$work/data/train.tsv" "${@:2}" >"$work/$1/train.tsv"
}

run() {
    [ -e "$work/began" ] || date +%s >"$work/began"
    train reverse data "${minutes[0]}" "${teacher[@]}" --reverse
    step evaluate "$work/data" "$work/reverse/last.pt" --reverse --device "$device" --every 4 | tee "$work/reverse.txt"
    distill back reverse "${minutes[1]}" --back
    together more "$work/back.tsv"
    train teacher more "${minutes[2]}" "${teacher[@]}"
    step evaluate "$work/data" "$work/teacher/last.pt" --device "$device" --beam 4 | tee "$work/teacher.txt"
    distill forward teacher "${minutes[3]}"
    together most "$work/back.tsv" "$work/forward.tsv"
    train student most "$(awk "BEGIN { print ($(seconds_left) - ${SPARE:-60}) / 60 }")" "${student[@]}"
    step evaluate "$work/data" "$work/student/last.pt" --device "$device" --show 20 | tee "$work/student.txt"
    step export "$work/data" "$work/student/last.pt" "$work/hf" --source "${SOURCE:-zh}" --target "${TARGET:-en}"
    echo "== all done, $(seconds_left) s left"
}

wait_for() {
    for ((i = 0; i < $1; i++)); do
        sleep 1
        ! tail -n 1 "$work/log" | grep -qE '^== (all done|failed)' || break
    done
    grep -E '^==|dev loss|kept$' "$work/log" || true
    tail -n 30 "$work/log"
}

deliver() {
    mkdir -p "$1"
    cp "$work/log" "$1/log.txt"
    local made=()
    for name in back.tsv forward.tsv reverse.txt teacher.txt student.txt; do
        [ ! -e "$work/$name" ] || made+=("$name")
    done
    [ ${#made[@]} = 0 ] || tar -cJf - -C "$work" "${made[@]}" | split -b 15M -d - "$1/made.tar.xz."
    if [ -d "$work/hf" ]; then
        tar -cf - -C "$work" hf | split -b 15M -d - "$1/hf.tar."
    elif [ -e "$work/student/last.pt" ]; then
        step shrink "$work/student/last.pt" "$work/student.pt"
        split -b 15M -d "$work/student.pt" "$1/student.pt."
    fi
    ls -l "$1"
}

case $1 in
run)
    exec >>"$work/log" 2>&1
    trap '[ $? = 0 ] || echo "== failed"' EXIT
    run
    ;;
wait) wait_for "$3" ;;
deliver) deliver "$3" ;;
*) sed -n '2,9p' "$0"; exit 2 ;;
esac
