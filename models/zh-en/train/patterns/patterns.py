"""Writes sentence pairs made from patterns, for what a small model must do exactly: figures, dates, prices and names.

    patterns.py OUT.tsv [--pairs 36000] [--seed 0]

Chinese TAB English a line, as many from each of the files PATTERNS, which say how a pattern is written; what slots are
drawn from is in tables. Numbers are as language.py has them; of clock times in Chinese numerals the full hours, half
hours and quarters are words, all other minutes figures.
"""
import argparse
import collections
import functools
import pathlib
import random
import re
from collections.abc import Callable
from random import Random

from language import (
    DIGITS, WAYS, Value, capitalise, choose_articles, conjugate, count, digits, doubled, magnitude, numerals, plural,
    quantity, words, write_decimal, write_year,
)  # fmt: skip

FOLDER = pathlib.Path(__file__).resolve().parent
PATTERNS = ("numbers", "dates", "prices", "names", "mixed", "figures")
SLOT = r"\{([A-Za-z_']+)(\d?)\}"
# Slots that are drawn along with another.
DRAWN_WITH = {
    "capital": "country", "nation": "country", "language": "country", "did": "do", "doing": "do", "his": "P", "S'": "S",
    "thing": "item", "worth": "item", "less": "item", "gap": "item", "total": "goods", "ym": "ymd",
}  # fmt: skip
COMPOUND_SURNAMES = 0.03  # of all Chinese names
TWO_SENTENCES = 0.08
ENGLISH_MARKS = FULL_WIDTH = 0.04

Pair = tuple[str, str]  # Chinese, English
Values = dict[str, Value]


def read_lines(name: str) -> list[str]:
    lines = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("# ")]


def read_tables(*names: str) -> dict[str, list[list[str]]]:
    """The entries of each kind, as lists of cells."""
    tables = collections.defaultdict(list)
    for line in [line for name in names for line in read_lines(name)]:
        kind, _, entries = line.partition(": ")
        tables[kind] += [entry.split(" = ") for entry in entries.split("; ")]
    return dict(tables)


def characters(kind: str) -> list[list[str]]:
    """Each character of a table of characters of one sound, with that sound."""
    return [[character, sound] for same, sound in TABLES[kind] for character in same]


TABLES = read_tables("people", "places", "words", "times")
MEASURES = read_tables("measures")
CODES = read_tables("codes")
TABLES["city"] = TABLES["Chinese_city"] + TABLES["world"]
TABLES["goods"] = TABLES["thing"] + TABLES["other"]
SURNAMES, GIVEN = characters("surname"), characters("given")
RANGES = {kind: (int(low), int(high), way) for kind, low, high, way in MEASURES.pop("range")}
MONEY = {kind: (int(low), int(high)) for kind, low, high in MEASURES.pop("money")}
CURRENCIES = MEASURES.pop("currency")
TIMES = "second", "minute", "hour", "day", "week", "month", "year"


def draw_range(kind: str, rng: Random) -> Value:
    low, high, way = RANGES[kind]
    return WAYS[way](low, high, rng)


def run_of_figures(length: int, rng: Random) -> str:
    text = "".join(str(rng.randint(1, 9) if rng.random() < 0.8 else 0) for _ in range(length))
    return doubled(text, rng) if length > 1 and rng.random() < 0.4 else text


def draw_code(kind: str, rng: Random) -> Value:
    """What is copied; a room's number may be in Chinese numerals."""
    text = re.sub("<(.+?)>", lambda m: rng.choice(CODES[m[1]])[0], rng.choice(CODES[kind])[0])
    text = re.sub("(?<![0-9#])#", lambda m: str(rng.randint(1, 9)), text)  # no figure before it: not zero
    text = re.sub("#+", lambda m: run_of_figures(len(m[0]), rng), text)
    text = re.sub("[%$]", lambda m: rng.choice("ABCDEFGHKLMNPRSTXYZ" if m[0] == "%" else "ABCDEF"), text)
    return Value(digits(text) if kind == "room" and rng.random() < 0.35 else text, text)


def draw_measure(kind: str, rng: Random) -> Value:
    """A measure of a kind: whole, or with a half or a decimal."""
    zh, en, low, high = rng.choice(MEASURES[kind])
    n = magnitude(int(low), int(high), rng)
    chance = rng.random()
    if chance < 0.12 and n < 20 and zh not in ("秒", "天", "周", "小时"):
        half = f"个半{zh[1:]}" if zh[0] == "个" else zh + "半"
        return Value(numerals(n, rng, True) + half, f"{words(n)} and a half {plural(en)}", "they", n)
    if 0.12 < chance < 0.25 and n < 100 and en not in TIMES:
        decimal = write_decimal(n, n, rng)
        return Value(decimal.zh + zh, f"{decimal.en} {plural(en)}", "they", n)
    if 0.25 < chance < 0.3 and n == 1 or zh == "个小时" and chance > 0.93:
        return Value(f"半{zh}" if zh[0] != "个" else f"半个{zh[1:]}", "half a(n) " + en)
    return quantity(zh, en, n, rng)


def draw_people(rng: Random) -> Value:
    return quantity(*rng.choice(TABLES["people"]), magnitude(1, rng.choice((20, 99, 2000)), rng), rng)


def draw_goods(rng: Random) -> Values:
    """A number of things, the fewer the dearer they are, and what they cost together."""
    measured, noun, low, high = rng.choice(TABLES["goods"])
    n = magnitude(1, max(3, min(rng.choice((20, 99, 2000)), 100_000 // int(high))), rng)
    return {"goods": quantity(measured, noun, n, rng), "total": amount(n * int(low), n * int(high), rng)}


def draw_approximate(things: str, ways: str, rng: Random) -> Value:
    """A number of things or of people that is not exact; * is what is counted."""
    measured, noun, *_ = rng.choice(TABLES[things])
    way = draw_entry(ways, rng)
    return Value(way.zh.replace("*", measured), way.en.replace("*", plural(noun)), "they")


def draw_score(rng: Random) -> Value:
    low, high = sorted(rng.sample(range(8) if rng.random() < 0.6 else range(60, 120), 2))
    ways = f"{numerals(high, rng)}比{numerals(low, rng)}", f"{high}比{low}", f"{high}:{low}"
    return Value(rng.choice(ways), f"{high}-{low}")


def draw_height(rng: Random) -> Value:
    tail = str(rng.randrange(50, 100)).rstrip("0")
    return Value(rng.choice((f"一米{digits(tail)}", f"1.{tail}米", f"1米{tail}", f"一点{digits(tail)}米")), "1." + tail)


def draw_money(kind: str, rng: Random) -> Value:
    low, high = MONEY[kind]
    return coins(low, high, rng) if high <= 300 and rng.random() < 0.55 else amount(low, high, rng)


def amount(low: float, high: float, rng: Random, currency: str = "") -> Value:
    """An amount between two in yuan, in any currency or a given one."""
    zh, en, yuan = rng.choice([entry for entry in CURRENCIES if currency in ("", entry[1])])
    least = max(1, round(low / float(yuan)))
    n = magnitude(least, max(least, int(high / float(yuan))), rng)
    if en in "¥$€":
        return Value(zh + rng.choice((f"{n}", f"{n:,}")), f"{en}{n:,}", "it", n, en)
    number_zh, number_en = count(n, rng, arabic=0.35)
    return Value(number_zh + zh, f"{number_en} {plural(en) if n > 1 else en}", "it", n, en)


def coins(low: int, high: int, rng: Random) -> Value:
    """Yuan with tenths and perhaps hundredths: 三块五, 3.5元, 三元五角二分."""
    yuan, jiao = rng.randrange(low if low > 1 else 0, min(high, 100)), rng.randrange(1, 10)
    fen = rng.choice((0, 0, 0, rng.randrange(1, 10)))
    if not yuan and not fen:
        return Value(f"{numerals(jiao, rng, True)}{rng.choice('毛角')}", f"{words(jiao)} jiao", "it", jiao / 10, "yuan")
    figures = f"{yuan}.{jiao}{fen or ''}"
    if rng.random() < 0.4 or not yuan:
        zh = figures + rng.choice("元块")
    else:
        block, tenth = rng.choice(("块毛", "块毛", "元角"))
        if fen:
            tenth += DIGITS[fen] + ("分" if block == "元" else "")
        elif block == "块" and rng.random() < 0.5:
            tenth = ""
        zh = f"{numerals(yuan, rng, True)}{block}{DIGITS[jiao]}{tenth}"
    return Value(zh, figures + " yuan", "it", float(figures), "yuan")


def draw_bare_price(rng: Random) -> Value:
    """Colloquial numbers that leave the last unit out: 一百二, 三千五, 一万八."""
    first, second = rng.randrange(1, 10), rng.randrange(1, 10)
    name, scale = rng.choice((("百", 100), ("千", 1000), ("万", 10000)))
    n = first * scale + second * scale // 10
    return Value(f"{'两' if first == 2 else DIGITS[first]}{name}{DIGITS[second]}", words(n), "it", n)


def draw_clock(rng: Random) -> Value:
    """A time of day: half past, quarters and full hours in words, figures otherwise."""
    chance = rng.random()
    if chance < 0.12:
        hour, minute = rng.randrange(0, 24), rng.randrange(0, 60, 5)
        return Value(f"{hour}:{minute:02}", f"{hour}:{minute:02}", "it", 60 * hour + minute)
    part = rng.choice((*TABLES["part_of_day"], None, None, None))
    front, spoken, figure = (part[0], " " + part[1], " " + part[2]) if part else ("", "", "")
    hour = rng.randint(int(part[3]), int(part[4])) if part else rng.randint(1, 12)
    minute = rng.choice((0, 0, 30, 30, 15, 45, 40, 10, 5, 20, 25, 35, 50, 55, 8))
    size = 60 * hour + minute + 720 * (figure == " p.m.")
    if chance < 0.3:
        zh = rng.choice((f"{hour}点{minute}分" if minute else f"{hour}点", f"{hour}:{minute:02}"))
        return Value(front + zh, f"{hour}{f':{minute:02}' if minute or not part else ''}{figure}", "it", size)
    name, following = numerals(hour, rng, True), hour % 12 + 1
    if chance < 0.38:
        left = rng.choice((5, 10, 15, 20))
        left_zh, left_en = ("一刻", "a quarter") if left == 15 else (numerals(left, rng) + "分", words(left))
        if hour >= 11:  # the next hour is in another part of the day
            front = spoken = ""
        zh, en = f"{front}差{left_zh}{numerals(following, rng, True)}点", f"{left_en} to {words(following)}{spoken}"
        return Value(zh, en, "it", size - minute + 60 - left)
    if minute == 0 and rng.random() < 0.3:
        return Value(f"{front}{name}点钟", f"{words(hour)} o'clock{spoken}", "it", size)
    if minute in (0, 15, 30):
        tail, past = {0: ("", ""), 15: ("一刻", "a quarter past "), 30: ("半", "half past ")}[minute]
        return Value(f"{front}{name}点{tail}", f"{past}{words(hour)}{spoken}", "it", size)
    minutes = "零" + numerals(minute, rng) + "分" if minute < 10 else numerals(minute, rng) + rng.choice(("分", "分", ""))
    return Value(f"{front}{name}点{minutes}", f"{hour}:{minute:02}{figure}", "it", size)


def draw_date(rng: Random, arabic: bool | None = None) -> Value:
    arabic = rng.random() < 0.5 if arabic is None else arabic
    month, day = rng.randint(1, 12), rng.randint(1, 28)
    last = rng.choice("日号")
    zh = f"{month}月{day}{last}" if arabic else f"{numerals(month, rng)}月{numerals(day, rng)}{last}"
    return Value(zh, f"{TABLES['month_name'][month - 1][0]} {day}", "it", 31 * month + day)


def draw_month(rng: Random, arabic: bool | None = None) -> Value:
    n = rng.randint(1, 12)
    arabic = rng.random() < 0.4 if arabic is None else arabic
    return Value(f"{n if arabic else numerals(n, rng)}月", TABLES["month_name"][n - 1][0], "it", n)


def draw_full_date(kind: str, rng: Random) -> Values:
    """A date with its year and a month with the same, all in figures or all in Chinese numerals."""
    arabic = rng.random() < 0.6
    low, high, _ = RANGES["coming" if kind == "due" else "recent"]
    year, date, month = write_year(low, high, rng, arabic), draw_date(rng, arabic), draw_month(rng, arabic)
    full = Value(year.zh + date.zh, f"{date.en}, {year.en}")
    return {kind: full, "ym": Value(year.zh + month.zh, f"{month.en} {year.en}")}


def in_letters(sounds: list[str]) -> str:
    """A given name; an apostrophe parts syllables that would run together."""
    return "".join(("'" if i and sound[0] in "aeo" else "") + sound for i, sound in enumerate(sounds)).capitalize()


def given_name(rng: Random) -> Pair:
    """One or two characters."""
    characters, sounds = zip(*(rng.choice(GIVEN) for _ in range(rng.choice((1, 2, 2)))))
    return "".join(characters), in_letters(sounds)


def draw_name(kind: str, rng: Random) -> Value:
    """A Chinese or foreign name (`name`), or a surname with a title (`titled`)."""
    zh, en = rng.choice(TABLES["compound_surname"] if rng.random() < COMPOUND_SURNAMES else SURNAMES)
    first, last = rng.choice(TABLES["first_name"]), rng.choice(TABLES["last_name"])
    if kind == "titled":
        title = rng.choice(TABLES["title"])
        if rng.random() < 0.2 and len(zh) == 1:
            return Value(*rng.choice((("小" + zh, "Xiao " + en), ("老" + zh, "Lao " + en))))
        if rng.random() < 0.2 and title[0] not in ("阿姨", "叔叔", "老师"):
            zh, en = last
        return Value(zh + title[0], f"{title[1]} {en}")
    chance = rng.random()
    if chance < 0.15:
        return Value(f"{first[0]}·{last[0]}", f"{first[1]} {last[1]}")
    if chance < 0.4:
        return Value(*first)
    given = given_name(rng)
    return Value(zh + given[0], f"{en} {given[1]}")


def draw_subject(kind: str, rng: Random) -> Values:
    """A subject with its possessive: S is of any kind, P one that `his` can stand for."""
    zh, en, his = rng.choice(TABLES["speaker"])
    value = Value(zh, en, "I" if en == "I" else "they" if en in ("you", "we", "they", "the children") else "it")
    if kind == "S" and rng.random() < 0.5:
        value = draw_name(rng.choice(("name", "name", "titled")), rng)
    of_whom = his if value.en in ("I", "you", "he", "she", "we", "they") else value.en + "'s"
    return {kind: value, "S'": Value(value.zh, of_whom), "his": Value(his, his)}


def draw_country(rng: Random) -> Values:
    zh, en, capital_zh, capital_en, nation, language_zh, language_en = rng.choice(TABLES["country"])
    return {"country": Value(zh, en), "capital": Value(capital_zh, capital_en), "nation": Value(zh + "人", nation),
            "language": Value(language_zh, language_en)}  # fmt: skip


def draw_doing(rng: Random) -> Values:
    zh, *forms = rng.choice(TABLES["do"])
    return {name: Value(zh, form) for name, form in zip(("do", "did", "doing"), forms)}


def draw_item(rng: Random) -> Values:
    """A thing, with its measure word and without, its price, a lower one, a difference, and the bounds of its price."""
    zh, en, *bounds = rng.choice(TABLES["thing"])
    low, high = map(int, bounds)
    worth = amount(low, high, rng)
    yuan = next(float(rate) for _, name, rate in CURRENCIES if name == worth.currency) * worth.size
    less, gap = (amount(yuan * a, yuan * b, rng, worth.currency) for a, b in ((0.4, 0.95), (0.05, 0.5)))
    return {"item": Value(zh, en), "thing": Value(zh[1:], en), "worth": worth, "less": less, "gap": gap,
            "least": Value("", "", size=low), "most": Value("", "", size=high)}  # fmt: skip


def draw_entry(kind: str, rng: Random) -> Value:
    """Of a table: its cells, the only one for both languages, with their own slots filled; its size is its place."""
    place = rng.randrange(len(TABLES[kind]))
    entry = TABLES[kind][place]
    if "{" in entry[0]:
        return expand(" = ".join(entry), rng)
    return Value(entry[0], entry[-1], size=place)


# What draws which slot; all others are entries of tables.
DRAWS: dict[str, Callable[[Random], Value | Values]] = {
    "country": draw_country, "do": draw_doing, "item": draw_item, "goods": draw_goods, "people": draw_people,
    "score": draw_score, "meters": draw_height, "bare": draw_bare_price,
    "date": draw_date, "month": draw_month, "clock": draw_clock,
    "who": lambda rng: draw_name(rng.choice(("name", "titled")), rng),
    "some": functools.partial(draw_approximate, "thing", "about_many"),
    "home": functools.partial(draw_approximate, "thing", "about_few"),
    "crowd": functools.partial(draw_approximate, "people", "about_many"),
    "group": functools.partial(draw_approximate, "people", "about"),
}  # fmt: skip
for kinds, draw_kind in (
    (RANGES, draw_range), (MEASURES, draw_measure), (CODES, draw_code), (MONEY, draw_money),
    (("ymd", "due"), draw_full_date), (("name", "titled"), draw_name), (("P", "S"), draw_subject),
):  # fmt: skip
    DRAWS |= {kind: functools.partial(draw_kind, kind) for kind in kinds}


def draw(pattern: str, rng: Random) -> Values:
    """A value of each slot, and those that go with it."""
    values: Values = {}
    for name, number in re.findall(SLOT, pattern):
        if name + number not in values:
            kind = DRAWN_WITH.get(name, name)
            drawn = DRAWS[kind](rng) if kind in DRAWS else draw_entry(kind, rng)
            drawn = drawn if isinstance(drawn, dict) else {kind: drawn}
            values |= {slot + number: value for slot, value in drawn.items()}
    return values


def fits(zh: str, conditions: str, values: Values) -> bool:
    """Not if two slots of the Chinese side came out alike (nobody goes from Paris to Paris) or in two currencies, or if
    the sizes are not in the order of `date1 < date2`."""
    used = ["".join(slot) for slot in dict.fromkeys(re.findall(SLOT, zh))]
    sizes = [values[name].size for name in conditions.split(" < ")] if conditions else []
    return (
        len({values[name].zh for name in used}) == len(used)
        and len({values[name].currency for name in used} - {""}) < 2
        and all(size < following for size, following in zip(sizes, sizes[1:]))
    )


def expand(pattern: str, rng: Random) -> Value:
    """A pattern or an entry with its slots filled; what does not fit together is drawn again."""
    pattern, _, conditions = pattern.partition(" & ")
    zh, _, en = pattern.partition(" = ")
    values = draw(pattern, rng)
    while not fits(zh, conditions, values):
        values = draw(pattern, rng)
    source = re.sub(SLOT, lambda m: values[m[1] + m[2]].zh, zh)
    target = re.sub(SLOT, lambda m: values[m[1] + m[2]].en, en or zh)
    subject = "S" if "S" in values else "P"
    target = re.sub(r"\[([a-z' A-Z]+)(?:/(\w+))?\]", lambda m: conjugate(m[1], values[m[2] or subject].person), target)
    return Value(source, target, size=next(iter(values.values())).size if values else 0)


def fill(pattern: str, rng: Random) -> Pair:
    value = expand(pattern, rng)
    return value.zh, capitalise(choose_articles(value.en)).replace("..", ".")


def full_width(text: str) -> str:
    return re.sub("[0-9A-Za-z]+", lambda m: "".join(chr(ord(c) + 0xFEE0) for c in m[0]), text)


def vary(pair: Pair, rng: Random) -> Pair:
    """Now and then full-width letters and figures, or English punctuation, on the Chinese side."""
    source, target = pair
    if rng.random() < FULL_WIDTH and "@" not in source:
        source = full_width(source)
    if rng.random() < ENGLISH_MARKS:
        source = source.translate(str.maketrans("，？！：", ",?!:"))
    return source, target


def generate(pairs: int, seed: int) -> list[Pair]:
    """As many pairs of each file, its patterns in turn; some pairs stand after another one, as two sentences."""
    rng = random.Random(seed)
    seen: set[str] = set()
    made: list[Pair] = []
    for number, name in enumerate(PATTERNS, 1):
        patterns, tries = read_lines(name), 0
        while len(made) < pairs * number // len(PATTERNS) and tries < 20 * pairs:
            pair = fill(patterns[tries % len(patterns)], rng)
            if rng.random() < TWO_SENTENCES and pair[0][-1] in "。？！" and made and made[-1][0][-1] in "。？！":
                pair = made[-1][0] + pair[0], f"{made[-1][1]} {pair[1]}"
            tries += 1
            letters = "".join(filter(str.isalnum, pair[0].lower()))
            if letters not in seen:
                seen.add(letters)
                made.append(vary(pair, rng))
    rng.shuffle(made)
    return made


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--pairs", type=int, default=36000)
    arguments.add_argument("--seed", type=int, default=0)
    options = arguments.parse_args()
    made = generate(options.pairs, options.seed)
    options.out.write_text("".join(f"{source}\t{target}\n" for source, target in made), encoding="utf-8")
    print(f"{len(made)} pairs")


if __name__ == "__main__":
    main()
