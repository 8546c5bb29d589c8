"""What a model shall copy: symbols of its own in ordinary pairs, and other figures in them.

A program that must keep a span of text, such as an address or code, puts a symbol there before it translates, and the
span back after that (docs/formats.md, translate.copy_symbols). So that a model copies symbols wherever they stand, some
pairs get them in place of what is the same on both sides: Latin words, numbers, names, quotations. In others the
numbers become other ones on both sides, written one way or another: what a number is, no corpus says often enough. Nor
does it name enough people, so Chinese names become other ones.
"""
import functools
import pathlib
import re
import sys
from random import Random

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "patterns"))
from language import digits, magnitude, numerals, words

SYMBOLS = [f"⟦{letter}⟧" for letter in "ABCDEFGHIJKLMNOP"]
BESIDE = (
    "😀😁😂🤣😃😄😅😆😉😊😋😎😍😘🥰🙂🤗🤔😐😏😣😥😮😪😫😴😜😒😓😔🙃😲😖😞😤😢😭😨😩😬😱😳😡😷🤒🥳🥺🙄🙈👍👎👌✌👋👏🙏💪"
    "❤💔💕💖💯💥🔥✨⭐🌟🌹🌸🎉🎊🎁🎂🎈🍎🍉🍺☕🍜🐶🐱☀🌧⚡🚗✈📱💻📷📧📞📅📌📝📚💰🏠🏆⚠✅❌❗❓✔✖➡"
    "←↑→↓↔⇒√∞≈≠≤≥±×÷∑∠∥°′§¶†‡•◦·●○◎■□▲△▼▽◆◇★☆♪♥※©®"
)
SIGNS = BESIDE + "¥€£₩₽—"
BRACKETS = "〈〉『』【】〔〕"  # no pieces: they are too rare to learn, and programs keep signs that a vocabulary lacks
SHARES = {"symbols": 0.22, "around": 0.01, "figures": 0.3, "people": 0.5, "signs": 0.008}  # of the pairs that can have it

LATIN = re.compile(r"(?<![\w.@/:%$#-])(?<!\d,)[A-Za-z0-9](?:[\w.@:/%+#&=?~-]*[A-Za-z0-9%])?(?![\w@/%-])", re.ASCII)
QUOTED = re.compile(r"“([^“”]{2,40})”"), re.compile(r"[“\"]([^“”\"]{2,80})[”\"]")
LARGE = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)([万亿])(?![万亿分])")
ENGLISH_LARGE = re.compile(r"(?<![\w.,])(\d[\d,]*(?:\.\d+)?)(?: (thousand|million|billion|trillion))?(?![\w%]|[.,]\d)")
PERCENT = re.compile(r"(?<![\d.~-])(\d{1,2}(?:\.\d{1,2})?)%(?![\d])")
SCALES = {"万": 10**4, "亿": 10**8, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "": 1}

Sides = tuple[str, str]  # Chinese, English
Places = tuple[tuple[int, int], tuple[int, int]]  # where something begins and ends in each


@functools.cache
def names() -> tuple[dict[str, str], re.Pattern]:
    """What people and places of the patterns are called in English, and what finds them in Chinese."""
    from patterns import TABLES

    kinds = "first_name", "last_name", "world", "Chinese_city", "country", "firm", "university", "software"
    table = {entry[0]: entry[1] for kind in kinds for entry in TABLES.get(kind, []) if len(entry) > 1 and len(entry[0]) > 1}
    return table, re.compile("|".join(sorted(map(re.escape, table), key=len, reverse=True)))


@functools.cache
def name_characters() -> tuple[dict[str, str], dict[str, str]]:
    """How surnames and the characters of given names are written in Latin letters."""
    from patterns import GIVEN, SURNAMES

    return dict(SURNAMES), dict(GIVEN)


def only_place(pattern: str, text: str) -> tuple[int, int] | None:
    found = list(re.finditer(pattern, text))
    return found[0].span() if len(found) == 1 else None


def latin_on_both_sides(zh: str, en: str) -> list[Places]:
    """Places in both texts of the Latin words and numbers that stand there once."""
    out = []
    for match in LATIN.finditer(zh):
        if len(match[0]) > 1 and zh.count(match[0]) == 1:
            place = only_place(rf"(?<![\w-]){re.escape(match[0])}(?![\w%-])", en)
            out += [(match.span(), place)] if place else []
    return out


def same_on_both_sides(zh: str, en: str) -> list[Places]:
    """Of those, and of names and quotations; short numbers are no spans. They may overlap."""
    out = [place for place in latin_on_both_sides(zh, en) if not re.fullmatch(r"[\d.:]{1,5}%?", zh[slice(*place[0])])]
    table, pattern = names()
    for match in pattern.finditer(zh):
        if zh.count(match[0]) == 1:
            place = only_place(rf"\b{re.escape(table[match[0]])}\b", en)
            out += [(match.span(), place)] if place else []
    quoted = [pattern.findall(side) for pattern, side in zip(QUOTED, (zh, en))]
    if all(len(found) == 1 for found in quoted):
        out.append((QUOTED[0].search(zh).span(1), QUOTED[1].search(en).span(1)))
    return out


def replace(text: str, places: list[tuple[tuple[int, int], str]]) -> str:
    for (begin, end), new in sorted(places, reverse=True):
        text = text[:begin] + new + text[end:]
    return text


def with_symbols(zh: str, en: str, rng: Random) -> Sides:
    """One symbol or several in place of what is the same."""
    places = same_on_both_sides(zh, en)
    rng.shuffle(places)
    taken, symbols = [], rng.sample(SYMBOLS, len(SYMBOLS))
    for place in places[: len(SYMBOLS)]:
        apart = all(place[i][1] <= other[i][0] or other[i][1] <= place[i][0] for other in taken for i in (0, 1))
        if apart and (not taken or rng.random() < 0.6):
            taken.append(place)
    put = list(zip(taken, symbols))
    return tuple(replace(side, [(place[i], symbol) for place, symbol in put]) for i, side in enumerate((zh, en)))


def with_symbol_around(zh: str, en: str, rng: Random) -> Sides:
    """A symbol before or after a sentence."""
    symbol = rng.choice(SYMBOLS)
    if rng.random() < 0.3:
        return rng.choice(((f"{symbol}:{zh}", f"{symbol}: {en}"), (f"{symbol} {zh}", f"{symbol} {en}")))
    form = rng.choice((("{}:{}", "{}: {}"), ("{}({})。", "{} ({})."), ("{},见{}。", "{}; see {}."), ("{} {}", "{} {}")))
    if zh[-1] != "。" or en[-1] != ".":
        return f"{zh} {symbol}", f"{en} {symbol}"
    return form[0].format(zh[:-1], symbol), form[1].format(en[:-1], symbol)


def with_sign(zh: str, en: str, rng: Random) -> Sides:
    sign, kept = rng.choice(BESIDE), rng.random() < 0.7
    return (zh if kept else zh[:-1]) + sign, f"{en if kept else en[:-1]} {sign}"


def other_code(text: str, rng: Random) -> str:
    """Other figures, and other capitals beside figures."""
    mixed = re.fullmatch("[A-Z0-9-]+", text)
    drawn = [
        str(rng.randint(not i, 9)) if c.isdigit() else rng.choice("ABCDEFGHJKLMNPQRSTUVWXYZ") if mixed and c.isalpha() else c
        for i, c in enumerate(text)
    ]
    if len(drawn) > 5 and rng.random() < 0.5:  # two or three alike in a row are easily miscounted
        i = rng.randrange(2, len(drawn))
        if drawn[i].isdigit() and drawn[i - 1].isdigit():
            drawn[i] = drawn[i - 1]
    return "".join(drawn)


def is_code(text: str) -> bool:
    figures = sum(map(str.isdigit, text))
    return figures > 2 and not re.fullmatch(r"(1[5-9]|20)\d\d", text) and not re.search("[a-z.:/]", text)


def with_other_codes(zh: str, en: str, rng: Random) -> Sides:
    places = [place for place in latin_on_both_sides(zh, en) if is_code(zh[slice(*place[0])])]
    if not places:
        return zh, en
    place = rng.choice(places)
    new = other_code(zh[slice(*place[0])], rng)
    if new.isdigit() and len(new) in (7, 8, 11, 16, 19) or rng.random() < 0.7:
        return replace(zh, [(place[0], new)]), replace(en, [(place[1], new)])
    new = "".join(str(rng.randint(not i, 9)) for i in range(rng.randint(6, 19)))  # a long run
    return replace(zh, [(place[0], new)]), replace(en, [(place[1], new)])


def with_other_amount(zh: str, en: str, rng: Random) -> Sides:
    """Of 3.5万 and 35,000 others."""
    ours, theirs = LARGE.findall(zh), list(ENGLISH_LARGE.finditer(en))
    if len(ours) != 1:
        return zh, en
    value = round(float(ours[0][0]) * SCALES[ours[0][1]])
    same = [m for m in theirs if round(float(m[1].replace(",", "")) * SCALES[m[2] or ""]) == value]
    if len(same) != 1:
        return zh, en
    n = magnitude(max(10**4, value // 10), value * 10, rng)
    unit = "亿" if n >= 10**8 else "万"
    written = f"{n / SCALES[unit]:.12g}{unit}"
    if rng.random() < 0.3 or len(written) > 8:
        written = numerals(n, rng)
    return LARGE.sub(written, zh), replace(en, [(same[0].span(), words(n))])


def with_other_percent(zh: str, en: str, rng: Random) -> Sides:
    ours, theirs = PERCENT.findall(zh), PERCENT.findall(en)
    if len(ours) != 1 or ours != theirs:
        return zh, en
    n = rng.randint(1, 99)
    figures = f"{n}.{rng.randint(1, 9)}" if "." in ours[0] else str(n)
    if rng.random() < 0.45:
        whole, _, tail = figures.partition(".")
        written = f"百分之{numerals(int(whole), rng)}" + (f"点{digits(tail)}" if tail else "")
        if not tail and n % 10 == 0 and rng.random() < 0.6:
            written = f"{digits(str(n // 10))}成"
    else:
        written = figures + "%"
    return PERCENT.sub(written, zh), PERCENT.sub(figures + "%", en)


def with_other_figures(zh: str, en: str, rng: Random) -> Sides:
    for change in (with_other_amount, with_other_percent, with_other_codes):
        changed = change(zh, en, rng)
        if changed != (zh, en):
            return changed
    return zh, en


def person_on_both_sides(zh: str, en: str) -> Places | None:
    """Of a Chinese name that stands there once, its surname in no other place of the English either."""
    from patterns import in_letters

    surnames, sounds = name_characters()
    for begin, surname in enumerate(zh):
        if surname not in surnames or en.count(surnames[surname]) != 1:
            continue
        for end in (begin + 3, begin + 2):
            given = zh[begin + 1 : end]
            if end > len(zh) or not all(c in sounds for c in given) or zh.count(zh[begin:end]) != 1:
                continue
            place = only_place(rf"\b{surnames[surname]} {in_letters([sounds[c] for c in given])}\b", en)
            if place:
                return (begin, end), place
    return None


def with_other_person(zh: str, en: str, rng: Random) -> Sides:
    from patterns import SURNAMES, given_name

    places = person_on_both_sides(zh, en)
    if not places:
        return zh, en
    surname, given = rng.choice(SURNAMES), given_name(rng)
    return replace(zh, [(places[0], surname[0] + given[0])]), replace(en, [(places[1], f"{surname[1]} {given[1]}")])


def vary(zh: str, en: str, rng: Random) -> Sides:
    """Most pairs stay as they are."""
    draw = {name: rng.random() < share for name, share in SHARES.items()}
    is_sentence = zh and en and zh[-1] in "。!?" and en[-1] in ".!?"
    if draw["figures"] and re.search(r"\d", zh):
        zh, en = with_other_figures(zh, en, rng)
    if draw["people"]:
        zh, en = with_other_person(zh, en, rng)
    if draw["symbols"]:
        zh, en = with_symbols(zh, en, rng)
    elif draw["around"] and is_sentence:
        zh, en = with_symbol_around(zh, en, rng)
    elif draw["signs"] and is_sentence:
        zh, en = with_sign(zh, en, rng)
    return zh, en
