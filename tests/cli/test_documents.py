"""Documents: units as lines, -O for many files, what is refused, and --resume."""
import json
import os

import support
from support import LINES, CommandTest, at_most, many_lines


def paragraphs(count):
    """Quoted paragraphs of two wrapped lines each."""
    return "".join(f"> {line[:-4]}\n> {line[-4:]}\n\n" for line in many_lines(count)).encode()


class Documents(CommandTest):
    def setUp(self):
        super().setUp()
        self.input = self.file("in.txt", paragraphs(60))
        self.output = self.folder / "out.txt"
        self.part = self.folder / "out.txt.part"
        self.args = ("--paragraphs", "-i", self.input, "-o", self.output)

    def names(self):
        return sorted(os.listdir(self.folder))

    def expected(self):
        lines = self.good(stdin="\n".join(many_lines(60)).encode()).decode().splitlines()
        return "".join(f"> {line}\n\n" for line in lines).encode()

    def test_units_are_translated_as_lines(self):
        self.good(*self.args)
        self.assertEqual(self.output.read_bytes(), self.expected())
        self.assertEqual(self.good("--paragraphs", "-i", self.input), self.expected())
        self.assertEqual(self.good("--paragraphs", stdin=self.input.read_bytes()), self.expected())
        self.assertEqual(self.names(), ["in.txt", "out.txt"])

    def test_arguments(self):
        text = self.good("我喜欢\n读书。")
        joined = self.good("我喜欢读书。")
        self.assertEqual(self.good("--paragraphs", "我喜欢\n读书。"), joined)
        self.assertNotEqual(text, joined)

    def test_text_is_lines(self):
        lines = self.file("lines.md", "我喜欢\n读书。\n".encode())
        self.assertEqual(self.good("--format", "text", "-i", lines), self.good(stdin=lines.read_bytes()))

    def test_encodings(self):
        text = "> 今天天气\n> 很好。\n"
        expected = self.good("--paragraphs", stdin=text.encode())
        self.assertEqual(self.good("--paragraphs", "--encoding", "gbk", stdin=text.encode("gbk")), expected)
        marked = b"\xef\xbb\xbf"
        self.assertEqual(self.good("--paragraphs", stdin=marked + text.encode()), marked + expected)

    def test_an_interrupted_run_continues(self):
        """FILE.part has a line for each unit; those that are there are not translated again."""
        for size in (300, 800):
            self.bad(1, *self.args, says="--resume", **at_most(size))
            self.assertEqual(self.names(), ["in.txt", "out.txt.part", "out.txt.part.run"])
            rows = self.part.read_bytes().splitlines(keepends=True)
            self.part.write_bytes(b"0 marked\\n\\\\\n" + b"".join(rows[1:]))
            self.good(*self.args, "--resume")
            self.assertEqual(self.names(), ["in.txt", "out.txt"])
            self.assertEqual(self.output.read_bytes(), b"> marked\n\\" + self.expected()[self.expected().index(b"\n"):])
            self.output.unlink()

    def test_repeated_texts_continue(self):
        """A text that comes again is not computed again, which a run that continues cannot know."""
        pages = ["<p>你好。</p>\n"] * 40
        page = self.file("a.html", "".join(pages).encode())
        out = self.folder / "b.html"
        self.bad(1, "-i", page, "-o", out, says="--resume", **at_most(250))
        self.good("-i", page, "-o", out, "--resume")
        self.assertEqual(len(set(out.read_text().splitlines())), 1)
        page.unlink()
        out.unlink()

    def test_another_document_does_not_continue(self):
        self.bad(1, *self.args, says="--resume", **at_most(300))
        self.input.write_bytes(paragraphs(61))
        self.bad(1, *self.args, "--resume", says="out.txt.part")
        self.input.write_bytes(paragraphs(60))
        self.bad(1, "--paragraphs", "--bilingual", *self.args[1:], "--resume", says="out.txt.part")

    def test_refused(self):
        for option in ("--tokens", "--tsv", "--json", "--stream", "--scores", "--alignment"):
            self.bad(2, *self.args, option, says=[option, "not with documents (text)"])
        self.bad(2, "--format", "none", "好", says="--format none: is none of csv docx")
        self.bad(2, "--bilingual", "--format", "json", "[]", says="--bilingual: only for")
        table = self.file("a.csv", b"a,b\n")
        self.bad(2, "-i", table, "-o", self.folder / "a.html", says="a document of format csv")
        self.bad(2, "-i", table, "-o", self.folder / "a.tmx", says="needs --bilingual")
        self.bad(2, "--json", "-i", table, says="--json: not with documents (csv)")
        table.unlink()
        self.bad(2, "--columns", "1", "好", says="--columns: only for documents of these formats: csv tsv")
        self.bad(2, "--format", "html", "--keys", "a", "好", says="--keys: only for")
        self.bad(2, "--line-width", "9", "好", says="--line-width: only for")
        self.bad(2, *self.args, "--exact", says="not with documents")
        self.assertEqual(self.names(), ["in.txt"])


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def cue(number, text, dot):
    times = f"00:{number:02}:00{dot}000 --> 00:{number:02}:05{dot}000"
    return f"{number}\n{times}\n{text}\n\n"


# A document of each format with these texts, in source and translation alike: sources and texts are pairs.
DOCUMENTS = {
    "csv": lambda pairs: "id,text\n" + "".join(f'{i},"{text}"\n' for i, (_, text) in enumerate(pairs)),
    "html": lambda pairs: "".join(f"<p>{escaped(text)}</p>\n" for _, text in pairs),
    "json": lambda pairs: json.dumps([text for _, text in pairs], ensure_ascii=False, indent=1),
    "markdown": lambda pairs: "".join(f"{text}\n\n" for _, text in pairs),
    "po": lambda pairs: "".join(f'msgid "{source}"\nmsgstr "{"" if source == text else text}"\n\n'
                                for source, text in pairs),
    "srt": lambda pairs: "".join(cue(i, text, ",") for i, (_, text) in enumerate(pairs)),
    "tsv": lambda pairs: "".join(f"{i}\t{text}\n" for i, (_, text) in enumerate(pairs)),
    "vtt": lambda pairs: "WEBVTT\n\n" + "".join(cue(i, text, ".") for i, (_, text) in enumerate(pairs)),
    "xml": lambda pairs: "<a>\n" + "".join(f"<b>{escaped(text)}</b>\n" for _, text in pairs) + "</a>\n",
    "yaml": lambda pairs: "".join(f'key{i}: "{text}"\n' for i, (_, text) in enumerate(pairs)),
}


class SameAsLines(CommandTest):
    """A text in a document has the translation that it has as a line."""

    def test_each_format(self):
        translations = self.good(stdin="\n".join(LINES).encode()).decode().splitlines()
        for name, document in DOCUMENTS.items():
            with self.subTest(name):
                width = ("--line-width", "1000") if name in ("srt", "vtt") else ()
                source = document(list(zip(LINES, LINES)))
                self.assertEqual(self.good("--format", name, *width, stdin=source.encode()).decode(),
                                 document(list(zip(LINES, translations))))

    def test_what_is_left_is_said(self):
        r = self.run_tool("--format", "csv", "--columns", "9", stdin="你好\n".encode())
        self.assertEqual((r.returncode, r.stdout), (0, "你好\n".encode()))
        self.assertIn(b"has no text to translate, with these --columns or --keys", r.stderr)

    def test_markup_without_a_known_name(self):
        feed = self.file("feed.unknown", b"<?xml version='1.0'?>\n<a>12</a>\n")
        self.assertIn(b"--format html or xml", self.run_tool("-i", feed).stderr)
        self.assertNotIn(b"--format html", self.run_tool("--format", "text", "-i", feed).stderr)

    def test_a_terminal_gets_no_archive(self):
        terminal = support.Terminal()
        self.addCleanup(terminal.close)
        sample = support.pathlib.Path(__file__).parents[2] / "examples" / "documents" / "manual.odt"
        with self.started("-i", sample, stdout=terminal.slave, stderr=terminal.slave) as p:
            terminal.close_slave()
            self.assertIn(b"is not for a terminal", terminal.read())
            self.assertEqual(p.wait(), 2)

    def test_marks_stay(self):
        page = "<p>我<b>喜欢</b>读书。</p>"
        self.assertRegex(self.good("--format", "html", page).decode(), r"^<p>.*<b>.+</b>.*</p>\n$")
        self.assertEqual(self.good("--format", "html", "<p>OK <b>12</b></p>", warnings=True), b"<p>OK <b>12</b></p>\n")

    def test_a_damaged_document_leaves_nothing(self):
        for name, text in (("a.xml", "<a><b></a>"), ("a.json", "["), ("a.yaml", "a: [")):
            out = self.folder / "out"
            self.bad(1, "-i", self.file(name, text.encode()), "-o", out, says=[name, "line 1, column "])
            self.assertFalse(out.exists())


class ManyFiles(CommandTest):
    def setUp(self):
        super().setUp()
        self.files = [self.file(name, text.encode()) for name, text in (("a.txt", "你好。\n"), ("b.txt", "谢谢。\n"))]
        self.out = self.folder / "new" / "out"

    def test_each_file_has_a_translation(self):
        self.good("-O", self.out, *self.files)
        for path in self.files:
            self.assertEqual((self.out / path.name).read_bytes(), self.good("-i", path))
        self.assertEqual(sorted(os.listdir(self.out)), ["a.txt", "b.txt"])
        self.good("-O", self.out, *self.files)  # again, in place of the older ones

    def test_options_of_formats(self):
        table = self.file("a.csv", "甲,乙\n你好,谢谢\n".encode())
        self.good("-O", self.out, "--columns", "2", table)
        self.assertTrue((self.out / "a.csv").read_text().startswith("甲,"))
        self.bad(2, "-O", self.out, "--columns", "2", table, self.files[0], says="--columns: only for")
        self.bad(2, "-O", self.out, "--forbid", "NO TOKEN", *self.files, says="--forbid: 'NO' is not a token")
        r = self.run_tool("-O", self.out, "--stats", *self.files)
        self.assertEqual((r.returncode, r.stderr.count(b"\n")), (0, 1))

    def test_a_file_that_fails_does_not_hold_up_others(self):
        message = self.bad(1, "-O", self.out, self.files[0], self.folder / "none.txt", self.files[1])
        self.assertIn("none.txt: No such file", message)
        self.assertEqual(sorted(os.listdir(self.out)), ["a.txt", "b.txt"])

    def test_refused(self):
        self.bad(2, "-O", self.out, says="needs the files")
        self.bad(2, "-O", self.out, "-o", "x", *self.files, says="--output-dir")
        self.bad(2, "-O", self.folder, self.files[0], says="is the input and the output")
        double = self.folder / "other"
        double.mkdir()
        (double / "a.txt").write_bytes(b"x\n")
        self.bad(2, "-O", self.out, self.files[0], double / "a.txt", says="two files")
        self.assertFalse(self.out.exists())
