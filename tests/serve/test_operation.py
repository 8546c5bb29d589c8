"""How the server is run: by a service manager, with few rights, and with limits for its clients."""
import contextlib
import fcntl
import importlib.util
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time

import support
from support import Server, ServeTest, environment

spec = importlib.util.spec_from_file_location("cli_support", support.FIXTURES / "cli" / "support.py")
cli_support = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cli_support)


class Manager(ServeTest):
    """A service manager, as far as the server sees it."""

    @classmethod
    def setUpClass(cls):
        pass

    tearDownClass = setUpClass

    def setUp(self):
        self.messages = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.messages.close)
        self.path = str(self.folder() / "notify")
        self.messages.bind(self.path)
        self.messages.settimeout(support.START)

    def hear(self, *wanted):
        """Waits for these messages, in this order; those of the watchdog may come at any time."""
        for text in wanted:
            message = "WATCHDOG=1"
            while message == "WATCHDOG=1":
                message = self.messages.recv(4096).decode()
            self.assertRegex(message, text)

    def notified(self, *arguments, **variables):
        return self.start(*arguments, env=environment(NOTIFY_SOCKET=self.path, **variables))

    def activated(self, sockets, *arguments):
        """A server that begins with these sockets as descriptors 3, 4, ..."""
        passed = [s.fileno() for s in sockets]
        tool = self.folder() / "translate"
        tool.write_text(f"#!{sys.executable}\n" + textwrap.dedent(f"""
            import fcntl, os, sys
            for i, s in enumerate([fcntl.fcntl(s, fcntl.F_DUPFD, 20) for s in {passed}]):
                os.dup2(s, 3 + i)
            os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="{len(passed)}")
            os.execv("{support.TOOL}", ["translate", *sys.argv[1:]])
            """))
        tool.chmod(0o755)
        real, support.TOOL = support.TOOL, str(tool)
        try:
            return self.start("--port", "0", *arguments, pass_fds=passed)
        finally:
            support.TOOL = real

    def listening(self, family, address):
        s = socket.socket(family)
        self.addCleanup(s.close)
        s.bind(address)
        s.listen()
        return s

    def test_state_is_told(self):
        server = self.notified()
        self.hear("^STATUS=serving at http://127.0.0.1:", "^READY=1$")
        server.signal(signal.SIGHUP)
        self.hear("^RELOADING=1\nMONOTONIC_USEC=[0-9]+$", "^STATUS=serving at ", "^READY=1$")
        self.assertEqual(server.end(), 0)
        self.hear("^STOPPING=1$")

    def test_the_watchdog_is_fed(self):
        self.notified(WATCHDOG_USEC="100000")
        self.hear("^STATUS=", "^READY=1$")
        for _ in range(3):
            self.assertEqual(self.messages.recv(4096), b"WATCHDOG=1")

    def test_without_a_listener_it_serves(self):
        os.unlink(self.path)
        server = self.notified()
        self.assertIn(b"translate: warning: NOTIFY_SOCKET: ", server.said)
        self.assertEqual(server.get("/health").status, 200)

    def test_sockets_are_taken(self):
        internet = self.listening(socket.AF_INET, ("127.0.0.1", 0))
        path = str(self.folder() / "socket")
        server = self.activated([internet, self.listening(socket.AF_UNIX, path)])
        self.assertEqual(server.address, ("127.0.0.1", internet.getsockname()[1]))
        self.assertEqual(server.get("/health").status, 200)
        server.address = path
        self.assertEqual(server.post("/translate", q="你好", source="zh", target="en").status, 200)


class Health(ServeTest):
    """translate serve --health."""
    ARGUMENTS = ("--host", "0.0.0.0", "--url-prefix", "/mt")

    def ask(self, *arguments, **variables):
        r = subprocess.run([support.TOOL, "serve", "--health", *map(str, arguments)], capture_output=True, encoding="utf-8",
                           env=environment(**variables), timeout=support.START)
        self.assertEqual((r.stdout, r.stderr.count("\n")), ("", r.returncode))
        return r.returncode, r.stderr

    def fails(self, says, *arguments):
        status, message = self.ask(*arguments)
        self.assertEqual(status, 1)
        self.assertIn(says, message)

    def peer(self, *parts, pause=0.05):
        """The port of a server that answers with these parts; none: not at all."""
        s = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(s.close)

        def answer():
            connection, _ = s.accept()
            with contextlib.suppress(OSError), connection:  # it may leave before the end
                connection.recv(4096)
                for part in parts:
                    connection.sendall(part)
                    time.sleep(pause)
        if parts:
            threading.Thread(target=answer, daemon=True).start()
        return s.getsockname()[1]

    def test_settings_of_the_server_lead_to_it(self):
        port = str(self.server.address[1])
        config = self.folder() / "serve.conf"
        config.write_text(f"host = 0.0.0.0\nurl-prefix = /mt/\nport = {port}\n")
        self.assertEqual(self.ask("--config", config), (0, ""))
        self.assertEqual(self.ask("--url-prefix", "/mt", TRANSLATE_PORT=port, TRANSLATE_HOST="0.0.0.0"), (0, ""))
        self.assertEqual(self.ask("--port", port, TRANSLATE_URL_PREFIX="/mt"), (0, ""))
        self.fails("does not say that it lives", "--port", port)  # without the prefix it is another path
        path = self.folder() / "socket"
        self.start("--unix", path, "--api-keys", self.keys())
        self.assertEqual(self.ask("--unix", path), (0, ""))

    def keys(self):
        path = self.folder() / "keys"
        path.write_text("secret\n")
        path.chmod(0o600)
        return path

    def test_nobody_there(self):
        with socket.create_server(("127.0.0.1", 0)) as s:
            port = s.getsockname()[1]
        self.fails(f"127.0.0.1, port {port}: Connection refused", "--port", port)
        self.fails("No such file", "--unix", self.folder() / "none")
        self.fails("too long", "--unix", "a" * 200)
        self.fails("300.300.300.300", "--host", "300.300.300.300")
        self.fails("--port 0", "--port", "0")

    def test_answers_of_others(self):
        self.assertEqual(self.ask("--port", self.peer(b"HTTP/1", b".1 20", b"0 OK\r\n")), (0, ""))
        for answer in (b"HTTP/1.1 503 Service Unavailable\r\n\r\n", b"HTTP/1.1 20", b"220 mail.example.org ESMTP\r\n"):
            self.fails("does not say that it lives", "--port", self.peer(answer))

    def test_it_does_not_wait_for_ever(self):
        for port in (self.peer(), self.peer(*[b"H"] * 11, pause=0.5)):
            self.fails("no answer in time", "--port", port)


class Confined(ServeTest):
    """What the server can still do under the restrictions that it has taken on."""

    def test_it_is_confined(self):
        if not cli_support.can_confine(pathlib.Path(support.TOOL).resolve().parent / "translate-serve"):
            self.skipTest("there is no sandbox here")
        status = cli_support.process_status(self.server.process.pid)
        self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))

    def test_models_may_be_links(self):
        outside, models = self.folder(), self.folder()
        shutil.copy(support.MODEL, outside / "model.gguf")
        (models / "zh-en.gguf").symlink_to(outside / "model.gguf")
        server = self.start("--models", models)
        self.assertEqual(server.post("/translate", q="你好", source="zh", target="en").status, 200)
        shutil.copy(support.MODEL, models / "new")
        os.replace(models / "new", models / "zh-en.gguf")
        os.unlink(outside / "model.gguf")
        server.signal(signal.SIGHUP)
        self.eventually(lambda: server.get("/metrics").body.count(b'translate_model_open{model="zh-en.gguf"}') == 1)
        self.assertEqual(server.post("/translate", q="再见", source="zh", target="en").status, 200)

    def test_access_log(self):
        folder = self.folder()
        (folder / "keys").write_text("secret\n")
        (folder / "keys").chmod(0o600)
        (folder / "logs").mkdir()
        log = folder / "logs" / "access"
        server = self.start("--api-keys", folder / "keys", "--access-log", log)
        answer = server.post("/translate", q="你好", source="zh", target="en", api_key="secret")
        server.get("/v1/documents/0123456789abcdef?token=secret")
        server.ask("\x7fBREW", "/nowhere/secret")
        self.eventually(lambda: log.read_text().count("\n") == 3)
        self.assertEqual(oct(log.stat().st_mode & 0o777), "0o640")
        lines = [line.split(" ") for line in log.read_text().splitlines()]
        for line in lines:
            self.assertRegex(line[0], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
            self.assertRegex(line[6], r"^\d+\.\d$")
        self.assertEqual(lines[0][1:6], ["127.0.0.1", "POST", "/translate", "200", str(len(answer.body))])
        self.assertEqual(lines[1][2:5], ["GET", "/v1/documents/*", "404"])
        self.assertEqual(lines[2][2:5], ["?BREW", "-", "404"])
        log.rename(folder / "old")
        server.get("/health")
        server.signal(signal.SIGHUP)
        self.eventually(log.exists)
        for _ in range(500):
            server.get("/ready")
        self.eventually(lambda: log.read_text().count(" GET /ready 200 ") == 500)
        self.assertEqual((log.read_text() + (folder / "old").read_text()).count(" GET /health 200 "), 1)
        large = b"POST /translate_file HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n"
        with server.socket() as c:
            c.sendall(large)
        self.eventually(lambda: " POST /translate_file - 0 " in log.read_text())
        self.assertNotIn("secret", (folder / "old").read_text() + log.read_text())
        self.refuses("--access-log", folder / "none" / "log", "-m", support.MODEL, "--port", "0", says="--access-log")
        server = self.start("--access-log", "/dev/full")
        for _ in range(2):
            self.assertEqual(server.get("/health").status, 200)
            self.assertIn(b"No space left", server.process.stderr.readline())
        server = Server("--access-log", "-", "--unix", folder / "socket")
        server.get("/health")
        server.process.send_signal(support.END)
        self.assertRegex(server.process.communicate()[0], b"^[^ ]+Z - GET /health 200 15 [0-9.]+\n$")

    def test_access_log_that_nobody_reads(self):
        server = Server("--access-log", "-")
        fcntl.fcntl(server.process.stdout, fcntl.F_SETPIPE_SZ, 4096)
        c = server.connect()
        for _ in range(300):
            self.assertEqual(server.ask("GET", "/health", connection=c).status, 200)
        c.close()
        server.signal(support.END)
        try:
            self.assertEqual(server.process.wait(support.START), 0)
        finally:
            server.process.kill()
            lines, said = server.process.communicate()
        self.assertIn(b"nobody reads them", said)
        self.assertRegex(lines, rb"^([^ \n]+Z 127\.0\.0\.1 GET /health 200 15 [0-9.]+\n)+$")  # none is cut

    def test_glossaries_are_read_aside(self):
        folder = self.folder()
        server = self.start("--glossaries", folder)
        (folder / "new").write_text("".join(f"词{i}\tword{i}\n" for i in range(150000)))
        os.replace(folder / "new", folder / "terms.tsv")

        def share():
            """What part of the time until all is read again another client waits for its answer."""
            longest, health, asked = 0, server.connect(), time.monotonic()
            began = asked
            server.signal(signal.SIGHUP)
            while not select.select([server.process.stderr], [], [], 0)[0]:
                asked = time.monotonic()
                self.assertEqual(server.ask("GET", "/health", connection=health).status, 200)
                longest = max(longest, time.monotonic() - asked)
            self.assertIn(b"read again: models: 1, keys: 0, glossaries: 1", server.process.stderr.readline())
            health.close()
            return longest / (time.monotonic() - began)

        self.assertTrue(any(share() < 0.4 for _ in range(10)))
        answer = server.post("/v1/translate", text="词7。", source="zh", target="en", glossary="terms")
        self.assertIn("word7", answer.json["translations"][0]["text"])
        (folder / "terms.tsv").write_text("a\n")
        for _ in range(3):  # of which those that come while it reads count as one
            server.signal(signal.SIGHUP)
        self.assertIn(b"terms.tsv", server.process.stderr.readline())
        answer = server.post("/v1/translate", text="词7。", source="zh", target="en", glossary="terms")
        self.assertIn("word7", answer.json["translations"][0]["text"])

    def test_keys_come_before_bodies(self):
        keys = self.folder() / "keys"
        keys.write_text("right\n")
        keys.chmod(0o600)
        server = self.start("--api-keys", keys, "--upload-limit", "1")
        large = b"POST /translate_file%s HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n%s\r\n"
        for query, header in ((b"?api_key=wrong", b""), (b"", b"Authorization: Bearer wrong\r\n")):
            with server.socket() as c:
                c.sendall(large % (query, header))
                self.assertEqual(c.recv(100)[9:12], b"403")
        waiting = [server.socket() for _ in range(20)]  # their keys may be in the bodies
        for c in waiting:
            with contextlib.suppress(OSError):
                c.sendall(large % (b"", b"") + bytes(900000))
        answer = server.upload("/translate_file", "a.txt", "你好".encode() + b" " * 900000, source="zh", target="en",
                               headers={"Authorization": "Bearer right"})
        self.assertEqual(answer.status, 200, answer)
        for c in waiting:
            c.close()
        self.eventually(lambda: server.upload("/translate_file", "a.txt", b" " * 900000, source="zh", target="en",
                                              api_key="right").status == 200)

    def test_room_for_those_with_a_key(self):
        keys = self.folder() / "keys"
        keys.write_text("right\n")
        keys.chmod(0o600)
        server = self.start("--api-keys", keys, "--upload-limit", "1")
        waiting = []

        def send(head, size):
            waiting.append(server.socket())
            with contextlib.suppress(OSError):
                waiting[-1].sendall(head + b"Host: a\r\nContent-Length: %d\r\n\r\n" % size + bytes(size - 1))

        def refused(connections):  # none of the bodies is complete
            return len(select.select(connections, [], [], 0)[0])

        with server.socket() as c:  # it needs no body
            c.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")
            self.assertEqual(c.recv(100)[9:12], b"413")
        for _ in range(300):  # more than all may hold; nobody knows yet that these keys are wrong
            send(b"POST /translate HTTP/1.1\r\nAuthorization: Bearer wrong\r\n", 64 << 10)
        self.eventually(lambda: refused(waiting) > 200)
        for _ in range(40):  # the rest of their quarter; they need no key
            send(b"GET /health HTTP/1.1\r\n", 4 << 10)
        self.eventually(lambda: refused(waiting[300:]))
        self.assertEqual(server.get("/health").status, 200)
        answer = server.upload("/translate_file", "a.txt", "你好".encode() + b" " * 900000, source="zh", target="en",
                               headers={"Authorization": "Bearer right"})
        self.assertEqual(answer.status, 200, answer)
        for c in waiting:
            c.close()

    def test_keys_may_be_replaced(self):
        folder = self.folder()

        def write(text):
            (folder / "new").write_text(text)
            (folder / "new").chmod(0o600)
            os.replace(folder / "new", folder / "keys")

        def ask(key):
            return server.post("/detect", q="你好", api_key=key).status

        write("first\n")
        server = self.start("--api-keys", folder / "keys")
        self.assertEqual((ask("first"), ask("second")), (200, 403))
        write("second\n")
        server.signal(signal.SIGHUP)
        self.eventually(lambda: ask("second") == 200)
        self.assertEqual(ask("first"), 403)
        self.assertEqual(server.process.stderr.readline(), b"translate: read again: models: 1, keys: 1, glossaries: 0\n")
        write("third\nsecret x\n")
        server.signal(signal.SIGHUP)
        said = server.process.stderr.readline()
        self.assertIn(b"/keys:2: after the key there are two numbers", said)
        self.assertNotIn(b"secret", said)
        self.assertEqual((ask("second"), ask("third")), (200, 403))


class Limits(ServeTest):
    """Rates, as clients see them."""
    ARGUMENTS = ("--rate-limit", "2", "--char-limit", "10", "--trust-proxy")

    def ask(self, address, text="你好"):
        headers = {"X-Forwarded-For": address} if address else {}
        return self.server.post("/detect", q=text, headers=headers)

    def test_prefixes_have_characters(self):
        for prefix, status in (("Hi", 200), ("Hi, there", 400)):
            answer = self.server.post("/v1/translate", text="你好", source="zh", target="en", prefix=prefix,
                                      headers={"X-Forwarded-For": "198.51.100.7"})
            self.assertEqual(answer.status, status, answer)
        self.assertIn("11 characters", answer.json["error"]["message"])

    def test_each_address_has_its_rate(self):
        statuses = [self.ask("1.1.1.1, 192.0.2.1").status for _ in range(3)]
        self.assertEqual(statuses, [200, 200, 429])
        answer = self.ask("2.2.2.2, 192.0.2.1")  # the client's own entry does not count
        self.assertEqual(answer.status, 429)
        self.assertRegex(answer.headers["Retry-After"], "^(2[0-9]|30)$")
        self.assertIn("too many requests", answer.json["error"])
        self.assertEqual(self.ask("192.0.2.2").status, 200)
        self.assertEqual(self.server.get("/health", headers={"X-Forwarded-For": "192.0.2.1"}).status, 200)

    def test_the_last_of_several_headers_counts(self):
        statuses = []
        for address in ["1.1.1.1", "1.1.1.2", "1.1.1.3"]:
            c = self.server.connect()
            c.putrequest("POST", "/detect")
            for name, value in [("X-Forwarded-For", address), ("X-Forwarded-For", "192.0.2.3"), ("Content-Length", "4"),
                                ("Content-Type", "application/x-www-form-urlencoded")]:
                c.putheader(name, value)
            c.endheaders(b"q=ab")
            statuses.append(c.getresponse().status)
            c.close()
        self.assertEqual(statuses, [200, 200, 429])

    def test_ipv6_counts_by_site(self):
        addresses = ["2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8:0:1::3"]
        self.assertEqual([self.ask(a).status for a in addresses], [200, 200, 429, 200])

    def test_long_texts_are_refused(self):
        headers = {"X-Forwarded-For": "192.0.2.9"}
        answer = self.server.post("/translate", q="好" * 11, source="zh", target="en", headers=headers)
        self.assertEqual(answer.status, 400)
        self.assertIn("10", answer.json["error"])
