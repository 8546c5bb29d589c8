#!/usr/bin/env python3
"""Makes the fixtures of test_llama.c: tiny random T5 models as llama.cpp's converter writes them, and Transformers' results
with the same weights.

    python3 tests/llama/make_models.py [NAME...]
    python3 tests/llama/make_models.py --check [--tool TRANSLATE] [NAME...]    (../engines/engines.py)

Needs gguf, sentencepiece, torch and transformers; the test itself needs none of them. Each model is fixtures/NAME.gguf with
NAME.json: ids of sources and of their greedy targets in f32, with the weights as the gguf package dequantises them; texts
and their ids by SentencePiece, with the model file that was converted. blocks.bin has random blocks of each type and their
numbers by the gguf package.
"""
import io
import json
import os
import random
import struct
import sys

import gguf
import numpy as np
import sentencepiece
import torch
import transformers
from gguf import GGMLQuantizationType as Type
from gguf import quants

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reference"))
from make_fixtures import engines, greedy, train_pieces  # noqa: E402

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures")
LINES, MAX_LENGTH, MARGIN, LIMIT = 40, 24, 2e-3, 200_000

SMALL = [Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q8_0, Type.IQ4_NL]
LARGE = [Type.Q2_K, Type.Q3_K, Type.Q4_K, Type.Q5_K, Type.Q6_K, Type.IQ4_XS]

T5_SPECIAL = dict(pad_id=0, eos_id=1, unk_id=2)
MADLAD_SPECIAL = dict(unk_id=0, bos_id=1, eos_id=2, pad_id=-1, user_defined_symbols=["<2de>", "<2fr>", "<2zh>"])
# full-width letters to ASCII, and one character to two: a normalisation rule that takes few bytes
RULES = "".join(f"{0xff41 + i:X}\t{0x61 + i:X}\n" for i in range(26)) + "FB01\t66 69\n"


def config(d, heads, d_kv, ffn, layers, vocabulary=110, **more):
    return dict(vocab_size=vocabulary, d_model=d, d_kv=d_kv, num_heads=heads, d_ff=ffn, num_layers=layers[0],
                num_decoder_layers=layers[1], relative_attention_num_buckets=8, dropout_rate=0.0, decoder_start_token_id=0,
                tie_word_embeddings=True, pad_token_id=0, eos_token_id=1, **more)


# an output matrix, and therefore no factor
GATED = dict(feed_forward_proj="gated-gelu", tie_word_embeddings=False)

MODELS = {
    "t5-f32": dict(config=config(24, 3, 6, 40, (2, 2)), types=[Type.F32], special=T5_SPECIAL),
    # an output matrix that equals the embedding; both sides have the same number of layers, which is not stated
    "t5-f16-doubled": dict(config=config(32, 2, 16, 48, (1, 1)), types=[Type.F16], special=T5_SPECIAL, doubled=True),
    "t5-bf16-gated": dict(config={**config(24, 4, 8, 36, (1, 2)), **GATED}, types=[Type.BF16], special=T5_SPECIAL),
    "madlad-q8_0": dict(config={**config(64, 2, 32, 96, (1, 1), 120), **GATED, "pad_token_id": 1, "eos_token_id": 2},
                        types=[Type.Q8_0], special=MADLAD_SPECIAL, rules=RULES),
    "t5-small-blocks": dict(config={**config(64, 2, 32, 96, (2, 2)), **GATED}, types=SMALL, special=T5_SPECIAL),
    "t5-tied-blocks": dict(config=config(64, 2, 32, 96, (1, 1)), types=[Type.Q5_1, Type.Q8_0], special=T5_SPECIAL),
    # rows of 32 are not multiples of 256: llama.cpp chooses a smaller kind of block for them
    "t5-large-blocks": dict(config={**config(256, 1, 32, 32, (1, 1), 104), **GATED}, types=LARGE, fallback=[Type.Q8_0],
                            special=T5_SPECIAL),
}

# --------------------------------------------------------------------------------------------------------------- weights


def random_blocks(kind, count, generator, wild=False):
    """count blocks of random bytes whose factors are finite; wild: of all sizes and signs, else with a mean of 0 and a
    deviation of about 1."""
    size = gguf.GGML_QUANT_SIZES[kind][1]
    blocks = generator.integers(0, 256, (count, size), dtype=np.uint8)
    # byte of the factor and, where there is one, of the least value's: with it the mean is 0
    places = {Type.Q4_1: (0, 2, -7.5), Type.Q5_1: (0, 2, -15.5), Type.Q2_K: (80, 82, 1.5), Type.Q3_K: (108, None, 0),
              Type.Q4_K: (0, 2, 7.5), Type.Q5_K: (0, 2, 15.5), Type.Q6_K: (208, None, 0)}
    at, least_at, least = places.get(kind, (0, None, 0))

    def put(place, values):
        blocks[:, place:place + 2] = np.asarray(values, dtype="<f2").reshape(-1, 1).view(np.uint8)

    if wild:
        for place in [at] + ([least_at] if least_at is not None else []):
            values = generator.integers(0, 1 << 16, count, dtype=np.uint16)
            values[(values & 0x7c00) == 0x7c00] ^= 0x4000  # neither infinite nor NaN
            blocks[:, place:place + 2] = values.astype("<u2").reshape(-1, 1).view(np.uint8)
        return blocks
    for factor in (1 / 64, None):
        factor = factor or 1 / 64 / quants.dequantize(blocks, kind).std()
        put(at, np.full(count, factor))
        if least_at is not None:
            put(least_at, np.full(count, factor * least))
    return blocks


def store(weight, kind, generator):
    """A matrix as a file of such a type stores it, and its numbers in f32."""
    if kind in (Type.F32, Type.F16, Type.BF16) or kind in SMALL and kind != Type.IQ4_NL:
        stored = quants.quantize(weight, kind)
        return stored, quants.dequantize(stored, kind).astype(np.float32)
    rows, columns = weight.shape
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    target = float(weight.std())
    blocks = random_blocks(kind, weight.size // elements, generator)
    # after rounding to f16 the factor differs a little: the numbers of the file count
    places = {Type.Q2_K: (80, 82), Type.Q3_K: (108,), Type.Q4_K: (0, 2), Type.Q5_K: (0, 2), Type.Q6_K: (208,)}
    for at in places.get(kind, (0,)):
        factors = blocks[:, at:at + 2].copy().view("<f2").astype(np.float32) * target
        blocks[:, at:at + 2] = factors.astype("<f2").view(np.uint8)
    stored = blocks.reshape(rows, columns // elements * size)
    return stored, quants.dequantize(stored, kind).astype(np.float32)


def randomise(model, seed):
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in sorted(model.named_parameters()):
        noise = torch.randn(parameter.shape, generator=generator)
        if "norm" in name:
            parameter.copy_(1 + 0.3 * noise)
        elif "relative" in name:
            parameter.copy_(noise)
        elif "shared" in name:  # smaller in wide models, as otherwise each token is followed by itself
            parameter.copy_(noise * (1 if parameter.shape[-1] < 32 else 0.3))
        else:
            parameter.copy_(noise * (1.7 if "encoder" in name else 1.5) / parameter.shape[-1] ** 0.5)


def is_tied(spec):
    return spec["config"]["tie_word_embeddings"]


def write_tensors(writer, model, spec, seed):
    """All tensors of the model by llama.cpp's names; the model gets the numbers of the file."""
    c = model.config
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.T5, max(c.num_layers, c.num_decoder_layers))
    generator = np.random.default_rng(seed)
    matrices = 0
    for name, parameter in model.state_dict().items():
        if name in ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight") or (
                name == "lm_head.weight" and is_tied(spec) and not spec.get("doubled")):
            continue
        ours = names.get_name(name, try_suffixes=(".weight",))
        assert ours, name
        weight = parameter.numpy().astype(np.float32)
        kind = Type.F32
        if "norm" not in name and "relative" not in name:
            kinds = spec["types"]
            if weight.shape[-1] % gguf.GGML_QUANT_SIZES[kinds[0]][0]:
                kinds = spec["fallback"]
            kind = kinds[matrices % len(kinds)]
            matrices += 1
        stored, weight = store(weight, kind, generator)
        parameter.copy_(torch.from_numpy(weight))
        writer.add_tensor(ours, stored, raw_dtype=kind)


# ------------------------------------------------------------------------------------------------------------ tokenizers


def train(spec):
    path = os.path.join(HERE, "pieces.tmp")
    more = dict(spec["special"])
    if "rules" in spec:
        rules = os.path.join(HERE, "rules.tmp")
        with open(rules, "w", encoding="utf-8") as file:
            file.write(spec["rules"])
        more["normalization_rule_tsv"] = rules
    train_pieces(path, 100, **more)
    with open(path, "rb") as file:
        data = file.read()
    os.remove(path)
    if "rules" in spec:
        os.remove(rules)
    return data


def write_tokenizer(writer, data, size, special):
    """As set_vocab of the converter's T5Model does it."""
    from sentencepiece import sentencepiece_model_pb2 as protobuf
    proto = protobuf.ModelProto()
    proto.ParseFromString(data)
    spm = sentencepiece.SentencePieceProcessor(model_proto=data)
    tokens = [f"[PAD{i}]".encode() for i in range(size)]
    scores, types = [-10000.0] * size, [gguf.TokenType.UNUSED] * size
    for i in range(spm.vocab_size()):
        tokens[i], scores[i], types[i] = spm.IdToPiece(i).encode(), spm.GetScore(i), gguf.TokenType.NORMAL
        for test, kind in ((spm.IsUnknown, gguf.TokenType.UNKNOWN), (spm.IsControl, gguf.TokenType.CONTROL),
                           (spm.IsUnused, gguf.TokenType.UNUSED), (spm.IsByte, gguf.TokenType.BYTE)):
            if test(i):
                types[i] = kind
                break
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_scores(scores)
    writer.add_token_types(types)
    writer.add_add_space_prefix(proto.normalizer_spec.add_dummy_prefix)
    writer.add_remove_extra_whitespaces(proto.normalizer_spec.remove_extra_whitespaces)
    if proto.normalizer_spec.precompiled_charsmap:
        writer.add_precompiled_charsmap(proto.normalizer_spec.precompiled_charsmap)
    writer.add_eos_token_id(special["eos_id"])
    writer.add_unk_token_id(special["unk_id"])
    writer.add_pad_token_id(special["pad_id"] if special["pad_id"] >= 0 else 1)
    return spm


def write_settings(writer, c):
    """As set_gguf_parameters of the converter's T5Model does it."""
    writer.add_name("A tiny T5")
    writer.add_context_length(512)
    writer.add_embedding_length(c.d_model)
    writer.add_feed_forward_length(c.d_ff)
    writer.add_block_count(c.num_layers)
    if c.num_decoder_layers != c.num_layers:
        writer.add_decoder_block_count(c.num_decoder_layers)
    writer.add_head_count(c.num_heads)
    writer.add_key_length(c.d_kv)
    writer.add_value_length(c.d_kv)
    writer.add_layer_norm_eps(c.layer_norm_epsilon)
    writer.add_relative_attn_buckets_count(c.relative_attention_num_buckets)
    writer.add_layer_norm_rms_eps(c.layer_norm_epsilon)
    writer.add_decoder_start_token_id(c.decoder_start_token_id)
    writer.add_file_type(0)


# -------------------------------------------------------------------------------------------------------------- fixtures


def texts(spm, seed):
    chooser = random.Random(seed)
    words = [spm.IdToPiece(i) for i in range(spm.vocab_size()) if not spm.IsControl(i) and not spm.IsUnknown(i)]
    made = ["", " ", "bada  lo.", "<2de> Bada ko", "  <2fr>bida", "ｂａｄａ ﬁ", "é [PAD101] </s>", "ko\tlu\u3000ma"]
    made += ["".join(chooser.choice(words) for _ in range(n)).replace("▁", " ") for n in range(1, 25)]
    return [{"text": text, "ids": spm.encode(text)} for text in made]


def lines_of(model, size, seed):
    """None if too few translations have a margin, or they are too similar."""
    chooser = random.Random(seed)
    lines = []
    for attempt in range(20 * LINES):
        if len(lines) == LINES or attempt == 20 and len({tuple(line["target"]) for line in lines}) < 8:
            break
        source = [chooser.randrange(3, size) for _ in range(1 + attempt % 20)]
        target, _, margin, _ = greedy(model, source + [model.config.eos_token_id], 0, MAX_LENGTH)
        if margin >= MARGIN and len(set(target)) >= 3:
            lines.append({"source": source, "target": target})
    distinct = {tuple(line["target"]) for line in lines}
    return lines if len(lines) == LINES and len(distinct) >= LINES * 3 // 4 else None


def make(name):
    spec = MODELS[name]
    path = os.path.join(HERE, name)
    data = train(spec)
    for seed in range(1, 60):
        model = transformers.T5ForConditionalGeneration(transformers.T5Config(**spec["config"])).eval()
        if not is_tied(spec):  # Transformers 5 ties them in any case, until it loads another matrix
            model.lm_head.weight = torch.nn.Parameter(torch.empty_like(model.lm_head.weight))
        randomise(model, seed)
        writer = gguf.GGUFWriter(path + ".gguf", "t5")
        write_settings(writer, model.config)
        spm = write_tokenizer(writer, data, spec["config"]["vocab_size"], spec["special"])
        write_tensors(writer, model, spec, seed)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        lines = lines_of(model, spm.vocab_size(), seed)
        if lines:
            break
    else:
        raise SystemExit(f"{name}: no seed gives translations that differ")
    expected = {"made_with": {"gguf": "0.19", "transformers": transformers.__version__}, "seed": seed,
                "max_length": MAX_LENGTH}
    with open(path + ".json", "w", encoding="utf-8") as file:
        file.write(json.dumps(expected)[:-1] + ', "texts": [\n' + ",\n".join(
            json.dumps(text, ensure_ascii=False) for text in texts(spm, seed)) + '\n], "lines": [\n' + ",\n".join(
                json.dumps(line) for line in lines) + "\n]}\n")
    size = os.path.getsize(path + ".gguf")
    print(f"{name}: seed {seed}, {size} bytes", flush=True)
    assert size <= LIMIT, size


def make_blocks():
    """Type, elements and bytes of a block, number of blocks: u32 each; the blocks, the numbers."""
    generator = np.random.default_rng(1)
    os.makedirs(HERE, exist_ok=True)
    with open(os.path.join(HERE, "blocks.bin"), "wb") as file:
        for kind in SMALL + LARGE:
            elements, size = gguf.GGML_QUANT_SIZES[kind]
            count = 24 if elements == 32 else 3
            blocks = np.concatenate([random_blocks(kind, count - 1, generator, wild=True),
                                     random_blocks(kind, 1, generator)])
            numbers = quants.dequantize(blocks, kind).astype("<f4")
            assert np.isfinite(numbers).all()
            file.write(struct.pack("<4I", kind, elements, size, count) + blocks.tobytes() + numbers.tobytes())


def load(path, spec):
    """Transformers' model with the weights that the gguf package reads from the file."""
    tensors = {t.name: quants.dequantize(np.array(t.data), t.tensor_type) for t in gguf.GGUFReader(path).tensors}
    model = transformers.T5ForConditionalGeneration(transformers.T5Config(**spec["config"])).eval()
    if not is_tied(spec):
        model.lm_head.weight = torch.nn.Parameter(torch.empty_like(model.lm_head.weight))
    c = model.config
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.T5, max(c.num_layers, c.num_decoder_layers))
    for name, parameter in model.state_dict().items():
        if name in ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight") or (name == "lm_head.weight"
                                                                                      and is_tied(spec)):
            continue
        stored = tensors[names.get_name(name, try_suffixes=(".weight",))]
        parameter.copy_(torch.from_numpy(stored.astype(np.float32)).reshape(parameter.shape))
    return model


def check(to, name):
    """Transformers on what gguf reads, SentencePiece on the texts, and this project's program, from the committed file."""
    spec, path = MODELS[name], os.path.join(HERE, name + ".gguf")
    with open(os.path.join(HERE, name + ".json"), encoding="utf-8") as file:
        expected = json.load(file)
    model = load(path, spec)
    sources = [line["source"] for line in expected["lines"]]
    targets = [line["target"] for line in expected["lines"]]
    to.each(f"{name}: transformers", targets,
            [greedy(model, source + [model.config.eos_token_id], 0, expected["max_length"])[0] for source in sources])
    to.each(f"{name}: translate", targets, to.translate(path, sources, "--exact", "--max-length", expected["max_length"]))
    spm = sentencepiece.SentencePieceProcessor(model_proto=train(spec))
    to.each(f"{name}: sentencepiece", [text["ids"] for text in expected["texts"]],
            [spm.encode(text["text"]) for text in expected["texts"]])
    found = to.run("tokenize", "-m", path, "--ids", lines=[text["text"] for text in expected["texts"]])
    to.each(f"{name}: translate tokenize", [text["ids"] for text in expected["texts"]],
            [[int(token) for token in line.split()] for line in found])


def main():
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    if not sys.argv[1:]:
        make_blocks()
    engines.check_or_make(check, make, MODELS)


if __name__ == "__main__":
    with torch.no_grad():
        main()
