#!/usr/bin/env python3
"""Speed compared with CTranslate2: the same weights, the same lines, alternating round by round.

CTranslate2 runs in a process of its own, in the Python that has it (bench.py --python), because its CPU level is chosen by
the environment before it starts. That process is this file:
    peers.py CONVERTED TYPE THREADS BATCH LENGTH SPM LINES BEAM
It reads lines, "split I" to time way I of dividing the threads, and answers with tokens a second.
"""
import json
import os
import pathlib
import subprocess
import sys
import time

LEVELS = {None: {}, "avx2": {"CT2_FORCE_CPU_ISA": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}}
PEER_TYPES = {"f32": "float32", "int8": "int8"}
CONVERT = ("import ctranslate2, sys; ctranslate2.converters.TransformersConverter(sys.argv[1])"
           ".convert(sys.argv[2], quantization=sys.argv[3])")


def splits_of(batch, threads):
    """Workers, and threads of each. For one sentence at a time: a team of all threads, or of one. For batches: a team, or
    workers."""
    return sorted({(1, threads), (1, 1) if batch == 1 else (threads, 1)})


def serve(converted, compute, threads, batch, length, spm, lines_file, beam):
    import ctranslate2
    import sentencepiece

    threads, batch, length = int(threads), int(batch), int(length)
    pieces = sentencepiece.SentencePieceProcessor(spm)
    source = [pieces.encode(line.strip(), out_type=str) + ["</s>"] for line in open(lines_file, encoding="utf-8")]
    engines = [ctranslate2.Translator(converted, device="cpu", inter_threads=workers, intra_threads=team,
                                      compute_type=compute)
               for workers, team in splits_of(batch, threads)]
    limits = {"min_decoding_length": length, "max_decoding_length": length} if length else {"max_decoding_length": 512}
    print(ctranslate2.__version__, flush=True)
    for request in sys.stdin:
        engine = engines[int(request.split()[1])]
        start = time.perf_counter()
        results = engine.translate_batch(source, beam_size=int(beam), max_batch_size=batch, **limits)
        tokens = sum(len(result.hypotheses[0]) for result in results)
        print(tokens / (time.perf_counter() - start), flush=True)


class Peer:
    """CTranslate2 with one configuration, and the faster way to divide the threads."""

    def __init__(self, b, hf, compute, batch, threads, length, lines, level, beam):
        peer_type = PEER_TYPES[compute]
        converted = b.folder / f"{pathlib.Path(hf).name}.ct2-{peer_type}"
        if not converted.exists():
            b.run(b.o.python, "-c", CONVERT, hf, converted, peer_type)
        command = [b.o.python, __file__, converted, peer_type, threads, batch, length, pathlib.Path(hf) / "source.spm",
                   lines,
                   beam]
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env={**os.environ, **LEVELS[level]})
        self.version = self.process.stdout.readline().strip()
        splits = range(len(splits_of(batch, threads)))
        self.split = max(splits, key=lambda split: max(self.ask(split), self.ask(split)))

    def ask(self, split):
        self.process.stdin.write(f"split {split}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit("bench.py: CTranslate2 ended")
        return float(answer)

    def run(self):
        return self.ask(self.split)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def compare(b, name, hf, model, compute, batch, threads, length, level, beam=1):
    from common import alternate, note

    count = b.count_for(batch) if batch > 1 else max(8, b.o.count // 4)
    lines = b.lines_file(b.lines(count))
    file = b.as_type(model, compute)
    fixed = ("--fixed-length", length) if length else ()
    searching = ("--beam", beam) if beam > 1 else ()
    env = {"TRANSLATE_CPU": level} if level else None
    peer = Peer(b, hf, compute, batch, threads, length, lines, level, beam)
    ours = lambda: b.bench("-m", file, "-i", lines, "--batch-size", batch, "-T", threads, *fixed, *searching,
                           rounds=1, env=env)["tokens_per_second"]
    try:
        ours()
        theirs, mine = alternate(b.o.rounds, peer.run, ours)
    finally:
        peer.close()
    note(f"peers: {name} {compute} {level or 'best'}, batch {batch}, beam {beam}, {threads} threads: {theirs:.0f}, "
         f"{mine:.0f}: "
         f"{mine / theirs:.2f}")
    return {"model": name, "compute": compute, "batch_size": batch, "threads": threads, "length": length, "level": level,
            "beam": beam,
            "peer": f"CTranslate2 {peer.version}", "peer_tokens_per_second": theirs, "tokens_per_second": mine,
            "ratio": mine / theirs}


def peers(b):
    if not b.o.hf and not b.o.model_hf:
        raise SystemExit("bench.py: peers needs --hf DIR (and --opus), --model-hf DIR, or both")
    threads = sorted({1, min(2, b.o.threads), b.o.threads})
    rows = []
    for compute in PEER_TYPES if b.o.hf else ():
        for batch in (1, 32):
            for n in threads:
                rows.append(compare(b, "opus", b.o.hf, b.o.opus or b.o.hf, compute, batch, n, b.o.length, None))
    for batch in (1, 32) if b.o.hf else ():
        rows.append(compare(b, "opus", b.o.hf, b.o.opus or b.o.hf, "int8", batch, 1, b.o.length, "avx2"))
    for batch in (1, 32) if b.o.model_hf else ():
        for n in threads:
            rows.append(compare(b, "zh-en", b.o.model_hf, b.o.model, "int8", batch, n, 0, None))
    return {"rounds": b.o.rounds, "count": b.o.count, "length": b.o.length}, rows


STARTING = """
import sys, ctranslate2, sentencepiece
pieces = sentencepiece.SentencePieceProcessor(sys.argv[2])
engine = ctranslate2.Translator(sys.argv[1], device="cpu", inter_threads=1, intra_threads=1, compute_type="int8")
engine.translate_batch([pieces.encode("今天天气很好", out_type=str) + ["</s>"]], beam_size=1, min_decoding_length=8,
                       max_decoding_length=8)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def startup_row(b):
    """Starting CTranslate2 from Python, translating one sentence, exiting; None if it cannot be measured."""
    from common import median, note

    if not b.o.hf:
        return None
    converted = b.folder / f"{pathlib.Path(b.o.hf).name}.ct2-int8"
    if not converted.exists():
        b.run(b.o.python, "-c", CONVERT, b.o.hf, converted, "int8")
    seconds, memory = [], []
    for _ in range(max(3, 2 * b.o.rounds)):
        start = time.perf_counter()
        memory.append(int(b.run(b.o.python, "-c", STARTING, converted,
                                pathlib.Path(b.o.hf) / "source.spm").stdout) * 1.024e-3)
        seconds.append(time.perf_counter() - start)
    note(f"startup: CTranslate2: {1e3 * median(seconds):.0f} ms")
    return {"what": "CTranslate2 from Python, opus int8, 8 tokens", "ms": 1e3 * median(seconds),
            "least_ms": 1e3 * min(seconds),
            "peak_mb": median(memory)}


if __name__ == "__main__":
    serve(*sys.argv[1:])
