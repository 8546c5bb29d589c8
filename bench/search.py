"""The cost of searching for more than one hypothesis: speed compared with CTranslate2 with the same beam, and memory; and
the speed of scoring."""
import peers
from common import note

BEAM, WIDEST = 4, 8


def speed(b):
    """Beam search compared with CTranslate2's, with the same weights and lines, alternating."""
    threads = sorted({1, min(2, b.o.threads)})
    rows = []
    for batch in (1, 32):
        for n in threads:
            if b.o.hf:
                rows.append(peers.compare(b, "opus", b.o.hf, b.o.opus or b.o.hf, "int8", batch, n, b.o.length, None, BEAM))
            if b.o.model_hf:
                rows.append(peers.compare(b, "zh-en", b.o.model_hf, b.o.model, "int8", batch, n, 0, None, BEAM))
    return rows


def memory(b):
    """Peak memory by beam, on one thread; that memory without the model and one sentence; and the part of keys and
    values."""
    rows = []
    for name, model in b.models():
        file = b.as_type(model, "int8")
        least = b.bench("-m", file, "-i", b.lines_file(b.lines(1)), "--batch-size", 1, "-T", 1, *b.length_of(name),
                        rounds=1)["peak_rss_mb"]
        for batch in (1, 32):
            lines = b.lines_file(b.lines(b.count_for(batch)))
            for beam in (1, 2, BEAM, WIDEST):
                report = b.bench("-m", file, "-i", lines, "--batch-size", batch, "-T", 1, "--beam", beam, "--parts",
                                 *b.length_of(name), rounds=1)
                rows.append({"model": name, "batch_size": batch, "beam": beam, "peak_rss_mb": report["peak_rss_mb"],
                             "more_mb": report["peak_rss_mb"] - least, "cache_mb": report["cache_mb"]})
                note(f"search: {name} batch {batch}, beam {beam}: {report['peak_rss_mb']:.1f} MB")
    return rows


def scoring(b):
    """Scoring translations compared with translating, greedily and by beam search, as shares of the machine's
    multiply-adds."""
    rows = []
    for name, model in b.models():
        file = b.as_type(model, "int8")
        for batch in (1, 32):
            lines = b.lines_file(b.lines(b.count_for(batch)))
            for beam in (1, BEAM):
                report = b.bench("-m", file, "-i", lines, "--batch-size", batch, "-T", 1, "--beam", beam, "--score",
                                 "--limits",
                                 *b.length_of(name))
                rows.append({"model": name, "batch_size": batch, "beam": beam, **{key: report[key] for key in (
                    "tokens_per_second", "score_tokens_per_second", "score_speedup", "arithmetic_percent",
                    "score_arithmetic_percent")}})
                note(f"search: scoring {name} batch {batch}, beam {beam}: {report['score_speedup']:.2f} times translating")
    return rows


def search(b):
    return ({"rounds": b.o.rounds, "count": b.o.count, "length": b.o.length},
            {"speed": speed(b), "memory": memory(b), "scoring": scoring(b)})
