"""translate shortlist: makes a list from a parallel text; translating with it."""

import itertools
import signal
import struct

from support import CommandTest, Terminal

SUBJECTS = (("我", "I"), ("他", "He"), ("医生", "The doctor"), ("老师", "The teacher"), ("孩子", "The child"))
VERBS = (("喜欢", "likes"), ("看见", "sees"), ("买", "buys"), ("需要", "needs"))
OBJECTS = (("苹果", "apples"), ("书", "books"), ("猫", "cats"), ("水", "water"), ("咖啡", "coffee"))
PAIRS = [(f"{a[0]}{b[0]}{c[0]}。", f"{a[1]} {b[1]} {c[1]}.") for a, b, c in itertools.product(SUBJECTS, VERBS, OBJECTS)]
HEADER = 48


def ids_of(test, text):
    return [int(i) for i in test.good("tokenize", "--ids", text).split()]


class Shortlist(CommandTest):
    def setUp(self):
        super().setUp()
        self.zh = self.file("zh.txt", "".join(f"{zh}\n" for zh, _ in PAIRS).encode())
        self.en = self.file("en.txt", "".join(f"{en}\n" for _, en in PAIRS).encode())
        self.out = self.folder / "lex.bin"

    def lists(self):
        """{source id: target ids} of the file, whose layout is in docs/formats.md."""
        data = self.out.read_bytes()
        magic, _, first, best, count, words = struct.unpack_from("<6Q", data)
        self.assertEqual((magic, first), (0xF11A48D5013417F5, 0))
        self.assertEqual(len(data), HEADER + 8 * count + 4 * words)
        offsets = struct.unpack_from(f"<{count}Q", data, HEADER)
        ids = struct.unpack_from(f"<{words}I", data, HEADER + 8 * count)
        return {s: ids[a:b] for s, (a, b) in enumerate(zip(offsets, offsets[1:]))}, best

    def make(self, *args, **more):
        return self.good("shortlist", self.zh, self.en, "-o", self.out, *args, **more)

    def test_learns_and_translates(self):
        self.assertEqual(self.make(), b"")
        lists, best = self.lists()
        self.assertEqual(best, 100)
        for zh, en in (("苹果", "apples"), ("咖啡", "coffee"), ("医生", "doctor"), ("喜欢", "likes")):
            source, target = ids_of(self, zh), ids_of(self, en)
            allowed = {t for s in source for t in lists[s]}
            self.assertLessEqual(set(target), allowed, (zh, en))
        free, listed = (self.good(*args, "医生喜欢苹果。").decode() for args in ((), ("--shortlist", self.out)))
        self.assertEqual(listed, free)
        self.assertIn(b"the shortlist limits", self.run_tool("--shortlist", self.out, "-v", "医生").stderr)
        # words that are not in the text are not allowed
        self.assertNotRegex(self.good("--shortlist", self.out, "今天天气很好。").decode(), "weather")

    def test_sizes(self):
        self.make("--first", "3", "--best", "2")
        lists, best = self.lists()
        self.assertEqual(best, 2)
        self.assertEqual(len(lists[0]), 4)  # the list of EOS: three frequent tokens and EOS itself
        self.assertIn(0, lists[0])
        self.assertTrue(all(len(words) <= 2 for s, words in lists.items() if s))
        self.assertEqual(max(map(len, lists.values())), 4)

    def test_threads_change_nothing(self):
        self.make("-T", "1")
        one = self.out.read_bytes()
        self.make("-T", "3", "--force")
        self.assertEqual(self.out.read_bytes(), one)

    def test_says_what_it_did(self):
        self.file("zh.txt", self.zh.read_bytes() + b"\nx\n" + "长".encode() * 20000 + b"\n")
        self.file("en.txt", self.en.read_bytes() + b"y\n\nz")
        told = self.run_tool("shortlist", self.zh, self.en, "-o", self.out, "-v").stderr.decode()
        self.assertRegex(
            told, r"100 pairs of sentences, of 100; 2 with an empty side and 1 with more than 256 tokens were ignored"
        )
        self.assertRegex(told, r"\d+ of 4001 source tokens have a list")

    def test_invalid_text(self):
        self.file("zh.txt", b"\xff" + self.zh.read_bytes())
        r = self.run_tool("shortlist", self.zh, self.en, "-o", self.out)
        self.assertEqual((r.returncode, r.stdout, r.stderr.count(b"\n")), (0, b"", 1))
        self.assertIn(b"1 lines hold invalid UTF-8", r.stderr)
        self.lists()

    def test_refuses(self):
        run = ("shortlist", self.zh, self.en, "-o", self.out)
        short = self.file("short.txt", b"\n".join(self.en.read_bytes().split(b"\n")[:70]) + b"\n")
        self.bad(
            1, "shortlist", self.zh, short, "-o", self.out, says=[str(short), "ends after line 70", "zh.txt goes on"]
        )
        self.bad(
            1, "shortlist", short, self.en, "-o", self.out, says=[str(short), "ends after line 70", "en.txt goes on"]
        )
        empty, blank = self.file("empty", b""), self.file("blank", b"\n \n")
        self.bad(1, "shortlist", empty, empty, "-o", self.out, says="no pair of sentences")
        self.bad(1, "shortlist", blank, self.file("other", b"x\ny\n"), "-o", self.out, says="no pair of sentences")
        self.bad(1, "shortlist", self.zh, empty, "-o", self.out, says="ends after line 0")
        self.bad(1, "shortlist", self.folder / "none", self.en, "-o", self.out, says="none")
        self.bad(1, "shortlist", self.zh, self.folder, "-o", self.out, says=str(self.folder))
        self.bad(1, *run, "-m", self.folder / "none.gguf", says="none.gguf")
        self.bad(2, "shortlist", self.zh, self.en, says="-o FILE is missing")
        self.bad(2, "shortlist", self.zh, says="too few")
        self.bad(2, *run, "--best", "0", says="--best")
        self.bad(2, *run, "--first", "x", says="--first")
        self.bad(1, "shortlist", self.zh, self.en, "-o", self.folder / "none" / "lex.bin", says="lex.bin")
        self.bad(1, "shortlist", self.zh, self.en, "-o", "/dev/null", says="regular")
        self.assertFalse(self.out.exists())
        self.file("lex.bin", b"precious")
        self.bad(1, *run, says=["exists and is not a shortlist", "--force"])
        self.assertEqual(self.out.read_bytes(), b"precious")
        self.good(*run, "--force")
        shortlist = self.out.read_bytes()
        self.good(*run)
        self.assertEqual(self.out.read_bytes(), shortlist)

    def test_interrupted(self):
        self.file("zh.txt", self.zh.read_bytes() * 300)
        self.file("en.txt", self.en.read_bytes() * 300)
        terminal = Terminal()
        self.addCleanup(terminal.close)
        with self.started("shortlist", self.zh, self.en, "-o", self.out, "-T", "1", stderr=terminal.slave) as p:
            terminal.close_slave()
            terminal.read(b"%")
            p.send_signal(signal.SIGINT)
            shown = terminal.read()
            self.assertEqual(p.wait(90), 130)
        self.assertIn(b"interrupted: nothing was written", shown)
        self.assertEqual(sorted(f.name for f in self.folder.iterdir()), ["en.txt", "zh.txt"])
