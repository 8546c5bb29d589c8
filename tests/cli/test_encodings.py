"""Input in other encodings than UTF-8, and input that is no text."""
import random
import zipfile

from support import CommandTest

TEXT = "今天天气很好。\r\n我们明天去北京，好不好？\n\n你好！\n"


class Encodings(CommandTest):
    def setUp(self):
        super().setUp()
        self.expected = self.good(stdin=TEXT.encode())

    def path_of(self, data):
        return self.file("in.txt", data)

    def test_marks(self):
        for encoding in ("utf-8-sig", "utf-16", "utf-32"):
            path = self.path_of(TEXT.encode(encoding))
            self.assertEqual(self.good("-i", path), self.expected, encoding)
            self.assertEqual(self.good(stdin=TEXT.encode(encoding)), self.expected, encoding)

    def test_recognised(self):
        for encoding in ("gb18030", "utf-16-le", "utf-16-be"):
            path = self.path_of(TEXT.encode(encoding))
            done = self.run_tool("-i", path)
            self.assertEqual((done.returncode, done.stdout), (0, self.expected), encoding)
            self.assertRegex(done.stderr.decode(), r"\A[^\n]*in\.txt: read as [A-Z0-9-]+; --encoding names another\n\Z")
            self.assertEqual(self.good("-q", "-i", path), self.expected)

    def test_named(self):
        for name, encoding in (("GBK", "gbk"), ("gb2312", "gb2312"), ("BIG5", "big5"), ("UTF-16LE", "utf-16-le"),
                               ("UTF-8", "utf-8"), ("auto", "utf-8")):
            text = "今天天氣很好。\n" if encoding == "big5" else TEXT
            expected = self.good(stdin=text.encode())
            self.assertEqual(self.good("--encoding", name, stdin=text.encode(encoding)), expected, name)
        self.bad(1, "--encoding", "nosuch", stdin=b"a\n", says=["--encoding nosuch", "iconv -l"])

    def test_small_writes(self):
        """Characters that are divided between two reads."""
        for encoding in ("gb18030", "utf-16", "utf-8"):
            data = TEXT.encode(encoding)
            with self.started("-q") as p:
                for i in range(0, len(data), 3):
                    p.stdin.write(data[i:i + 3])
                    p.stdin.flush()
                out, _ = p.communicate(timeout=90)
            self.assertEqual(out, self.expected, encoding)

    def test_damaged(self):
        few = "今天天气很好。我们明天去北京。".encode() + b"\xff\n"  # UTF-8 with a bad byte
        done = self.run_tool("--json", stdin=few)
        self.assertIn("invalid UTF-8", done.stderr.decode())
        self.assertIn(b"invalid_utf8", done.stdout)
        cut = "你好".encode("gb18030")[:-1]
        done = self.run_tool("--encoding", "GB18030", "--json", stdin=cut)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"\xef\xbf\xbd", done.stdout)
        rng = random.Random(1)
        for size in (1, 2, 3, 7, 100, 3000):
            for _ in range(8):
                self.assertIn(self.run_tool("-q", "--max-length", "3", stdin=rng.randbytes(size)).returncode, (0, 1))

    def test_empty(self):
        self.assertEqual(self.good(stdin=b"\xef\xbb\xbf"), b"")
        self.assertEqual(self.good(stdin=b"\xff\xfe"), b"")
        self.assertEqual(self.good("--encoding", "GBK", stdin=b""), b"")

    def test_no_text(self):
        document = self.folder / "a.docx"
        with zipfile.ZipFile(document, "w") as archive:
            archive.writestr("[Content_Types].xml", "x")
        self.bad(1, "-i", document, "-o", self.folder / "b.docx", says=["a.docx", "has no word/document.xml"])
        self.bad(1, "--format", "text", "-i", document, says=["a.docx", "office document"])
        for data, says in ((b"%PDF-1.7\n", "PDF"), (b"{\\rtf1\\ansi", "RTF"), (b"\x89PNG\r\n\x1a\n123", "PNG"),
                           (b"\x1f\x8b\x08\0", "gzip -dc"), (b"\x28\xb5\x2f\xfd1", "zstd -dc"), (b"GGUF\x03\0\0\0", "-m"),
                           (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "office"), (b"\x7fELF\x02", "program")):
            self.bad(1, stdin=data, says=[says])
        for text in (b"PK\n", b"RIFF\n", b"%PDF\n", b"GIF\n", b"BZh\n"):
            self.assertEqual(self.good("-q", stdin=text), text)

