"""The sections of bench.py that measure this project alone. Each returns its settings and its rows."""
import re
import subprocess
import time

import peers
import random_model
from common import alternate, median, note, peak_of_stats

TYPES = ("f32", "bf16", "int8")
PARTS = ("encoder", "self_attention", "cross_attention", "feed_forward", "output", "rest")
KEPT = ("tokens_per_second", "seconds", "memory_percent", "arithmetic_percent", "memory_tokens_per_second",
        "arithmetic_tokens_per_second", "read_gbs", "memory_gbs", "peak_gmacs", "peak_f32_gmacs", "step_mb", "step_rows",
        "target_token_mmacs", "source_token_mmacs", "peak_rss_mb", "threads", "batch_size", "compute", "cpu",
        "seconds_parts",
        *(f"seconds_{part}" for part in PARTS))
PRODUCT = re.compile(r"(\S+)\s+matmul (\S+)\s+(\d+) x\s+(\d+) x\s+(\d+)\s+([0-9.]+) us\s+([0-9.]+) of\s+([0-9.]+) GMAC/s\s+"
                     r"([0-9.]+) of\s+([0-9.]+) GB/s")
NAMES = ("level", "type", "rows", "inputs", "outputs", "us", "gmacs", "peak_gmacs", "gbs", "read_gbs")


def kept(report, **more):
    return {**more, **{key: report[key] for key in KEPT if key in report}}


def kernels(b):
    """Every product of the best level and of AVX2, on one thread, compared with the peak and with reading the same
    weights."""
    best = b.bench("--fixed-length", 1, "-m", b.o.model, rounds=1)["cpu"]
    levels, rows = [best, *(level for level in b.o.levels if level != best)], []
    for level in levels:
        done = subprocess.run([b.o.kernels, level, str(b.o.rounds)], capture_output=True, text=True)
        if done.returncode == 2:
            note(f"kernels: {level} is not available here")
        for match in PRODUCT.finditer(done.stdout):
            rows.append({name: value if name in ("level", "type") else float(value) if "." in value else int(value)
                         for name, value in zip(NAMES, match.groups())})
    return {"rounds": b.o.rounds}, rows


def end_to_end(b):
    """Tokens a second, and shares of the machine's limits, by model, type, batch size and threads."""
    rows = []
    for name, model in b.models():
        for compute in TYPES:
            file = b.as_type(model, compute)
            for batch in (1, 8, 32, 128):
                lines = b.lines_file(b.lines(b.count_for(batch)))
                for threads in b.threads():
                    report = b.bench("-m", file, "-i", lines, "--batch-size", batch, "-T", threads, "--limits",
                                     *b.length_of(name))
                    rows.append(kept(report, model=name))
                    note(f"end-to-end: {name} {compute} batch {batch}, {threads} threads: {report['tokens_per_second']:.0f}")
    return {"rounds": b.o.rounds, "count": b.o.count, "length": b.o.length}, rows


def scaling_threads(b, name, file):
    """Runs with all numbers of threads alternate, since their ratios matter."""
    rows = []
    for batch in (1, 32):
        lines = b.lines_file(b.lines(b.count_for(1) if batch == 1 else 4 * b.o.count))
        args = ("-m", file, "-i", lines, "--batch-size", batch, *b.length_of(name))
        runs = [lambda t=t, a=args: b.bench(*a, "-T", t, rounds=1)["tokens_per_second"] for t in b.threads()]
        for threads, speed in zip(b.threads(), alternate(b.o.rounds, *runs)):
            rows.append({"by": "threads", "model": name, "batch_size": batch, "threads": threads,
                         "tokens_per_second": speed})
        note(f"scaling: {name}, batch {batch}, by threads: {[round(r['tokens_per_second']) for r in rows[-len(runs):]]}")
    return rows


def scaling_batches(b, name, file):
    rows = []
    for batch in (1, 2, 4, 8, 16, 32, 64, 128):
        lines = b.lines_file(b.lines(b.count_for(batch)))
        report = b.bench("-m", file, "-i", lines, "--batch-size", batch, "-T", 1, "--limits", *b.length_of(name))
        rows.append(kept(report, by="batch", model=name))
        note(f"scaling: {name}, batch {batch}: {report['tokens_per_second']:.0f}")
    return rows


def pieces(b, model, length):
    """A line of length source tokens, without EOS."""
    text = "".join(b.lines(1 + length // 4)).replace(" ", "")
    line = b.run(b.o.tool, "tokenize", "-m", model, "--", text).stdout.split()
    while len(line) < length:
        line += line
    return " ".join(line[:length])


def source_row(b, file, line, count, *args):
    path = b.lines_file([line] * count)
    report = b.bench("-m", file, "-i", path, "--tokens", "--batch-size", 1, "-T", 1, "--parts", *args)
    row = kept(report)
    row.update(sentences=count, source_tokens=report["source_tokens"] // count,
               encoder_ms=1e3 * report["seconds_encoder"] / count, cross_attention_ms=1e3 * report["seconds_cross_attention"]
               / count, sentence_ms=1e3 * report["seconds"] / count)
    return row


def scaling_lengths(b, name, file):
    """The time of one sentence by its length, with the same number of target tokens."""
    rows = []
    for length in (16, 32, 64, 128, 256, 511):
        row = source_row(b, file, pieces(b, file, length), max(2, b.o.count // 16), "--fixed-length", b.o.length)
        rows.append({**row, "by": "length", "model": name})
        note(f"scaling: {name}, {length} source tokens: {row['sentence_ms']:.1f} ms a sentence")
    return rows


def scaling(b):
    rows = []
    for name, model in b.models():
        file = b.as_type(model, "int8")
        rows += scaling_threads(b, name, file) + scaling_batches(b, name, file) + scaling_lengths(b, name, file)
    return {"rounds": b.o.rounds, "count": b.o.count, "length": b.o.length, "compute": "int8"}, rows


def sources(b):
    """Time and working memory by the length of the source: a small model with a long position table, one sentence a run."""
    if not b.o.hf:
        raise SystemExit("bench.py: sources needs --hf DIR: a directory with source.spm and vocab.json")
    folder = b.folder / "long-positions"
    shape = {"d_model": 64, "heads": 2, "ffn": 256, "layers": 2, "positions": 8192}
    if not (folder / "vocab.json").exists():
        random_model.make(folder, b.o.hf, **shape)
    file = b.as_type(folder, "int8")
    rows = []
    for length in (64, 128, 256, 512, 1024, 2048, 4096):
        row = source_row(b, file, pieces(b, folder, length), 1, "--fixed-length", 32)
        rows.append(row)
        note(f"sources: {length} tokens: {row['sentence_ms']:.1f} ms, {row['peak_rss_mb']:.1f} MB")
    return {"rounds": b.o.rounds, "shape": shape, "target_tokens": 32, "compute": "int8", "threads": 1}, rows


def timed_run(b, command):
    """Seconds from exec to exit, and megabytes at the peak."""
    start = time.perf_counter()
    done = b.run(*command)
    return time.perf_counter() - start, peak_of_stats(done.stderr) if "--stats" in command else 0.0


def startup(b):
    """One short sentence in a new process: starting, translating, exiting."""
    sentence, fixed = "今天天气很好", ("--min-length", 8, "--max-length", 8)
    commands = {"(nothing: `true`)": ("true",)}
    for name, model in b.models():
        file = b.as_type(model, "int8")
        b.run(b.o.tool, "-m", file, sentence)  # the file is in the page cache from now on
        commands[f"{name} int8, to EOS" if name == "zh-en" else f"{name} int8, 8 tokens"] = (
            b.o.tool, "-m", file, "--stats", *(() if name == "zh-en" else fixed), sentence)
    runs = {what: [] for what in commands}
    for _ in range(max(3, 8 * b.o.rounds)):
        for what, command in commands.items():
            runs[what].append(timed_run(b, command))
    rows = []
    for what, figures in runs.items():
        seconds, memory = zip(*figures)
        rows.append({"what": what, "ms": 1e3 * median(seconds), "least_ms": 1e3 * min(seconds), "peak_mb": median(memory)})
        note(f"startup: {what}: {rows[-1]['ms']:.1f} ms, {rows[-1]['peak_mb']:.1f} MB")
    peer = peers.startup_row(b)
    return {"runs": max(3, 8 * b.o.rounds)}, rows + ([peer] if peer else [])

