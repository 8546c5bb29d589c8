"""Models as they are published, by shape: time and memory of converting them, and of the first line.

The weights are random (the same each time) and written as they are drawn; a model of 1.2 GB needs that space in the work
folder, and no more memory than a small one.
"""
import json
import random
import shutil
import struct
import sys

import common

sys.path.insert(0, str(common.ROOT / "tests/formats"))
import writers  # noqa: E402

FIXTURE = common.ROOT / "tests/reference/fixtures/relu-1x1-f32/model"
MB = 10**6
POOL = 1_000_003  # numbers drawn: a prime, so that no two rows are the same
OPUS = dict(model_type="marian", vocab_size=65001, d_model=512, ffn=2048, layers=6, heads=8, positions=512)
NLLB = dict(model_type="m2m_100", vocab_size=256206, d_model=1024, ffn=4096, layers=12, heads=16, positions=1024)


def pool_f32(seed):
    chooser = random.Random(seed)
    return struct.pack(f"<{POOL}f", *(chooser.gauss(0, 0.04) for _ in range(POOL)))


def pool_bf16(seed):
    data = pool_f32(seed)
    halves = bytearray(2 * POOL)
    halves[0::2], halves[1::2] = data[2::4], data[3::4]
    return bytes(halves)


def config_of(shape):
    marian = shape["model_type"] == "marian"
    pad = shape["vocab_size"] - 1
    config = {"architectures": ["MarianMTModel" if marian else "M2M100ForConditionalGeneration"],
              "activation_function": "swish" if marian else "relu", "model_type": shape["model_type"],
              "vocab_size": shape["vocab_size"], "d_model": shape["d_model"], "max_position_embeddings": shape["positions"],
              "scale_embedding": True, "is_encoder_decoder": True, "tie_word_embeddings": True,
              "bos_token_id": 0, "eos_token_id": 0 if marian else 2, "pad_token_id": pad if marian else 1,
              "decoder_start_token_id": pad if marian else 2}
    if marian:
        config.update(decoder_vocab_size=shape["vocab_size"], share_encoder_decoder_embeddings=True)
    for side in ("encoder", "decoder"):
        config.update({f"{side}_layers": shape["layers"], f"{side}_ffn_dim": shape["ffn"],
                       f"{side}_attention_heads": shape["heads"]})
    return config


def make_directory(folder, shape):
    """Configuration and tokenizer; pieces that the tokenizer lacks are numbered."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    config = config_of(shape)
    (folder / "config.json").write_text(json.dumps(config))
    if shape["model_type"] == "marian":
        shutil.copyfile(FIXTURE / "source.spm", folder / "source.spm")
        known = json.loads((FIXTURE / "vocab.json").read_text(encoding="utf-8"))
    else:
        known = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
    vocabulary = {**known, **{f"▁w{i}": i for i in range(len(known), shape["vocab_size"])}}
    (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
    return config


def tensors_of(config, pool, size):
    return [(name, shape, writers.repeat(pool, size * writers.elements(shape)))
            for name, shape in writers.marian_tensors(config)]


def write_ct2(folder, config, pool, kind):
    folder.mkdir()
    writers.ct2_model(folder / "model.bin", config, pool, random.Random(3).randbytes(POOL), kind)


def make_models(b):
    """(name, path, bytes of the largest tensor) of each model, which is removed before the next."""
    folder = b.folder / "published"
    config = make_directory(folder, OPUS)
    pool, largest = pool_f32(1), 4 * OPUS["vocab_size"] * OPUS["d_model"]
    for what, name, write in (("OPUS-MT, safetensors", "model.safetensors", writers.safetensors),
                              ("OPUS-MT, pytorch_model.bin", "pytorch_model.bin", writers.torch_zip),
                              ("OPUS-MT, pytorch_model.bin before torch 1.6", "pytorch_model.bin", writers.torch_legacy)):
        write(folder / name, tensors_of(config, pool, 4))
        yield what, folder, largest
        (folder / name).unlink()
    for what, kind in (("OPUS-MT, CTranslate2 float32", writers.F32), ("OPUS-MT, CTranslate2 int8", writers.INT8)):
        write_ct2(folder / "ct2", config, pool, kind)
        yield what, folder / "ct2", largest if kind == writers.F32 else largest // 4
        shutil.rmtree(folder / "ct2")
    config = make_directory(folder, NLLB)
    writers.safetensors(folder / "model.safetensors", tensors_of(config, pool_bf16(2), 2), "BF16", 2)
    yield "NLLB-200 600M, safetensors bf16", folder, 2 * NLLB["vocab_size"] * NLLB["d_model"]
    shutil.rmtree(folder)


# A small process that starts the program: Linux counts the peak of the starting process as that of the started one.
STARTER = """
import os, sys, time
start = time.perf_counter()
nothing = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=nothing)
_, status, usage = os.wait4(pid, 0)
print(time.perf_counter() - start, 1024 * usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def measure(b, *command):
    """Seconds and peak in bytes; the program must succeed."""
    seconds, peak = b.run(sys.executable, "-S", "-c", STARTER, *command).stdout.split()
    return float(seconds), int(peak)


def best(runs):
    return min(seconds for seconds, _ in runs), max(peak for _, peak in runs)


def size_of(path):
    return sum(file.stat().st_size for file in path.iterdir()) if path.is_dir() else path.stat().st_size


def published(b):
    """A row for each model: run directly, converted to int8, and the converted model."""
    rows, out = [], b.folder / "published.gguf"
    line = ("--tokens", "--min-length", 8, "--max-length", 8, "▁w300 ▁w301 ▁w302 ▁w303")
    for what, path, largest in make_models(b):
        tokens = [part.replace("▁w", "t") if "CTranslate2" in what else part for part in map(str, line)]
        direct = best([measure(b, b.o.tool, "-m", path, *tokens) for _ in range(b.o.rounds)])
        convert = best([measure(b, b.o.tool, "convert", "-q", "--force", path, out, "--compute", "int8")
                        for _ in range(min(2, b.o.rounds))])
        file = best([measure(b, b.o.tool, "-m", out, *tokens) for _ in range(max(3, b.o.rounds))])
        row = {"what": what, "size_mb": size_of(path) / MB, "largest_mb": largest / MB, "file_mb": size_of(out) / MB}
        for name, (seconds, peak) in (("direct", direct), ("convert", convert), ("file", file)):
            row.update({name + "_s": seconds, name + "_mb": peak / MB})
        row["within"] = convert[1] <= largest + 100 * MB
        rows.append(row)
        common.note(f"published: {what}: direct {direct[0]:.2f} s, {direct[1] / MB:.0f} MB; convert {convert[0]:.1f} s, "
                    f"{convert[1] / MB:.0f} MB; its file {1e3 * file[0]:.0f} ms, {file[1] / MB:.0f} MB")
        out.unlink()
    return {"rounds": b.o.rounds}, rows
