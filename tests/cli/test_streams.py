"""Standard input and output: lines as they come, pipes, terminals, bad text, signals."""
import json
import os
import re
import select
import signal
import socket
import time

import support
from support import LINES, SANITIZED, CommandTest, Terminal, environment, many_lines, model_bytes, text_of


def read_line(stream, seconds=90):
    """The next line from a pipe, which must come soon although the program's input stays open."""
    line, end = b"", time.monotonic() + seconds
    while not line.endswith(b"\n"):
        if not select.select([stream], [], [], max(0, end - time.monotonic()))[0]:
            raise AssertionError(f"no answer; so far {line!r}")
        data = os.read(stream.fileno(), 1)
        if not data:
            raise AssertionError(f"ended; so far {line!r}")
        line += data
    return line


class PieceByPiece(CommandTest):
    """--stream"""
    TEXT = "今天天气很好。我喜欢读书，也喜欢看电影。\n\n  你呢？"

    def pieces(self, *options, text):
        """The data of each write: a packet socket keeps writes apart."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, self.started("--stream", *options, text, stdout=theirs) as p:
            theirs.close()
            pieces = []
            while data := ours.recv(65536):
                pieces.append(data)
            self.assertEqual((p.stderr.read(), p.wait(90)), (b"", 0))
        return pieces

    def test_words_come_one_by_one(self):
        for options in ([], ["-T1"], ["-T3", "--batch-size", "2"], ["--sample", "--seed", "7"], ["--scores"],
                        ["--prefix", "Today"], ["--loop-guard", "off"]):
            pieces = self.pieces(*options, text=self.TEXT)
            self.assertEqual(b"".join(pieces), self.good("--loop-guard", "off", *options, self.TEXT), options)
            self.assertGreater(len(pieces), 4, options)
            for piece in pieces:
                piece.decode()  # complete characters

    def test_lines(self):
        lines = [*LINES, "", "  ", LINES[0], self.TEXT.replace("\n", " "), "😀😀"]
        for options in ([], ["-T2"], ["--scores"], ["--alignment"]):
            self.assertEqual(self.good("--stream", *options, stdin=text_of(lines)),
                             self.good("--loop-guard", "off", *options, stdin=text_of(lines)), options)
        self.assertEqual(self.good("--stream", stdin=b"\xe4\xbd\xa0\r\n", warnings=True),
                         self.good(stdin=b"\xe4\xbd\xa0\r\n", warnings=True))

    def test_a_line_is_answered_while_others_are_to_come(self):
        with self.started("--stream", bufsize=0) as p:
            for line in LINES[:3]:
                p.stdin.write(line.encode() + b"\n")
                self.assertGreater(len(read_line(p.stdout)), 4)
            p.stdin.close()
            self.assertEqual((p.stdout.read(), p.stderr.read(), p.wait(90)), (b"", b"", 0))

    def test_terminal(self):
        terminal = Terminal()
        self.addCleanup(terminal.close)
        with self.started("--stream", self.TEXT, stdin=terminal.slave, stdout=terminal.slave, stderr=terminal.slave) as p:
            terminal.close_slave()
            shown = terminal.read()
            self.assertEqual(p.wait(90), 0)
        self.assertEqual(shown.replace(b"\r\n", b"\n"), self.good(self.TEXT))

    def test_what_it_does_not_go_with(self):
        for options in (["--beam", "2"], ["--json"], ["--tokens"], ["--alternatives", "-n2"], ["--sample", "--n-best", "2"],
                        ["--output", self.folder / "x"], ["--loop-guard", "on"]):
            says = "--n-best" if "--n-best" in options else str(options[0])
            self.bad(2, "--stream", *options, LINES[0], says=["--stream", says])


class Interactive(CommandTest):
    def test_a_line_in_a_line_out_through_pipes(self):
        expected = self.good(stdin=text_of(LINES[:3])).splitlines(keepends=True)
        for options in ([], ["--json"], ["--tokens"]):
            with self.started(*options, bufsize=0) as p:
                for line, answer in zip(LINES[:3], expected):
                    p.stdin.write(line.encode() + b"\n")
                    got = read_line(p.stdout)
                    if not options:
                        self.assertEqual(got, answer)
                p.stdin.close()
                self.assertEqual((p.stdout.read(), p.stderr.read(), p.wait(90)), (b"", b"", 0))

    def test_half_a_line_does_not_hold_up_whole_ones(self):
        expected = self.good(stdin=text_of(LINES[:2])).splitlines(keepends=True)
        with self.started(bufsize=0) as p:
            p.stdin.write((LINES[0] + "\n" + LINES[1][:2]).encode())
            self.assertEqual(read_line(p.stdout), expected[0])
            p.stdin.write((LINES[1][2:] + "\n").encode())
            self.assertEqual(read_line(p.stdout), expected[1])

    def test_tokenize_is_as_prompt(self):
        with self.started("tokenize", bufsize=0) as p:
            for line in LINES[:2]:
                p.stdin.write(line.encode() + b"\n")
                self.assertEqual(read_line(p.stdout), self.good("tokenize", line))

    def test_processes_share_the_mapped_model(self):
        """An int8 file is used as it is mapped: all of it is in memory, and no page of it is private."""
        def pages(process):
            with open(f"/proc/{process.pid}/smaps", encoding="utf-8", errors="replace") as smaps:
                parts = smaps.read().split(os.path.realpath(support.MODEL))[1:]
            return [sum(int(re.search(rf"^{key}: +(\d+) kB", part, re.M)[1]) for part in parts) * 1024
                    for key in ("Rss", "Private_Dirty", "Anonymous")]

        with self.started("--load", "map", bufsize=0) as a, self.started("--load", "map", bufsize=0) as b:
            for p in (a, b):
                p.stdin.write(LINES[0].encode() + b"\n")
                read_line(p.stdout)
            for p in (a, b):
                resident, dirty, anonymous = pages(p)
                self.assertGreater(resident, len(model_bytes()) // 2)
                self.assertEqual((dirty, anonymous), (0, 0))

    def test_terminal(self):
        terminal = Terminal()
        self.addCleanup(terminal.close)
        expected = self.good(stdin=text_of(LINES[:1])).strip()
        with self.started(stdin=terminal.slave, stdout=terminal.slave, stderr=terminal.slave) as p:
            terminal.close_slave()
            terminal.read(b"Ctrl-D ends")
            os.write(terminal.master, LINES[0].encode() + b"\n")
            terminal.read(expected)
            os.write(terminal.master, b"\x04")
            self.assertEqual(p.wait(90), 0)
            self.assertNotIn(b"%", terminal.read())

    def test_no_hint_unless_input_is_a_terminal(self):
        terminal = Terminal()
        self.addCleanup(terminal.close)
        with self.started(stderr=terminal.slave) as p:
            p.communicate(b"")
            self.assertEqual(p.returncode, 0)
        terminal.close_slave()
        self.assertEqual(terminal.read(), b"")


class InOrder(CommandTest):
    def test_lines_appear_while_others_are_computed(self):
        """The first line of a file is written long before the last, and written text does not change."""
        lines = self.file("lines", text_of(many_lines(400)))
        expected = self.good("-i", lines)
        for options in (["-i", lines], ["-i", "-"]):
            with self.opened(lines) as f, self.started("-T", "1", "--batch-size", "4", *options, stdin=f, bufsize=0) as p:
                start = time.monotonic()
                first = read_line(p.stdout)
                early = time.monotonic() - start
                rest = p.stdout.read()
                self.assertLess(early, 0.5 * (time.monotonic() - start))
                self.assertEqual(first + rest, expected)
                self.assertEqual(p.wait(90), 0)

    def test_an_early_end_of_the_reader_stops_the_work(self):
        lines = self.file("lines", text_of(many_lines(5000)))
        with self.started("-i", lines, "--batch-size", "2", bufsize=0) as p:
            read_line(p.stdout)
            p.stdout.close()
            start = time.monotonic()
            self.assertEqual(p.wait(90), -signal.SIGPIPE)
            self.assertLess(time.monotonic() - start, 10)

    def test_threads_and_batches_give_the_same_bytes(self):
        count = 40 if SANITIZED else 200
        pieces = [LINES[(7 * i + 3 * i * i) % 20] for i in range(1000)]
        lines = ["".join(pieces[5 * i:5 * i + 1 + i * i % 5]) + str(i) for i in range(count)]
        given = text_of(lines)
        for more in (["--compute", "int8"], ["--compute", "int8", "--split", "never", "--max-length", "25"]):
            expected = self.good(*more, "-T", "1", "--batch-size", "1", stdin=given)
            self.assertEqual(expected.count(b"\n"), count)
            for threads in (1, 2, 3):
                for size in (1, 8, 32):
                    self.assertEqual(self.good(*more, "-T", threads, "--batch-size", size, stdin=given), expected)

    def test_one_core_is_one_thread(self):
        allowed = sorted(os.sched_getaffinity(0))
        line = self.file("line", text_of(LINES[:1]))
        out = self.good("bench", "--json", "--rounds", "1", "-i", line,
                        preexec_fn=lambda: os.sched_setaffinity(0, allowed[:1]))
        self.assertEqual(json.loads(out)["threads"], 1)


class Text(CommandTest):
    def test_line_ends(self):
        a, b = self.good(stdin=text_of(LINES[:2])).splitlines()
        x, y = (l.encode() for l in LINES[:2])
        self.assertEqual(self.good(stdin=x + b"\r\n" + y + b"\r\n"), a + b"\r\n" + b + b"\r\n")
        self.assertEqual(self.good(stdin=x + b"\r\n" + y + b"\n"), a + b"\r\n" + b + b"\n")
        self.assertEqual(self.good(stdin=x + b"\n" + y), a + b"\n" + b + b"\n")
        self.assertEqual(self.good(stdin=b"\n\r\n" + x + b"\n\n\n" + y + b"\n\n"), b"\n\r\n" + a + b"\n\n\n" + b + b"\n\n")
        # only "\n" ends a line: the other separators stay inside one
        self.assertEqual(self.good(stdin="一\u2028二\x0b三\x0c四\x85五".encode()).count(b"\n"), 1)

    def test_nothing(self):
        self.assertEqual(self.good(stdin=b""), b"")
        self.assertEqual(self.good("--json", stdin=b""), b"")
        self.assertEqual(self.good(stdin=b"\n"), b"\n")
        self.assertEqual(self.good(stdin_file=self.file("empty")), b"")

    def test_blank(self):
        self.assertEqual(self.good(stdin=b" " * 10000 + b"\n\t\n"), b" " * 10000 + b"\n\t\n")

    def test_invalid_utf8_and_nul(self):
        bad = [b"\xff", b"a\x00b", b"\xe4\xbb", b"\xed\xa0\x80", b"\xc0\xaf"]
        nothing = r"translate: warning: no sentence is in the source language [^\n]+\n\Z"
        r = self.run_tool(stdin=b"\n".join(bad * 3) + b"\n")
        self.assertEqual((r.returncode, r.stdout.count(b"\n")), (0, 15))
        r.stdout.decode("utf-8")
        self.assertRegex(r.stderr.decode(), r"\Atranslate: warning: line 1: [^\n]+U\+FFFD[^\n]*\n" + nothing)
        self.assertNotIn(b"\x00", r.stdout)
        self.assertEqual(self.good("-q", stdin=b"\n".join(bad * 3)), r.stdout)
        later = self.run_tool(stdin=b"x\n\ny\n\xff\n\xff\n").stderr.decode()
        self.assertRegex(later, r"\Atranslate: warning: line 4: [^\n]+\n" + nothing)

    def test_a_megabyte_in_a_line(self):
        line = b" " * (1 << 20) + LINES[0].encode()
        expected = self.good(LINES[0])
        out = self.good(stdin=line + b"\n" + LINES[1].encode())
        self.assertEqual(out, b" " * (1 << 20) + expected + self.good(LINES[1]))

    def test_cut_lines_warn_once(self):
        long = "，".join(LINES[i % 20][:-1] for i in range(400))
        r = self.run_tool("--split", "never", "--max-length", "8", stdin=text_of([LINES[0], long, long + "。"]))
        self.assertEqual((r.returncode, r.stdout.count(b"\n")), (0, 3), r.stderr)
        self.assertRegex(r.stderr.decode(), r"\Atranslate: warning: line 2: [^\n]+pieces[^\n]*\n\Z")

    def test_many_lines_keep_their_order(self):
        lines = (LINES + [""]) * 300
        once = self.good(stdin=text_of(LINES + [""])).splitlines()
        for more in ({"stdin": text_of(lines)}, {"stdin_file": self.file("lines", text_of(lines))}):
            self.assertEqual(self.good(**more).splitlines(), once * 300)


class Ends(CommandTest):
    def test_full_disk(self):
        with open("/dev/full", "wb") as full:
            bench = ["bench", "--rounds", "1", "-i", self.file("l", b"x\n"), "--fixed-length", "1"]
            for args in (["好"], ["--help"], ["-V"], ["info", support.MODEL], ["tokenize", "好"], bench):
                with self.started(*args, stdout=full) as p:
                    _, err = p.communicate(b"", timeout=90)
                    self.assertEqual(p.returncode, 1, args)
                    self.assertRegex(err.decode(), r"\Atranslate: standard output: cannot write: No space[^\n]*\n\Z", args)
        self.bad(1, "-o", "/dev/full", "好", says="/dev/full: cannot write")

    def goes_away(self, **more):
        """Stops reading after the first line; returns the status of the run, which must print nothing on stderr."""
        with self.started(bufsize=0, **more) as p:
            p.stdin.write(text_of(LINES[:1]))
            read_line(p.stdout)
            p.stdout.close()
            p.stdin.write(text_of(LINES[1:2]))
            p.stdin.close()
            self.assertEqual(p.stderr.read(), b"")
            return p.wait(90)

    def test_reader_that_goes_away(self):
        self.assertEqual(self.goes_away(), -signal.SIGPIPE)
        ignored = self.goes_away(restore_signals=False, preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN))
        self.assertEqual(ignored, 1)

    def test_closed_streams(self):
        for stream, says in ((0, b"standard input"), (1, b"standard output")):
            with self.started(*(["好"] if stream else []), preexec_fn=lambda n=stream: os.close(n), stdin=None) as p:
                err = p.stderr.read()
                self.assertEqual(p.wait(90), 1)
                self.assertRegex(err, rb"\Atranslate: " + says + rb": [^\n]+\n\Z")

    def test_input_that_cannot_be_read(self):
        self.bad(1, "-i", self.folder / "none", says="none")
        self.bad(1, "-i", self.folder, says="is a directory")
        descriptor = os.open(self.folder, os.O_RDONLY)
        with self.started(stdin=descriptor) as p:
            self.assertEqual((p.wait(90), p.stderr.read()), (1, b"translate: standard input: is a directory\n"))
        os.close(descriptor)

    def test_model_cut_short_while_it_is_mapped(self):
        model = self.file("model.gguf", model_bytes())
        with self.started("-m", model, bufsize=0) as p:
            p.stdin.write(LINES[0].encode() + b"\n")
            read_line(p.stdout)
            os.truncate(model, 4096)
            p.stdin.write(LINES[1].encode() + b"\n")
            self.assertEqual(p.wait(90), 1)
            self.assertRegex(p.stderr.read().decode(), rf"\Atranslate: {model}: [^\n]*cut short[^\n]*\n\Z")

    def test_model_cut_short_after_it_was_copied(self):
        model = self.file("model.gguf", model_bytes())
        with self.started("-m", model, "--load", "copy", bufsize=0) as p:
            p.stdin.write(LINES[0].encode() + b"\n")
            read_line(p.stdout)
            os.truncate(model, 4096)
            p.stdin.write(LINES[1].encode() + b"\n")
            self.assertEqual(read_line(p.stdout), self.good(LINES[1]))


BAR = 500 if SANITIZED else 3000  # lines of a run with a bar


class Progress(CommandTest):
    slow = ("-T", "1", "--batch-size", "1")  # so that the run lasts until a bar is drawn

    def shown(self, *args, **more):
        terminal = Terminal()
        self.addCleanup(terminal.close)
        with self.started(*args, stderr=terminal.slave, **more) as p:
            terminal.close_slave()
            shown = terminal.read()
            self.assertEqual(p.wait(90), 0, shown)
        return shown.decode()

    def test_bar(self):
        lines = self.file("lines", text_of(many_lines(BAR)))
        shown = self.shown("-i", lines, "-o", self.folder / "out", *self.slow)
        rows = [r for r in shown.split("\r") if "[" in r and "%" in r]
        self.assertTrue(rows, "no bar was drawn in all that time")
        for row in rows:
            row = row.removesuffix("\x1b[K")
            self.assertLess(len(row), 80)
            self.assertRegex(row, r"\A\[=*>? *\] +\d+%  \d+ lines  \d+ tokens/s(  [\d:]+ left)?\Z")
        self.assertNotIn(" left", rows[0])  # drawn after a tenth of a second
        percents = [int(r.split("]")[1].split("%")[0]) for r in rows]
        self.assertEqual(percents, sorted(percents))
        self.assertTrue(shown.endswith("\r\x1b[K"), "the bar was not removed")
        self.assertEqual((self.folder / "out").read_bytes().count(b"\n"), BAR)

    def test_bar_with_redirected_input(self):
        lines = self.file("lines", text_of(many_lines(BAR)))
        with open(lines, "rb") as f:
            self.assertIn(" lines ", self.shown(*self.slow, stdin=f, stdout=self.opened(self.folder / "out", "wb")))

    def test_none(self):
        lines = self.file("lines", text_of(many_lines(100)))
        out = self.opened(self.folder / "out", "wb")
        self.assertEqual(self.shown("-q", "-i", lines, stdout=out), "")
        self.assertEqual(self.shown("-i", lines, stdout=out, env=environment(TERM="dumb")), "")
        with open("/dev/null", "rb") as null:
            self.assertEqual(self.shown(stdin=null, stdout=out), "")
        self.assertEqual(self.run_tool("-i", lines).stderr, b"")
