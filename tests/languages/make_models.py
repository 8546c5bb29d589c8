#!/usr/bin/env python3
"""Makes the fixtures of test_languages.c: tiny random multilingual models, each with the tokenizer of its family, and
Hugging Face Transformers' translations of some texts.

    python3 tests/languages/make_models.py [NAME...]
    python3 tests/languages/make_models.py --check [--tool TRANSLATE] [NAME...]    (../engines/engines.py)

Needs torch, transformers and sentencepiece in the versions of tests/reference/make_fixtures.py. Each fixture is a folder
fixtures/NAME with model/, a Hugging Face directory as it is published (the files of transformers 4, which hubs are full of,
and, where NAME ends in -json, the tokenizer.json of transformers 5 in the place of a SentencePiece model), and
expected.json: lines with source and target language, text, the ids that the encoder was given, the ids that generate() gave,
and their text.
"""
import json
import os
import random
import shutil
import sys
import tempfile

import torch
import transformers
from transformers.models.m2m_100 import tokenization_m2m_100 as m2m100
from transformers.models.nllb import tokenization_nllb as nllb

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "reference"))
import make_fixtures as reference  # noqa: E402

MARGIN = 2e-3
MAX_LENGTH = 24
PIECES = 120

SHAPE = reference.shape(16, (2, 2), (24, 24), (1, 1), "relu", 0)


def sizes(**more):
    return {**SHAPE, **more}


# pieces: how SentencePiece is trained; rows: of the embedding; files: beside the weights; pairs: languages by Hugging Face's
# names, and by a user's. place: where language tokens go, for families whose tokenizer is not one of transformers.
FIXTURES = {
    "nllb": dict(family="m2m100", tokenizer="NllbTokenizer", pieces="bpe", rows=PIECES + 1 + 202 + 1 + 2, pairs=[
        ("eng_Latn", "fra_Latn", "en", "fr"), ("zho_Hans", "eng_Latn", "zh", "eng"),
        ("eng_Latn", "zho_Hant", "eng", "zh-TW"),
        ("arb_Arab", "srp_Cyrl", "ar", "sr")]),
    "nllb-legacy": dict(family="m2m100", tokenizer="NllbTokenizer", pieces="bpe", rows=PIECES + 1 + 202 + 1 + 2,
                        settings=dict(legacy_behaviour=True), pairs=[("eng_Latn", "fra_Latn", "en", "fr"),
                                                                     ("pes_Arab", "azj_Latn", "fa", "az")]),
    "mbart50": dict(family="mbart", tokenizer="MBart50Tokenizer", pieces="unigram", rows=PIECES + 1 + 52 + 1, pairs=[
        ("en_XX", "fr_XX", "en", "fr"), ("zh_CN", "pt_XX", "zh-Hans", "pt-BR")]),
    "mbart25": dict(family="mbart", tokenizer="MBartTokenizer", pieces="unigram", rows=PIECES + 1 + 25 + 1, pairs=[
        ("en_XX", "ro_RO", "en", "ron"), ("zh_CN", "en_XX", "zho", "en")]),
    "m2m100": dict(family="m2m100", tokenizer="M2M100Tokenizer", pieces="bpe", rows=PIECES + 1 + 100 + 8, pairs=[
        ("en", "fr", "eng", "fra"), ("zh", "en", "zh-CN", "en")]),
    "small100": dict(family="m2m100", tokenizer="SMALL100Tokenizer", pieces="bpe", rows=PIECES + 1 + 100 + 8, pairs=[
        ("en", "fr", None, "fra"), ("zh", "en", None, "en")]),
    "plbart": dict(family="plbart", tokenizer="PLBartTokenizer", pieces="bpe", rows=PIECES + 1 + 3 + 1, pairs=[
        ("__java__", "__en_XX__", "java", "en_XX"), ("__python__", "__java__", "python", "java")]),
    "marian-many": dict(family="marian", tokenizer="MarianTokenizer", pieces="unigram", rows=PIECES + 5, pairs=[
        (None, "fra", None, "fr"), (None, "cmn_Hans", None, "zh"), (None, None, None, None)]),
    "madlad": dict(family="t5", tokenizer="T5Tokenizer", pieces="unigram", rows=PIECES + 4, pairs=[
        (None, "fr", None, "fra"), (None, "zh", None, "zh-Hans"), (None, None, None, None)]),
}
FIXTURES.update({f"{name}-json": {**FIXTURES[name], "json": True} for name in ("nllb", "mbart50", "mbart25", "madlad")})

# Normalisation of the -json fixtures: a few rules, for they are in the file.
RULES = {"A": "a", "B": "b", "K": "k", "\ufb01": "fi", "\u3000": " "}

MARIAN_LANGUAGES = ["fra", "deu", "cmn_Hans", "cmn_Hant"]
MADLAD_LANGUAGES = ["en", "fr", "zh", "zh_Hant"]


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False, indent=0)


def train(path, kind, rules, **special):
    special = {"bos_id": 1, "eos_id": 2, "unk_id": 0, "pad_id": -1, **special}
    if not rules:
        return reference.train_pieces(path, PIECES, model_type=kind, **special)
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as file:
        for before, after in RULES.items():
            print(*(" ".join(f"{ord(c):X}" for c in text) for text in (before, after)), sep="\t", file=file)
        file.flush()
        return reference.train_pieces(path, PIECES, model_type=kind, normalization_rule_tsv=file.name,
                                      normalization_rule_name="", **special)


def write_tokenizer(directory, fixture):
    """Writes the files that a hub has; returns a function from text and languages to ids, and one from ids to text."""
    name, settings = fixture["tokenizer"], dict(fixture.get("settings", {}))
    rules = "json" in fixture
    class_name = "M2M100Tokenizer" if name == "SMALL100Tokenizer" else name
    at = lambda file: os.path.join(directory, file)  # noqa: E731
    if name == "MarianTokenizer":
        pieces = train(at("source.spm"), fixture["pieces"], False, bos_id=-1, eos_id=0, unk_id=1)
        shutil.copy(at("source.spm"), at("target.spm"))
        words = pieces + [f">>{code}<<" for code in MARIAN_LANGUAGES] + ["<pad>"]
        write_json(at("vocab.json"), {word: i for i, word in enumerate(words)})
        settings.update(source_lang="en", target_lang="ROMANCE")
    elif name == "T5Tokenizer":
        train(at("spiece.model"), fixture["pieces"], rules, bos_id=-1, unk_id=0, eos_id=2, pad_id=1,
              user_defined_symbols=[f"<2{code}>" for code in MADLAD_LANGUAGES])
        settings.update(extra_ids=0, eos_token="</s>", unk_token="<unk>", pad_token="<pad>")
    else:
        pieces = train(at("sentencepiece.bpe.model"), fixture["pieces"], rules)
        if class_name == "M2M100Tokenizer":
            words = ["<s>", "<pad>", "</s>", "<unk>"] + pieces[3:]
            write_json(at("vocab.json"), {word: i for i, word in enumerate(words)})
            settings["additional_special_tokens"] = [f"__{code}__" for code in m2m100.FAIRSEQ_LANGUAGE_CODES["m2m100"]]
    if name == "NllbTokenizer":  # as transformers 4 saves it; without it, transformers 5 has no languages
        languages = nllb.FAIRSEQ_LANGUAGE_CODES
        tokens = ["<s>", "<pad>", "</s>", "<unk>"]
        added = {i: token for i, token in enumerate(tokens)}
        added.update({PIECES + 1 + i: token for i, token in enumerate(languages + ["<mask>"])})
        settings["added_tokens_decoder"] = {str(i): dict(content=token, special=True, lstrip=token == "<mask>",
                                                         rstrip=False, normalized=False, single_word=False)
                                            for i, token in added.items()}
        settings["additional_special_tokens"] = languages
    write_json(at("tokenizer_config.json"), {"tokenizer_class": name, **settings})
    tokenizer_class = getattr(transformers, class_name)
    tokenizer = tokenizer_class.from_pretrained(directory)
    if "json" in fixture:
        for file in os.listdir(directory):
            os.remove(at(file))
        tokenizer.save_pretrained(directory)
        tokenizer = tokenizer_class.from_pretrained(directory)
    return tokenizer


def encode(tokenizer, fixture, source, target, text):
    name = fixture["tokenizer"]
    if name == "MarianTokenizer":
        return tokenizer(f">>{target}<< {text}" if target else text).input_ids
    if name == "T5Tokenizer":
        return tokenizer(f"<2{target}> {text}" if target else text).input_ids
    if name == "SMALL100Tokenizer":  # tokenization_small100.py: [target] text </s>
        tokenizer.src_lang = target
        return tokenizer(text).input_ids
    tokenizer.src_lang = source
    return tokenizer(text).input_ids


def build(fixture):
    rows, family = fixture["rows"], fixture["family"]
    if family == "plbart":
        return transformers.PLBartForConditionalGeneration(transformers.PLBartConfig(**sizes(
            vocab_size=rows, max_position_embeddings=48, dropout=0.0, attention_dropout=0.0, decoder_start_token_id=2)))
    if family == "marian":
        config = sizes(vocab_size=rows)
        return reference.build("marian", config)
    if family == "t5":
        return transformers.T5ForConditionalGeneration(transformers.T5Config(
            d_model=16, d_kv=8, num_heads=2, d_ff=24, num_layers=1, num_decoder_layers=1, vocab_size=rows, dropout_rate=0.0,
            relative_attention_num_buckets=8, relative_attention_max_distance=16, feed_forward_proj="gated-gelu",
            tie_word_embeddings=False, pad_token_id=1, eos_token_id=2, decoder_start_token_id=0))
    return reference.build(family, sizes(vocab_size=rows, scale_embedding=True, decoder_start_token_id=2))


def greedy(model, ids, start, first):
    """Tokens without start token and EOS, and the least margin."""
    generation = model.generation_config
    tokens, margin = [], float("inf")
    encoded = model.get_encoder()(input_ids=torch.tensor([ids]))
    while len(tokens) < MAX_LENGTH:
        logits = model(encoder_outputs=encoded, attention_mask=torch.ones(1, len(ids)),
                       decoder_input_ids=torch.tensor([[start] + tokens])).logits[0, -1]
        logits[reference.forbidden_ids(generation)] = -float("inf")
        if not tokens and first is not None:
            best = first
        else:
            two = logits.topk(2)
            margin, best = min(margin, float(two.values[0] - two.values[1])), int(two.indices[0])
        if best == generation.eos_token_id:
            break
        tokens.append(best)
    return tokens, margin


def line(model, tokenizer, fixture, pair, text):
    source, target, said_source, said_target = pair
    ids = encode(tokenizer, fixture, source, target, text)
    start, first, more = model.config.decoder_start_token_id, None, {}
    if fixture["tokenizer"] in ("NllbTokenizer", "MBart50Tokenizer", "M2M100Tokenizer"):
        first = tokenizer.get_lang_id(target) if hasattr(tokenizer, "get_lang_id") else \
            tokenizer.convert_tokens_to_ids(target)
        more = dict(forced_bos_token_id=first)
    elif fixture["tokenizer"] in ("MBartTokenizer", "PLBartTokenizer"):
        start = tokenizer.convert_tokens_to_ids(target)
        more = dict(decoder_start_token_id=start)
    tokens, margin = greedy(model, ids, start, first)
    # tokens that no real model produces: padding, which transformers' positions leave out, and rows without a token, which
    # it shows as <unk>
    unreal = model.config.pad_token_id in tokens or (fixture["tokenizer"] == "M2M100Tokenizer" and
                                                     max(tokens, default=0) >= len(tokenizer))
    if margin < MARGIN or len(set(tokens)) < 3 or unreal:
        return None
    output = model.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)), num_beams=1, do_sample=False,
                            max_length=MAX_LENGTH + 1, forced_eos_token_id=None, **more)[0].tolist()[1:]
    if output and output[-1] == model.generation_config.eos_token_id:
        output.pop()
    assert output == tokens, (output, tokens)
    return {"source": said_source, "target": said_target, "text": text, "ids": ids, "tokens": tokens,
            "translation": tokenizer.decode(tokens, skip_special_tokens=True)}


def make(name):
    fixture = FIXTURES[name]
    folder = os.path.join(HERE, "fixtures", name)
    directory = os.path.join(folder, "model")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(directory)
    tokenizer = write_tokenizer(directory, fixture)
    chooser = random.Random(3)
    words = ["bada", "kelo", "mari", "to", "sule", "neg", "pa", "fuko"]
    if "json" in fixture:
        words[:3] = ["BadA", "KelO  \ufb01", "m\u3000aRi"]
        if name == "mbart25-json":  # it has no rules, but splits at any white space, which SentencePiece leaves to its rules
            words[2] = "m aRi"
    texts = [" ".join(chooser.choice(words) for _ in range(n)) + "." for n in (2, 5, 9)]
    for seed in range(1, 400):
        model = build(fixture).eval()
        reference.randomise(model, seed)
        if fixture["family"] == "marian":
            model.generation_config.bad_words_ids = [[model.config.pad_token_id]]
        lines = [line(model, tokenizer, fixture, pair, text) for pair in fixture["pairs"] for text in texts]
        if all(lines) and len({entry["translation"] for entry in lines}) > len(lines) // 2:
            break
    else:
        raise SystemExit(f"{name}: no seed will do")
    model.save_pretrained(directory)
    os.chmod(os.path.join(directory, "model.safetensors"), 0o644)
    write_json(os.path.join(folder, "expected.json"), {"max_length": MAX_LENGTH, "seed": seed, "lines": lines})
    size = sum(os.path.getsize(os.path.join(directory, file)) for file in os.listdir(directory))
    print(f"{name}: seed {seed}, {len(lines)} lines, {size} bytes", flush=True)


def check(to, name):
    """Transformers and its tokenizer, and this project's program from text to text, on the committed model."""
    fixture, folder = FIXTURES[name], os.path.join(HERE, "fixtures", name)
    directory = os.path.join(folder, "model")
    with open(os.path.join(folder, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    class_name = "M2M100Tokenizer" if fixture["tokenizer"] == "SMALL100Tokenizer" else fixture["tokenizer"]
    legacy = {key: value for key, value in fixture.get("settings", {}).items() if key == "legacy_behaviour"}
    tokenizer = getattr(transformers, class_name).from_pretrained(directory, **legacy)
    model = type(build(fixture)).from_pretrained(directory, dtype=torch.float32).eval()
    lines, each = expected["lines"], len(expected["lines"]) // len(fixture["pairs"])
    to.each(f"{name}: transformers", lines, [line(model, tokenizer, fixture, fixture["pairs"][i // each], entry["text"])
                                             for i, entry in enumerate(lines)])
    for entry in lines:
        languages = [part for option in ("source", "target") if entry[option] for part in ("--" + option, entry[option])]
        found = to.run("-m", directory, "--exact", "--max-length", expected["max_length"], *languages, lines=[entry["text"]])
        to.each(f"{name}, {languages}: translate", [entry["translation"]], found)


if __name__ == "__main__":
    reference.prepare()
    reference.engines.check_or_make(check, make, FIXTURES)
