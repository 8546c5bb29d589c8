#!/usr/bin/env python3
"""Makes fixtures/words.json, for test_words.c: texts divided into words and words joined to texts by sacremoses in many
languages, and words divided into pieces by subword-nmt.

    python3 tests/tokenizer/make_words.py
    python3 tests/tokenizer/make_words.py --check    (../engines/engines.py)

Needs sacremoses and subword-nmt; the test itself needs neither.
"""
import io
import json
import os
import random
import sys

from sacremoses import MosesDetokenizer, MosesPunctNormalizer, MosesTokenizer
from subword_nmt.apply_bpe import BPE

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "argos"), os.path.join(HERE, "..", "engines")]
import engines  # noqa: E402
from words import TEXTS  # noqa: E402

PATH = os.path.join(HERE, "fixtures", "words.json")
LANGUAGES = ["en", "de", "fr", "es", "it", "pt", "ru", "cs", "pl", "fi", "zh", "ja", "ko", "hi", "tr", ""]
WHOLE = {"en", "de", "fr", "zh", ""}  # languages for all texts below
EACH = 10  # texts of other languages, with the languages whose rules are applied

CUT = {
    "": ["", " ", "\t\u00a0", "a", ".", "..", "...", "a.", "a..", "a .", ",", "5,", "5,a", "a,5", ",,", "1,2,3", "a'b", "'",
         "''", "a'",
         "'a", ".'", "a.'", "`", "a-b", "-", "--", "%", "5 %", "( a )", "(a),(b)", "a\u0001b", "a\u007fb", "\u200b\ufeff",
         "e.g. A", "A. B. C.", "U.S.A.", "x. y", "x. Y", "x. 5", "½ Ⅻ ٣ ①", "हिन्दी ภาษา", "e\u0301 ü ﬁ ß", "𝐀𐐀😀",
         "a\u00a0:b\u00a0!",
         "1\u00a0000\u00a0000", "1\u00a02\u00a03", "«\u00a0a\u00a0»", "nº\u00a05", "20\u00a0ºC", "5\u00a0cm", "a,\u00a0b",
         "&lt;&amp;|[]"],
    "en": ['"a", "b."', '"a",. b', "dogs' 's isn't 1990's 5's 'tis", "Mr. A", "No. 5", "No. A", "Mr.", "St. x"],
    "de": ['"a," b.', '"a." b', '"a."', '"a.. "', 'a.."</b>', "am 5. Mai", "am 100. Mai", "XII. Jh.", "Nr. A", "a. B"],
    "fr": ["l'eau d'y '5' 5'a a'5", "M. A", '"a," b.'],
    "es": ['"a," b."c"', "Sr. A"],
    "cs": ["1\u00a0000", "př. A"],
    "zh": ["。，、《》", "天气。天气, 天。", "No. 5", "々〇〆㍿"],
    "ja": ["カタカナ・ー、ひらがな。漢字", "ｱﾞｰ｡"],
    "ko": ["한국어, 가나다! ᄀ", "漢字。"],
}
JOINED = {
    "": ["", "a", "a b", ". a", "a . , ? !", "( a ) [ b ] { c }", "$ 5 € 5 5 £", "¿ a ? ¡ b !", "$( a )", '" a "', "' a '",
         '" a " " b "',
         '" a', '„ a “ b', '„ a “', "` a ` `` b ``", "'' a ''", "'\" a '\"", "a @-@ b", "a @-@ @-@ b", "@-@", "a@-@b",
         "&lt; a &gt; &amp;lt;",
         "&bar; &#124; &bra; &#91; &ket; &#93; &quot; &apos; &amp;", "天 气 a 天 b", "a 天 气 。", "カ タ 가 나", "天 , 气",
         "a \u00a0 b",
         "a  b   c", "Ａ Ｂ", "% 5 % %", "\\ a \\"],
    "en": ["it &apos;s", "&apos;s it", "James ' house", "Jame ' house '", "do n't", "' s", "' a s ' b"],
    "fr": ["l' eau", "l' 5", "a l'", "a ?", "a ! ?", "a ?!", "a ; b : c % d \\", "a »"],
    "it": ["l' eau", "dell' è", "a ?"],
    "ga": ["b' a"],
    "cs": ["a 3 , 5", "3 , 5 a 3 , 5", "1 2 3 .", "a b 5 7 ,", "„ a “ „ b “", "“ a „ b", "a 5 3 ."],
    "fi": ["EU : n", "EU: ssa"],
    "ko": ["한국 어 가 나", "天 气"],
}
CODES = {
    "ordinary": "#version: 0.2\nt h\nth e</w>\no f</w>\na n\nan d</w>\n",
    "old": "t h\nth e\nthe </w>\no f\nof </w>\nd </w>\n",
    "order": "#version: 0.2\nx x\nab c\na b\nab ab\nabab c\nb c\nxx x\nc c</w>\nbc c</w>\n",
    "twice": "#version: 0.2.0\na b\r\nb a\r\na b\r\nba b</w>\r\n\r\n",
    "lines": "#version: 0.1\rи я\rк о\rия </w>\r",
}
WORDS = ["the", "th", "t", "then", "of", "off", "and", "an", "d", "abc", "ababc", "abcabc", "xxx", "xxxx", "xxxxx",
         "abababcc", "bcc", "aba",
         "bab", "babab", "ия", "кория", "天气", "the天", "a@@b", "é"]


def cuts():
    chooser = random.Random(3)
    others = [text for texts in TEXTS.values() for text in texts]
    for language in LANGUAGES:
        normalizer, tokenizer = MosesPunctNormalizer(language), MosesTokenizer(language)
        common = CUT[""] if language in WHOLE else []
        texts = CUT.get(language, []) + common + TEXTS.get(language, []) + chooser.sample(others, EACH)
        for text in dict.fromkeys(texts):
            yield {"language": language, "text": text, "words": " ".join(tokenizer.tokenize(normalizer.normalize(text)))}


def joined():
    chooser = random.Random(4)
    tokenizer = MosesTokenizer("en")
    others = [" ".join(tokenizer.tokenize(text)) for texts in TEXTS.values() for text in texts]
    for language in ["en", "de", "fr", "it", "ga", "cs", "fi", "zh", "ko"]:
        detokenizer = MosesDetokenizer(language)
        for text in dict.fromkeys(JOINED.get(language, []) + JOINED[""] + chooser.sample(others, EACH)):
            if "가" not in text:  # sacremoses before 0.2 does not count this character as East Asian
                yield {"language": language, "words": text, "text": detokenizer.detokenize(text.split(" "))}


def pieces():
    for name, codes in CODES.items():
        bpe = BPE(io.StringIO(codes, newline=None))
        for word in WORDS:
            yield {"codes": name, "word": word, "pieces": " ".join(bpe.segment_tokens([word]))}


def main():
    made = {"codes": CODES, "cuts": list(cuts()), "joined": list(joined()), "pieces": list(pieces())}
    if engines.wanted():
        to = engines.Check()
        with open(PATH, encoding="utf-8") as file:
            expected = json.load(file)
        for key in ("cuts", "joined", "pieces"):
            to.each(key, expected[key], made[key])
        to.finish()
    with open(PATH, "w", encoding="utf-8") as file:
        file.write('{"codes": ' + json.dumps(CODES, ensure_ascii=False))
        for key in ("cuts", "joined", "pieces"):
            file.write(f',\n"{key}": [\n' + ",\n".join(json.dumps(line, ensure_ascii=False) for line in made[key]) + "\n]")
        file.write("}\n")
    print({key: len(lines) for key, lines in made.items()}, os.path.getsize(PATH))


if __name__ == "__main__":
    main()
