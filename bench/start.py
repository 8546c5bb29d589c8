#!/usr/bin/env python3
"""Compares the start and speed of two builds: bench/start.py BUILD_A BUILD_B, folders with the program translate.

Runs alternate on the same cores. Prints medians, and the speed of B divided by that of A: 1.00 as fast, 0.97 three per cent
slower. With --texts, counts the lines that B translates alone, as the first text of a process, otherwise than A does, which
has them all at once.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time

from common import ROOT, TEXT, alternate, answer_lines, read_pairs


def milliseconds(*command):
    begin = time.perf_counter_ns()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    return (time.perf_counter_ns() - begin) / 1e6


def tokens_per_second(lines, *command):
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in lines))
        file.flush()
        out = subprocess.run((*command, "-i", file.name), check=True, capture_output=True).stdout
    return json.loads(out)["tokens_per_second"]


def compare_texts(tools, model, paths):
    lines = [source for source, _ in read_pairs(paths, 1000000, 1)]
    whole = answer_lines([tools[0], "-q", "-m", model], lines)
    alone = [answer_lines([tools[1], "-q", "-m", model], [line])[0] for line in lines]
    differ = [(line, a, b) for line, a, b in zip(lines, whole, alone) if a != b]
    for line, a, b in differ[:10]:
        print(f"{line}\n  {a}\n  {b}")
    print(f"{len(lines)} lines of up to {max(len(line.encode()) for line in lines)} bytes, {len(differ)} differ", flush=True)


def cells(o):
    """(name, threads, arguments, lines) of the speeds that are compared."""
    models = {"default": (o.model, ())}
    if o.opus:  # its text is noise: every line has 30 tokens
        models["OPUS shape"] = (o.opus, ("--fixed-length", "30"))
    for name, (model, limits) in models.items():
        for threads in range(1, len(o.cores) + 1):
            for batch in (1, 32):
                for beam in (1, 4):
                    lines = TEXT * (8 if name == "default" else 4 if batch > 1 else 1)
                    yield (f"{name}, {threads} thread{'s' * (threads > 1)}, batch {batch}, beam {beam}", threads,
                           ("-m", model, "-T", threads, "--batch-size", batch, "--beam", beam, *limits), lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs=2, type=pathlib.Path, metavar="BUILD")
    parser.add_argument("--model", default=ROOT / "models/zh-en.gguf", help="default: the one of this folder")
    parser.add_argument("--opus", help="a model of the shape of opus-mt-zh-en, which is timed, too")
    parser.add_argument("--cores", default=str(max(os.sched_getaffinity(0))), metavar="LIST",
                        help="cores to run on, such as 0,1: speeds with 1 thread up to so many (default: the last core)")
    parser.add_argument("--rounds", type=int, default=150, help="starts; of the speeds a tenth (default 150)")
    parser.add_argument("--texts", nargs="+", default=[], metavar="TSV", help="files with SOURCE TAB REFERENCE a line")
    o = parser.parse_args()
    o.cores = [int(core) for core in o.cores.split(",")]
    tools = [str(build / "translate") for build in o.builds]
    os.sched_setaffinity(0, o.cores[-1:])
    starts = alternate(o.rounds, *(lambda t=t: milliseconds(t, "-T", "1", "-m", str(o.model), "今天天气很好") for t in tools))
    print(f"{'start':44} {starts[0]:9.2f} ms {starts[1]:12.2f} ms {starts[0] / starts[1]:8.3f}", flush=True)
    if o.texts:
        compare_texts(tools, str(o.model), o.texts)
    for name, threads, arguments, lines in cells(o):
        os.sched_setaffinity(0, o.cores[-threads:])
        bench = ("bench", "--json", "--rounds", "1", *map(str, arguments))
        speeds = alternate(max(3, o.rounds // 10), *(lambda t=t: tokens_per_second(lines, t, *bench) for t in tools))
        print(f"{name:44} {speeds[0]:9.0f} tok/s {speeds[1]:9.0f} tok/s {speeds[1] / speeds[0]:7.3f}", flush=True)


if __name__ == "__main__":
    main()
