#!/usr/bin/env python3
"""The fuzz targets: their seeds, a run of each with libFuzzer, and the regression tests of ./test.sh.

    python3 tests/fuzz/fuzz.py run [--seconds N] [--jobs N] [--build DIR] [NAME...]
    python3 tests/fuzz/fuzz.py seeds DIR [NAME...]
    python3 tests/fuzz/fuzz.py replay PROGRAM NAME       (what meson test calls)

run needs clang and Meson. It builds library and targets with libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer in
DIR (default build-fuzz), runs each target for N seconds (default 600), two at a time, and prints a table of executions and
coverage. An input that stops a target is kept in tests/fuzz/found/NAME, and is a regression test from then on. Corpora
grow in DIR/corpus and are used again.

Seeds are the fixtures of the other tests, and the files in tests/fuzz/found.
"""
import argparse
import concurrent.futures
import glob
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
VARIANTS = 150  # of each seed, in a regression test
SMALL = 160_000  # bytes of a seed; larger ones slow a target down
YML = b"dim-emb:"


def files(*patterns):
    for pattern in patterns:
        for path in sorted(glob.glob(os.path.join(ROOT, "tests", pattern))):
            if os.path.isfile(path) and os.path.getsize(path) <= SMALL:
                with open(path, "rb") as file:
                    yield file.read()


def settings():
    """config.json, generation_config.json, a vocabulary and tokenizer.json with a NUL between them: fuzz_json.c."""
    for directory in sorted(glob.glob(os.path.join(ROOT, "tests", "*", "fixtures", "*", "model"))):
        texts = []
        for name in ("config.json", "generation_config.json", "vocab.json", "tokenizer.json"):
            path = os.path.join(directory, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    texts.append(file.read())
            else:
                texts.append(b"{}")
        if texts[0] != b"{}":
            yield b"\0".join(texts)


def pickles():
    for path in sorted(glob.glob(os.path.join(ROOT, "tests", "formats", "torch", "**", "*.bin"), recursive=True)):
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                yield from (archive.read(name) for name in archive.namelist() if name.endswith("data.pkl"))


def settings_of_marian():
    yield b""
    yield from files("marian/fixtures/*/*.yml", "bergamot/fixtures/*/*.yml")
    for model in files("marian/fixtures/*/*.bin", "bergamot/fixtures/*/*.bin"):
        at = model.rfind(YML)
        if at >= 0:
            yield model[at:].rstrip(b"\0")


def glossaries_and_texts():
    """A glossary, a NUL and a text: fuzz_texts.c."""
    glossary = "北京\tBeijing\n\"a, b\",c\tx\n苹果,apple,word nocase\n".encode()
    for name in ("spans.tsv", "spans_en.tsv", "figures.tsv"):
        with open(os.path.join(ROOT, "tests", "text", name), "rb") as f:
            lines = f.read().split(b"\n")
        for i in range(0, len(lines), 40):
            yield glossary + b"\0" + b"\n".join(lines[i:i + 8])


def codes_and_texts():
    """BPE codes, a NUL and a text: fuzz_bpe.c."""
    with open(os.path.join(ROOT, "tests", "tokenizer", "fixtures", "words.json"), encoding="utf-8") as file:
        words = json.load(file)
    texts = [line[key] for key, lines in (("text", words["cuts"]), ("words", words["joined"])) for line in lines]
    codes = [text.encode() for text in words["codes"].values()]
    for path in sorted(glob.glob(os.path.join(ROOT, "tests", "argos", "fixtures", "bpe-*.argosmodel"))):
        with zipfile.ZipFile(path) as archive:
            codes += [archive.read(name) for name in archive.namelist() if name.endswith("/bpe.model")]
    for i, text in enumerate(texts[::24]):
        yield codes[i % len(codes)] + b"\0" + text.encode()


def calls_of_attention():
    """Each kind with each combination of masks: fuzz_attention.c."""
    chance = random.Random(1)
    for kind in range(5):
        for mask in (0, 1, 6, 8, 24, 33, 96, 127):
            options = [chance.randrange(2), kind, chance.randrange(248), chance.randrange(4), 136,
                       *(chance.randrange(248) for _ in range(6)), 1 + chance.randrange(2)]
            sizes = [chance.randrange(1, 3), chance.randrange(1, 3), *(chance.randrange(1, 14) for _ in range(4))]
            mask = mask & 41 if kind > 2 else mask  # the masks that linear and low-rank attention accept
            yield bytes([*options, *sizes, mask]) + chance.randbytes(300)


def entries_of_glossaries():
    """A byte for the format, entries, and after a NUL those before: fuzz_serve_dictionary.c."""
    tsv = "北京\tBeijing\nThe a\tx\nthe a\ty\n".encode()
    csv = "北京,Beijing\n\"a, \"\"b\"\"\",c,zh,en\nd,e,fr,de\n".encode()
    yield from (b"t" + tsv, b"c" + csv, b"t" + tsv + b"\0" + tsv[5:], b"c" + csv + b"\0" + tsv, b"t\xef\xbb\xbf" + tsv)


def requests():
    """A query, a content type and a body: fuzz_serve_fields.c."""
    yield b"q=a%20b+c&q=d&key=k&target\n\n"
    yield b"token=x\napplication/json\n" + '{"q": ["你好", "a\\u00e9\\n"], "n": 3, "flag": true, "deep": [[{}]]}'.encode()
    yield 'a=1\n\n{"text": "好", "source": null}'.encode()
    yield b"\napplication/x-www-form-urlencoded\nq=%E4%BD%A0&q=b&alternatives=2&format=html"
    part = b'--x\r\nContent-Disposition: form-data; name="%s"%s\r\n%s\r\n%s\r\n'
    yield b"\nmultipart/form-data; boundary=x\n" + part % (b"source", b"", b"", b"zh") + part % (
        b"file", b'; filename="C:\\a/b.txt"', b"Content-Type: text/plain\r\n", b"text\0text") + b"--x--\r\n"


def keys():
    yield b"# two\nfirst\n second\t2 100\r\n\n"
    yield b"a 0\nb 1000000000 7\nc 1 2 3\n"
    yield b"a\na\n\x80\n" + b"k" * 257


def names_and_codes():
    """The name of a document, a NUL, and the code of a language: fuzz_serve_names.c."""
    names = ("C:\\a/报告 (1).docx", "..\n\u202e.x", "a" * 200 + ".tar.gz", "\"'%0a;", ".", "a.b.csv")
    codes = ("zh-CN", "EN-us", "sr_Latn_RS", "中文(简体)", "英语", "auto", "zh-Hant-HK", "cmn", "pt-BR", "eng_Latn")
    for i, code in enumerate(codes):
        yield f"{names[i % len(names)]}\0{code}".encode()


def settings_of_servers():
    yield b"# all\nhost = 0.0.0.0\nport = 5000\nmodels = /m\nurl-prefix = /a/b/\ntrust-proxy = on\nallowed-hosts = a, b\n"
    yield b"compute = int8\nbeam=4\nquiet = off\nrate-limit = -1\n"
    yield b"config = x\nmodel = y\nmodels = z\nbeam\n= 3\n" + b"x" * 5000


SEEDS = {
    "serve_dictionary": entries_of_glossaries,
    "serve_fields": requests,
    "serve_keys": keys,
    "serve_names": names_and_codes,
    "serve_settings": settings_of_servers,
    "attention": calls_of_attention,
    "bpe": codes_and_texts,
    "texts": glossaries_and_texts,
    "ctranslate2": lambda: files("ctranslate2/fixtures/*/model.bin", "ctranslate2/fixtures/*/*vocabulary*"),
    "gguf": lambda: files("llama/fixtures/*.gguf"),
    "json": settings,
    "marian_bin": lambda: files("marian/fixtures/*/*.bin", "bergamot/fixtures/*/model*.bin"),
    "marian_yml": settings_of_marian,
    "npz": lambda: files("marian/fixtures/*/*.npz"),
    "pickle": pickles,
    "pytorch": lambda: files("formats/torch/*.bin", "formats/torch/model/*.bin"),
    "safetensors": lambda: files("reference/fixtures/*/model/model.safetensors", "formats/torch/*.safetensors"),
    "shortlist": lambda: files("bergamot/fixtures/*/lex*.bin"),
    "spm": lambda: files("tokenizer/fixtures/*.spm", "tokenizer/fixtures/*/*.spm", "languages/fixtures/*/model/*.model"),
}
DOCUMENTS = os.path.join(ROOT, "tests", "document", "samples")  # a folder of each format
for format_name in sorted(os.listdir(DOCUMENTS)):
    SEEDS["document_" + format_name] = lambda name=format_name: files(f"document/samples/{name}/*")


def targets():
    return sorted(SEEDS)


def write_seeds(name, folder):
    """Writes each seed once, the smallest first; returns the paths."""
    os.makedirs(folder, exist_ok=True)
    found = [os.path.join(HERE, "found", name, file) for file in sorted(os.listdir(os.path.join(HERE, "found", name)))] \
        if os.path.isdir(os.path.join(HERE, "found", name)) else []
    paths = []
    for data in sorted(set(SEEDS[name]()), key=lambda data: (len(data), data)):
        path = os.path.join(folder, hashlib.sha1(data).hexdigest()[:16])
        with open(path, "wb") as file:
            file.write(data)
        paths.append(path)
    if not paths:
        sys.exit(f"fuzz.py: there are no seeds for {name}")
    return found + paths


def replay(arguments):
    with tempfile.TemporaryDirectory() as folder:
        paths = write_seeds(arguments.name, folder)
        status = subprocess.run([arguments.program, str(VARIANTS), *paths], check=False).returncode
        print(f"{arguments.name}: {len(paths)} seeds, {len(paths) * (VARIANTS + 1)} runs, status {status}")
    sys.exit(status != 0)


def build(folder, names):
    environment = dict(os.environ, CC="clang", CXX="clang++",
                       CFLAGS="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined")
    if not os.path.isfile(os.path.join(folder, "build.ninja")):
        subprocess.run(["meson", "setup", folder, ROOT, "-Dfuzz=true", "-Db_lundef=false", "-Dbench=false",
                        "-Dhub=disabled", "-Ddefault_library=static"], env=environment, check=True,
                       stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", folder, *(f"tests/fuzz/fuzz_{name}" for name in names)], check=True,
                   stdout=subprocess.DEVNULL)


def run_target(folder, name, seconds):
    corpus = os.path.join(folder, "corpus", name)
    seeds = os.path.join(folder, "seeds", name)
    write_seeds(name, seeds)
    os.makedirs(corpus, exist_ok=True)
    found = os.path.join(HERE, "found", name, "")
    command = [os.path.join(folder, "tests", "fuzz", f"fuzz_{name}"), f"-max_total_time={seconds}", "-print_final_stats=1",
               "-timeout=20", "-rss_limit_mb=4096", f"-artifact_prefix={found}", corpus, seeds]
    if os.path.isdir(os.path.join(HERE, "found", name)):
        command.append(found)
    else:
        os.makedirs(found)
    result = subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            env=dict(os.environ, UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1"))
    if not os.listdir(found):
        os.rmdir(found)
    text = result.stderr.decode(errors="replace")
    with open(os.path.join(folder, f"{name}.log"), "w", encoding="utf-8") as log:
        log.write(text)
    executions = re.findall(r"stat::number_of_executed_units:\s*(\d+)", text)
    cover = re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)", text)
    edges, features, kept = map(int, cover[-1]) if cover else (0, 0, 0)
    return (name, int(executions[-1]) if executions else 0, edges, features, kept,
            "none" if result.returncode == 0 else f"status {result.returncode}, {name}.log")


def run(arguments):
    names = arguments.names or targets()
    build(arguments.build, names)
    print("| target | executions | edges | features | corpus | findings |\n|---|---|---|---|---|---|", flush=True)
    good = True
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for row in pool.map(lambda name: run_target(arguments.build, name, arguments.seconds), names):
            good = good and row[-1] == "none"
            print("| {} | {:,} | {:,} | {:,} | {:,} | {} |".format(*row), flush=True)
    sys.exit(not good)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("run")
    one.add_argument("--seconds", type=int, default=600)
    one.add_argument("--jobs", type=int, default=2)
    one.add_argument("--build", default=os.path.join(ROOT, "build-fuzz"))
    one.add_argument("names", nargs="*")
    one.set_defaults(call=run)
    one = commands.add_parser("seeds")
    one.add_argument("folder")
    one.add_argument("names", nargs="*")
    one.set_defaults(call=lambda a: [write_seeds(name, os.path.join(a.folder, name)) for name in a.names or targets()])
    one = commands.add_parser("replay")
    one.add_argument("program")
    one.add_argument("name", choices=targets())
    one.set_defaults(call=replay)
    arguments = parser.parse_args()
    arguments.call(arguments)


if __name__ == "__main__":
    main()
