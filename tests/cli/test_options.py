"""The command line: every option, every way of writing it, every error."""
import json
import os
import pathlib
import re
import resource
import shutil
import unicodedata

import support
from support import LINES, CommandTest, environment, model_bytes, text_of

SENTENCE = "今天天气很好"
SMALL = pathlib.Path(__file__).resolve().parent.parent / "reference/fixtures/relu-1x1-f32/model"
COMMANDS = ["", "attention", "bench", "calibrate", "convert", "info", "pull", "score", "shortlist", "tokenize"]


def columns(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


class Help(CommandTest):
    def help(self, command):
        return self.good(*command.split(), "--help").decode()

    def screen(self, command):
        return self.good(*command.split(), "-h").decode()

    def test_fits_a_terminal(self):
        for command in COMMANDS:
            for line in (self.help(command) + self.screen(command)).split("\n"):
                self.assertLessEqual(columns(line), 80, line)
                self.assertEqual(line, line.rstrip())

    def test_one_screen(self):
        """-h: examples, the common options in the words of --help, the commands, and where the rest is."""
        for command in COMMANDS:
            screen, whole = self.screen(command), " ".join(self.help(command).split())
            self.assertLessEqual(len(screen.splitlines()), 25, command)
            self.assertIn("\nExamples / 示例:\n  translate ", screen)
            self.assertTrue(screen.endswith(f" translate {command}".rstrip() + " --help; man translate\n"), screen)
            options = re.findall(r"^  (?:-\w, |    )--[\w-]+.*$", screen, re.M)
            self.assertGreaterEqual(len(options), 2, command)
            for line in options:
                self.assertIn(" ".join(line.split()), whole)
            self.assertIn(" --verbose ", whole)
            self.assertNotIn("--verbose", screen)
        screen = self.screen("")
        for option in ("-m, --model", "-s, --source", "-t, --target", "-i, --input", "-o, --output"):
            self.assertIn(f"\n  {option}", screen)
        for command in COMMANDS[1:]:
            self.assertRegex(screen, rf"[\n ] {command} +[a-z]")

    def test_shows_what_the_parser_knows(self):
        """Each option in the help is accepted in each form, with a value if the help shows one."""
        for command in COMMANDS:
            first = command.split()
            text = self.help(command)
            listed = re.findall(r"^  (?:-(\w), |    )--([\w-]+)(?: (\S+))?(?:  |\n|$)", text, re.M)
            self.assertGreaterEqual(len(listed), 5)
            for letter, name, value in listed:
                sample = {"": None, "N": "1", "N,...": "1,2", "X": "1"}.get(value, value.split("|")[0])
                sample = "-1" if name == "doubtful-below" else sample
                forms = [[f"--{name}"] if sample is None else [f"--{name}", sample]]
                if sample is not None:
                    forms.append([f"--{name}={sample}"])
                if letter:
                    forms.append([f"-{letter}"] if sample is None else [f"-{letter}", sample])
                    forms.append([f"-q{letter}"] if sample is None else [f"-q{letter}{sample}"])
                for form in forms:
                    out = self.good(*first, *form, "--help")
                    self.assertIn(b"Usage: translate" if name != "version" else b"", out)
                if sample is not None:
                    self.bad(2, *first, f"--{name}", says=[f"--{name}", "needs a value"])
                else:
                    self.bad(2, *first, f"--{name}=x", says=[f"--{name}", "takes no value"])

    def test_examples_in_both_languages(self):
        self.assertIn("今天天气很好", self.help(""))
        self.assertIn("示例", self.help(""))

    def test_every_command_is_in_the_help(self):
        for command in COMMANDS[1:]:
            self.assertIn(f"\n  {command} ", self.help(""))

    def test_version(self):
        for command in COMMANDS:
            for form in ("-V", "--version"):
                self.assertRegex(self.good(*command.split(), form).decode(), r"\Atranslate \d+\.\d+\.\d+\n\Z")

    def test_version_for_reports(self):
        said = self.good("-V", "-v").decode()
        self.assertEqual(said, self.good("--version", "--verbose").decode())
        rows = dict(line.split(None, 1) for line in said.splitlines())
        self.assertEqual(list(rows), ["translate", "commit", "compiler", "kernels", "model", "checksum"])
        self.assertRegex(rows["commit"], r"\A([0-9a-f]{12,}\+?|unknown)\Z")
        self.assertRegex(rows["compiler"], r"(gcc|[Cc]lang) .*\d+\.\d+")
        used, levels = re.fullmatch(r"(\w+); this machine has (.*)", rows["kernels"]).groups()
        slowest = support.slowest_level()
        self.assertEqual(levels.split(", ")[-1], used)
        self.assertIn(slowest, ("portable", used))
        said = self.good("-V", "-v", env=environment(TRANSLATE_CPU=slowest)).decode()
        self.assertIn(f"kernels       {slowest}; this machine has {slowest}", said)
        self.assertEqual(rows["model"], support.MODEL)
        info = json.loads(self.good("info", "--json", support.MODEL))
        self.assertEqual(rows["checksum"], info["checksum"] + ", verified")
        content = bytearray(model_bytes())
        content[-5000] ^= 1
        damaged = self.file("damaged.gguf", content)
        self.assertRegex(self.good("-V", "-v", "-m", damaged).decode(), r"\nchecksum      none: .*checksum")
        self.assertIn("\nmodel         hf:a/b\n", self.good("-V", "-v", "-m", "hf:a/b").decode())


class WrongUsage(CommandTest):
    def test_unknown_options_name_the_nearest(self):
        for wrong, meant in [("--thread", "--threads"), ("--jsno", "--json"), ("--modle", "--model"),
                             ("--verb", "--verbose"), ("--ouput", "--output"), ("--max-lenght", "--max-length")]:
            self.bad(2, wrong, says=[wrong, f"did you mean {meant}?", "try 'translate --help'"])
        self.assertNotIn("mean", self.bad(2, "--something-else", says="unknown option"))
        self.assertNotIn("mean", self.bad(2, "--zzzzz"))

    def test_commands_know_only_their_own(self):
        self.bad(2, "bench", "--split", "auto", says="try 'translate bench --help'")
        self.bad(2, "info", "--force", "x", says="try 'translate info --help'")
        self.bad(2, "convert", "--json", "x", "y", says="try 'translate convert --help'")
        self.bad(2, "tokenize", "--threads", "1", says="try 'translate tokenize --help'")
        self.bad(2, "--rounds", "1", says="--rounds")

    def test_unknown_letters(self):
        self.bad(2, "-x", says="-x")
        self.bad(2, "-qx", says="-x")
        self.bad(2, "-你", says="--")

    def test_values(self):
        for option, value in [("--threads", "two"), ("--threads", "-1"), ("--threads", ""), ("-T", "99999"), ("-T", "1x"),
                              ("--batch-size", "0"), ("--max-length", "0"), ("--max-length", "999999999999999999999"),
                              ("--min-length", "-1"), ("--beam", "0"), ("--n-best", "x"), ("--threads", " 1")]:
            self.bad(2, option, value, says=["number", f"'{value}'"])
        for option, choices in [("--compute", "auto|f32|f16|bf16|int8"), ("--split", "auto|never"),
                                ("--loop-guard", "on|off"), ("--load", "auto|map|copy")]:
            for wrong in ("other", choices.split("|")[0][:-1], choices):
                self.bad(2, option, wrong, says=[option, f"'{wrong}'", choices])
        for option in ("--model", "--input", "--output"):
            self.bad(2, option, "", says="empty")
            self.bad(2, f"{option}=", says="empty")

    def test_shortlist(self):
        """A package of translateLocally: its shortlist is used by default, and no other model accepts it."""
        fixtures = pathlib.Path(__file__).resolve().parent.parent / "bergamot" / "fixtures"
        folder, lines = fixtures / "package", (fixtures / "lines.txt").read_bytes()
        lex, packed = folder / "lex.s2t.bin", self.folder / "packed.gguf"
        run = ("--split", "never", "-m", folder)
        listed = self.good(*run, stdin=lines)
        self.assertEqual(listed, self.good(*run, "--shortlist", "auto", stdin=lines))
        self.assertEqual(listed, self.good(*run, "--shortlist", lex, stdin=lines))
        free = self.good(*run, "--shortlist=off", stdin=lines)
        self.assertNotEqual(listed, free)
        self.good("convert", folder, packed, warnings=True)
        self.assertEqual(listed, self.good("--split", "never", "-m", packed, stdin=lines))
        self.assertEqual(free, self.good("--split", "never", "-m", packed, "--shortlist", "off", stdin=lines))
        self.assertIn(b"shortlist     the first 50 tokens", self.good("info", packed))
        self.assertIs(json.loads(self.good("info", "--json", packed))["shortlist"], True)
        self.assertIn(b"--shortlist off", self.run_tool(*run, "-v", stdin=b"x\n").stderr)
        self.bad(1, "--shortlist", lex, SENTENCE, says=[str(lex), "not made for this model"])
        self.bad(1, "--shortlist", self.folder / "none", SENTENCE, says="none")
        self.bad(1, "--shortlist", self.file("lex", b"a b 0.5\n"), SENTENCE, says="is not a binary shortlist")

    def test_contradictions(self):
        f = self.file("in.txt", b"x\n")
        self.bad(2, "--min-length", "9", "--max-length", "8", SENTENCE, says="--min-length")
        self.bad(2, "-i", f, SENTENCE, says="TEXT")
        self.bad(2, "--resume", "-i", f, says="--output")
        self.bad(2, "--resume", "-o", self.folder / "o", SENTENCE, says="--resume")
        self.bad(2, "tokenize", "-i", f, SENTENCE, says="TEXT")
        self.bad(2, "-t", "fr", SENTENCE, says=["target language fr", "zh", "en"])
        self.bad(2, "-s", "en", SENTENCE, says=["source language en", "zh"])

    def test_arguments_of_commands(self):
        self.assertEqual(self.good("info"), self.good("info", support.MODEL))
        self.bad(2, "info", "a", "b", says="b: unexpected")
        self.bad(2, "convert", "a", says="too few")
        self.bad(2, "convert", "a", "b", "c", says="c: unexpected")
        self.bad(2, "bench", "text", says="text: unexpected")
        self.bad(2, "bench", "", says="'': unexpected")
        for command in (["info"], ["pull"], ["convert", "a"], ["convert", "-f", "a"], ["shortlist", "a", "-o", "b"]):
            self.bad(2, *command, "", says=["argument ", f" is empty; usage: translate {command[0]}"])

    def test_threads(self):
        """Values above the library's limits are usage errors in every command."""
        for command in ([], ["bench"], ["score"], ["attention"], ["shortlist"]):
            self.good(*command, "-T", "1024", "--help")
            self.bad(2, *command, "-T", "1025", "--help", says="'1025' is not a whole number from 0 to 1024")

    def test_small_stacks(self):
        def limit(kilobytes):
            return lambda: resource.setrlimit(resource.RLIMIT_STACK, (kilobytes << 10, kilobytes << 10))
        message = self.bad(1, SENTENCE, preexec_fn=limit(80))
        self.assertEqual(message, "translate: the stack limit is 80 kB, translate needs 512 kB: ulimit -s 512\n")
        for name in ("config.json", "vocab.json"):
            model = self.folder / name
            shutil.copytree(SMALL, model)
            for deepest in ("[" * 2040 + "]" * 2040, '{"a":' * 2040 + "1" + "}" * 2040):
                text = (SMALL / name).read_text().rstrip().removesuffix("}")
                (model / name).write_text(f'{text},"deep":{deepest}}}')
                self.assertIn(self.run_tool("-m", model, "-T", "2", "a", preexec_fn=limit(512)).returncode, (0, 1),
                              name)


class Options(CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.input = text_of(LINES)

    def setUp(self):
        super().setUp()
        self.plain = self.good(stdin=self.input)

    def test_a_known_sentence(self):
        self.assertEqual(self.good(SENTENCE).decode(), "The weather is very good today.\n")
        self.assertEqual(self.good("--exact", SENTENCE).decode(), "The weather is very good today.\n")

    def test_text_is_joined(self):
        self.assertEqual(self.good("我", "喜欢", "读书"), self.good("我 喜欢 读书"))
        self.assertEqual(self.good(""), b"\n")
        self.assertEqual(json.loads(self.good("-q", "--json", "a", "", "b"))["source"], "a  b")

    def test_options_anywhere_and_their_end(self):
        expected = self.good(SENTENCE)
        for form in (["-T", "1", SENTENCE], [SENTENCE, "-T", "1"], ["-T1", SENTENCE], ["--threads=1", SENTENCE],
                     ["-qT1", SENTENCE], ["--", SENTENCE], ["-q", "--", SENTENCE], ["-T1", "-T2", SENTENCE],
                     ["--split=never", SENTENCE, "--split=auto"]):
            self.assertEqual(self.good(*form), expected, form)
        for word in ("serve", "info", "--json", "-q"):
            source = json.loads(self.good("-q", "--json", "--", word))["source"]
            self.assertEqual(source, word)
        self.assertEqual(json.loads(self.good("-q", "--json", "-"))["source"], "-")

    def test_threads_and_batches_do_not_change_the_output(self):
        self.assertEqual(len(self.plain.split(b"\n")), len(LINES) + 1)
        for form in (["-T", "1"], ["-T", "2"], ["--threads", "0"], ["--batch-size", "1"], ["--batch-size", "3"],
                     ["-T", "2", "--batch-size", "1"], ["-T3", "--batch-size=32"], ["--load", "copy"], ["--load", "map"],
                     ["-s", "zh", "-t", "en"], ["-s", "zh-CN"], ["--source", "zh-Hans", "--target", "EN"], ["-b1", "-n1"],
                     ["--beam", "1", "--n-best", "1"], ["--loop-guard", "on"], ["--loop-guard", "off"],
                     ["--max-length", "512"], ["--min-length", "0"], ["--compute", "auto"], ["-m", support.MODEL]):
            self.assertEqual(self.good(*form, stdin=self.input), self.plain, form)

    def test_compute(self):
        wide = self.folder / "wide.gguf"
        self.good("convert", "--compute", "f32", support.MODEL, wide)
        outputs = {c: self.good("-m", wide, "--compute", c, stdin=self.input) for c in ("f32", "f16", "bf16", "int8")}
        for compute, out in outputs.items():
            self.assertEqual(out.count(b"\n"), len(LINES), compute)
            note = self.run_tool("-v", "-m", wide, "--compute", compute, SENTENCE).stderr.decode()
            self.assertIn(f"weights {compute}\n", note)
        self.assertEqual(self.good("--compute", "f32", stdin=self.input), outputs["f32"])
        self.assertEqual(self.good("--compute", "int8", stdin=self.input), self.plain)
        for compute in ("bf16", "int8"):
            same = sum(a == b for a, b in zip(outputs["f32"].split(b"\n"), outputs[compute].split(b"\n")))
            self.assertGreaterEqual(same, len(LINES) // 2, compute)

    def test_exact_is_its_three_options(self):
        line = "你好。再见。我喜欢读书。"
        whole = self.good("--split", "never", "--loop-guard", "off", "--compute", "f32", line)
        self.assertEqual(self.good("--exact", line), whole)
        self.assertNotEqual(self.good("--exact", line), self.good(line))
        self.assertEqual(self.good("--exact", "--split", "auto", line), self.good("--compute", "f32", line))

    def test_split(self):
        line = "".join(LINES[:3])
        self.assertRegex(self.run_tool("--stats", line).stderr.decode(), r"\Atranslate: 3 sentences, ")
        self.assertRegex(self.run_tool("--stats", "--split", "never", line).stderr.decode(), r"\Atranslate: 1 sentences, ")
        self.assertEqual(self.good(line).decode().strip(), b" ".join(self.plain.split(b"\n")[:3]).decode())

    def test_lengths(self):
        short = [json.loads(l) for l in self.good("--json", "--max-length", "3", stdin=self.input).splitlines()]
        self.assertTrue(all(r["tokens"] <= 3 for r in short))
        self.assertTrue(any("max_length" in r["flags"] for r in short))
        long = [json.loads(l) for l in self.good("--json", "--min-length", "40", stdin=self.input).splitlines()]
        self.assertTrue(all(r["tokens"] >= 40 for r in long))
        forced = self.good("--json", "--min-length", "9", "--max-length", "9", stdin=self.input).splitlines()
        self.assertEqual({json.loads(r)["tokens"] for r in forced}, {9})

    def test_json(self):
        rows = self.good("--json", stdin=self.input + b"\na\xffb\r\n", warnings=True).splitlines()
        objects = [json.loads(r) for r in rows]
        for o in objects:
            self.assertEqual(list(o), ["line", "source", "text", "tokens", "flags"])
        self.assertEqual([o["line"] for o in objects], list(range(1, len(LINES) + 3)))
        self.assertEqual([o["source"] for o in objects], LINES + ["", "a\ufffdb"])
        self.assertEqual([o["text"] for o in objects[:-2]], self.plain.decode().splitlines())
        self.assertTrue(all(o["tokens"] > 0 and o["flags"] == [] for o in objects[:-2]))
        self.assertEqual((objects[-2]["text"], objects[-2]["tokens"]), ("", 0))
        self.assertEqual(objects[-1]["flags"], ["invalid_utf8", "passed_through"])
        self.assertEqual(json.loads(self.good("--json", "一\n二"))["source"], "一\n二")

    def test_stats(self):
        r = self.run_tool("--stats", "-q", stdin=self.input)
        self.assertEqual(r.stdout, self.plain)
        number = r"[\d.]+"
        match = re.fullmatch(rf"translate: (\d+) sentences, (\d+) tokens, ({number}) s, ({number}) tokens/s, "
                             rf"0 repeated lines, load ({number}) ms, peak ({number}) MB\n", r.stderr.decode())
        self.assertTrue(match, r.stderr)
        tokens = sum(json.loads(l)["tokens"] for l in self.good("--json", stdin=self.input).splitlines())
        self.assertEqual((int(match[1]), int(match[2])), (len(LINES), tokens))
        self.assertAlmostEqual(float(match[4]) * float(match[3]) / tokens, 1, delta=0.1)

    def test_stats_of_repeated_lines(self):
        """Their tokens are not counted as computed: neither those of one call nor those of an earlier one."""
        def stats(lines, *args):
            r = self.run_tool("--stats", "-q", *args, stdin=text_of(lines))
            return re.match(r"translate: (\d+) sentences, (\d+) tokens, .*, (\d+) repeated lines,",
                            r.stderr.decode()).groups()
        sentences, tokens, _ = stats(LINES)
        self.assertEqual(stats(LINES * 50), (sentences, tokens, str(49 * len(LINES))))
        with self.started("--stats", "-q") as p:  # a line in each call
            for _ in range(3):
                p.stdin.write(LINES[0].encode() + b"\n")
                p.stdin.flush()
                p.stdout.readline()
            p.stdin.close()
            self.assertRegex(p.stderr.read().decode(), r"\Atranslate: 1 sentences, .* 2 repeated lines,")

    def test_quiet_and_verbose(self):
        self.assertEqual(self.good("-q", stdin=b"a\x00b\n"), self.good(stdin=b"a\x00b\n", warnings=True))
        shown = self.run_tool("-v", SENTENCE).stderr.decode()
        self.assertIn(support.MODEL, shown)
        self.assertIn("kernels", shown)


class Tokens(CommandTest):
    def test_tokens_give_the_same_text(self):
        pieces = self.good("tokenize", stdin=text_of(LINES))
        out = self.good("--tokens", "--compute", "f32", stdin=pieces)
        self.assertEqual(self.good("tokenize", "--decode", stdin=out), self.good("--exact", stdin=text_of(LINES)))
        numbers = self.good("--tokens", "--ids", "--compute", "f32",
                            stdin=self.good("tokenize", "--ids", stdin=text_of(LINES)))
        self.assertEqual(self.good("tokenize", "--decode", "--ids", stdin=numbers),
                         self.good("tokenize", "--decode", stdin=out))
        self.bad(1, "--tokens", "--ids", "99999999", says="99999999")
        self.bad(2, "--ids", "1", says="--tokens")

    def test_ids_need_no_vocabulary(self):
        bart = pathlib.Path(__file__).resolve().parent.parent / "reference/fixtures/bart-2x1-bf16/model"
        bare = self.folder / "bare"
        bare.mkdir()
        for part in bart.iterdir():
            if part.name != "vocab.json":
                (bare / part.name).symlink_to(part)
        ids = b"5 6 7 8\n9 10 11\n"
        expected = self.good("-m", bart, "--tokens", "--ids", stdin=ids)
        self.assertEqual(self.good("-m", bare, "--tokens", "--ids", stdin=ids), expected)
        self.assertEqual(self.good("score", "-m", bare, "--ids", "5 6 7", "8 9"),
                         self.good("score", "-m", bart, "--ids", "5 6 7", "8 9"))
        self.good("convert", bare, self.folder / "bare.gguf")
        self.good("info", bare)
        self.assertEqual(self.good("-m", self.folder / "bare.gguf", "--tokens", "--ids", "--compute", "f32", stdin=ids),
                         self.good("-m", bart, "--tokens", "--ids", "--compute", "f32", stdin=ids))
        for args in [["x"], ["--tokens", "x"], ["score", "x", "y"], ["tokenize", "x"],
                     ["bench", "--tokens", "-i", self.file("ids", ids)],
                     ["attention", "--tokens", "x", "-o", self.folder / "x.html"]]:
            self.bad(1, *args[:1], "-m", bare, *args[1:], says=["vocab.json is missing", "--tokens --ids"])

    def test_empty_and_unknown(self):
        self.assertEqual(self.good("--tokens", stdin=b"\n   \n"), b"\n\n")
        info = json.loads(self.good("info", "--json", support.MODEL))
        if info["tokens"]["unk"] is not None:
            self.assertEqual(self.good("--tokens", "no-such-piece-in-any-vocabulary"), self.good("--tokens", "<unk>"))

    def test_json(self):
        o = json.loads(self.good("--tokens", "--json", self.good("tokenize", SENTENCE).decode().strip()))
        self.assertEqual(o["tokens"], len(o["text"].split(" ")))
        self.assertEqual(self.good("tokenize", "--decode", o["text"]), self.good(SENTENCE))

    def test_too_long_for_the_model(self):
        piece = self.good("tokenize", "好").decode().split()[-1]
        self.bad(1, "--tokens", stdin=" ".join([piece] * 100000).encode())


class Models(CommandTest):
    def test_damaged(self):
        whole = model_bytes()
        self.bad(1, "-m", self.folder / "none.gguf", SENTENCE, says="none.gguf")
        for name, content in [("empty", b""), ("foreign", b"hello" * 1000), ("header", whole[:20]), ("cut", whole[:-1000]),
                              ("half", whole[:len(whole) // 2])]:
            self.bad(1, "-m", self.file(name, content), SENTENCE, says=name)
        (self.folder / "dir").mkdir()
        self.bad(1, "-m", self.folder / "dir", SENTENCE, says="dir")
        self.bad(1, SENTENCE, env=environment(TRANSLATE_CPU="imaginary"), says="imaginary")

    def test_message_is_one_line_whatever_the_name(self):
        self.bad(1, "-m", "a\nb\x1b[2J", SENTENCE)
        self.bad(2, "a\nb", "--x\ny", says="unknown")

    def test_where_the_default_is(self):
        """Found beside the program, in a build tree and in an installation that was moved; else a message says what to
        do."""
        (self.folder / "bin").mkdir()
        tool = self.folder / "bin/translate"
        shutil.copy(support.TOOL, tool)
        expected = self.good(SENTENCE)
        without = environment(TRANSLATE_MODEL=None)
        for place in ("models", "share/translate"):
            (self.folder / place).mkdir(parents=True)
            os.symlink(os.path.abspath(support.MODEL), self.folder / place / "zh-en.gguf")
            for env in (without, environment(TRANSLATE_MODEL="")):
                r = self.run_tool(SENTENCE, env=env, executable=tool)
                self.assertEqual((r.returncode, r.stdout), (0, expected), r.stderr)
            (self.folder / place / "zh-en.gguf").unlink()
        r = self.run_tool(SENTENCE, env=without, executable=tool)
        if r.returncode == 0:
            self.skipTest("a model is installed on this machine")
        self.assertEqual(r.returncode, 1)
        self.assertRegex(r.stderr.decode(), r"\Atranslate: no model: .*-m FILE.*TRANSLATE_MODEL\n\Z")

    def test_option_wins_over_variable(self):
        env = environment(TRANSLATE_MODEL=str(self.folder / "none"))
        self.bad(1, SENTENCE, env=env, says="none")
        self.assertEqual(self.good("-m", support.MODEL, SENTENCE, env=env), self.good(SENTENCE))
