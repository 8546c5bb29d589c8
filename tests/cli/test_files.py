"""Output files: complete or not at all, interrupted and resumed."""
import os
import signal

from support import LINES, CommandTest, many_lines, text_of, wait_for


class FileTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.lines = many_lines(60)
        self.input = self.file("in.txt", text_of(self.lines))
        self.output = self.folder / "out.txt"
        self.part = self.folder / "out.txt.part"

    def expected(self):
        return self.good("-i", self.input)

    def names(self):
        return sorted(p.name for p in self.folder.iterdir())


class OutputFile(FileTest):
    def test_file_to_file(self):
        self.assertEqual(self.good("-i", self.input, "-o", self.output), b"")
        self.assertEqual(self.output.read_bytes(), self.expected())
        self.assertEqual(self.names(), ["in.txt", "out.txt"])
        self.good("--input", self.input, f"--output={self.output}", "--json")  # replaces it
        self.assertEqual(self.output.read_bytes(), self.good("--json", "-i", self.input))

    def test_other_ways(self):
        self.good("-o", self.output, "今天天气很好")
        self.assertEqual(self.output.read_bytes(), self.good("今天天气很好"))
        self.good("-o", self.output, stdin=text_of(LINES))
        self.assertEqual(self.output.read_bytes(), self.good("-i", "-", "-o", "-", stdin=text_of(LINES)))
        self.good("-i", self.file("empty"), "-o", self.output)
        self.assertEqual(self.output.read_bytes(), b"")
        self.good("-i", self.input, "-o", "/dev/null")

    def test_mode_follows_the_umask(self):
        self.good("-o", self.output, "好", preexec_fn=lambda: os.umask(0o027))
        self.assertEqual(self.output.stat().st_mode & 0o777, 0o640)

    def test_link_stays_a_link(self):
        link = self.folder / "link.txt"
        self.output.write_bytes(b"old\n")
        link.symlink_to(self.output)
        self.good("-o", link, "好")
        self.assertTrue(link.is_symlink())
        self.assertEqual(self.output.read_bytes(), self.good("好"))

    def test_input_is_output(self):
        before = self.input.read_bytes()
        for name in (self.input, self.folder / "." / "in.txt"):
            self.bad(2, "-i", self.input, "-o", name, says="input and the output")
        self.bad(2, "-o", self.input, stdin_file=self.input, says="input and the output")
        os.link(self.input, self.folder / "hard.txt")
        self.bad(2, "-i", self.input, "-o", self.folder / "hard.txt", says="input and the output")
        part = self.file("x.part", b"a\n")
        self.bad(2, "-i", part, "-o", self.folder / "x", "--resume", says="is the input")
        self.assertEqual((self.input.read_bytes(), part.read_bytes()), (before, b"a\n"))

    def test_places_that_cannot_be_written(self):
        self.bad(1, "-o", self.folder / "none" / "out", "好", says="none")
        self.bad(1, "-o", self.folder, "好", says="is a directory")
        self.assertEqual(self.names(), ["in.txt"])

    def test_failure_leaves_nothing(self):
        self.bad(1, "-i", self.input, "-o", self.output, "-m", self.file("bad.gguf", b"x"))
        self.bad(1, "-i", self.folder / "none", "-o", self.output)
        self.assertEqual(self.names(), ["bad.gguf", "in.txt"])

    def test_part_of_another_run_is_not_lost(self):
        self.part.write_bytes(b"precious\n")
        self.bad(1, "-i", self.input, "-o", self.output, says=["out.txt.part", "--resume", "delete"])
        self.assertEqual(self.part.read_bytes(), b"precious\n")


class Resume(FileTest):
    def test_continues(self):
        for options in ([], ["--json"]):
            whole = self.good(*options, "-i", self.input)
            rows = whole.splitlines(keepends=True)
            for kept, torn in ((0, b""), (1, b""), (17, b""), (17, rows[17][:-1]), (17, b"The"), (60, b""), (0, b"x")):
                self.part.write_bytes(b"".join(rows[:kept]) + torn)
                self.good(*options, "-i", self.input, "-o", self.output, "--resume")
                self.assertEqual(self.output.read_bytes(), whole, (options, kept, torn))
                self.assertFalse(self.part.exists())
                self.output.unlink()

    def test_nothing_to_resume(self):
        self.good("-i", self.input, "-o", self.output, "--resume")
        self.assertEqual(self.output.read_bytes(), self.expected())

    def test_from_standard_input(self):
        rows = self.expected().splitlines(keepends=True)
        self.part.write_bytes(b"".join(rows[:20]))
        self.good("-o", self.output, "--resume", stdin=self.input.read_bytes())
        self.assertEqual(self.output.read_bytes(), b"".join(rows))

    def test_really_skips(self):
        rows = self.expected().splitlines(keepends=True)
        self.part.write_bytes(b"marked\n" + b"".join(rows[1:59]))
        r = self.run_tool("-i", self.input, "-o", self.output, "--resume", "-v", "--stats")
        self.assertEqual(self.output.read_bytes(), b"marked\n" + b"".join(rows[1:]))
        self.assertIn(b"59 lines are done", r.stderr)
        self.assertIn(b" 1 sentences, ", r.stderr)

    def test_belongs_to_another_run(self):
        rows = self.expected().splitlines(keepends=True)
        for content, says in ((b"".join(rows) + b"more\n", "more lines"), (b"".join(rows[:5]) + b"other\n", "last line")):
            self.part.write_bytes(content)
            self.bad(1, "-i", self.input, "-o", self.output, "--resume", says=[says, "out.txt.part"])
            self.assertEqual(self.part.read_bytes(), content)
        self.bad(1, "-i", self.input, "-o", "/dev/null", "--resume", says="no regular file")


class Interrupted(CommandTest):
    def check(self, number, status, stdin_open):
        """Stops a run whose output has begun, then resumes it to the same result as one that was left alone."""
        lines = many_lines(4000)
        source, output = self.file("in.txt", text_of(lines)), self.folder / "out.txt"
        part = self.folder / "out.txt.part"
        options = ["--max-length", "3"]
        args = [*options, "-o", output] if stdin_open else [*options, "-o", output, "-i", source]
        with self.started(*args) as p:
            if stdin_open:
                p.stdin.write(text_of(lines[:30]))
                p.stdin.flush()
            wait_for(lambda: part.exists() and part.stat().st_size)
            p.send_signal(number)
            self.assertEqual(p.wait(90), status)
            self.assertRegex(p.stderr.read().decode(),
                             r"\Atranslate: interrupted: [^\n]*out\.txt\.part[^\n]*--resume[^\n]*\n\Z")
        self.assertFalse(output.exists())
        done = part.read_bytes().count(b"\n")
        self.assertTrue(part.read_bytes().endswith(b"\n"))
        self.assertTrue(0 < done < 4000, done)
        source.write_bytes(text_of(lines[:done + 50]))
        self.good(*options, "-i", source, "-o", output, "--resume")
        self.assertEqual(output.read_bytes(), self.good(*options, "-i", source))
        self.assertFalse(part.exists())

    def test_while_waiting_for_input(self):
        self.check(signal.SIGINT, 130, True)

    def test_while_translating(self):
        self.check(signal.SIGTERM, 143, False)

    def test_hangup(self):
        self.check(signal.SIGHUP, 129, True)

    def test_before_anything_is_done(self):
        output = self.folder / "out.txt"
        with self.started("-o", output) as p:
            wait_for(lambda: (self.folder / "out.txt.part").exists())
            p.send_signal(signal.SIGINT)
            self.assertEqual(p.wait(90), 130)
            self.assertEqual(p.stderr.read(), b"translate: interrupted: nothing was written\n")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_two_runs_do_not_share_a_part(self):
        output = self.folder / "out.txt"
        with self.started("-o", output) as p:
            wait_for(lambda: (self.folder / "out.txt.part").exists())
            self.bad(1, "-o", output, "好", says="out.txt.part")
            self.bad(1, "-o", output, "--resume", says="another run")
            out, err = p.communicate(text_of(LINES[:2]), timeout=90)
            self.assertEqual((p.returncode, out, err), (0, b"", b""))
        self.assertEqual(output.read_bytes(), self.good(stdin=text_of(LINES[:2])))

    def test_killed(self):
        output, lines = self.folder / "out.txt", many_lines(40)
        source = self.file("in.txt", text_of(lines))
        with self.started("-o", output) as p:
            p.stdin.write(text_of(lines[:10]))
            p.stdin.flush()
            wait_for(lambda: (self.folder / "out.txt.part").exists() and (self.folder / "out.txt.part").stat().st_size)
            p.kill()
            p.wait()
        self.good("-i", source, "-o", output, "--resume")
        self.assertEqual(output.read_bytes(), self.good("-i", source))
