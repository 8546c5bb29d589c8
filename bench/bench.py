#!/usr/bin/env python3
"""Measures everything that README.md beside it shows.

    bench/bench.py SECTION... [--opus FILE --hf DIR] [--rounds 5] [--count 128] [...]

Sections, each of which can be run alone, or `all`:
    kernels      products of matrices, GMAC/s and GB/s against the limits
    end-to-end   tokens a second by model, type of weights, batch size, threads, and per cent of the limits
    scaling      over threads, batch sizes, and lengths of the source
    sources      time and working memory of sources of 64 to 4,096 tokens
    peers        compared with CTranslate2, alternating in one run
    search       beam search compared with CTranslate2's, and its memory
    startup      from exec to exit, and peak memory
    attention    attention as a library, every kind by length, compared with PyTorch's
    published    time and memory of converting and starting models of published shapes (random; 2 GB of room)
Each writes its results to bench/results.json; `tables` then makes README.md's tables and the plots from that file (and is
run after every section unless --no-tables).

--opus is a model of the shape of opus-mt-zh-en, whose text may be noise: it is decoded at a fixed length (a GGUF file in
f32, or what --hf names). --hf is the same as a Hugging Face Marian directory, for CTranslate2 and for its tokenizer;
--model-hf is that of the default model. --python is the Python that has ctranslate2, sentencepiece and transformers, and
torch for attention; bench.py itself needs none of them. --lines is a text of one sentence a line. Stop everything else
before you measure.

A short run of everything: bench/bench.py all --rounds 1 --count 8 --results /tmp/results.json --no-tables
"""
import argparse
import sys

import attention
import common
import peers
import published
import search
import sections
import tables

SECTIONS = {"kernels": sections.kernels, "end-to-end": sections.end_to_end, "scaling": sections.scaling,
            "sources": sections.sources, "peers": peers.peers, "search": search.search, "startup": sections.startup,
            "attention": attention.attention, "published": published.published}


def arguments():
    here = common.ROOT / "bench"
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("sections", nargs="+", metavar="SECTION", choices=[*SECTIONS, "all", "tables"])
    a.add_argument("--tool", default=common.ROOT / "build/translate")
    a.add_argument("--kernels", default=common.ROOT / "build/tests/kernels/bench_kernels")
    a.add_argument("--attention", default=common.ROOT / "build/bench/attention")
    a.add_argument("--levels", nargs="*", default=["avx2"], help="CPU levels for kernels, besides the best")
    a.add_argument("--model", default=common.ROOT / "models/zh-en.gguf")
    a.add_argument("--model-hf", help="the default model as a Hugging Face directory")
    a.add_argument("--opus", help="a model of the shape of opus-mt-zh-en")
    a.add_argument("--hf", help="the same as a Hugging Face directory")
    a.add_argument("--lines", help="text, a sentence a line")
    a.add_argument("--python", default=sys.executable)
    a.add_argument("--rounds", type=int, default=5)
    a.add_argument("--count", type=int, default=128, help="lines; a part of them at batch 1")
    a.add_argument("--length", type=int, default=30, help="tokens a line for noise")
    a.add_argument("--threads", type=int, default=common.usable_cores(), help="at most")
    a.add_argument("--work", help="folder for converted models, kept; default: a temporary one")
    a.add_argument("--results", default=here / "results.json")
    a.add_argument("--no-tables", action="store_true")
    return a.parse_args()


def main():
    o = arguments()
    here = common.ROOT / "bench"
    results = common.Results(o.results)
    chosen = [name for name in SECTIONS if name in o.sections or "all" in o.sections]
    o.opus = o.opus or o.hf
    if chosen:
        with common.Bench(o) as bench:
            for name in chosen:
                common.note(f"== {name}")
                results.store(name, *SECTIONS[name](bench))
    if not o.no_tables:
        tables.render(results, here)


if __name__ == "__main__":
    main()
