"""A small model from English into simplified Chinese, with rules for traditional characters. What it says means nothing."""
import json
import pathlib
import re
import shutil

SMALL = pathlib.Path(__file__).resolve().parent.parent / "reference/fixtures/relu-1x1-f32/model"
PARTS = ("头", "发", "展", "▁发展", "皇", "后", "头发", "览", "，", "▁面")
RULES = {"发": "發", "发展": "發展", "后": "後", "头": "頭", "头发": "頭髮", "头发展览": "頭髮展覽", "皇后": "皇后",
         "面头": "麵頭", "览": "覽", "展览，": "展覽，"}


def make(path):
    """A directory whose name tells the languages: opus-mt-en-zh."""
    shutil.copytree(SMALL, path)
    vocabulary = path / "vocab.json"
    pieces = json.loads(vocabulary.read_text())
    for i, name in enumerate(n for n in sorted(pieces, key=pieces.get) if re.fullmatch("▁?[a-z]+", n)):
        new = PARTS[i % 10] + PARTS[i // 10 % 10].strip("▁") * (i >= 10) + "发" * (i // 100)
        pieces[new] = pieces.pop(name)
    vocabulary.write_text(json.dumps(pieces), encoding="utf-8")
    settings = path / "tokenizer_config.json"
    settings.write_text(re.sub(r'"(source|target)_lang": "\w+", ', "", settings.read_text()))
    write_rules(path, RULES)


def write_rules(path, rules):
    rows = sorted((simple.encode(), form.encode()) for simple, form in rules.items())
    (path / "traditional.tsv").write_bytes(b"".join(b"%s\t%s\n" % row for row in rows))


def written(text):
    """In traditional characters: by the longest rule, from left to right."""
    out = ""
    while text:
        size = next((n for n in range(min(len(text), 5), 0, -1) if text[:n] in RULES), 1)
        out += RULES.get(text[:size], text[:size])
        text = text[size:]
    return out
