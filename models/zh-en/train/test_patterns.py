"""Tests of the generator of pairs in patterns/: python -m unittest test_patterns (in this folder)."""
import pathlib
import random
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "patterns"))
import language
import patterns


class Patterns(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.made = patterns.generate(2000, seed=1)

    def draws(self, pattern: str, count: int = 200) -> list[tuple[str, str]]:
        rng = random.Random(3)
        return [patterns.fill(pattern, rng) for _ in range(count)]

    def test_numbers_in_english(self):
        for n, expected in (
            (0, "zero"), (12, "twelve"), (20, "twenty"), (40, "forty"), (99, "ninety-nine"), (100, "100"),
            (1200, "1,200"), (35_000, "35,000"), (999_999, "999,999"), (10**6, "1 million"), (1_200_000, "1.2 million"),
            (1_234_567, "1,234,567"), (150_000_000, "150 million"), (10**9, "1 billion"),
            (1_500_000_000_000, "1.5 trillion"),
            (2.5, "2.5"),
        ):  # fmt: skip
            self.assertEqual(language.words(n), expected)

    def test_numbers_in_chinese(self):
        rng = random.Random(0)
        for n, expected in (
            (0, "零"), (2, "二"), (10, "十"), (12, "十二"), (20, "二十"), (101, "一百零一"), (110, "一百一十"), (1001, "一千零一"),
            (1010, "一千零一十"), (2002, "两千零二"), (10_000, "一万"), (10_050, "一万零五十"), (20_000, "两万"), (100_010, "十万零一十"),
            (110_000, "十一万"), (1_010_000, "一百零一万"), (100_050_000, "一亿零五万"), (150_000_000, "一亿五千万"), (200_000_000, "两亿"),
            (1_200_000_000, "十二亿"), (10**12, "一万亿"),
        ):  # fmt: skip
            self.assertEqual(language.numerals(n, rng), expected)
        self.assertEqual({language.numerals(200, rng) for _ in range(50)}, {"二百", "两百"})
        self.assertEqual([language.numerals(n, rng, counting=True) for n in (2, 12, 22)], ["两", "十二", "二十二"])
        self.assertEqual(language.digits("2024"), "二零二四")

    def test_figures_stay_figures(self):
        rng = random.Random(0)
        written = {language.count(35_000, rng, arabic=1) for _ in range(50)}
        self.assertEqual(written, {("3.5万", "35,000"), ("35000", "35,000"), ("35,000", "35,000")})
        self.assertEqual(language.count(120_000_000, rng, arabic=1), ("1.2亿", "120 million"))
        self.assertEqual(language.count(35_000, rng, arabic=0), ("三万五千", "35,000"))

    def test_ordinals(self):
        for n, word, figure in (
            (1, "first", "1st"), (2, "second", "2nd"), (3, "third", "3rd"), (5, "fifth", "5th"), (8, "eighth", "8th"),
            (9, "ninth", "9th"), (11, "eleventh", "11th"), (12, "twelfth", "12th"), (13, "thirteenth", "13th"),
            (20, "twentieth", "20th"), (21, "twenty-first", "21st"), (99, "ninety-ninth", "99th"),
            (100, "100th", "100th"),
            (101, "101st", "101st"), (111, "111th", "111th"), (122, "122nd", "122nd"),
        ):  # fmt: skip
            self.assertEqual((language.ordinal_word(n), language.figure_ordinal(n)), (word, figure))

    def test_agreement(self):
        for verb, who, expected in (
            ("be", "I", "am"), ("be", "they", "are"), ("be learning", "it", "is learning"), ("was", "they", "were"),
            ("have", "it", "has"), ("haven't", "it", "hasn't"), ("go to bed", "it", "goes to bed"),
            ("watch TV", "it", "watches TV"),
            ("study", "it", "studies"), ("play", "it", "plays"), ("study", "I", "study"), ("do", "it", "does"),
        ):  # fmt: skip
            self.assertEqual(language.conjugate(verb, who), expected)
        for noun, expected in (
            ("box", "boxes"), ("baby", "babies"), ("toy", "toys"), ("child", "children"),
            ("pair of shoes", "pairs of shoes"),
            ("washing machine", "washing machines"), ("elderly person", "elderly people"), ("scarf", "scarves"),
            ("bus", "buses"), ("photo", "photos"), ("square foot", "square feet"), ("yuan", "yuan"), ("yen", "yen"),
        ):  # fmt: skip
            self.assertEqual(language.plural(noun), expected)

    def test_articles_and_capitals(self):
        for noun, expected in (
            ("apple", "an apple"), ("hour", "an hour"), ("university", "a university"),
            ("Ukrainian friend", "a Ukrainian friend"),
            ("engineer", "an engineer"), ("IBM computer", "an IBM computer"), ("A on it", "an A on it"), ("B", "a B"),
            ("Samsung phone", "a Samsung phone"), ("iPhone", "an iPhone"), ("MBA", "an MBA"), ("one", "a one"),
        ):  # fmt: skip
            self.assertEqual(language.choose_articles(f"a(n) {noun}"), expected)
        self.assertEqual(language.capitalise("two apples. how much?"), "Two apples. How much?")
        self.assertEqual(language.capitalise("iPhone. www.example.com is down."), "iPhone. www.example.com is down.")

    def test_seed_decides(self):
        self.assertEqual(self.made, patterns.generate(2000, seed=1))
        self.assertNotEqual(self.made, patterns.generate(2000, seed=2))

    def test_pairs_are_whole(self):
        self.assertEqual(len(self.made), 2000)
        self.assertEqual(len({source for source, _ in self.made}), 2000)
        for source, target in self.made:
            self.assertNotRegex(source + target, r"[{}\[\]*\t]| & | = |a\(n\)|\.\.", (source, target))
            self.assertNotRegex(target, "[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]", (source, target))
            self.assertRegex(target, r"^([A-Z0-9¥$€(]|i[A-Z]|[\w.:/]+[@.]\w)", source)

    def test_every_slot_can_be_drawn(self):
        rng = random.Random(0)
        for name in patterns.PATTERNS:
            for pattern in patterns.read_lines(name):
                with self.subTest(pattern):
                    for _ in range(3):
                        patterns.fill(pattern, rng)

    def test_periods_run_forward(self):
        pattern = next(p for p in patterns.read_lines("dates") if "{recent2}" in p)
        for _, target in self.draws(pattern):
            first, last = re.findall(r"\b(?:19|20)\d\d\b", target)
            self.assertLess(first, last)

    def test_discounts(self):
        for source, target in self.draws("打{discount}"):
            self.assertRegex(source, "^打([2-9]|[789]\\.5|[两三四五六七八九]|[七八九]五)折$")
        self.assertIn(("打八五折", "Fifteen percent off"), self.draws("打{discount} = {discount}", 400))

    def test_compound_surnames_are_rare(self):
        compound = [zh for zh, _ in patterns.TABLES["compound_surname"]]
        found = sum(source[:2] in compound for source, _ in self.draws("{name}来了。 = {name} came.", 4000))
        self.assertTrue(0 < found < 4000 / 25, found)

    def test_amounts_fit(self):
        rng = random.Random(0)
        rates = {name: float(rate) for _, name, rate in patterns.CURRENCIES}
        for _ in range(500):
            wage = patterns.draw_money("wage", rng)
            self.assertTrue(2400 <= wage.size * rates[wage.currency] <= 40_000, wage)
            thing = patterns.draw_item(rng)
            self.assertLessEqual(thing["less"].size, thing["worth"].size)


if __name__ == "__main__":
    unittest.main()
