"""Shared by the tests of the server: starting one, and asking it."""
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.parse

TOOL = ""   # translate; translate-serve is beside it
MODEL = ""  # from Chinese to English
FIXTURES = pathlib.Path(__file__).resolve().parent.parent
ROOT = FIXTURES.parent
MANY = FIXTURES / "languages" / "fixtures" / "m2m100" / "model"  # languages in tens; its translations mean nothing

END = signal.SIGTERM
START = 60  # seconds that a server may take to start or end, under a sanitizer


def environment(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TRANSLATE_", "LISTEN_", "NOTIFY_", "WATCHDOG_"))}
    return {**env, "LC_ALL": "C.UTF-8", **more}


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:500]!r}"


def multipart(fields, files=()):
    """Body and content type of a form: fields NAME: TEXT, files (FIELD, NAME, BYTES)."""
    mark = "-----------------------------7f3d"
    parts = [f'--{mark}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
             for name, value in fields.items()]
    for field, name, data in files:
        head = f'--{mark}\r\nContent-Disposition: form-data; name="{field}"; filename="{name}"\r\n'
        parts.append(head.encode() + b"Content-Type: application/octet-stream\r\n\r\n" + data + b"\r\n")
    return b"".join(parts) + f"--{mark}--\r\n".encode(), f"multipart/form-data; boundary={mark}"


class Server:
    """A running server; address is (host, port), or a path."""

    def __init__(self, *arguments, env=None, **more):
        chosen = any(str(a).startswith(("--port", "--unix", "--config")) for a in arguments)
        arguments = [*arguments] if chosen else ["--port", "0", *arguments]
        if not any(str(a).startswith(("-m", "--model")) for a in arguments):
            arguments += ["-m", MODEL]
        self.process = subprocess.Popen([TOOL, "serve", *map(str, arguments)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env or environment(), **more)
        self.said = b""
        self.address = self._wait()

    def _wait(self):
        line = b""
        while not line.startswith(b"translate: serving at "):
            line = self.process.stderr.readline()
            self.said += line
            if not line:
                raise AssertionError(f"the server ended: {self.process.wait()} {self.said!r}")
        place = line.decode().split(" at ")[1].strip()
        if place.startswith("unix:"):
            return place[5:]
        host, port = re.fullmatch(r"http://\[?([^\]]*?)\]?:(\d+)", place).groups()
        return host, int(port)

    def connect(self, timeout=60):
        if isinstance(self.address, str):
            connection = http.client.HTTPConnection("localhost", timeout=timeout)
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.settimeout(timeout)
            connection.sock.connect(self.address)
            return connection
        return http.client.HTTPConnection(*self.address, timeout=timeout)

    def socket(self, timeout=60):
        """A plain connection, for what no client should send."""
        return socket.create_connection(self.address, timeout=timeout)

    def ask(self, method, path, body=None, headers=None, connection=None):
        c = connection or self.connect()
        try:
            c.request(method, path, body, headers or {})
            r = c.getresponse()
            return Answer(r.status, r.headers, r.read())
        finally:
            if not connection:
                c.close()

    def get(self, path, headers=None, **query):
        return self.ask("GET", path + ("?" + urllib.parse.urlencode(query, doseq=True) if query else ""), None, headers)

    def post(self, path, data=None, headers=None, **fields):
        """A JSON value (data), or its keys as arguments."""
        body = json.dumps(fields if data is None else data)
        return self.ask("POST", path, body.encode(), {"Content-Type": "application/json", **(headers or {})})

    def form(self, path, headers=None, **fields):
        body = urllib.parse.urlencode(fields, doseq=True)
        return self.ask("POST", path, body, {"Content-Type": "application/x-www-form-urlencoded", **(headers or {})})

    def upload(self, path, name, data, headers=None, field="file", **fields):
        body, kind = multipart(fields, [(field, name, data)])
        return self.ask("POST", path, body, {"Content-Type": kind, **(headers or {})})

    def signal(self, number):
        self.process.send_signal(number)

    def end(self, number=END):
        """Ends the server; its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            _, rest = self.process.communicate(timeout=START)
        except subprocess.TimeoutExpired:
            self.process.kill()
            _, rest = self.process.communicate()
            raise AssertionError(f"the server does not end: {self.said + rest!r}") from None
        self.said += rest
        return self.process.returncode


class ServeTest(unittest.TestCase):
    """Tests with a server of their class: ARGUMENTS are its options. start() makes another one."""
    ARGUMENTS = ()
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.ARGUMENTS)

    @classmethod
    def tearDownClass(cls):
        status = cls.server.end()
        if status or b"Sanitizer" in cls.server.said:
            raise AssertionError(f"the server ended with {status}: {cls.server.said!r}")

    def folder(self):
        path = pathlib.Path(tempfile.mkdtemp(prefix="translate-test-"))
        self.addCleanup(shutil.rmtree, path, True)
        return path

    def start(self, *arguments, **more):
        server = Server(*arguments, **more)
        self.addCleanup(lambda: self.assertEqual(server.end(), 0, server.said))
        return server

    def refuses(self, *arguments, says=(), env=None):
        """A server that must not start: one line on stderr with every text of says."""
        r = subprocess.run([TOOL, "serve", *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True,
                           env=env or environment(TRANSLATE_MODEL=MODEL), timeout=START)
        message = r.stderr.decode()
        self.assertIn(r.returncode, (1, 2), message)
        self.assertEqual(message.count("\n"), 1, message)
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, message)

    @staticmethod
    def translated(text):
        """What the command prints for a text."""
        return subprocess.run([TOOL, "-q", "--", text], capture_output=True, env=environment(TRANSLATE_MODEL=MODEL),
                              check=True, timeout=START).stdout.decode().rstrip("\n")

    @contextlib.contextmanager
    def within(self, seconds):
        started = time.monotonic()
        yield
        self.assertLess(time.monotonic() - started, seconds)

    def eventually(self, condition, seconds=START):
        """Waits until condition() is true."""
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, "it does not become true")
            time.sleep(0.01)
