"""Plain downloads, tokens, certificates and proxies."""

import hashlib
import shutil
import ssl
import subprocess
import time
import unittest

from pull import NOT_NEEDED, WEIGHTS, PullTest
from server import LARGE
from support import Terminal, unprivileged


class Plain(PullTest):
    def test_needed_files_only(self):
        self.pull()
        self.same_as_site(self.out)
        self.assertEqual(self.site.fetched(), [n for n in self.site.fetched() if n not in NOT_NEEDED])
        self.assertEqual([], self.site.asked("hub", "README.md") + self.site.asked("cdn", "pytorch_model.bin"))
        self.assertNotIn("authorization", self.site.asked("hub")[0])

    def test_again_downloads_nothing(self):
        for where in (["-o", self.out], []):
            self.good("pull", "owner/model", *where)
            self.site.log.clear()
            self.good("pull", "owner/model", *where)
            self.assertEqual(
                [path for _, path, _ in self.site.log], ["/api/models/owner/model/revision/main?blobs=true"]
            )

    def test_what_differs_is_downloaded_again(self):
        self.pull()
        (self.out / "vocab.json").write_bytes(self.site.files["vocab.json"][:-1] + b"x")
        (self.out / "source.spm").unlink()
        self.site.log.clear()
        self.pull()
        self.same_as_site(self.out)
        self.assertEqual(sorted(self.site.fetched()), ["source.spm", "vocab.json"])

    def test_a_list_without_sizes(self):
        self.site.facts = False
        self.pull()
        self.same_as_site(self.out)

    def test_revision(self):
        self.site.revision = "refs/pr/7"
        self.good("pull", "hf:owner/model@refs/pr/7")
        self.assertIn("/owner/model/resolve/refs%2Fpr%2F7/config.json", [path for _, path, _ in self.site.log])
        self.same_as_site(self.folder / "cache/hub/owner/model/refs%2Fpr%2F7", [".translate-pull.json"])
        self.assertRegex(self.good("pull", "--list").decode(), r"\A +\d+\.\d MB  hf:owner/model@refs/pr/7\n\Z")

    def test_pattern(self):
        self.site.files.update({"q/a-q8_0.gguf": b"8" * 3000, "q/a-f16.gguf": b"f" * 3000})
        self.pull("--file", "*q8_0.gguf")
        self.assertEqual(self.names(self.out), ["q/a-q8_0.gguf"])
        self.bad(1, "pull", "owner/model", "--file", "*.none", says=["owner/model", "'*.none'"])

    def test_gguf_only_where_nothing_else_is(self):
        self.site.files.update({"a.gguf": b"8" * 3000})
        self.pull()
        self.assertNotIn("a.gguf", self.names(self.out))
        self.site.files = {"a.gguf": b"8" * 3000, "README.md": b""}
        self.good("pull", "owner/model", "-o", self.folder / "one")
        self.assertEqual(self.names(self.folder / "one"), ["a.gguf"])
        self.site.files["b.gguf"] = b"4" * 3000
        self.bad(1, "pull", "owner/model", says=["several", "--file", "a.gguf, b.gguf"])
        self.site.files = {"README.md": b"", "config.json": b"{}"}
        self.bad(1, "pull", "owner/model", says=["owner/model", "no model"])

    def test_usage(self):
        for name in (
            "model",
            "/model",
            "owner/",
            "a/b/c",
            "../model",
            "owner/..",
            "owner/.x",
            "owner/mo del",
            "owner/模型",
            "owner/model@",
            "owner/model@../x",
            "owner/model@a\\b",
            "https://huggingface.co/owner/model",
        ):
            self.bad(2, "pull", name, says="try 'translate pull --help'")
        self.bad(2, "pull", says="which model")
        self.bad(2, "pull", "a/b", "c/d", says="c/d: unexpected")
        self.bad(2, "pull", "--list", "a/b", says="--list")
        self.bad(2, "pull", "--remove", "a/b", "-o", "x", says="--remove")
        self.bad(2, "pull", "a/b", "--retries", "x", says="--retries")
        self.bad(1, "pull", "a/b", env=self.environment(HF_ENDPOINT="file:///etc"), says="HF_ENDPOINT")
        self.bad(1, "pull", "a/b", env=self.environment(HF_TOKEN="a\nb: c"), says="HF_TOKEN")
        self.assertEqual(self.site.log, [])

    def test_places_that_cannot_be_written(self):
        self.bad(1, "pull", "owner/model", "-o", self.file("file"), says="file")
        self.bad(1, "pull", "owner/model", "-o", self.file("other") / "x", says="other")

    def test_progress_on_a_terminal(self):
        self.site.files[WEIGHTS] += bytes(3 << 20)

        def slowly(handler):
            data = self.weights()
            handler.answer(200, data[: 1 << 20], Content_Length=len(data), ETag=self.site.tag(WEIGHTS))
            time.sleep(0.3)
            handler.wfile.write(data[1 << 20 :])

        for options, shown in (([], True), (["-q"], False)):
            self.site.at(WEIGHTS, slowly)
            terminal = Terminal()
            self.addCleanup(terminal.close)
            with self.started(
                "pull",
                "owner/model",
                "-o",
                self.folder / f"bar{shown}",
                *options,
                env=self.environment(),
                stderr=terminal.slave,
            ) as p:
                terminal.close_slave()
                text = terminal.read().decode()
                self.assertEqual((p.wait(20), p.stdout.read()), (0, b""))
            if shown:
                self.assertRegex(text, r"downloading 7 files, 3\.\d MB, to ")
                self.assertRegex(text, r"\[=+>? *\] +\d+%  \d\.\d of 3\.\d MB  \d+\.\d MB/s(  0:00 left)?")
                self.assertRegex(text, r"use it with: translate -m .*bar")
            else:
                self.assertEqual(text, "")


class Token(PullTest):
    def authorizations(self):
        return {where: {h.get("authorization") for h in self.site.asked(where)} for where in ("hub", "cdn")}

    def test_goes_to_the_endpoint_alone(self):
        self.pull(env=self.environment(HF_TOKEN="hf_secret"))
        self.assertEqual(self.authorizations(), {"hub": {"Bearer hf_secret"}, "cdn": {None}})

    def test_stays_within_the_same_host(self):
        moved = "/api/resolve-cache/x"
        self.site.at("config.json", self.site.status(307, Location=moved))
        self.site.at("hub" + moved, lambda h: self.site.send(h, "config.json", self.site.tag("config.json")))
        self.pull(env=self.environment(HF_TOKEN="hf_secret"))
        self.same_as_site(self.out)
        self.assertEqual(self.site.asked("hub", moved)[0]["authorization"], "Bearer hf_secret")

    def test_other_names_of_a_host_are_other_hosts(self):
        port = self.site.hub.server_port
        self.site.at("config.json", self.site.status(302, Location=f"http://localhost:{port}/elsewhere"))
        self.site.at("hub/elsewhere", lambda h: self.site.send(h, "config.json", '"x"'))
        self.pull(env=self.environment(HF_TOKEN="hf_secret"))
        self.assertNotIn("authorization", self.site.asked("hub", "/elsewhere")[0])

    def test_files(self):
        def put(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f" {path.parent.name}\n")

        put(self.folder / ".cache/huggingface/token")
        put(self.folder / "xdg/huggingface/token")
        put(self.folder / "home/token")
        put(self.folder / "path/file")
        for env, token in (
            ({}, "huggingface"),
            ({"XDG_CACHE_HOME": str(self.folder / "xdg")}, "huggingface"),
            ({"HF_HOME": str(self.folder / "home")}, "home"),
            ({"HF_TOKEN_PATH": str(self.folder / "path/file"), "HF_HOME": "/nowhere"}, "path"),
            ({"HF_TOKEN": "given", "HF_HOME": str(self.folder / "home")}, "given"),
            ({"HF_HOME": str(self.folder / "none")}, None),
        ):
            self.site.log.clear()
            self.pull(env=self.environment(**env))
            self.assertEqual(self.authorizations()["hub"], {f"Bearer {token}" if token else None}, env)

    def test_files_that_cannot_be_read(self):
        """No token is read from a folder of another user; a token file that cannot be read is an error."""
        home, token = self.folder / "home", self.folder / "home/token"
        home.mkdir()
        token.write_text("secret")
        for path, mode, env, says in (
            (home, 0, {"HOME": home}, None),
            (home, 0, {"HF_HOME": home}, "Permission denied"),
            (home, 0, {"HF_TOKEN_PATH": token}, "Permission denied"),
            (token, 0, {"HF_HOME": home}, "Permission denied"),
        ):
            self.give_away()
            path.chmod(mode)
            self.site.log.clear()
            env = self.environment(**{k: str(v) for k, v in env.items()})
            if says:
                self.refused(says=["token", says], env=env, **unprivileged())
                self.assertEqual(self.site.log, [])
            else:
                self.pull(env=env, **unprivileged())
                self.assertEqual(self.authorizations()["hub"], {None})
                shutil.rmtree(self.out)
            path.chmod(0o700)
        token.write_text("x" * 5000)
        self.refused(says=["token", "too long"], env=self.environment(HF_HOME=str(home)))


@unittest.skipUnless(shutil.which("openssl"), "there is no openssl to make a certificate")
class Secure(PullTest):
    def setUp(self):
        super().setUp()
        self.certificate, key = self.folder / "certificate.pem", self.folder / "key.pem"
        subprocess.run(
            [
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
                "-days",
                "2",
                "-subj",
                "/CN=localhost",
                "-addext",
                "subjectAltName=DNS:localhost",
                "-keyout",
                key,
                "-out",
                self.certificate,
            ],
            check=True,
            capture_output=True,
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)
        self.site.hub.socket = context.wrap_socket(self.site.hub.socket, server_side=True)
        self.url = f"https://localhost:{self.site.hub.server_port}"

    def test_trusted(self):
        self.site.files = {n: d for n, d in self.site.files.items() if len(d) < LARGE or n == WEIGHTS}
        weights = f"hub/owner/model/resolve/main/{WEIGHTS}"
        self.site.at(weights, lambda h: self.site.send(h, WEIGHTS, f'"{hashlib.sha256(self.weights()).hexdigest()}"'))
        self.pull(env=self.environment(HF_ENDPOINT=self.url, SSL_CERT_FILE=str(self.certificate)))
        self.same_as_site(self.out)

    def test_not_trusted(self):
        self.refused(says=["owner/model", "certificate"], env=self.environment(HF_ENDPOINT=self.url))
        self.assertEqual(self.site.log, [])

    def test_never_to_plain_http(self):
        self.refused(
            says=[WEIGHTS, "redirects", "refused"],
            env=self.environment(HF_ENDPOINT=self.url, SSL_CERT_FILE=str(self.certificate)),
        )
        self.assertEqual(self.site.asked("cdn"), [])


class Proxy(PullTest):
    def test_proxy(self):
        """The proxy gets whole addresses; the endpoint's name is never resolved here."""
        endpoint = "http://hub.invalid:8080"
        site = self.site
        serve = site.serve

        def through_proxy(handler):
            self.assertTrue(handler.path.startswith(endpoint) or handler.server is site.cdn, handler.path)
            handler.path = handler.path[len(endpoint) :] if handler.path.startswith(endpoint) else handler.path
            serve(handler)

        site.serve = through_proxy
        self.pull(env=self.environment(HF_ENDPOINT=endpoint + "/", http_proxy=site.url, no_proxy="127.0.0.1"))
        self.same_as_site(self.out)
