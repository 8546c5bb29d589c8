#!/usr/bin/env python3
"""Speed beside CTranslate2 on the same weights and the same lines, and the cost of starting; prints bench/README.md's tables.

    compare.py --hf DIR --model FILE --lines TEXT [--translate build/translate] [--rounds 5] [--count 96]

--hf is a Hugging Face Marian directory, --model the same model as a GGUF file (translate convert DIR FILE --compute f32), --lines
a text of one sentence a line. Needs ctranslate2, sentencepiece and transformers (the converter's) from PyPI; CTranslate2's
conversion is kept beside DIR. Both engines produce exactly 30 tokens a line, alternating round by round; each figure is the
median of the rounds. CTranslate2 uses the better of its ways to split the threads. Stop everything else before you measure.
"""
import argparse
import datetime
import json
import pathlib
import platform
import statistics
import subprocess
import tempfile
import time

LENGTH = 30
SENTENCE = "今天天气很好"


def machine() -> str:
    model = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), platform.machine())
    cores = sum(l.startswith("processor") for l in open("/proc/cpuinfo"))
    return f"{model}, {cores} cores, {datetime.date.today()}"


def peer_model(hf: pathlib.Path) -> pathlib.Path:
    import ctranslate2

    converted = hf.with_name(hf.name + ".ct2-float32")
    if not converted.exists():
        ctranslate2.converters.TransformersConverter(str(hf)).convert(str(converted), quantization="float32")
    return converted


def peer_runner(converted: pathlib.Path, source, batch: int, threads: int):
    """A function that translates source once and returns tokens per second, on the faster split of the threads."""
    import ctranslate2

    splits = sorted({(1, threads), (1, 1) if batch == 1 else (threads, 1)})
    engines = [ctranslate2.Translator(str(converted), device="cpu", inter_threads=workers, intra_threads=team,
                                      compute_type="float32") for workers, team in splits]

    def run(engine) -> float:
        start = time.perf_counter()
        results = engine.translate_batch(source, beam_size=1, max_batch_size=batch, min_decoding_length=LENGTH,
                                         max_decoding_length=LENGTH)
        return sum(len(r.hypotheses[0]) for r in results) / (time.perf_counter() - start)

    best = max(engines, key=run)
    return lambda: run(best)


def our_runner(o, lines_file: str, batch: int, threads: int):
    command = [o.translate, "bench", "-m", o.model, "-i", lines_file, "--batch-size", str(batch), "--threads", str(threads),
               "--compute", "f32", "--fixed-length", str(LENGTH), "--rounds", "1", "--json"]
    return lambda: json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["tokens_per_second"]


def compare(o, converted, spm) -> None:
    print("| f32, tokens/s | CTranslate2 | translate | ratio |\n|---|---|---|---|")
    lines = [l.strip() for l in open(o.lines, encoding="utf-8") if l.strip()][: o.count]
    for batch, threads in ((1, 1), (1, 2), (32, 1), (32, 2)):
        chosen = lines[: max(8, o.count // 8)] if batch == 1 else lines
        source = [spm.encode(l, out_type=str) + ["</s>"] for l in chosen]
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as f:
            f.write("\n".join(chosen) + "\n")
            f.flush()
            peer, ours = peer_runner(converted, source, batch, threads), our_runner(o, f.name, batch, threads)
            figures = [(peer(), ours()) for _ in range(o.rounds)]
        p, m = (statistics.median(x) for x in zip(*figures))
        print(f"| batch {batch}, {threads} thread{'s' * (threads > 1)} | {p:.0f} | {m:.0f} | {m / p:.2f} |", flush=True)


def starting(o) -> None:
    """The whole process for one sentence with the default model: time from exec to exit, peak memory."""
    command = [o.translate, "--stats", SENTENCE]
    seconds, memory = [], []
    for _ in range(40):
        start = time.perf_counter()
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        seconds.append(time.perf_counter() - start)
        memory.append(float(done.stderr.rsplit("peak", 1)[1].split()[0]))
    nothing = []
    for _ in range(40):
        start = time.perf_counter()
        subprocess.run(["true"], check=True, capture_output=True, text=True)
        nothing.append(time.perf_counter() - start)
    print("\n| `translate 今天天气很好`, default model | |\n|---|---|")
    print(f"| exec to exit, median of 40 (least) | {statistics.median(seconds) * 1e3:.1f} ms ({min(seconds) * 1e3:.1f} ms) |")
    print(f"| of which the measuring itself (`true` in its place) | {statistics.median(nothing) * 1e3:.1f} ms |")
    print(f"| peak memory | {statistics.median(memory):.1f} MB |")


def main() -> None:
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--hf", required=True, type=pathlib.Path)
    a.add_argument("--model", required=True)
    a.add_argument("--lines", required=True)
    a.add_argument("--translate", default="build/translate")
    a.add_argument("--rounds", type=int, default=5)
    a.add_argument("--count", type=int, default=96)
    o = a.parse_args()
    import sentencepiece

    print(f"{machine()}\n")
    starting(o)
    print()
    compare(o, peer_model(o.hf), sentencepiece.SentencePieceProcessor(str(o.hf / "source.spm")))


if __name__ == "__main__":
    main()
