#!/usr/bin/env python3
"""Compares the start and speed of two builds: bench/start.py BUILD_A BUILD_B, folders with the program translate.

Runs alternate on one core. Prints medians, and the speed of B divided by that of A: 1.00 as fast, 0.97 three per cent
slower.
"""
import argparse
import json
import os
import pathlib
import subprocess
import time

from common import ROOT, TEXT, alternate


def milliseconds(*command):
    begin = time.perf_counter_ns()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    return (time.perf_counter_ns() - begin) / 1e6


def tokens_per_second(*command):
    text = "\n".join(TEXT * 8) + "\n"
    return json.loads(subprocess.run(command, check=True, capture_output=True,
                                     input=text.encode()).stdout)["tokens_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs=2, type=pathlib.Path, metavar="BUILD")
    parser.add_argument("--model", default=ROOT / "models/zh-en.gguf", help="default: the one of this folder")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)), help="the core that everything runs on")
    parser.add_argument("--rounds", type=int, default=150, help="starts; of the speed a tenth (default 150)")
    o = parser.parse_args()
    os.sched_setaffinity(0, {o.core})
    tools = [(str(build / "translate"), ("-T", "1", "-m", str(o.model))) for build in o.builds]
    starts = alternate(o.rounds, *(lambda t=t, a=a: milliseconds(t, *a, "今天天气很好") for t, a in tools))
    print(f"start            {starts[0]:9.2f} ms {starts[1]:12.2f} ms {starts[0] / starts[1]:8.3f}", flush=True)
    for batch in ("1", "32"):
        bench = ("bench", "--json", "--rounds", "1", "--batch-size", batch)
        speeds = alternate(max(3, o.rounds // 10), *(lambda t=t, a=a: tokens_per_second(t, *bench, *a) for t, a in tools))
        print(f"speed, batch {batch:<3} {speeds[0]:9.0f} tok/s {speeds[1]:9.0f} tok/s {speeds[1] / speeds[0]:7.3f}",
              flush=True)


if __name__ == "__main__":
    main()
