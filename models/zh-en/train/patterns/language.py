"""What the two languages ask for: numbers in words and figures, and English plurals, verbs, articles and capitals.

Chinese numerals become words up to ninety-nine, then figures (35,000, 1.2 million); Arabic figures stay figures (1200
and 1,200 are 1,200; 3.5万 is 35,000).
"""
import dataclasses
import random
import re
from collections.abc import Callable

UNIT_WORDS = """
zero one two three four five six seven eight nine ten
eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen""".split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
ODD_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
    "twelve": "twelfth",
}  # fmt: skip
DIGITS = "零一二三四五六七八九"
IRREGULAR = {
    "person": "people", "child": "children", "foot": "feet", "elderly person": "elderly people", "scarf": "scarves",
    "loaf": "loaves", "jin": "jin", "mu": "mu", "yuan": "yuan", "yen": "yen",
}  # fmt: skip
AUXILIARIES = {  # after I, they and it
    "be": ("am", "are", "is"), "was": ("was", "were", "was"), "have": ("have", "have", "has"),
    "haven't": ("haven't", "haven't", "hasn't"),
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Value:
    """What a slot stands for on either side; what verbs agree with: I, they (plural, or you) or it; what conditions
    compare; and the currency of an amount."""

    zh: str
    en: str
    person: str = "it"
    size: float = 0
    currency: str = ""


def words(n: int | float) -> str:
    """A number in English: a word up to ninety-nine, then figures; from a million on in millions if they are round."""
    if n != int(n):
        return f"{n:.10g}"
    n = int(n)
    if n < 20:
        return UNIT_WORDS[n]
    if n < 100:
        return TENS[n // 10 - 2] + ("-" + UNIT_WORDS[n % 10] if n % 10 else "")
    for power, name in (12, "trillion"), (9, "billion"), (6, "million"):
        if n >= 10**power:
            return f"{n / 10**power:.12g} {name}" if n * 1000 % 10**power == 0 else f"{n:,}"
    return f"{n:,}"


def ordinal_word(n: int) -> str:
    """third, twenty-first; 121st."""
    if n >= 100:
        return figure_ordinal(n)
    head, dash, last = words(n).rpartition("-")
    return head + dash + ODD_ORDINALS.get(last, last[:-1] + "ieth" if last[-1] == "y" else last + "th")


def figure_ordinal(n: int) -> str:
    return f"{n}" + ("th" if n // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th"))


def section(n: int, rng: random.Random) -> str:
    """A number below ten thousand in Chinese numerals, with 一 before 十; 200 may be 二百 or 两百."""
    text, gap = "", False
    for unit, name in (1000, "千"), (100, "百"), (10, "十"), (1, ""):
        digit = n // unit % 10
        if digit:
            two = digit == 2 and (unit == 1000 or unit == 100 and rng.random() < 0.6)
            text += ("零" if gap and text else "") + ("两" if two else DIGITS[digit]) + name
        gap = not digit
    return text


def numerals(n: int, rng: random.Random, counting: bool = False) -> str:
    """A whole number in Chinese numerals; `counting` is before a measure word, where 2 is 两."""
    if n == 2 and counting:
        return "两"
    text, rest = "", n
    for power, name in (10**12, "万亿"), (10**8, "亿"), (10**4, "万"), (1, ""):
        part, rest = divmod(rest, power)
        if part:
            zero = "零" if text and part < 1000 else ""
            text += zero + ("两" if part == 2 and name else section(part, rng)) + name
    return re.sub("^一十", "十", text) or "零"


def digits(figures: str) -> str:
    """Figures read one by one."""
    return "".join(DIGITS[int(c)] if c.isdigit() else c for c in figures)


def doubled(figures: str, rng: random.Random) -> str:
    """With two like figures in a row, which a model that copies figure by figure loses count of."""
    i = rng.randrange(1, len(figures))
    return figures[:i] + figures[i - 1] + figures[i + 1 :]


def magnitude(low: int, high: int, rng: random.Random) -> int:
    """A number whose length is as likely as any other, mostly a round one."""
    n = round(low * (high / low) ** rng.random())
    kept = rng.choice((1, 1, 2, 2, 2, 3, 3, 9 if n < 10**6 else 3))
    unit = 10 ** max(0, len(str(n)) - kept)
    n = n // unit * unit
    if n > 2000 and rng.random() < 0.08:  # 10,050: a zero inside
        n += rng.randrange(1, 10) * unit // 100 if unit >= 100 else 0
    if n > 10 and rng.random() < 0.12:
        n = int(doubled(str(n), rng))
    return min(max(n, low), high)


def count(n: int, rng: random.Random, counting: bool = True, arabic: float = 0.4) -> tuple[str, str]:
    """A number in one of the ways to write it, Arabic figures with that chance, and what it is in English."""
    if rng.random() >= arabic:
        return numerals(n, rng, counting), words(n)
    if n >= 10**8 and n % 10**5 == 0:
        return f"{n / 10**8:.12g}亿", words(n)
    if n >= 10**4 and n % 100 == 0 and rng.random() < 0.7:
        return f"{n / 10**4:.12g}万", words(n)
    return f"{n:,}" if rng.random() < 0.5 else str(n), f"{n:,}"


# Ways of writing a number between two bounds.


def write_count(low: int, high: int, rng: random.Random) -> Value:
    n = magnitude(low, high, rng)
    return Value(*count(n, rng), "they", n)


def write_spoken(low: int, high: int, rng: random.Random) -> Value:
    n = magnitude(low, high, rng)
    return Value(numerals(n, rng, counting=high < 10), words(n), "they", n)


def write_figure(low: int, high: int, rng: random.Random) -> Value:
    n = magnitude(low, high, rng)
    return Value(str(n), str(n), "they", n)


def write_label(low: int, high: int, rng: random.Random) -> Value:
    """Of a bus, a house, a line: figures in English."""
    n = magnitude(low, high, rng)
    return Value(rng.choice((numerals(n, rng), str(n))), str(n), "it", n)


def write_ordinal(low: int, high: int, rng: random.Random) -> Value:
    n = magnitude(low, high, rng)
    spoken = numerals(n, rng), ordinal_word(n)
    return Value(*rng.choice((spoken, spoken, (str(n), figure_ordinal(n)))), "it", n)


def write_round(low: int, high: int, rng: random.Random) -> Value:
    """A number of one or two digits and zeros, for "about"."""
    n = magnitude(low, high, rng)
    return Value(*count(round(n, 1 - len(str(n))), rng, arabic=0.25), "they", n)


def write_tenfold(low: int, high: int, rng: random.Random) -> Value:
    """One digit and zeros in Chinese numerals, for 三百多."""
    n = magnitude(low, high, rng)
    n = max(low, round(n, 1 - len(str(n))))
    return Value(numerals(n, rng, counting=True), words(n), "they", n)


def write_year(low: int, high: int, rng: random.Random, arabic: bool | None = None) -> Value:
    n = rng.randint(low, high)
    arabic = rng.random() < 0.6 if arabic is None else arabic
    return Value((str(n) if arabic else digits(str(n))) + "年", str(n), "it", n)


def write_point(low: int, high: int, rng: random.Random) -> Value:
    whole = rng.randint(low, min(max(9, low), high) if rng.random() < 0.6 else high)
    figures = f"{whole}.{rng.choice((rng.randrange(1, 10), f'{rng.randrange(0, 10)}{rng.randrange(1, 10)}'))}"
    return Value(figures, figures, "they", float(figures))


def write_spoken_point(low: int, high: int, rng: random.Random) -> Value:
    value = write_point(low, high, rng)
    whole, _, tail = value.en.partition(".")
    return dataclasses.replace(value, zh=f"{numerals(int(whole), rng)}点{digits(tail)}")


def write_decimal(low: int, high: int, rng: random.Random) -> Value:
    return rng.choice((write_point, write_spoken_point))(low, high, rng)


WAYS: dict[str, Callable[[int, int, random.Random], Value]] = {
    "count": write_count, "spoken": write_spoken, "figure": write_figure, "label": write_label, "round": write_round,
    "tenfold": write_tenfold, "ordinal": write_ordinal, "year": write_year, "point": write_point,
    "spoken point": write_spoken_point, "decimal": write_decimal,
}  # fmt: skip


def plural(noun: str) -> str:
    """Of a noun, or of the first noun of "pair of shoes", or of the last of "washing machine"."""
    first, of, rest = noun.partition(" of ")
    if of:
        return plural(first) + of + rest
    if noun in IRREGULAR or " " not in noun:
        if noun[-1] == "y" and noun[-2] not in "aeou":
            return noun[:-1] + "ies"
        return IRREGULAR.get(noun, noun + ("es" if re.search("(s|x|ch|sh|ato)$", noun) else "s"))
    first, _, rest = noun.rpartition(" ")
    return f"{first} {plural(rest)}"


def conjugate(verb: str, who: str) -> str:
    """The present of a verb ("was" is its own past), for I, they or it."""
    verb, space, rest = verb.partition(" ")
    if verb in AUXILIARIES:
        verb = AUXILIARIES[verb][("I", "they", "it").index(who)]
    elif who == "it" and verb[-1] == "y" and verb[-2] not in "aeou":
        verb = verb[:-1] + "ies"
    elif who == "it":
        verb += "es" if re.search("(s|x|ch|sh|o)$", verb) else "s"
    return verb + space + rest


def choose_articles(text: str) -> str:
    """Decides between a and an by the sound that follows, in letters spelled out one by one, too."""
    vowel = r"(?!uni|Eur|Ukr|use|one)[aeiouAEIOU][a-z]|i[A-Z]|hour|8|11 |18 |[AEFHILMNORSX]([A-Z]|\b)(?!\.)"
    return re.sub(r"a\(n\) (?=(\S+))", lambda m: "an " if re.match(vowel, m[1] + " ") else "a ", text)


def capitalise(text: str) -> str:
    """The first word of each sentence, but not an address or iPhone."""

    def first_word(match: re.Match) -> str:
        start, word = match.groups()
        return start + (word if re.search(r"[A-Z@/\d_]|[.]\w", word) else word[0].upper() + word[1:])

    return re.sub(r"(^|(?<!\.[mC])(?<!No)[.?!] |, \")([a-z]\S*)", first_word, text)


def quantity(measure: str, noun: str, n: int, rng: random.Random) -> Value:
    """So many of what a Chinese measure word or unit counts."""
    zh, en = count(n, rng)
    if n == 1:
        return Value(zh + measure, f"a(n) {noun}" if zh == "一" else f"1 {noun}", "it", 1)
    return Value(zh + measure, f"{en} {plural(noun)}", "they", n)
