"""Chinese as it is printed, from Chinese in which NFKC (corpus.normalise) made the marks half-width: what a model that
translates into Chinese shall write. Text without Chinese characters stays as it is.

Marks are full-width beside Chinese, but not inside numbers, times, Latin words and code. There is no space between
Chinese and Latin letters or figures, nor after a full-width mark.
"""
import re

MARKS = "，；：！？（）…"
WIDE = str.maketrans(",;:!?()", MARKS[:7])
HAN = "\u3400-\u9fff"
CLOSING, OPENING = "”’》」』】〉〕）", "“‘《「『【〈〔（"
CHINESE = f"[{HAN}。、，；：！？…—{CLOSING}{OPENING}]"

CODE = re.compile(r'(\w\([ -~]*?\)|"[ -~]*?")', re.ASCII)  # stays
MARK = re.compile(rf"(?<={CHINESE}) *[,;:!?](?![A-Za-z0-9]*://)|(?<![,;:!?])[,;:!?] *(?={CHINESE})")
BETWEEN_LATIN = re.compile(  # in a Chinese sentence: "A, B和C"; "5.2%,CPI"; "500460,11分钟", but 1,200
    r"(?<=[A-Za-z\d%\])>⟧])(?:[,;!?](?= |$)|,(?=[A-Za-z])|:$)|(?<=[A-Za-z%]),(?=\d)|(?<=\d),(?=\d)(?!\d{3}(?!\d))"
)
ENCLOSED = re.compile(
    rf"(?<={CHINESE}) *\(([^()]*)\)|\(([^()]*[{HAN}][^()]*)\)|(?<![A-Za-z0-9_])\(([^()]*)\)(?={CHINESE})"
)
ELLIPSIS = re.compile(rf"(?<={CHINESE}) *\.{{3,6}}|\.{{3,6}} *(?={CHINESE})")
QUOTED = re.compile(rf'"([^"]*[{HAN}][^"]*)"')
SPACE_AFTER = re.compile("(?<=[，；：！？（）。、…”》」』]) +|(?<=——) +")
SPACE_BEFORE = re.compile("(?<=[^ ]) +(?=[，；：！？（）。、…]|——)")
SPACE_BETWEEN = re.compile(rf"(?<=[{HAN}]) (?=[A-Za-z0-9⟦])|(?<=[A-Za-z0-9%℃°⟧]) (?=[{HAN}])")


def wide_brackets(match: re.Match) -> str:
    return f"（{next(part for part in match.groups() if part is not None)}）"


def printed(text: str) -> str:
    if not re.search(f"[{HAN}]", text):
        return text
    text = QUOTED.sub(r"“\1”", text)
    text = ELLIPSIS.sub("……", text)
    before = None
    while before != text:  # a mark that became Chinese is a neighbour, too
        before = text
        text = ENCLOSED.sub(wide_brackets, text)
        text = MARK.sub(lambda m: m[0].strip().translate(WIDE), text)
        parts = CODE.split(text)
        parts[::2] = [BETWEEN_LATIN.sub(lambda m: m[0].translate(WIDE), part) for part in parts[::2]]
        text = "".join(parts)
    return SPACE_BETWEEN.sub("", SPACE_BEFORE.sub("", SPACE_AFTER.sub("", text)))
