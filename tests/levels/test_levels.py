#!/usr/bin/env python3
"""The levels of the kernels as the command has them: which ones it finds on a CPU, and that all of them give the same bytes,
whatever the size of a batch and the number of threads, on every machine: those of expected.txt.
Usage: test_levels.py TOOL MODEL [--cpu 'NAME: LEVEL...' --emulator WORD...]
       test_levels.py TOOL MODEL --record        writes expected.txt anew: for another model, or other arithmetic"""
import concurrent.futures
import os
import pathlib
import platform
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).parent
LINES = HERE / "lines.txt"
EXPECTED = HERE / "expected.txt"
COMPUTE = "int8"
BATCHES = (1, 32)
THREADS = (1, 2)

TOOL = MODEL = ""
EMULATOR = []
CPUS = []  # (name, levels that must be found there); the translations run on the first


def run_tool(*args, level=None, cpu=None):
    env = {k: v for k, v in os.environ.items() if not k.startswith("TRANSLATE_")}
    env["TRANSLATE_MODEL"] = MODEL
    if level:
        env["TRANSLATE_CPU"] = level
    if not cpu and CPUS:
        cpu = CPUS[0][0]
    runner = [*EMULATOR, "-cpu", cpu] if EMULATOR else []
    return subprocess.run([*runner, TOOL, *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, env=env)


def available(cpu=None):
    """The message about an unknown level lists the available ones."""
    r = run_tool("-i", LINES, level="none", cpu=cpu)
    message = r.stderr.decode().splitlines()[-1]
    assert r.returncode != 0 and "; available: " in message, message
    return message.split("; available: ")[1].split()


def translated(level, batch, threads):
    r = run_tool("--loop-guard", "off", "--protect", "off", "--compute", COMPUTE,
                 "--batch-size", batch, "-T", threads, "-i", LINES, level=level)
    assert r.returncode == 0, (level, batch, threads, r.stderr)
    return r.stdout


def settings_of(levels):
    """(level, batch size, threads): all combinations; under an emulator, which is slow, some."""
    settings = [(level, batch, threads) for level in levels for batch in BATCHES for threads in THREADS]
    if EMULATOR:
        some = {level: [(1, 1), (32, 2)] for level in levels}
        if EMULATOR[0].endswith(platform.machine()):
            some["portable"] = []  # the slowest level, and the same code as without the emulator
        else:
            some["portable"] = [(32, 2)]
            del some[levels[-1]]  # all combinations: no other test runs this level
        settings = [s for s in settings if s[1:] in some.get(s[0], [s[1:]])]
    return settings


class Levels(unittest.TestCase):
    def test_dispatch(self):
        for name, levels in CPUS:
            with self.subTest(cpu=name):
                self.assertEqual(available(name), levels)
        self.assertEqual(available()[0], "portable")

    def test_equal_bytes(self):
        wanted = EXPECTED.read_bytes()
        self.assertEqual(wanted.count(b"\n"), LINES.read_bytes().count(b"\n"))
        settings = settings_of(available())
        for threads in THREADS:
            group = [s for s in settings if s[2] == threads]
            with concurrent.futures.ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0)) // threads)) as pool:
                for setting, got in zip(group, pool.map(lambda s: translated(*s), group)):
                    with self.subTest(level_batch_threads=setting):
                        self.assertEqual(got.decode().split("\n"), wanted.decode().split("\n"))


if __name__ == "__main__":
    TOOL, MODEL, *rest = sys.argv[1:]
    if rest == ["--record"]:
        EXPECTED.write_bytes(translated("portable", 1, 1))
        sys.exit()
    while rest and rest[0] == "--cpu":
        cpu_name, cpu_levels = rest[1].split(":")
        CPUS.append((cpu_name, cpu_levels.split()))
        rest = rest[2:]
    if rest:
        assert rest[0] == "--emulator" and CPUS, rest
        EMULATOR = rest[1:]
    elif "TR_EMULATED" in os.environ:  # test.sh --avx2
        EMULATOR, *cpus = ([part.strip()] for part in os.environ["TR_EMULATED"].split(";"))
        CPUS = [(cpu[0].split(":")[0], cpu[0].split(":")[1].split()) for cpu in cpus]
    unittest.main(argv=sys.argv[:1])
