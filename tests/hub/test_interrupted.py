"""Lost connections and interrupted downloads."""

import fcntl
import os
import signal
import termios
import time

from pull import WEIGHTS, PullTest
from server import Site
from support import Terminal, unprivileged, wait_for


class Lost(PullTest):
    """Connections that break, and the requests that follow."""

    def test_continues_at_once(self):
        data = self.weights()
        for facts in (True, False):
            self.site.facts = facts
            self.site.log.clear()
            self.site.at(WEIGHTS, self.site.cut(WEIGHTS, 5000), self.site.cut(WEIGHTS, 9000))
            out = self.folder / f"out{facts}"
            self.good("pull", "owner/model", "-o", out)
            self.same_as_site(out)
            ranges = [(h.get("range"), h.get("if-range")) for h in self.site.asked("cdn", WEIGHTS)]
            tag = self.site.tag(WEIGHTS)
            self.assertEqual(ranges, [(None, None), ("bytes=5000-", tag), ("bytes=9000-", tag)])
        self.assertGreater(len(data), 9000)

    def test_continues_another_day(self):
        for facts in (True, False):
            self.site.facts = facts
            self.site.at(WEIGHTS, self.site.cut(WEIGHTS, 5000))
            self.bad(1, "pull", "owner/model", "--retries", "0", says=[f"owner/model: {WEIGHTS}: ", "1 try"])
            self.assertEqual((self.cache / f"{WEIGHTS}.part").read_bytes(), self.weights()[:5000])
            self.assertFalse((self.cache / WEIGHTS).exists())
            self.site.log.clear()
            self.good("pull", "owner/model")
            self.same_as_site(self.cache, [".translate-pull.json"])
            self.assertEqual([h.get("range") for h in self.site.asked("cdn", WEIGHTS)], ["bytes=5000-"])
            self.assertEqual([h.get("range") for h in self.site.asked("hub", WEIGHTS)], ["bytes=5000-"])
            self.good("pull", "--remove", "owner/model")

    def test_small_file_continues_with_the_tag_of_git(self):
        self.site.at("config.json", self.site.cut("config.json", 100))
        self.pull()
        self.same_as_site(self.out)
        self.assertEqual(
            [(h.get("range"), h.get("if-range")) for h in self.site.asked("hub", "/config.json")],
            [(None, None), ("bytes=100-", self.site.tag("config.json"))],
        )

    def leave_part(self, end=5000):
        self.site.at(WEIGHTS, self.site.cut(WEIGHTS, end))
        self.bad(1, "pull", "owner/model", "-o", self.out, "--retries", "0")
        self.assertEqual((self.out / f"{WEIGHTS}.part").stat().st_size, end)
        self.site.log.clear()

    def test_server_without_ranges(self):
        self.leave_part()
        self.site.at(WEIGHTS, lambda h: self.site.send(h, WEIGHTS, self.site.tag(WEIGHTS), honour_range=False))
        self.pull()
        self.same_as_site(self.out)
        self.assertEqual([h.get("range") for h in self.site.asked("cdn", WEIGHTS)], ["bytes=5000-"])

    def test_changed_since(self):
        for facts in (True, False):
            self.site.facts = facts
            self.leave_part()
            self.site.files[WEIGHTS] = self.weights()[::-1] + b"new"
            self.pull()
            self.same_as_site(self.out)
            self.assertEqual([h.get("range") for h in self.site.asked("cdn", WEIGHTS)], [None])  # the redirect showed it
            (self.out / WEIGHTS).unlink()

    def test_small_file_changed_since(self):
        self.site.facts = False
        self.site.at("config.json", self.site.cut("config.json", 100))
        self.bad(1, "pull", "owner/model", "-o", self.out, "--retries", "0")
        self.site.files["config.json"] += b"\n"
        self.site.log.clear()
        self.pull()
        self.same_as_site(self.out)
        self.assertEqual([h.get("range") for h in self.site.asked("hub", "/config.json")], ["bytes=100-"])

    def test_changed_between_two_attempts(self):
        self.site.facts = False

        def changes(handler):
            self.site.cut(WEIGHTS, 5000)(handler)
            self.site.files[WEIGHTS] = self.weights()[::-1]

        self.site.at(WEIGHTS, changes)
        self.pull()
        self.same_as_site(self.out)

    def test_part_that_is_wrong(self):
        self.leave_part()
        (self.out / f"{WEIGHTS}.part").write_bytes(b"?" * 5000)
        self.pull()
        self.same_as_site(self.out)
        self.assertEqual([h.get("range") for h in self.site.asked("cdn", WEIGHTS)], ["bytes=5000-", None])

    def test_part_that_is_whole_or_more(self):
        for facts in (True, False):
            for size in (len(self.weights()), len(self.weights()) + 7):
                self.site.facts = facts
                self.leave_part()
                (self.out / f"{WEIGHTS}.part").write_bytes((self.weights() + b"excess!")[:size])
                self.pull()
                self.same_as_site(self.out)
                (self.out / WEIGHTS).unlink()

    def test_part_without_its_tag(self):
        self.leave_part()
        (self.out / f"{WEIGHTS}.part.tag").unlink()
        self.pull()
        self.same_as_site(self.out)
        self.assertEqual([h.get("range") for h in self.site.asked("cdn", WEIGHTS)], [None])

    def test_tag_that_cannot_be_read(self):
        """The received part is kept, and continued if possible."""
        self.leave_part()
        tag = self.out / f"{WEIGHTS}.part.tag"
        self.give_away()
        tag.chmod(0)
        self.bad(
            1,
            "pull",
            "owner/model",
            "-o",
            self.out,
            says=[f"{WEIGHTS}.part.tag", "Permission denied"],
            **unprivileged(),
        )
        self.assertEqual((self.out / f"{WEIGHTS}.part").read_bytes(), self.weights()[:5000])
        tag.chmod(0o600)
        self.pull(**unprivileged())
        self.same_as_site(self.out)
        self.assertEqual([h.get("range") for h in self.site.asked("cdn", WEIGHTS)], ["bytes=5000-"])

    def test_part_that_cannot_be_opened(self):
        self.leave_part()
        part = self.out / f"{WEIGHTS}.part"
        self.give_away()
        part.chmod(0)
        self.bad(
            1, "pull", "owner/model", "-o", self.out, says=[f"{WEIGHTS}.part", "Permission denied"], **unprivileged()
        )
        self.assertEqual(part.stat().st_size, 5000)

    def test_wrong_range(self):
        self.leave_part()
        data = self.weights()
        self.site.at(
            WEIGHTS, Site.status(206, data[5:], Content_Range=f"bytes 5-{len(data) - 1}/{len(data)}", ETag='"x"')
        )
        self.pull()
        self.same_as_site(self.out)

    def test_stall(self):
        self.site.at(WEIGHTS, self.site.stall(WEIGHTS, 5000))
        start = time.monotonic()
        self.bad(
            1,
            "pull",
            "owner/model",
            "-o",
            self.out,
            "--timeout",
            "1",
            "--retries",
            "0",
            says=[WEIGHTS, "no data for 1 s"],
        )
        self.assertLess(time.monotonic() - start, 15)
        self.site.stop_stalling.set()
        self.pull()
        self.same_as_site(self.out)
        self.assertEqual(self.site.asked("cdn", WEIGHTS)[-1]["range"], "bytes=5000-")

    def test_overload(self):
        self.site.at(self.site.listing, Site.status(503, b"busy"), Site.status(429, Retry_After="1"))
        start = time.monotonic()
        self.pull()
        self.same_as_site(self.out)
        self.assertGreater(time.monotonic() - start, 1.1)

    def test_overload_for_long(self):
        self.site.at(self.site.listing, *[Site.status(500)] * 9)
        self.refused("--retries", "1", says=["owner/model", "500", "2 tries"])
        self.assertEqual(len(self.site.log), 2)
        self.site.at(self.site.listing, Site.status(429, Retry_After="3600"))
        self.refused(says=["429", "3600 s"])
        self.site.at(WEIGHTS, Site.status(502))
        self.bad(1, "pull", "owner/model", "--retries", "0", says=[WEIGHTS, "502"])

    def test_verbose_reports_the_new_attempt(self):
        self.site.at(WEIGHTS, self.site.cut(WEIGHTS, 5000))
        r = self.run_tool("pull", "owner/model", "-v")
        self.assertEqual((r.returncode, r.stdout), (0, b""))
        self.assertRegex(r.stderr.decode(), r"trying again in 0\.2 s\n")


class Interrupted(PullTest):
    def on_a_terminal(self, *args):
        """A program with a terminal of its own for its keys; its input and output are pipes."""
        terminal = Terminal()
        self.addCleanup(terminal.close)

        def control():
            os.setsid()
            fcntl.ioctl(terminal.slave, termios.TIOCSCTTY, 0)

        return terminal, self.started(*args, env=self.environment(), stdin=terminal.slave, preexec_fn=control)

    def check_end(self, p, status):
        self.assertEqual(p.wait(20), status)  # otherwise the server would stall for longer
        self.assertRegex(p.stderr.read().decode(), r"\Atranslate: interrupted: [^\n]+\n\Z")
        self.assertEqual(p.stdout.read(), b"")

    def check(self, start, kept):
        """start: the arguments. kept: the folder in which the part stays."""
        part = kept / f"{WEIGHTS}.part"
        for interrupt, status in (
            (lambda p, terminal: os.write(terminal.master, b"\x03"), 130),  # Ctrl-C
            (lambda p, terminal: os.killpg(p.pid, signal.SIGHUP), 129),
            (lambda p, terminal: p.send_signal(signal.SIGTERM), 143),
        ):  # to the command only, not to its helper
            self.site.log.clear()
            self.site.at(WEIGHTS, self.site.stall(WEIGHTS, 5000))
            terminal, started = self.on_a_terminal(*start)
            with started as p:
                wait_for(lambda: self.site.asked("cdn", WEIGHTS) and part.exists() and part.stat().st_size == 5000, 20)
                interrupt(p, terminal)
                self.check_end(p, status)
            self.site.stop_stalling.set()
            self.assertEqual(part.read_bytes(), self.weights()[:5000])
            self.assertFalse((kept / WEIGHTS).exists())
            self.assertFalse((kept / ".translate-pull.lock").exists())
        self.site.log.clear()
        r = self.run_tool(*start)
        self.assertEqual((r.returncode, r.stderr), (0, b""))
        self.assertEqual([h["range"] for h in self.site.asked("cdn", WEIGHTS)], ["bytes=5000-"])

    def test_pull(self):
        self.check(["pull", "owner/model", "-o", self.out], self.out)
        self.same_as_site(self.out)

    def test_model(self):
        self.check(["-m", "hf:owner/model", "--max-length", "3", "a"], self.cache)

    def test_while_waiting_to_try_again(self):
        self.site.at(self.site.listing, Site.status(429, Retry_After="60"))
        terminal, started = self.on_a_terminal("pull", "owner/model")
        with started as p:
            wait_for(lambda: self.site.log, 20)
            time.sleep(0.1)
            os.write(terminal.master, b"\x03")
            self.check_end(p, 130)
