#!/usr/bin/env python3
"""Makes the fixtures of test_ctranslate2.c: tiny random CTranslate2 models, and CTranslate2's translations with them.

    python3 tests/ctranslate2/make_models.py [NAME...]
    python3 tests/ctranslate2/make_models.py --check [--tool TRANSLATE] [NAME...]    (../engines/engines.py)

Needs ctranslate2, torch and transformers in the versions below; the test itself needs none of them. Each fixture is a folder
fixtures/NAME with model.bin, config.json (version 6) and vocabularies, and expected.json: ids of sources and of their greedy
targets, with the weights computed in f32 and in the type that CTranslate2 chooses by default ("stored").

The models are written by CTranslate2's own converters and specs, from Marian and mBART models of Transformers or, in
OpenNMT's shape, from random numbers. Versions 1 to 5 of the file are made from version 6 as the older specs wrote them; that
CTranslate2 loads and decodes each shows that they are valid.
"""
import json
import os
import random
import shutil
import struct
import sys

import ctranslate2
import numpy as np
import torch
import transformers
from ctranslate2.converters import transformers as loaders
from ctranslate2.specs import model_spec

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reference"))
from make_fixtures import build, engines, randomise, shape  # noqa: E402
import opennmt  # noqa: E402  (in a folder that make_fixtures has added)

VERSIONS = {"ctranslate2": ctranslate2.__version__, "transformers": "5.23.0", "torch": "2.13.0"}
HERE = os.path.dirname(os.path.abspath(__file__))
LINES, MAX_LENGTH = 48, 24
MARGIN = 2e-3  # least margin between best and second logit, in f32, at each step
CLEAR = 0.1    # the same in int8, where the roundings of two engines may differ; half of the lines have it
LIMIT = 200_000

MARIAN = shape(32, (4, 4), (40, 36), (1, 2), "swish", 100)
UNTIED = shape(24, (3, 2), (40, 56), (1, 2), "relu", 110, share_encoder_decoder_embeddings=False, tie_word_embeddings=False)
MBART = shape(24, (3, 3), (36, 36), (2, 1), "gelu", 120, scale_embedding=True, decoder_start_token_id=2)

# Relative positions, RMSNorm, no biases; a head size other than d_model / heads; a tied output, which is scaled, or gated.
T5 = dict(vocab_size=110, d_model=24, d_kv=6, num_heads=3, d_ff=40, num_layers=2, num_decoder_layers=2,
          relative_attention_num_buckets=8, relative_attention_max_distance=12, dropout_rate=0.0, decoder_start_token_id=0,
          tie_word_embeddings=True)

FIXTURES = {
    **{"marian-" + kind: dict(family="marian", config=MARIAN, quantization=kind)
       for kind in model_spec.ACCEPTED_MODEL_TYPES},
    "marian-untied-float32": dict(family="marian", config=UNTIED, quantization="float32"),
    "marian-untied-int8": dict(family="marian", config=UNTIED, quantization="int8"),
    "marian-untied-int16": dict(family="marian", config=UNTIED, quantization="int16"),
    "mbart-float32": dict(family="mbart", config=MBART, quantization="float32"),
    "mbart-int8": dict(family="mbart", config=MBART, quantization="int8"),
    "t5-float32": dict(family="t5", config=T5, quantization="float32"),
    "t5-gated-int8": dict(family="t5", quantization="int8", config={
        **T5, "d_kv": 8, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}),
    "opennmt-float32": dict(family="opennmt", quantization="float32"),
    "opennmt-bos-float16": dict(family="opennmt", quantization="float16", source_bos=True),
    "version-5-int8": dict(family="opennmt", quantization="int8", version=5, revision=5),
    "version-4-float16": dict(family="opennmt", quantization="float16", version=4, revision=4),
    "version-3-int8": dict(family="opennmt", quantization="int8", version=3, revision=3),
    "version-2-int16": dict(family="opennmt", quantization="int16", version=2, revision=2),
    "version-1-float32": dict(family="opennmt", quantization="float32", version=1, revision=1),
}

# ------------------------------------------------------------------------------------------------------------ the models


def tokens(prefix, size):
    return ["</s>", "<unk>"] + [f"{prefix}{i}" for i in range(size - 2)]


def marian_spec(fixture, seed):
    model = build("marian", fixture["config"])
    randomise(model, seed)
    spec = loaders.MarianMTLoader().get_model_spec(model)
    spec.config.eos_token, spec.config.unk_token, spec.config.decoder_start_token = "</s>", "<unk>", "</s>"
    size = model.config.vocab_size - 1  # without the padding
    shared = model.config.share_encoder_decoder_embeddings
    spec.register_source_vocabulary(tokens("▁" if shared else "s", size))
    spec.register_target_vocabulary(tokens("▁" if shared else "t", size))
    return spec


def mbart_spec(fixture, seed):
    model = build("mbart", fixture["config"])
    randomise(model, seed)
    model.config.normalize_before = model.config.normalize_embedding = True
    spec = loaders.MBartLoader().get_model_spec(model)
    spec.config.decoder_start_token = "</s>"
    for register in (spec.register_source_vocabulary, spec.register_target_vocabulary):
        register(["<s>", "<pad>", "</s>", "<unk>"] + [f"▁{i}" for i in range(model.config.vocab_size - 4)])
    return spec


def t5_spec(fixture, seed):
    model = transformers.T5ForConditionalGeneration(transformers.T5Config(**fixture["config"])).eval()
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in sorted(model.named_parameters()):
        noise = torch.randn(parameter.shape, generator=generator)
        norm, side = "norm" in name, 0.35 if "encoder" in name else 0.3
        parameter.copy_(1 + 0.3 * noise if norm else noise * (1.0 if "relative" in name or "shared" in name else side))
    spec = loaders.T5Loader().get_model_spec(model)
    spec.config.bos_token = spec.config.decoder_start_token = "<pad>"
    for register in (spec.register_source_vocabulary, spec.register_target_vocabulary):
        register(["<pad>", "</s>", "<unk>"] + [f"▁{i}" for i in range(model.config.vocab_size - 3)])
    return spec


def opennmt_spec(fixture, seed):
    """8 heads, as in version 1."""
    sizes = (60, 50)
    spec = opennmt.random_spec(seed, 8, 32, 40, *sizes)
    spec.decoder.projection.bias[2] += 1
    spec.config.add_source_bos = fixture.get("source_bos", False)
    spec.register_source_vocabulary(["<unk>", "<s>", "</s>"] + [f"s{i}" for i in range(sizes[0] - 3)])
    spec.register_target_vocabulary(["<unk>", "<s>", "</s>"] + [f"t{i}" for i in range(sizes[1] - 3)])
    return spec


SPECS = {"marian": marian_spec, "mbart": mbart_spec, "t5": t5_spec, "opennmt": opennmt_spec}

# --------------------------------------------------------------------------------------------------------- older versions


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self, form):
        return struct.unpack("<" + form, self.take(struct.calcsize(form)))[0]

    def string(self):
        return self.take(self.number("H"))[:-1].decode()


def read_model(path):
    """Version 6: variables {name: (shape, type, data)} and aliases {alias: name}."""
    with open(path, "rb") as file:
        r = Reader(file.read())
    assert r.number("I") == 6 and r.string() == "TransformerSpec" and r.number("I") == 7
    variables = {}
    for _ in range(r.number("I")):
        name = r.string()
        sizes = [r.number("I") for _ in range(r.number("B"))]
        kind = r.number("B")
        variables[name] = (sizes, kind, r.take(r.number("I")))
    aliases = {r.string(): r.string() for _ in range(r.number("I"))}
    assert r.at == len(r.data)
    return variables, aliases


def string(text):
    data = text.encode()
    return struct.pack("<H", len(data) + 1) + data + b"\0"


def write_model(path, version, revision, spec, variables, aliases):
    out = [struct.pack("<I", version)]
    if version >= 2:
        out += [string(spec), struct.pack("<I", revision)]
    out.append(struct.pack("<I", len(variables)))
    for name, (sizes, kind, data) in sorted(variables.items()):
        element = (4, 1, 2, 4, 2, 2)[kind]
        out += [string(name), struct.pack("<B", len(sizes)), struct.pack(f"<{len(sizes)}I", *sizes)]
        out.append(struct.pack("<BI", kind, len(data)) if version >= 4 else struct.pack("<BI", element,
                                                                                        len(data) // element))
        out.append(data)
    if version >= 3:
        out.append(struct.pack("<I", len(aliases)))
        out += [string(alias) + string(name) for alias, name in sorted(aliases.items())]
    with open(path, "wb") as file:
        file.write(b"".join(out))


def resolve(variables, aliases):
    """Without aliases, as before version 3."""
    for alias, name in aliases.items():
        variables[alias] = variables[name]
        if name + "_scale" in variables:
            variables[alias + "_scale"] = variables[name + "_scale"]
    return variables


def rename_1(name):
    """With the names of OpenNMT-tf's variables."""
    side = name.split("/")[0]
    name = name.replace("self_attention", "multi_head" if side == "encoder" else "masked_multi_head")
    name = name.replace("/attention/", "/multi_head/")
    name = name.replace("embeddings/weight", "w_embs").replace("projection", "dense").replace("layer_norm", "LayerNorm")
    name = name.replace("linear_0", "conv1d").replace("linear_", "conv1d_").replace("weight", "kernel")
    return "transformer/" + name + ":0"


def flag(value):
    return [], 1, struct.pack("<b", value)


def text(value):
    return [len(value)], 1, value.encode()


def make_older(directory, version, revision):
    """Rewrites a version 6 directory: settings become variables, and those common to both sides have no prefix."""
    path = os.path.join(directory, "model.bin")
    variables, aliases = read_model(path)
    for key in [key for key in variables if key.rsplit("/", 1)[-1] in (
            "alibi", "scale_alibi", "alibi_use_positive_positions", "multi_query_attention", "start_from_zero_embedding",
            "layer_norm_use_residual", "embeddings_merge", "alignment_heads", "alignment_layer")]:
        del variables[key]
    for key, outer in (("num_heads", 3), ("pre_norm", 3), ("activation", 3)):
        if revision < 5:
            value = variables.pop("encoder/" + key)
            del variables["decoder/" + key]
            if revision >= outer:
                variables[key] = [], 1, value[2][:1]
    if revision < 4:
        listed = "encoder/embeddings_0/"
        variables = {name.replace(listed, "encoder/embeddings/"): value for name, value in variables.items()}
        aliases = {a.replace(listed, "encoder/embeddings/"): b.replace(listed, "encoder/embeddings/")
                   for a, b in aliases.items()}
        for side in ("encoder", "decoder"):  # a flag of the embedding's own
            variables[side + "/embeddings/multiply_by_sqrt_depth"] = variables.pop(side + "/scale_embeddings")
    if version == 5:
        variables.update(unk_token=text("<unk>"), bos_token=text("<s>"), eos_token=text("</s>"), with_source_bos=flag(0),
                         with_source_eos=flag(0), with_target_bos=flag(1))
    if version < 3:
        variables, aliases = resolve(variables, aliases), {}
    if version == 1:
        variables = {rename_1(name): value for name, value in variables.items() if value[0]}
    spec = "TransformerBase" if revision < 3 else "TransformerSpec"
    write_model(path, version, revision, spec, variables, aliases)
    os.remove(os.path.join(directory, "config.json"))
    for name in ("source_vocabulary", "target_vocabulary"):
        with open(os.path.join(directory, name + ".json"), encoding="utf-8") as file:
            listed = json.load(file)
        os.remove(os.path.join(directory, name + ".json"))
        with open(os.path.join(directory, name + ".txt"), "w", encoding="utf-8") as file:
            file.write("".join(token + "\n" for token in listed))


# -------------------------------------------------------------------------------------------------------- what they decode


def decode(translator, source):
    """Tokens of greedy decoding and the least margin between best and second logit."""
    result = translator.translate_batch([source], beam_size=1, max_decoding_length=MAX_LENGTH, min_decoding_length=0,
                                        return_logits_vocab=True)[0]
    margin = float("inf")
    for step in result.logits[0]:
        values = np.sort(np.array(step.to(ctranslate2.DataType.float32)).reshape(-1))
        margin = min(margin, float(values[-1] - values[-2]))
    return result.hypotheses[0], margin


def read_vocabulary(directory, *names):
    for name in names:
        for suffix in ("json", "txt"):
            path = os.path.join(directory, f"{name}_vocabulary.{suffix}")
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    return json.load(file) if suffix == "json" else file.read().split("\n")[:-1]
    raise FileNotFoundError(names)


def record(directory, name, seed):
    """None if too few translations have a margin, or they are too similar."""
    source = read_vocabulary(directory, "shared", "source")
    target = {token: i for i, token in enumerate(read_vocabulary(directory, "shared", "target"))}
    words = [i for i, token in enumerate(source) if not token.startswith("<")]
    bare = "opennmt" in name or "version" in name
    exact = ctranslate2.Translator(directory, intra_threads=1, compute_type="float32")
    stored = ctranslate2.Translator(directory, intra_threads=1)
    # Before version 5, CTranslate2 truncates activations to integers and does not round them: margins do not help there.
    halved = "int8" in name and "version-3" not in name
    chooser = random.Random(seed)
    lines, unclear = [], 0
    for attempt in range(40 * LINES):
        if len(lines) == LINES:
            break
        ids = [chooser.choice(words) for _ in range(1 + attempt % 20)]
        pieces = [source[i] for i in ids] + ([] if bare else ["</s>"])
        best, margin = decode(exact, pieces)
        if margin < MARGIN or len(set(best)) < 3:
            continue
        other, stored_margin = decode(stored, pieces)
        unclear += stored_margin < CLEAR
        if stored_margin < CLEAR and unclear > LINES // 2 and halved:
            continue
        lines.append({"source": ids, "float32": [target[token] for token in best],
                      "stored": [target[token] for token in other],
                      "stored_margin": round(stored_margin, 4)})
    distinct = {tuple(line["float32"]) for line in lines}
    if len(lines) < LINES or len(distinct) < LINES * 3 // 4:
        return None
    return {"made_with": VERSIONS, "seed": seed, "max_length": MAX_LENGTH, "stored_as": stored.compute_type, "lines": lines}


def make(name):
    fixture = FIXTURES[name]
    directory = os.path.join(HERE, "fixtures", name)
    for seed in range(1, 60):
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)
        torch.manual_seed(seed)
        spec = SPECS[fixture["family"]](fixture, seed)
        spec.validate()
        spec.optimize(quantization=fixture["quantization"])
        spec.save(directory)
        if "version" in fixture:
            make_older(directory, fixture["version"], fixture["revision"])
        expected = record(directory, name, seed)
        if expected:
            break
    else:
        raise SystemExit(f"{name}: no seed gives translations that differ")
    with open(os.path.join(directory, "expected.json"), "w", encoding="utf-8") as file:
        lines = ",\n".join(json.dumps(line) for line in expected.pop("lines"))
        file.write(json.dumps(expected)[:-1] + ', "lines": [\n' + lines + "\n]}\n")
    size = sum(os.path.getsize(os.path.join(directory, entry)) for entry in os.listdir(directory))
    differ = sum(line["stored"] != line["float32"]
                 for line in json.load(open(os.path.join(directory, "expected.json")))["lines"])
    print(f"{name}: seed {seed}, {size} bytes, computed in {expected['stored_as']}, {differ} lines other than in float32",
          flush=True)
    assert size <= LIMIT, size


def check(to, name):
    """CTranslate2, and this project's program, on the committed model. In int8 the program must give only the lines with a
    margin."""
    directory = os.path.join(HERE, "fixtures", name)
    with open(os.path.join(directory, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    source = read_vocabulary(directory, "shared", "source")
    target = {token: i for i, token in enumerate(read_vocabulary(directory, "shared", "target"))}
    bare = "opennmt" in name or "version" in name
    lines = expected["lines"]
    for kind, options in (("float32", {"compute_type": "float32"}), ("stored", {})):
        engine = ctranslate2.Translator(directory, intra_threads=1, **options)
        if kind == "stored" and engine.compute_type != expected["stored_as"]:
            continue  # the compute type that the engine chooses on another CPU
        found = [decode(engine, [source[i] for i in line["source"]] + ([] if bare else ["</s>"]))[0] for line in lines]
        wanted, found = [line[kind] for line in lines], [[target[token] for token in line] for line in found]
        if kind == "stored" and "int8" in engine.compute_type:  # its int8 products differ from CPU to CPU
            to.alike(f"{name}, {kind}: ctranslate2", wanted, found, LINES * 7 // 8)
        else:
            to.each(f"{name}, {kind}: ctranslate2", wanted, found)
    to.each(f"{name}: translate", [line["float32"] for line in lines],
            to.translate(directory, [line["source"] for line in lines], "--exact", "--max-length", expected["max_length"]))


def main():
    assert transformers.__version__ == VERSIONS["transformers"] and torch.__version__.startswith(VERSIONS["torch"])
    transformers.logging.set_verbosity_error()
    ctranslate2.set_log_level(40)
    engines.check_or_make(check, make, FIXTURES)


if __name__ == "__main__":
    with torch.no_grad():
        main()
