"""Shared by the sections of bench.py: running the programs, lines of every kind, and the file of results."""
import contextlib
import datetime
import json
import lzma
import os
import pathlib
import platform
import random
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEXT = ("今天天气很好，我们一起去公园散步吧。", "请问最近的地铁站怎么走？", "他每天早上六点起床，先跑步，再吃早饭。", "这本书讲述了一个小村庄在五十年里的变化。",
        "会议改到下周三下午两点，请大家提前准备好材料。", "如果明天下雨，比赛就推迟到星期天。", "医生说他需要多休息，少喝咖啡。", "科学家发现，这种植物能在非常干燥的环境里生长。")


def note(text):
    print(text, file=sys.stderr, flush=True)


def cpu_name():
    with contextlib.suppress(OSError):
        for line in open("/proc/cpuinfo", encoding="ascii", errors="replace"):
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def usable_cores():
    return len(os.sched_getaffinity(0))


def machine():
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return f"{cpu_name()}, {usable_cores()} cores, {memory:.0f} GB"


def read_pairs(paths, count, seed):
    """(source, reference) of COUNT lines of files, drawn by the seed from all different ones."""
    pairs = {}
    for path in sorted(paths, key=os.path.basename):
        with (lzma.open if path.endswith(".xz") else open)(path, "rt", encoding="utf-8", newline="\n") as file:
            for line in file:
                source, tab, reference = line.rstrip("\r\n").partition("\t")
                if tab and source.strip() and reference.strip():
                    pairs.setdefault(source, reference.split("\t")[0])
    pairs = list(pairs.items())
    return random.Random(seed).sample(pairs, min(count, len(pairs)))


def answer_lines(command, lines):
    """The command's output for lines, line by line."""
    done = subprocess.run(command, input="".join(line + "\n" for line in lines), capture_output=True, encoding="utf-8")
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    replies = done.stdout.removesuffix("\n").split("\n")
    if len(replies) != len(lines):
        sys.exit(f"{' '.join(command)}: gave {len(replies)} lines for {len(lines)}")
    return replies


class Results:
    """A JSON file with one entry a section: date and machine of the measurement, its settings, and its rows."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.sections = json.loads(self.path.read_text()) if self.path.exists() else {}

    def store(self, section, settings, rows):
        self.sections[section] = {"machine": machine(), "date": str(datetime.date.today()), "settings": settings,
                                  "rows": rows}
        part = self.path.with_name(self.path.name + ".part")
        part.write_text(json.dumps(self.sections, ensure_ascii=False, indent=1) + "\n")
        part.replace(self.path)


class Bench:
    """The program under measurement, with the settings of the command line."""

    def __init__(self, options):
        self.o = options
        self.temporary = None if options.work else tempfile.TemporaryDirectory(prefix="translate-bench-")
        self.folder = pathlib.Path(options.work or self.temporary.name)
        self.folder.mkdir(parents=True, exist_ok=True)
        text = pathlib.Path(options.lines).read_text(encoding="utf-8").split("\n") if options.lines else TEXT
        self.text = [line.strip() for line in text if line.strip()]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.temporary:
            self.temporary.cleanup()

    def run(self, *command, env=None):
        command = [str(part) for part in command]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8",
                              env={**os.environ, **env} if env else None)
        if done.returncode != 0:
            sys.exit(f"bench.py: {' '.join(command)}: {done.stderr.strip() or done.returncode}")
        return done

    def lines(self, count):
        """count lines of text, repeating the file if necessary."""
        return [self.text[i % len(self.text)] for i in range(count)]

    def lines_file(self, lines):
        path = self.folder / "lines.txt"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    def count_for(self, batch):
        """Enough lines to fill batches several times; few for batches of one."""
        return max(8, self.o.count // 8) if batch == 1 else max(self.o.count, 2 * batch if self.o.count >= 64 else 0)

    def bench(self, *args, rounds=None, env=None):
        """The report of translate bench."""
        done = self.run(self.o.tool, "bench", "--json", "--rounds", rounds or self.o.rounds, *args, env=env)
        return json.loads(done.stdout)

    def info(self, model):
        return json.loads(self.run(self.o.tool, "info", "--json", model).stdout)

    def as_type(self, model, compute):
        """model as a GGUF file of a type of weights, made once and kept in the work folder."""
        path = pathlib.Path(model)
        stamp = f"{path.stat().st_mtime_ns:x}" if path.exists() else ""
        file = self.folder / f"{path.resolve().stem}-{compute}-{stamp}.gguf"
        if not file.exists():
            self.run(self.o.tool, "convert", "-f", model, file, "--compute", compute)
        return file

    def models(self):
        """Name and path of the models that are given."""
        return [(name, path) for name, path in (("zh-en", self.o.model), ("opus", self.o.opus)) if path]

    def length_of(self, name):
        """Arguments that fix the length of translations, for random models."""
        return ("--fixed-length", self.o.length) if name != "zh-en" else ()

    def threads(self):
        """1, 2, 4, ... and all of them."""
        steps, n = [], 1
        while n < self.o.threads:
            steps.append(n)
            n *= 2
        return [*steps, self.o.threads]


def median(values):
    return statistics.median(values)


def alternate(rounds, *runs):
    """Calls the runs, each of which returns a figure, alternating, round by round; returns the median of each."""
    figures = [[run() for run in runs] for _ in range(rounds)]
    return [median(column) for column in zip(*figures)]


def peak_of_stats(stderr):
    """Megabytes from the line that translate --stats prints."""
    return float(re.search(r"peak ([0-9.]+)", stderr).group(1))
