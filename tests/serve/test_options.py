"""The server's options: from the command line, the environment and a file."""
import os
import socket
import unittest

import support
from support import ServeTest, Server, environment

TEXT = "今天天气很好。"


class Options(ServeTest):
    ARGUMENTS = ("--url-prefix", "/mt/", "--cors", "https://a.example")

    def test_prefix(self):
        self.assertEqual(self.server.get("/mt/health").status, 200)
        for path in ("/health", "/mthealth"):
            self.assertEqual(self.server.get(path).status, 404)

    def test_cors(self):
        answer = self.server.get("/mt/health", {"Origin": "https://a.example"})
        self.assertEqual(answer.headers["Access-Control-Allow-Origin"], "https://a.example")
        answer = self.server.get("/mt/health", {"Origin": "https://b.example"})
        self.assertNotIn("Access-Control-Allow-Origin", answer.headers)
        asked = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
        answer = self.server.ask("OPTIONS", "/mt/translate", headers=asked)
        self.assertEqual(answer.status, 204)
        self.assertIn("POST", answer.headers["Access-Control-Allow-Methods"])

    def test_hosts(self):
        """A page whose own name leads to this machine gets nothing; proxies pass on other names."""
        def status(host, server=self.server, **more):
            return server.get("/mt/health", {"Host": host, **more}).status
        port = self.server.address[1]
        own = ["127.0.0.1", "localhost", "LOCALHOST.", "a.localhost", "127.9.9.9", "[::1]", "192.0.2.1"]
        self.assertEqual({h: status(f"{h}:{port}") for h in own}, {h: 200 for h in own})
        foreign = ["evil.example", "localhost.evil.example", "evillocalhost", "127.0.0.1.evil.example", "evil.example.",
                   "a" * 300]
        self.assertEqual({h: status(f"{h}:{port}") for h in foreign}, {h: 403 for h in foreign})
        self.assertEqual([status(h) for h in ("mt.example", "mt.example:8443", "")], [200] * 3)
        answer = self.server.post("/mt/v2/translate", text="1", headers={"Host": f"evil.example:{port}"})
        self.assertEqual((answer.status, "--allowed-hosts" in answer.json["message"]), (403, True), answer)
        for answer in (self.server.get("/mt/", {"Host": f"evil.example:{port}"}),
                       self.server.form("/mt/", {"Host": f"evil.example:{port}"}, text="1")):
            self.assertEqual((answer.status, b"--allowed-hosts" in answer.body), (403, True), answer)
        server = self.start("--url-prefix", "/mt", "--allowed-hosts", "a.example, b.example")
        port = server.address[1]
        self.assertEqual([status(h, server) for h in ("a.example", "B.example:1", f"b.example.:{port}", "localhost",
                                                      "c.example", f"c.example:{port}", "a.example,b.example", ",")],
                         [200] * 4 + [403] * 4)
        for more in (["--trust-proxy"], ["--allowed-hosts", "*"], ["--host", "0.0.0.0"]):
            server = self.start("--url-prefix", "/mt", *more)
            self.assertEqual(status(f"evil.example:{server.address[1]}", server), 200, more)

    def test_file_and_environment(self):
        config = self.folder() / "serve.conf"
        config.write_text("# limits\n\n char-limit = 7 \nbatch-limit=3\nport = 0\nquiet-not = 1\n")
        self.refuses("--config", config, says=("serve.conf: line 6", "quiet-not"))
        config.write_text("char-limit = 7\nbatch-limit = 3\nport = 0\ntrust-proxy = on\n")
        env = environment(TRANSLATE_BATCH_LIMIT="2", TRANSLATE_MODEL=support.MODEL)
        server = self.start("--config", config, env=env)
        self.assertEqual(server.get("/frontend/settings").json["charLimit"], 7)
        self.assertEqual(server.post("/translate", q=["1"] * 3, source="zh", target="en").status, 400)
        server = self.start("--config", config, "--char-limit", "9", "--batch-limit", "5", env=env)
        self.assertEqual(server.get("/frontend/settings").json["charLimit"], 9)
        self.assertEqual(server.post("/translate", q=["1"] * 3, source="zh", target="en").status, 200)

    def test_wrong(self):
        folder = self.folder()
        for lines, says in (("port", "name = value"), ("port = x\n", "--port"), ("trust-proxy = maybe\n", "on or off"),
                            ("config = a\n", "config"), ("=\n", "no option"), ("host = 300.300.300.300\n", "300.300"),
                            ("x" * 5000, "too long")):
            (folder / "c").write_text(lines)
            self.refuses("--config", folder / "c", says=says)
        self.refuses("--config", folder / "missing", says="missing")
        self.refuses("--port", "70000", says="70000")
        self.refuses("--models", folder, says=str(folder))
        self.refuses("--models", folder, "-m", support.MODEL, says="only one")
        self.refuses("-m", folder / "none.gguf", says="none.gguf")
        self.refuses("--url-prefix", "mt", says="slash")
        self.refuses("text", says="unexpected")
        self.refuses("--unix", "a" * 200, says="too long")
        self.refuses("--port", "0", "--api-keys", folder / "keys", says="keys")
        self.refuses("--port", "0", "--glossaries", folder / "terms", says="terms")

    def test_misspelt_variable(self):
        server = self.start(env=environment(TRANSLATE_API_KEY="x", TRANSLATE_CPU="portable"))
        self.assertEqual(server.end(), 0)
        self.assertEqual(server.said.count(b"warning"), 1)
        self.assertIn(b"TRANSLATE_API_KEY", server.said)

    def test_port_in_use(self):
        with socket.create_server(("127.0.0.1", 0)) as s:
            self.refuses("--port", s.getsockname()[1], "-m", support.MODEL, says=("in use", "--port"))

    def test_unix_socket(self):
        path = self.folder() / "socket"
        server = self.start("--unix", path)
        answer = server.post("/translate", q=TEXT, source="zh", target="en").json
        self.assertEqual(answer["translatedText"], self.translated(TEXT))
        self.refuses("--unix", path, "-m", support.MODEL, says="in use")
        path.parent.joinpath("file").write_text("kept")
        self.refuses("--unix", path.parent / "file", "-m", support.MODEL, says="in use")
        self.assertEqual(path.parent.joinpath("file").read_text(), "kept")
        self.assertEqual(server.end(), 0)
        self.assertFalse(path.exists())
        server = Server("--unix", path)
        server.process.kill()
        server.process.communicate()
        self.assertTrue(path.exists())
        server, left = Server("--unix", path), path.with_name("left")  # in its place
        self.assertEqual(server.get("/health").status, 200)
        path.rename(left)
        other = self.start("--unix", path)
        self.assertEqual(server.end(), 0)
        self.assertEqual(other.get("/health").status, 200)
        self.assertTrue(left.exists())

    @unittest.skipUnless(socket.has_ipv6 and os.path.exists("/proc/net/if_inet6"), "no IPv6")
    def test_ipv6(self):
        try:
            server = self.start("--host", "::1")
        except AssertionError:
            self.skipTest("no IPv6 at ::1")
        self.assertEqual(server.address[0], "::1")
        self.assertEqual(server.get("/health").status, 200)
        server = self.start("--host", "::")
        for address in ("::1", "127.0.0.1"):
            server.address = (address, server.address[1])
            self.assertEqual(server.get("/health").status, 200, address)

    def test_keys(self):
        keys = self.folder() / "keys"
        keys.write_text("# two\nfirst\nsecond 2 100\n")
        keys.chmod(0o600)
        server = self.start("--api-keys", keys)

        def status(headers=None, **fields):
            return server.post("/translate", {"q": "1", "source": "zh", "target": "en", **fields}, headers).status
        self.assertEqual([status(), status(api_key="x"), status(api_key="first")], [403, 403, 200])
        self.assertEqual(status({"Authorization": "Bearer first"}), 200)
        self.assertEqual(status({"Authorization": "DeepL-Auth-Key first"}), 200)
        self.assertEqual([status(api_key="second") for _ in range(3)], [200, 200, 429])
        self.assertEqual(server.get("/health").status, 200)
        foreign = {"Host": f"evil.example:{server.address[1]}"}
        self.assertIn(b"--allowed-hosts", server.form("/", foreign, text="1").body)
        self.assertIn(b"A key is needed", server.form("/", text="1").body)
        self.assertEqual(server.get("/metrics").status, 403)
        self.assertEqual(server.get("/metrics", {"Authorization": "Bearer first"}).status, 200)
        self.assertNotIn(b"first", server.said)
