#!/usr/bin/env python3
"""Attention as a library: time, memory and error of every kind by length, compared with PyTorch's
scaled_dot_product_attention.

attention.c calls the kinds. PyTorch runs in a process of its own, in the Python that has it (bench.py --python), on the same
sizes, with as many threads, alternating with them. That process is this file: attention.py HEADS SIZE. It reads lines,
"LENGTH THREADS ELEMENT CAUSAL", and answers with the seconds of a call."""
import json
import math
import subprocess
import sys
import time

HEADS, SIZE = 8, 64
LENGTHS = tuple(64 << i for i in range(9))  # to 16,384
KINDS = ("exact", "local:128", "block-sparse:64,1,3,64", "linear", "low-rank:256", "pool:16")
STRAIGHT = ("local:128", "linear")  # in time linear in the length
LEAST_SECONDS = 0.01  # of a measurement: calls until then, as in attention.c
SIDES_APART = 0.01  # idle threads of OpenMP spin for some milliseconds
NEAR = 16


def serve(heads, size):
    import torch

    print(torch.__version__, flush=True)
    made, inputs = None, None
    with torch.inference_mode():
        for request in sys.stdin:
            length, threads, element, causal = request.split()
            torch.set_num_threads(int(threads))
            if made != (length, element):
                kind = {"f32": torch.float32, "bf16": torch.bfloat16}[element]
                made, inputs = (length, element), [torch.randn(1, int(heads), int(length), int(size)).to(kind)
                                                   for _ in range(3)]
                torch.nn.functional.scaled_dot_product_attention(*inputs)
            calls, taken, start = 0, 0, time.perf_counter()
            while taken < LEAST_SECONDS:
                torch.nn.functional.scaled_dot_product_attention(*inputs, is_causal=causal == "1")
                calls, taken = calls + 1, time.perf_counter() - start
            print(taken / calls, flush=True)


class Peer:
    def __init__(self, b):
        command = [str(b.o.python), __file__, str(HEADS), str(SIZE)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.version = self.process.stdout.readline().strip()
        if not self.version:
            raise SystemExit(f"bench.py: attention needs --python PYTHON with torch, which {b.o.python} is not")

    def ask(self, length, threads, element, causal):
        time.sleep(SIDES_APART)
        self.process.stdin.write(f"{length} {threads} {element} {int(causal)}\n")
        self.process.stdin.flush()
        seconds = float(self.process.stdout.readline() or "nan")
        time.sleep(SIDES_APART)
        return seconds

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def command(b, length, kinds, *options):
    return [str(part) for part in (b.o.attention, "--heads", HEADS, "--size", SIZE, *options, length, *kinds)]


def report(b, *args):
    """The results of attention.c for each kind."""
    return [json.loads(line) for line in b.run(*command(b, *args)).stdout.splitlines()]


def beside(b, peer, length, threads, element, causal, rounds):
    """Exact attention and PyTorch's, alternating: milliseconds of each round of PyTorch's, and the results of
    attention.c."""
    options = ("--threads", threads, "--element", element, "--no-error", "--follow", *(["--causal"] if causal else []))
    ours = subprocess.Popen(command(b, length, ["exact"], *options), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            text=True)
    theirs = []
    for _ in range(rounds):
        ours.stdout.readline()  # it is ready, or a round is over
        theirs.append(1e3 * peer.ask(length, threads, element, causal))
        ours.stdin.write("\n")
        ours.stdin.flush()
    ours.stdout.readline()
    said, _ = ours.communicate()
    if ours.returncode != 0:
        raise SystemExit("bench.py: attention failed")
    return theirs, json.loads(said)


def speed(b, peer, length, threads, element, kinds, causal=False):
    """Milliseconds of a call of PyTorch and of each kind, medians and the least. Exact attention and PyTorch's have fewer
    rounds if calls take seconds, and more if they take less."""
    from common import median

    rounds = min(4 * b.o.rounds, b.o.rounds * 4096 // length)
    theirs, exact = beside(b, peer, length, threads, element, causal, max(1, rounds))
    others = report(b, length, [kind for kind in kinds if kind != "exact"], "--threads", threads, "--element", element,
                    "--no-error",
                    "--rounds", max(b.o.rounds, rounds), *(["--causal"] if causal else []))
    row = {"length": length, "threads": threads, "element": element, "causal": causal, "rounds": len(theirs),
           "peer_ms": median(theirs), "peer_best_ms": min(theirs), "ms": {}, "best_ms": {}}
    for kind in (exact, *others):
        row["ms"][kind["kind"]], row["best_ms"][kind["kind"]] = kind["median_ms"], kind["best_ms"]
    return row


def fit(points):
    """The line time = start + slope length with the smallest relative deviations from the points (length, ms): start, slope,
    and the largest deviation."""
    weights = [1 / ms**2 for _, ms in points]
    total = math.fsum(weights)
    mean_x = math.fsum(w * x for w, (x, _) in zip(weights, points)) / total
    mean_y = math.fsum(w * y for w, (_, y) in zip(weights, points)) / total
    slope = (math.fsum(w * (x - mean_x) * (y - mean_y) for w, (x, y) in zip(weights, points))
             / math.fsum(w * (x - mean_x)**2 for w, (x, _) in zip(weights, points)))
    start = mean_y - slope * mean_x
    return start, slope, max(abs(start + slope * x - y) / y for x, y in points)


def fits(rows):
    out = []
    for threads, element in dict.fromkeys((row["threads"], row["element"]) for row in rows if not row["causal"]):
        for kind in STRAIGHT:
            points = [(row["length"], row["ms"][kind]) for row in rows if not row["causal"] and row["length"] >= 1024
                      and (row["threads"], row["element"]) == (threads, element)]
            if len(points) > 2:
                start, slope, deviation = fit(points)
                out.append({"kind": kind, "threads": threads, "element": element, "start_ms": start,
                            "us_a_position": 1e3 * slope,
                            "deviation": deviation})
    return out


def memory(b, threads):
    """Bytes besides the arguments, by length and kind, as the library reports, and the real growth of a process."""
    rows = []
    for length in LENGTHS:
        kinds = [report(b, length, [kind], "--threads", threads, "--no-error", "--rounds", 0)[0] for kind in KINDS]
        rows.append({"length": length, "arguments_bytes": 4 * 4 * HEADS * length * SIZE,
                     "working_bytes": {row["kind"]: row["working_bytes"] for row in kinds},
                     "grown_bytes": {row["kind"]: 1024 * row["grown_kb"] for row in kinds}})
    return rows


def errors(b, threads):
    """Relative error against exact attention in f32, on noise and on queries that attend to neighbours."""
    rows = []
    for what, element, options in (("noise", "f32", ()), ("noise", "bf16", ()), ("near", "f32", ("--near", NEAR)),
                                   ("near", "bf16", ("--near", NEAR))):
        for length in (1024, 4096):
            for row in report(b, length, KINDS, "--threads", threads, "--element", element, "--rounds", 0, *options):
                rows.append({"inputs": what, "element": element, "length": length, "kind": row["kind"],
                             "error": row["error"],
                             "largest_error": row["largest_error"]})
    return rows


def attention(b):
    from common import note

    counts = sorted({1, min(2, b.o.threads)})
    peer, rows = Peer(b), []
    try:
        for element in ("f32", "bf16"):
            for threads in counts:
                for length in LENGTHS:
                    rows.append(speed(b, peer, length, threads, element, KINDS))
                    note(f"attention: {element}, {threads} threads, {length}: PyTorch {rows[-1]['peer_ms']:.3f} ms, "
                         + ", ".join(f"{kind} {ms:.3f}" for kind, ms in rows[-1]["ms"].items()))
                rows.append(speed(b, peer, 4096, threads, element, ("exact", "linear"), causal=True))
    finally:
        peer.close()
    return ({"heads": HEADS, "size": SIZE, "rounds": b.o.rounds, "torch": peer.version, "near": NEAR},
            {"speed": rows, "fits": fits(rows), "memory": memory(b, counts[-1]), "errors": errors(b, counts[-1])})


if __name__ == "__main__":
    serve(*sys.argv[1:])
