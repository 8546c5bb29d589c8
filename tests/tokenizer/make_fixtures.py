#!/usr/bin/env python3
"""make_fixtures.py: trains tiny SentencePiece models and records the output of Hugging Face's MarianTokenizer with them.

Needs sentencepiece and transformers; run by hand, its output in fixtures/ is kept. For each model NAME:
  NAME.spm    the SentencePiece model        NAME.json   the vocabulary, as Marian's vocab.json
  NAME.jsonl  a case a line:
    {"text", "ids", "decoded"}      ids without </s>; decoded from ids + </s> with skip_special_tokens
    {"ids", "decoded"}              decoding alone
    {"text", "ids", "marian"}       a deliberate difference: our ids, and MarianTokenizer's
The text below is the project's own, dedicated to the public domain (CC0).
"""
import json
import os
import random
import shutil
import sys
import tempfile
import warnings

import sentencepiece
from transformers import MarianTokenizer

warnings.filterwarnings("ignore")
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures")
sys.path.insert(0, os.path.join(HERE, "..", "..", "engines"))
sys.path.insert(0, os.path.join(HERE, "..", "..", "formats"))
import engines  # noqa: E402  (found by the paths above)
import writers  # noqa: E402

CORPUS = """今天天气很好，我们一起去公园散步吧。
The weather is fine today, so let us walk in the park together.
昨天下了一整天的雨，路上到处都是水。
Yesterday it rained all day and there was water everywhere on the road.
他在图书馆里看了三个小时的书。
He read in the library for three hours.
请问去火车站怎么走？
Excuse me, how do I get to the railway station?
这本书是关于中国历史的，写得非常有意思。
This book is about the history of China and it is very interesting to read.
我们的老师说，学习语言要每天练习。
Our teacher says that learning a language takes practice every day.
晚上八点的电影，你想不想一起去看？
There is a film at eight in the evening; would you like to come and see it?
孩子们在院子里跑来跑去，笑声不断。
The children are running about in the yard and laughing all the time.
请把窗户关上，外面太冷了。
Please close the window, it is too cold outside.
这家饭馆的菜很好吃，价格也不贵。
The food in this restaurant is very good and the prices are not high either.
计算机可以帮助我们翻译文章，但是还不能代替人。
Computers can help us to translate texts, but they cannot replace people yet.
如果明天不下雨，我们就去爬山。
If it does not rain tomorrow we shall climb the mountain.
一二三四五六七八九十，0123456789。
One, two, three, four, five, six, seven, eight, nine, ten.
她的声音很轻，可是每个人都听见了。
Her voice was quiet, yet everybody heard her.
"你好！"他说，"很高兴认识你。"
"Hello!" he said, "I am glad to meet you."
"""

# A small normalisation rule (the usual ones are too large for a fixture): full-width forms, spaces, compositions, control
# characters that are removed, one character that becomes many.
RULES = {
    **{(code,): (code - 0xFEE0,) for code in range(0xFF01, 0xFF5F)},
    **{(code,): (0x20,) for code in (0x09, 0x0A, 0x0D, 0xA0, 0x2003, 0x2028, 0x3000)},
    **{(code,): () for code in [*range(1, 9), 0x0B, 0x0C, *range(0x0E, 0x20), 0x7F, 0x200B, 0xFEFF]},
    **{(ord(base), mark): (composed,) for base, mark, composed in
       [("e", 0x301, 0xE9), ("e", 0x300, 0xE8), ("a", 0x308, 0xE4), ("u", 0x308, 0xFC), ("n", 0x303, 0xF1)]},
    (ord("u"), 0x308, 0x301): (0x1D8,),
    (0x337F,): tuple(map(ord, "株式会社")),
    (0xFDFA,): tuple(map(ord, "صلى الله عليه وسلم")),
    (0x2460,): (ord("1"),),
    (0xFB01,): (ord("f"), ord("i")),
}

ODD = ["", " ", "   ", "\t", "a", "  a  b  ", "　你好　世界　", "ＡＢＣ　１２３！？", "e\u0301te\u0301", "u\u0308\u0301ber",
       "x\u0301\u0302y",
       "a\u200bb", "\ufeff今天", "\x01\x02\x7f", "a\x01b", "😀", "😀😀", "今天😀很好", "👨‍👩‍👧", "𓀀", "𓀀𓀁𓀂", "𓀀 𓀁", "龘靐", "龘靐齉", "a龘b",
       "한국어", "日本語", "Привет", "مرحبا", "ﷺ", "㍿", "①②③", "ﬁne", "…", "“引号”", "——", "▁", "▁▁a", "a▁b", "<0x41>", "<0xE4>x",
       ">>eng<<", ">>eng<<今天天气很好", ">>eng<< 今天", ">>cmn_Hans<< the park", " >>eng<< 今天", "a >>eng<< b", ">>", "<<", ">> a",
       ">>eng<",
       "\u00a0a\u00a0", "a\u2028b", "\U0010ffff", "\ue000", "\ufffd", "a" * 60, "你" * 40, "0" * 30, "a  b   c    d",
       "the  the", "!?!?...",
       "C++ & C#", "http://example.org/a?b=c&d=e", "me@example.org", "1,234.56", "50%", "（括号）", "a\rb", "A\u0308",
       "ＴＨＥ　ｐａｒｋ"]
DIFFERENT = ["</s>", "今天</s>很好", "<unk>", "a <pad> b", ">>fra<<今天", ">>fra<< the park", ">><<", ">> a << b"]
BYTES = [b"\xe4\xbd\xa0", b"\xe4\xbd", b"\xbd\xa0", b"\xf0\x9f\x98\x80", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc0\x80",
         b"\xf4\x90\x80\x80", b"\xff\xfe",
         b"A\xe4B", b"\xe2\x96\x81x", b" x ", b"\n\t x\xc2\xa0", b"\xe4\xe4\xbd\xa0\xa0", b"\xe3\x80\x80x", b"\xc2",
         b"\xf8\x88\x80\x80\x80"]


def train(name, **options):
    with tempfile.TemporaryDirectory() as folder:
        rules = os.path.join(folder, "rules.tsv")
        with open(rules, "w") as f:
            for source, target in RULES.items():
                f.write("%s\t%s\n" % (" ".join("%X" % c for c in source), " ".join("%X" % c for c in target)))
        prefix = os.path.join(folder, name)
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(CORPUS.splitlines()), model_prefix=prefix, normalization_rule_tsv=rules, unk_id=1,
            eos_id=0,
            bos_id=-1, pad_id=-1, character_coverage=0.98, hard_vocab_limit=False, num_threads=1, minloglevel=2, **options)
        shutil.copyfile(prefix + ".model", os.path.join(HERE, name + ".spm"))
    return sentencepiece.SentencePieceProcessor(model_file=os.path.join(HERE, name + ".spm"))


def vocabulary(spm):
    """Like Marian's: in another order than SentencePiece's, without some of its pieces, with some other tokens."""
    pieces = [spm.id_to_piece(i) for i in range(len(spm))]
    kept = [p for i, p in enumerate(pieces) if p.startswith("<0x") or i % 17 != 5]
    kept = kept[:2] + kept[:1:-1]
    return {p: i for i, p in enumerate(kept + [">>eng<<", ">>cmn_Hans<<", "龘靐", "😀", "<pad>"])}


def record(name, spm):
    tokens = vocabulary(spm)
    path = os.path.join(HERE, name + ".json")
    with open(path, "w") as f:
        json.dump(tokens, f, ensure_ascii=False, indent=0)
    model = os.path.join(HERE, name + ".spm")
    marian = MarianTokenizer(model, model, path)
    chooser = random.Random(0)
    words = CORPUS.split() + ODD
    lines = CORPUS.splitlines() + ODD
    lines += [chooser.choice(["", " "]).join(chooser.choice(words) for _ in range(chooser.randrange(1, 8)))
              for _ in range(100)]
    cases = []
    for text in lines:
        ids = marian(text, add_special_tokens=False).input_ids
        cases.append({"text": text, "ids": ids, "decoded": marian.decode(ids + [tokens["</s>"]], skip_special_tokens=True)})
    cases = [c for c in cases if not c["text"].startswith(">>") or c["text"] in lines[:len(CORPUS.splitlines()) + len(ODD)]]
    sequences = [[chooser.randrange(len(tokens)) for _ in range(chooser.randrange(25))] for _ in range(80)]
    if "<0x00>" in tokens:
        byte = [tokens["<0x%02X>" % b] for b in range(256)]
        sequences += [[byte[b]] for b in range(1, 256)] + [[byte[b] for b in run] for run in BYTES]
        sequences += [[chooser.choice(byte[1:] + [5, 300] * 9) for _ in range(chooser.randrange(20))] for _ in range(80)]
        sequences = [s for s in sequences if byte[0] not in s]
        sequences += [[byte[0xe4], tokens["</s>"], byte[0xbd], tokens["<unk>"], byte[0xa0]]]
    cases += [{"ids": ids, "decoded": marian.decode(ids, skip_special_tokens=True)} for ids in sequences]
    for text in DIFFERENT:
        ids = [tokens.get(p, tokens["<unk>"]) for p in spm.encode(text, out_type=str)]
        cases.append({"text": text, "ids": ids, "marian": marian(text, add_special_tokens=False).input_ids})
    with open(os.path.join(HERE, name + ".jsonl"), "w") as f:
        for case in cases:
            f.write(json.dumps(case, ensure_ascii=False, separators=(",", ":")) + "\n")


def model_around(folder, name):
    """A directory with the fixture's tokenizer, and the smallest network, which is not run."""
    with open(os.path.join(HERE, name + ".json"), encoding="utf-8") as file:
        vocabulary = json.load(file)
    for file in ("source.spm", "target.spm"):
        shutil.copyfile(os.path.join(HERE, name + ".spm"), os.path.join(folder, file))
    shutil.copyfile(os.path.join(HERE, name + ".json"), os.path.join(folder, "vocab.json"))
    size, pad = len(vocabulary), vocabulary["<pad>"]
    config = dict(model_type="marian", vocab_size=size, decoder_vocab_size=size, d_model=8, encoder_ffn_dim=8,
                  decoder_ffn_dim=8,
                  encoder_layers=1, decoder_layers=1, encoder_attention_heads=1, decoder_attention_heads=1,
                  max_position_embeddings=512, activation_function="relu", eos_token_id=vocabulary["</s>"], pad_token_id=pad,
                  decoder_start_token_id=pad, share_encoder_decoder_embeddings=True, tie_word_embeddings=True)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)
    writers.safetensors(os.path.join(folder, "model.safetensors"),
                        [(key, shape, [bytes(4 * writers.elements(shape))]) for key,
                         shape in writers.marian_tensors(config)])


def check(to, name):
    """MarianTokenizer, and this project's program, on the committed model. Texts with line breaks are left out for the
    program."""
    model, path = os.path.join(HERE, name + ".spm"), os.path.join(HERE, name + ".json")
    marian = MarianTokenizer(model, model, path)
    with open(os.path.join(HERE, name + ".jsonl"), encoding="utf-8") as file:
        cases = [json.loads(line) for line in file]
    for case in cases:
        if "text" in case:
            theirs = marian(case["text"], add_special_tokens=False).input_ids
            to.same(f"{name}, {case['text']!r}: MarianTokenizer", case.get("marian", case["ids"]), theirs)
        else:
            to.same(f"{name}, {case['ids']}: MarianTokenizer", case["decoded"],
                    marian.decode(case["ids"], skip_special_tokens=True))
    with tempfile.TemporaryDirectory() as folder:
        model_around(folder, name)
        lines = [case for case in cases if "text" in case and case["text"].strip("\n\r") == case["text"]]
        found = to.run("tokenize", "-m", folder, "--ids", lines=[case["text"] for case in lines])
        to.each(f"{name}: translate tokenize", [case["ids"] for case in lines],
                [[int(token) for token in line.split()] for line in found])


def main():
    engines.check_where_asked(check, ("bytes", "plain", "bpe"))
    make()


def make():
    os.makedirs(HERE, exist_ok=True)
    record("bytes", train("bytes", model_type="unigram", byte_fallback=True, vocab_size=560, split_digits=True))
    record("plain", train("plain", model_type="unigram", vocab_size=300))
    record("bpe", train("bpe", model_type="bpe", byte_fallback=True, vocab_size=620,
                        user_defined_symbols=["C++", "http://", "今天"], add_dummy_prefix=False))


if __name__ == "__main__":
    main()
