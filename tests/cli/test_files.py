"""Output files: complete or absent, interrupted and resumed; links, permissions, limits."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

import support
from support import LINES, CommandTest, at_most, environment, many_lines, text_of, unprivileged, wait_for

ROOT = pathlib.Path(__file__).resolve().parents[2]


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


class Replacing(FileTest):
    """A file that is replaced keeps its permissions and owner; if it is a link, its target is written. Runs without special
    rights."""

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        if os.geteuid() == 0:
            os.chown(self.folder, 65534, 65534)
        self.new = self.good("好")

    def good(self, *args, **more):
        return super().good(*args, **unprivileged(), **more)

    def old(self, name, mode, owner=65534, group=65534):
        path = self.file(name, b"old")
        if os.geteuid() == 0:
            os.chown(path, owner, group)
        path.chmod(mode)
        return path

    def mode(self, path):
        return path.stat().st_mode & 0o7777

    def test_mode(self):
        pairs = self.file("pairs.txt", text_of([LINES[0]] * 20))
        for mode in (0o600, 0o640, 0o400, 0o604, 0o755, 0o4711):
            for name, *args in (
                ("out.txt", "好", "-o"),
                ("scores.txt", "score", "好", "Good", "-o"),
                ("view.svg", "attention", "好", "-o"),
                ("model.gguf", "convert", "-f", support.MODEL),
                ("lex.bin", "shortlist", pairs, pairs, "-f", "-o"),
            ):
                out = self.old(name, mode)
                self.good(*args, out)
                self.assertNotEqual(out.read_bytes(), b"old")
                self.assertEqual(self.mode(out), mode & 0o777, (name, oct(mode)))  # the set-user-ID bit is not kept

    def test_never_more_readable_than_in_the_end(self):
        for mode, umask, meanwhile, end in (
            (0o600, 0, 0o600, 0o600),
            (0o644, 0, 0o600, 0o644),
            (None, 0o077, 0o600, 0o600),
            (None, 0o022, 0o644, 0o644),
        ):
            self.output.unlink(missing_ok=True)
            if mode is not None:
                self.old("out.txt", mode)
            with self.started("-o", self.output, umask=umask, **unprivileged()) as p:
                wait_for(lambda: self.part.with_name("out.txt.part.run").exists())
                self.assertEqual(
                    (self.mode(self.part), self.mode(self.part.with_name("out.txt.part.run"))), (meanwhile, meanwhile)
                )
                out, err = p.communicate("好\n".encode(), timeout=90)
                self.assertEqual((p.returncode, out, err), (0, b"", b""))
            self.assertEqual((self.output.read_bytes(), self.mode(self.output)), (self.new, end))

    @unittest.skipIf(os.geteuid(), "only root gives files away")
    def test_owner(self):
        for owner, group, mode, mine in (
            (65534, 65534, 0o640, 0o640),
            (0, 65534, 0o640, 0o640),
            (0, 0, 0o644, 0o644),
            (0, 0, 0o660, 0o600),
            (0, 0, 0o664, 0o644),
            (0, 0, 0o604, 0o600),
        ):
            out = self.old("out.txt", mode, owner, group)
            self.good("-o", out, "好")  # cannot give it to root, nor to root's group
            st = out.stat()
            self.assertEqual((st.st_uid, st.st_gid, oct(self.mode(out))), (65534, 65534, oct(mine)))
            out = self.old("out.txt", mode, 65534, 65533)
            super().good("-o", out, "好")
            st = out.stat()
            self.assertEqual((st.st_uid, st.st_gid, self.mode(out)), (65534, 65533, mode))

    def test_links(self):
        """The target of a chain of links is written, whether it exists or not; the links stay, and FILE.part is beside the
        target."""
        (self.folder / "a").mkdir(mode=0o777)
        (self.folder / "b").mkdir(mode=0o777)
        for name in ("a", "b"):
            (self.folder / name).chmod(0o777)
        first, second, end = self.folder / "first.txt", self.folder / "a/second.txt", self.folder / "b/end.txt"
        first.symlink_to("a/second.txt")
        second.symlink_to("../b/end.txt")
        for name, *args in (("out", "好", "-o"), ("model", "convert", "-f", support.MODEL)):
            for there in (False, True):
                self.good(*args, first)
                self.assertTrue(first.is_symlink() and second.is_symlink() and not end.is_symlink())
                self.assertEqual(end.read_bytes()[:4], b"GGUF" if name == "model" else self.new[:4])
                self.assertEqual([p.name for p in end.parent.iterdir()], ["end.txt"], there)
            end.unlink()
        with self.started("-o", first, **unprivileged()) as p:
            wait_for(lambda: (end.parent / "end.txt.part").exists())
            p.communicate(b"", timeout=90)
        self.assertEqual(end.read_bytes(), b"")

    def test_links_that_lead_nowhere(self):
        circle, deep = self.folder / "circle", self.folder / "deep"
        circle.symlink_to("circle")
        deep.symlink_to("none/deep")
        for path in (circle, deep):
            self.bad(1, "-o", path, "好", says=path.name, **unprivileged())
            self.bad(1, "convert", support.MODEL, path, says=path.name, **unprivileged())
        self.assertEqual(self.names(), ["circle", "deep", "in.txt"])

    def test_standard_output_by_name(self):
        for mode in ("wb", "ab"):  # the file is written where it is open, not replaced
            before = b"" if mode == "wb" else b"old"
            with open(self.old("out.txt", 0o600), mode) as out:
                r = subprocess.run([support.TOOL, "-o", "/dev/stdout", "好"], stdout=out, env=environment(), timeout=90)
            self.assertEqual((r.returncode, self.output.read_bytes()), (0, before + self.new))


class Resume(FileTest):
    def setUp(self):
        super().setUp()
        self.args = ("-i", self.input, "-o", self.output)
        self.run_file = self.folder / "out.txt.part.run"

    def test_continues(self):
        for options in ([], ["--json"]):
            whole = self.good(*options, "-i", self.input)
            rows, run = whole.splitlines(keepends=True), self.run_of(*options, *self.args)
            for kept, torn in ((0, b""), (1, b""), (17, b""), (17, rows[17][:-1]), (17, b"The"), (60, b""), (0, b"x")):
                self.leave(self.part, b"".join(rows[:kept]) + torn, run)
                self.good(*options, *self.args, "--resume")
                self.assertEqual(self.output.read_bytes(), whole, (options, kept, torn))
                self.assertEqual(self.names(), ["in.txt", "out.txt"])
                self.output.unlink()

    def test_nothing_to_resume(self):
        self.good(*self.args, "--resume")
        self.assertEqual(self.output.read_bytes(), self.expected())
        for run in (False, True):
            self.part.write_bytes(b"")  # a run that was killed before its first line
            if run:
                self.run_file.write_bytes(b"version of translate: 0\ninput: other\n")
            self.good(*self.args, "--resume")
            self.assertEqual(self.names(), ["in.txt", "out.txt"])

    def test_from_standard_input(self):
        rows = self.expected().splitlines(keepends=True)
        run = self.run_of("-o", self.output, stdin=self.input.read_bytes())
        self.assertIn(b"\ninput: a stream\n", run)
        self.leave(self.part, b"".join(rows[:20]), run)
        self.good("-o", self.output, "--resume", stdin=self.input.read_bytes())
        self.assertEqual(self.output.read_bytes(), b"".join(rows))
        self.leave(self.part, b"".join(rows[:20]), self.run_of(*self.args))  # a file is one wherever it comes from
        self.good("-o", self.output, "--resume", stdin_file=self.input)
        self.assertEqual(self.output.read_bytes(), b"".join(rows))

    def test_finished_lines_are_not_translated_again(self):
        rows = self.expected().splitlines(keepends=True)
        self.leave(self.part, b"marked\n" + b"".join(rows[1:59]), self.run_of(*self.args))
        r = self.run_tool(*self.args, "--resume", "-v", "--stats")
        self.assertEqual(self.output.read_bytes(), b"marked\n" + b"".join(rows[1:]))
        self.assertIn(b"59 lines are done", r.stderr)
        self.assertIn(b" 1 sentences, ", r.stderr)

    def test_belongs_to_another_run(self):
        rows, run = self.expected().splitlines(keepends=True), self.run_of(*self.args)
        for content, says in (
            (b"".join(rows) + b"more\n", "more lines"),
            (b"".join(rows[:5]) + b"other\n", "last line"),
        ):
            self.leave(self.part, content, run)
            self.bad(1, *self.args, "--resume", says=[says, "out.txt.part"])
            self.assertEqual((self.part.read_bytes(), self.run_file.read_bytes()), (content, run))
        self.bad(1, "-i", self.input, "-o", "/dev/null", "--resume", says="not a regular file")


class Comparing(FileTest):
    """--resume refuses the output of another input, model or option, and does not change it."""

    def setUp(self):
        super().setUp()
        self.args = ("-i", self.input, "-o", self.output)
        self.kept = self.expected().splitlines(keepends=True)[0] + b"torn"
        self.run_file = self.folder / "out.txt.part.run"

    def refused(self, *options, says, kept=None):
        message = self.bad(
            1, *options, *self.args, "--resume", says=[f"{self.part}: was made with another {says}", "delete it"]
        )
        self.assertEqual(self.part.read_bytes(), self.kept, message)
        self.assertFalse(self.output.exists())
        return message

    def test_options(self):
        run = self.run_of(*self.args)
        lexicon = self.folder / "lex.bin"
        self.good("shortlist", self.input, self.file("en.txt", self.expected()), "-o", lexicon)
        for options, says in (
            (["--max-length", "3"], "--max-length (the default, now 3)"),
            (["--min-length", "3"], "--min-length"),
            (["-b2"], "--beam"),
            (["-b2", "-n2"], "--beam"),
            (["--compute", "f32"], "--compute (the default, now f32)"),
            (["--split", "never"], "--split"),
            (["--exact"], "--compute"),
            (["--loop-guard", "off"], "--loop-guard"),
            (["--json"], "--json (the default, now on)"),
            (["--scores"], "--scores"),
            (["--alignment"], "--alignment"),
            (["--allowed", "off"], "--allowed"),
            (["--shortlist", "off"], "--shortlist (the default, now off)"),
            (["--shortlist", lexicon], "--shortlist (the default, now "),
            (["--prefix", "a\nb\\"], "--prefix (the default, now a\\x0ab\\x5c)"),
            (["--attention", "local:3"], "--attention"),
            (["--no-unknown"], "--no-unknown"),
            (["--sample"], "--sample"),
            (["--length-penalty", "0.3"], "--length-penalty (the default, now 0.3"),
            (["--sample", "--seed", "5"], "--sample"),
            (["--forbid", "▁the", "--forbid", "▁a"], "--forbid (the default, now ▁the, ▁a)"),
            (["--no-repeat-ngram", "3"], "--no-repeat-ngram"),
            (["--tsv"], "--tsv"),
        ):
            self.leave(self.part, self.kept, run)
            self.refused(*options, says=says)
            self.assertEqual(self.run_file.read_bytes(), run)
            other = self.run_of(*options, "-i", self.input, "-o", self.folder / "other.txt")
            self.leave(self.part, self.kept, other)
            self.refused(says=says.split(" ")[0])
        for options in (
            ["-T", "1"],
            ["--batch-size", "1"],
            ["--load", "map"],
            ["-q"],
            ["--max-length", "512"],
            ["--allowed", "auto"],
        ):
            self.leave(self.part, self.kept, run)
            self.good(*options, *self.args, "--resume")
            self.assertEqual(self.output.read_bytes(), self.expected())
            self.output.unlink()

    def test_every_option_is_compared_or_known_not_to_matter(self):
        """New options must be compared as well; add those that need not be to the list here."""
        text = self.good("--help").decode()
        every = set(re.findall(r"^  (?:-\w, |    )--([\w-]+)", text, re.M))
        run = self.run_of(*self.args)
        neutral = {
            "model",
            "ensemble",
            "rerank",  # like the others, by its content
            "models",
            "load",
            "input",
            "output",
            "output-dir",
            "max-content",
            "resume",
            "stats",
            "threads",
            "batch-size",
            "quiet",
            "verbose",
            "help",
            "version",
            "completion",
            "stream",
            "exact",
        }
        values = {
            "source": "zh",
            "target": "en",
            "compute": "f16",
            "shortlist": "off",
            "allowed": "off",
            "attention": "local:2",
            "split": "never",
            "loop-guard": "off",
            "protect": "off",
            "doubtful-below": "-1",
            "encoding": "UTF-8",
            "glossary": str(self.file("g.tsv", "猫\tcat\n".encode())),
            "stopping": "never",
            "forbid": "▁a",
            "prefix": "a",
            "format": "markdown",
            "columns": "1",
            "keys": "*",
        }
        needs = {
            "top-k": ["--sample"],
            "top-p": ["--sample"],
            "temperature": ["--sample"],
            "seed": ["--sample"],
            "n-best": ["-b2"],
            "alternatives": ["-b2", "-n2"],
            "alternatives-min": ["--alternatives", "-b2", "-n2"],
            "ids": ["--tokens"],
            "max-length-more": ["--max-length-factor", "2"],
            "doubtful-below": ["--mark-doubtful", "?"],
            "mark-doubtful": ["--doubtful-below", "-1"],
            "alignment-head": ["--alignment"],
            "alignment-layer": ["--alignment"],
            "alignment-threshold": ["--alignment"],
            "columns": ["--format", "csv"],
            "keys": ["--format", "yaml"],
            "line-width": ["--format", "srt"],
        }
        flags = set(re.findall(r"^  (?:-\w, |    )--([\w-]+)(?: {2,}|$)", text, re.M))
        for name in sorted(every - neutral):
            number = "0.5" if name in ("top-p", "alternatives-min", "alignment-threshold") else "2"
            value = [] if name in flags else [values.get(name, number)]
            if name == "tokens":
                self.input.write_bytes(self.good("tokenize", stdin=text_of(self.lines)))
            elif name == "ids":
                self.input.write_bytes(self.good("tokenize", "--ids", stdin=text_of(self.lines)))
            elif name == "keys":
                self.input.write_bytes(text_of([f'key{i}: "{line}"' for i, line in enumerate(self.lines)]))
            elif name == "line-width":
                cues = [f"{i}\n00:00:{i:02},000 --> 00:00:{i:02},900\n{line}\n" for i, line in enumerate(self.lines[:50])]
                self.input.write_bytes(text_of(cues))
            else:
                self.input.write_bytes(text_of(self.lines))
            content = self.describe(f"--{name}", *value, *needs.get(name, []))
            self.assertIn(f"\n--{name}: ".encode(), content, name)
        self.assertTrue(run)

    def describe(self, *options):
        """Returns FILE.part.run, which is written before the first line: the options need not suit the model."""
        with self.started(*options, *self.args, **at_most(300)) as p:
            p.communicate(timeout=90)
        content = self.run_file.read_bytes() if self.run_file.exists() else b""
        for path in (self.part, self.run_file, self.output):
            path.unlink(missing_ok=True)
        return content

    def test_model(self):
        fixture = ROOT / "tests/reference/fixtures"
        model, other = self.folder / "model", fixture / "gelu-4x2-bf16-untied/model"
        shutil.copytree(fixture / "relu-1x1-f32/model", model)
        args = ("--max-length", "5")
        run = self.run_of(*args, "-m", model, *self.args)
        self.leave(self.part, self.kept, run)
        self.refused(*args, says="model (", kept=run)
        self.refused(*args, "-m", other, says="model (")
        self.refused(*args, "-m", model, "--ensemble", model, says="model 2 of the ensemble (none, now ")
        for path in sorted(model.iterdir()):  # each of its files counts
            before = path.read_bytes()
            content = bytearray(before)
            if path.suffix == ".json":
                content += b"\n"
            elif path.suffix == ".safetensors":
                content[-1] ^= 1
            else:
                continue
            path.write_bytes(content)
            if f"{path.name}" in ("config.json", "vocab.json", "model.safetensors"):
                self.refused(*args, "-m", model, says="model (")
            path.write_bytes(before)
        shutil.move(model, self.folder / "moved")  # the same model at another path
        whole = self.good(*args, "-m", self.folder / "moved", "-i", self.input)
        self.leave(self.part, whole[: whole.index(b"\n") + 1], run)
        self.good(*args, "-m", self.folder / "moved", *self.args, "--resume")
        self.assertEqual(self.output.read_bytes(), whole)

    def test_converted_model(self):
        a, b = self.folder / "a.gguf", self.folder / "b.gguf"
        self.good("convert", support.MODEL, a)
        self.good("convert", support.MODEL, b, "--allowed", "script:Latn")
        run = self.run_of("-m", a, *self.args)
        self.assertIn(json.loads(self.good("info", "--json", a))["checksum"].encode(), run)
        self.leave(self.part, self.kept, run)
        self.refused("-m", b, says="model (zh-en-small, ")
        b.write_bytes(a.read_bytes())
        self.good("-m", b, *self.args, "--resume")
        self.assertEqual(self.output.read_bytes(), self.expected())

    def test_shortlist_by_content(self):
        a, b = self.folder / "a.bin", self.folder / "b.bin"
        for out, first in ((a, 0), (b, 1)):
            source = self.file("zh.txt", text_of(self.lines[first::2]))
            target = self.file("en.txt", b"".join(self.expected().splitlines(keepends=True)[first::2]))
            self.good("shortlist", source, target, "-o", out)
        run = self.run_of("--shortlist", a, *self.args)
        self.leave(self.part, self.kept, run)
        self.refused("--shortlist", b, says="--shortlist (")
        shutil.copy(a, b)
        self.run_tool("--shortlist", b, *self.args, "--resume")  # its last line may differ, the list does not
        self.assertNotIn(b"another", self.run_tool("--shortlist", b, *self.args, "--resume").stderr)

    def test_input(self):
        run = self.run_of(*self.args)
        before = self.input.read_bytes()
        for content in (before[:-5], before + b"more\n", before.replace("60".encode(), b"61"), b""):
            self.leave(self.part, self.kept, run)
            self.input.write_bytes(content)
            self.refused(says="input (1611 bytes, xxh64 ")
        self.bad(1, "-o", self.output, "--resume", stdin=before, says="another input (1611 bytes")
        self.assertEqual(self.part.read_bytes(), self.kept)

    def test_without_a_description(self):
        self.part.write_bytes(self.kept)
        self.bad(
            1,
            *self.args,
            "--resume",
            says=["out.txt.part: its description ", "out.txt.part.run is missing", "delete it"],
        )
        for content in (b"", b"nonsense\n", b"\0" * 100, b"a: b"):
            self.leave(self.part, self.kept, content)
            self.bad(1, *self.args, "--resume", says=["out.txt.part.run: is damaged", "delete it and "])
            self.assertEqual((self.part.read_bytes(), self.run_file.read_bytes()), (self.kept, content))

    def test_description_of_others_is_not_lost(self):
        self.run_file.write_bytes(b"precious\n")
        for args in (
            self.args,
            ("-i", self.run_file, "-o", self.output),
            ("-i", self.input, "-o", self.output, "--resume"),
        ):
            self.bad(1, *args, says="out.txt.part.run: is a file of another kind")
        self.bad(1, *self.args, "-m", self.file("bad.gguf", b"x"))
        self.good("-o", self.output, "好")
        pairs = self.file("pairs.txt", text_of(["好\tGood"]))
        self.good("score", "-i", pairs, "-o", self.output)
        self.assertEqual(self.run_file.read_bytes(), b"precious\n")
        self.assertFalse(self.part.exists())

    def test_says_how_to_continue(self):
        for before, now, way in (
            (["-b2"], [], "give --beam as before, or delete it"),
            ([], ["-b2"], "omit --beam, or delete it"),
            ([], ["-m", "changed"], "continue with the same, or delete it"),
        ):
            run = self.run_of(*before, "-i", self.input, "-o", self.folder / "other.txt")
            self.leave(self.part, self.kept, run)
            if "changed" in now:
                now = ["-m", self.folder / "changed.gguf"]
                self.good("convert", "--compute", "f32", support.MODEL, now[1])
            self.bad(1, *now, *self.args, "--resume", says=way)

    def test_model_is_output(self):
        package = self.folder / "package"
        shutil.copytree(pathlib.Path(__file__).resolve().parent.parent / "bergamot/fixtures/package", package)
        for vocabulary in package.glob("*.spm"):
            content = vocabulary.read_bytes()
            for args in (("-i", self.input), ("好",)):
                self.bad(2, "-m", package, *args, "-o", vocabulary, says="is the model and the output")
            self.bad(2, "score", "-m", package, "好", "good", "-o", vocabulary, says="is the model and the output")
            self.bad(2, "convert", package, vocabulary, "--force", says="is the model and the output")
            self.assertEqual(vocabulary.read_bytes(), content)

    def test_glossary_is_output(self):
        glossary = self.folder / "glossary.tsv"
        glossary.write_text("天气\tweather\n", encoding="utf-8")
        self.bad(2, "-i", self.input, "--glossary", glossary, "-o", glossary, says="is the glossary and the output")
        self.assertEqual(glossary.read_text(encoding="utf-8"), "天气\tweather\n")

    def test_standard_output_by_name(self):
        kept = self.folder / "kept.txt"
        kept.write_text("before\n", encoding="utf-8")
        with kept.open("a", encoding="utf-8") as file:
            subprocess.run([support.TOOL, "-m", support.MODEL, "天", "-o", "/dev/stdout"], check=True, stdout=file)
        self.assertRegex(kept.read_text(encoding="utf-8"), r"\Abefore\n.+\n\Z")

    def test_text_replaces_text_alone(self):
        """One rule in every command: a file is replaced by one of its kind, or with --force."""
        pairs = self.file("pairs.txt", text_of(["好\tGood"]))
        old, page = self.file("old.txt", b"old\n"), self.file("old.html", b"old\n")
        for args in (("好",), ("-i", self.input), ("score", "-i", pairs)):
            self.good(*args, "-o", old)
            self.assertNotEqual(old.read_bytes(), b"old\n")
            old.write_bytes(b"old\n")
        self.good("attention", "好", "-o", page)
        self.assertIn(b"<html", page.read_bytes())
        model = self.file("model.gguf", support.model_bytes())
        os.symlink("model.gguf", self.folder / "view.html")
        for args in (("好", "-o", model), ("-i", self.input, "-o", model), ("-i", self.input, "-o", model, "--resume"),
                     ("score", "-i", pairs, "-o", model), ("attention", "好", "-o", self.folder / "view.html")):
            self.bad(1, *args, says="is a model or a shortlist, which no text replaces")
        self.assertEqual(model.read_bytes(), support.model_bytes())


class HostileParts(FileTest):
    """Links, folders and pipes in place of FILE.part and FILE.part.run: nothing is followed, changed or waited for."""

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.args = ("-i", self.input, "-o", self.output)
        self.run_file = self.folder / "out.txt.part.run"
        self.line = self.expected().splitlines(keepends=True)[0]
        self.description = self.run_of(*self.args)
        self.precious = self.file("precious", self.line + b"torn")
        if os.geteuid() == 0:
            for path in (self.folder, self.input, self.precious):
                os.chown(path, 65534, 65534)

    def refused(self, *says):
        for path in (self.part, self.run_file):
            if os.geteuid() == 0 and path.exists() and not path.is_symlink():
                os.chown(path, 65534, 65534)
        for resume in ([], ["--resume"]):
            self.bad(
                1, *self.args, *resume, says=["out.txt.part", *(says if resume else ())], timeout=20, **unprivileged()
            )
            self.assertEqual(self.precious.read_bytes(), self.line + b"torn")
            self.assertFalse(self.output.exists())

    def test_part_is_a_link(self):
        self.run_file.write_bytes(self.description)
        self.part.symlink_to("precious")
        self.refused("symbolic link")
        self.assertTrue(self.part.is_symlink())
        self.part.unlink()
        self.part.symlink_to("none")
        self.refused("symbolic link")
        self.assertFalse((self.folder / "none").exists())

    def test_part_is_a_hard_link(self):
        self.run_file.write_bytes(self.description)
        os.link(self.precious, self.part)
        self.refused("hard link")
        self.assertTrue(self.part.exists())

    def test_part_is_no_file(self):
        self.run_file.write_bytes(self.description)
        os.mkfifo(self.part)
        self.refused("not a regular file")
        self.part.unlink()
        self.part.mkdir()
        self.refused("is a directory")

    def test_description_is_a_link(self):
        self.part.write_bytes(self.line + b"torn")
        self.run_file.symlink_to(self.file("other.run", self.description))
        self.refused("symbolic link")
        self.assertEqual(self.part.read_bytes(), self.line + b"torn")
        self.part.unlink()  # FILE.part.run without FILE.part is neither followed nor replaced
        self.bad(1, "-o", self.output, says="symbolic link", stdin=b"", **unprivileged())
        self.assertEqual((self.folder / "other.run").read_bytes(), self.description)
        self.assertTrue(self.run_file.is_symlink())

    def test_description_is_no_file(self):
        self.part.write_bytes(self.line + b"torn")
        os.mkfifo(self.run_file)
        self.refused("not a regular file")

    def test_part_is_replaced_meanwhile(self):
        with self.started("-o", self.output, **unprivileged()) as p:
            wait_for(lambda: self.run_file.exists())
            self.part.unlink()
            self.part.symlink_to("precious")
            out, err = p.communicate("好\n".encode(), timeout=90)
            self.assertEqual((p.returncode, out), (1, b""))
            self.assertIn(b"out.txt.part: another file has taken its place", err)
        self.assertEqual(self.precious.read_bytes(), self.line + b"torn")
        self.assertTrue(self.part.is_symlink())
        self.assertFalse(self.output.exists())

    def test_folder_that_cannot_be_written(self):
        if os.geteuid() == 0:
            os.chown(self.folder, 0, 0)
        else:
            self.folder.chmod(0o500)
            self.addCleanup(self.folder.chmod, 0o700)
        before = self.names()
        self.bad(1, *self.args, says=["out.txt.part", "Permission denied"], **unprivileged())
        self.bad(1, "convert", support.MODEL, self.folder / "x.gguf", says="Permission denied", **unprivileged())
        self.assertEqual(self.names(), before)


class Limits(FileTest):
    """A file that reaches its size limit is an ordinary error."""

    def test_output(self):
        r = self.run_tool("-i", self.input, "-o", self.output, **at_most(700))
        self.assertEqual((r.returncode, r.stdout), (1, b""))
        self.assertRegex(
            r.stderr.decode(), r"\Atranslate: [^\n]*out\.txt: cannot write: File too large; [^\n]*--resume[^\n]*\n\Z"
        )
        self.assertEqual(self.names(), ["in.txt", "out.txt.part", "out.txt.part.run"])
        self.good("-i", self.input, "-o", self.output, "--resume")
        self.assertEqual(self.output.read_bytes(), self.expected())
        self.assertEqual(self.names(), ["in.txt", "out.txt"])

    def test_nothing_is_left_that_cannot_be_resumed(self):
        pairs = self.file("pairs.txt", text_of([f"{line}\tGood" for line in LINES]))
        before = self.names()
        for args in (
            ("score", "-i", pairs, "-o", self.output),
            ("attention", "好", "-o", self.folder / "view.svg"),
            ("-o", self.output, " ".join(LINES)),
            ("convert", support.MODEL, self.folder / "m.gguf"),
            ("shortlist", pairs, pairs, "-o", self.folder / "lex.bin"),
        ):
            self.bad(1, *args, says="File too large", **at_most(64))
            self.assertEqual(self.names(), before, args)


class NoFiles(CommandTest):
    """A named pipe in place of a file does not block; as input it is read."""

    def setUp(self):
        super().setUp()
        self.pipe = self.folder / "pipe"
        os.mkfifo(self.pipe)

    def refused(self, *args, name=None):
        self.bad(1, *args, says=[str(name or self.pipe), "is not a regular file"], timeout=20)

    def test_models(self):
        self.refused("-m", self.pipe, "好")
        self.refused("--ensemble", self.pipe, "好")
        self.refused("--shortlist", self.pipe, "好")
        self.refused("info", self.pipe)
        self.refused("info", "--verify", self.pipe)
        self.refused("score", "-m", self.pipe, "好", "Good")
        self.refused("convert", self.pipe, self.folder / "out.gguf")
        self.refused("convert", support.MODEL, self.pipe)

    def test_directory(self):
        for kind in (
            "reference/fixtures/relu-1x1-f32/model",
            "ctranslate2/fixtures/marian-int8",
            "marian/fixtures/plain-npz",
        ):
            model = self.folder / kind.replace("/", "-")
            shutil.copytree(ROOT / "tests" / kind, model)
            args = ["-m", model, "--tokens", "a"]
            whole = self.good(*args)
            for path in sorted(model.iterdir()):
                content = path.read_bytes()
                path.unlink()
                os.mkfifo(path)
                if path.name == "expected.json":  # without a reader
                    self.assertEqual(self.good(*args, timeout=20), whole)
                elif path.name in ("model.bin", "model.npz"):  # without a file of that name it is of another format
                    self.bad(1, *args, says=str(model), timeout=20)
                else:
                    self.bad(1, *args, says=[str(path), "is not a regular file"], timeout=20)
                path.unlink()
                path.write_bytes(content)

    def test_input(self):
        with self.started("-i", self.pipe) as p:
            with open(self.pipe, "wb") as f:
                f.write("好\n".encode())
            out, _ = p.communicate(timeout=90)
        self.assertEqual(out, self.good("好"))


class Interrupted(CommandTest):
    def check(self, number, status, stdin_open):
        """Interrupts a run whose output has begun, then resumes it; the result is that of an uninterrupted run."""
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
            self.assertRegex(
                p.stderr.read().decode(), r"\Atranslate: interrupted: [^\n]*out\.txt\.part[^\n]*--resume[^\n]*\n\Z"
            )
        self.assertFalse(output.exists())
        done = part.read_bytes().count(b"\n")
        self.assertTrue(part.read_bytes().endswith(b"\n"))
        self.assertTrue(0 < done < 4000, done)
        if stdin_open:
            self.good(*args, "--resume", stdin=text_of(lines[: done + 50]))
            self.assertEqual(output.read_bytes(), self.good(*options, stdin=text_of(lines[: done + 50])))
        else:
            self.good(*args, "--resume")
            self.assertEqual(output.read_bytes(), self.good(*options, "-i", source))
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["in.txt", "out.txt"])

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
            self.bad(1, "-o", output, "好", says="another run is writing it")
            self.bad(1, "-o", output, "--resume", says="another run")
            out, err = p.communicate(text_of(LINES[:2]), timeout=90)
            self.assertEqual((p.returncode, out, err), (0, b"", b""))
        self.assertEqual(output.read_bytes(), self.good(stdin=text_of(LINES[:2])))

    def test_killed(self):
        output, lines = self.folder / "out.txt", many_lines(40)
        with self.started("-o", output) as p:
            p.stdin.write(text_of(lines[:10]))
            p.stdin.flush()
            wait_for(lambda: (self.folder / "out.txt.part").exists() and (self.folder / "out.txt.part").stat().st_size)
            p.kill()
            p.wait()
        self.good("-o", output, "--resume", stdin=text_of(lines))
        self.assertEqual(output.read_bytes(), self.good(stdin=text_of(lines)))
