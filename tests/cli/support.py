"""Shared by the tests of the command: running it, with and without a terminal."""
import contextlib
import ctypes
import os
import pathlib
import pty
import re
import resource
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

TOOL = ""
MODEL = ""
SANITIZED = "TR_SANITIZED" in os.environ  # the command is about ten times slower; tests take some of their lines

LINES = """今天天气很好。
我喜欢读书。
他在学校工作。
这是什么？
我们明天去北京。
她会说三种语言。
请给我一杯水。
火车几点开？
这本书很有意思。
我不知道他在哪里。
你叫什么名字？
医院在银行旁边。
孩子们在公园里玩。
昨天下了一场大雨。
他每天六点起床。
这里的东西太贵了。
我想学习中文。
谢谢你的帮助。
电影什么时候开始？
我的手机没有电了。""".split("\n")


def environment(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith("TRANSLATE_")}
    env.update({"TRANSLATE_MODEL": MODEL, "TERM": "xterm", "LC_ALL": "C.UTF-8"})
    env.update(more)
    return {k: v for k, v in env.items() if v is not None}


def slowest_level():
    """The first of the kernels that this machine has: "portable", unless the build is for this machine alone."""
    said = subprocess.run([TOOL, "-V", "-v"], env=environment(), check=True, capture_output=True, encoding="utf-8").stdout
    return re.search(r"this machine has (\w+)", said)[1]


def many_lines(count):
    """Lines that differ, so that each of them is translated."""
    return [f"第{i}个问题是什么？" for i in range(1, count + 1)]


def text_of(lines):
    return ("\n".join(lines) + "\n").encode()


def model_bytes():
    return pathlib.Path(MODEL).read_bytes()


def unprivileged():
    """Arguments for subprocess: the program gets no rights that tests of links, limits or removing do not need."""
    return {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}


def at_most(size):
    """Arguments for subprocess: files cannot grow beyond this number of bytes."""
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))}


def can_confine(program):
    """Whether this kernel has Landlock and seccomp, and the program uses them: with a sanitizer it does not."""
    version = ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1)  # landlock_create_ruleset
    sanitized = re.search(b"__[atm]san_init", program.read_bytes())
    return version > 0 and "Seccomp" in process_status("self") and not sanitized


def process_status(process):
    """The process's status from the kernel: Seccomp, NoNewPrivs and more."""
    lines = pathlib.Path(f"/proc/{process}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def wait_for(condition, seconds=90):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("waited in vain")
        time.sleep(0.01)


class Terminal:
    """A pseudo-terminal: the program gets slave, and its output is collected."""

    def __init__(self):
        self.master, self.slave = pty.openpty()
        self.shown = b""

    def read(self, until=None, seconds=120):
        """Collects until the text was shown or, with None, until the program has closed its side."""
        end = time.monotonic() + seconds
        while until is None or until not in self.shown:
            ready = select.select([self.master], [], [], max(0, end - time.monotonic()))[0]
            if not ready:
                raise AssertionError(f"not shown in {seconds} s: {until!r}; shown: {self.shown!r}")
            try:
                data = os.read(self.master, 65536)
            except OSError:  # EIO: closed
                data = b""
            if not data:
                if until is None:
                    break
                raise AssertionError(f"ended without showing {until!r}; shown: {self.shown!r}")
            self.shown += data
        return self.shown

    def close_slave(self):
        if self.slave >= 0:
            os.close(self.slave)
            self.slave = -1

    def close(self):
        self.close_slave()
        os.close(self.master)


class CommandTest(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="translate-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_tool(self, *args, stdin=b"", env=None, timeout=120, **more):
        if "stdin_file" in more:
            with open(more.pop("stdin_file"), "rb") as f:
                return subprocess.run([TOOL, *map(str, args)], stdin=f, capture_output=True, env=env or environment(),
                                      timeout=timeout, **more)
        return subprocess.run([TOOL, *map(str, args)], input=stdin, capture_output=True, env=env or environment(),
                              timeout=timeout, **more)

    def good(self, *args, warnings=False, **more):
        """stdout of a run that must succeed, and print nothing on stderr unless warnings are expected."""
        r = self.run_tool(*args, **more)
        self.assertEqual(r.returncode, 0, (args, r.stderr))
        if not warnings:
            self.assertEqual(r.stderr, b"", args)
        return r.stdout

    def bad(self, status, *args, says=(), **more):
        """A run that must end with status and one line on stderr that contains every text of says; stdout stays empty."""
        r = self.run_tool(*args, **more)
        message = r.stderr.decode("utf-8", "replace")
        self.assertEqual(r.returncode, status, (args, message))
        self.assertRegex(message, r"\Atranslate: [^\n]+: [^\n]+\n\Z", args)
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, message)
        self.assertEqual(r.stdout, b"", args)
        return message

    @contextlib.contextmanager
    def started(self, *args, **more):
        more.setdefault("env", environment())
        for stream in ("stdin", "stdout", "stderr"):
            more.setdefault(stream, subprocess.PIPE)
        p = subprocess.Popen([TOOL, *map(str, args)], **more)
        try:
            yield p
        finally:
            if p.poll() is None:
                p.send_signal(signal.SIGKILL)
            p.wait()
            for stream in (p.stdin, p.stdout, p.stderr):
                if stream and not stream.closed:
                    with contextlib.suppress(OSError):
                        stream.close()

    def opened(self, path, mode="rb"):
        stream = open(path, mode)
        self.addCleanup(stream.close)
        return stream

    def run_of(self, *args, **more):
        """Interrupts a run with -o FILE; returns the content of FILE.part.run, and removes both files."""
        part = pathlib.Path(f"{args[args.index('-o') + 1]}.part")
        run = part.with_name(part.name + ".run")
        for size in range(200, 1000, 50):
            r = self.run_tool(*args, **more, **at_most(size))
            self.assertEqual(r.returncode, 1, (args, r.stderr))
            if run.exists():
                content = run.read_bytes()
                run.unlink()
                part.unlink()
                return content
            self.assertFalse(part.exists())
        raise AssertionError(f"{args}: leaves nothing to resume")

    def leave(self, part, content, run):
        """Leaves FILE.part and FILE.part.run as an interrupted run does."""
        part.write_bytes(content)
        part.with_name(part.name + ".run").write_bytes(run)
        return part

    def file(self, name, content=b""):
        path = self.folder / name
        path.write_bytes(content)
        return path
