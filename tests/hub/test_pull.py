#!/usr/bin/env python3
"""translate pull and -m hf:OWNER/NAME against a server that does all that servers do.
Usage: test_pull.py TOOL FIXTURE [CLASS[.TEST]]... FIXTURE: a small published directory."""
import fcntl
import hashlib
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import ssl
import subprocess
import sys
import termios
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import support  # noqa: E402
from server import LARGE, Site  # noqa: E402
from support import CommandTest, Terminal, can_confine, process_status, unprivileged, wait_for  # noqa: E402

FIXTURE = pathlib.Path()
NOT_NEEDED = {".gitattributes": b"*.bin lfs\n", "README.md": b"# A model\n" * 200, "tf_model.h5": b"h" * 5000,
              "pytorch_model.bin": b"p" * 5000, "onnx/model.onnx": b"o" * 5000, "onnx/config.json": b"{}"}
WEIGHTS = "model.safetensors"


def model_files():
    return {p.name: p.read_bytes() for p in sorted(FIXTURE.iterdir())}


class PullTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.site = Site({**NOT_NEEDED, **model_files()})
        self.addCleanup(self.site.close)
        self.out = self.folder / "out"
        self.cache = self.folder / "cache/hub/owner/model/main"

    def environment(self, **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("TRANSLATE_", "HF_", "XDG_", "SSL_", "CURL_"))
               and "proxy" not in k.lower()}
        env.update(HOME=str(self.folder), TRANSLATE_CACHE=str(self.folder / "cache"), HF_ENDPOINT=self.site.url,
                   TERM="xterm",
                   LC_ALL="C.UTF-8")
        return {k: v for k, v in {**env, **more}.items() if v is not None}

    def run_tool(self, *args, env=None, **more):
        return super().run_tool(*args, env=env or self.environment(), timeout=30, **more)

    def pull(self, *options, **more):
        """To self.out; says nothing in a pipe."""
        self.assertEqual(self.good("pull", "owner/model", "-o", self.out, *options, **more), b"")

    def refused(self, *options, says, status=1, kept=(), **more):
        """A pull to self.out that fails; what it leaves there are the files of kept, nothing more."""
        message = self.bad(status, "pull", "owner/model", "-o", self.out, *options, says=says, **more)
        self.assertEqual(self.names(self.out), sorted(kept), message)
        return message

    @staticmethod
    def names(folder):
        return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()) if folder.exists() else []

    def same_as_site(self, folder, hidden=()):
        wanted = [n for n in self.site.files if n not in NOT_NEEDED]
        self.assertEqual(self.names(folder), sorted([*wanted, *hidden]))
        for name in wanted:
            self.assertEqual((folder / name).read_bytes(), self.site.files[name], name)

    def give_away(self):
        if os.geteuid() == 0:
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, 65534, 65534, follow_symlinks=False)

    def weights(self):
        return self.site.files[WEIGHTS]

    def give_away(self):
        """To the user as whom a test runs that needs one without rights."""
        if os.geteuid() == 0:
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, 65534, 65534, follow_symlinks=False)


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
            self.assertEqual([path for _, path, _ in self.site.log], ["/api/models/owner/model/revision/main?blobs=true"])

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
        for name in ("model", "/model", "owner/", "a/b/c", "../model", "owner/..", "owner/.x", "owner/mo del", "owner/模型",
                     "owner/model@", "owner/model@../x", "owner/model@a\\b", "https://huggingface.co/owner/model"):
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
            handler.answer(200, data[:1 << 20], Content_Length=len(data), ETag=self.site.tag(WEIGHTS))
            time.sleep(0.3)
            handler.wfile.write(data[1 << 20:])

        for options, shown in (([], True), (["-q"], False)):
            self.site.at(WEIGHTS, slowly)
            terminal = Terminal()
            self.addCleanup(terminal.close)
            with self.started("pull", "owner/model", "-o", self.folder / f"bar{shown}", *options, env=self.environment(),
                              stderr=terminal.slave) as p:
                terminal.close_slave()
                text = terminal.read().decode()
                self.assertEqual((p.wait(20), p.stdout.read()), (0, b""))
            if shown:
                self.assertRegex(text, r"downloading 7 files, 3\.\d MB, to ")
                self.assertRegex(text, r"\[=+>? *\] +\d+%  \d\.\d of 3\.\d MB  \d+\.\d MB/s  0:00 left")
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
        for env, token in (({}, "huggingface"), ({"XDG_CACHE_HOME": str(self.folder / "xdg")}, "huggingface"),
                           ({"HF_HOME": str(self.folder / "home")}, "home"),
                           ({"HF_TOKEN_PATH": str(self.folder / "path/file"), "HF_HOME": "/nowhere"}, "path"),
                           ({"HF_TOKEN": "given", "HF_HOME": str(self.folder / "home")}, "given"),
                           ({"HF_HOME": str(self.folder / "none")}, None)):
            self.site.log.clear()
            self.pull(env=self.environment(**env))
            self.assertEqual(self.authorizations()["hub"], {f"Bearer {token}" if token else None}, env)


    def test_files_that_cannot_be_read(self):
        """Where the user's own folder is another's there is no token; a file that is meant and cannot be read is an
        error."""
        home, token = self.folder / "home", self.folder / "home/token"
        home.mkdir()
        token.write_text("secret")
        for path, mode, env, says in ((home, 0, {"HOME": home}, None),
                                      (home, 0, {"HF_HOME": home}, "Permission denied"),
                                      (home, 0, {"HF_TOKEN_PATH": token}, "Permission denied"),
                                      (token, 0, {"HF_HOME": home}, "Permission denied")):
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


class Refusals(PullTest):
    def test_status_of_the_list(self):
        status = Site.status
        for answer, env, says in (
                (status(401, b"Invalid username or password."), {}, ["owner/model: ", "401", "check the name", "HF_TOKEN"]),
                (status(401), {"HF_TOKEN": "x"}, ["401", "your token"]),
                (status(403), {}, ["403", "gated", f"{self.site.url}/owner/model", "HF_TOKEN"]),
                (status(404, X_Error_Code="RepoNotFound"), {}, ["404", "check the name"]),
                (status(404, X_Error_Code="RevisionNotFound"), {}, ["404", "revision 'main'"]),
                (status(400), {}, ["400"]), (status(204), {}, ["204"])):
            self.site.at(self.site.listing, answer)
            self.refused(says=says, env=self.environment(**env))
        self.assertFalse(self.out.exists())

    def test_folders_made_in_vain_go_again(self):
        self.site.at(self.site.listing, *[Site.status(404)] * 2)
        (self.folder / "a").mkdir()
        self.bad(1, "pull", "owner/model", "-o", self.folder / "a/b/c", says="404")
        self.bad(1, "pull", "owner/model", says="404")
        self.assertEqual([p.name for p in self.folder.rglob("*")], ["a"])

    def test_gated_file(self):
        answer = Site.status(403, b"Access to this model is restricted", X_Error_Code="GatedRepo")
        self.site.at(f"hub/owner/model/resolve/main/{WEIGHTS}", answer)
        self.refused(says=[WEIGHTS, "gated", f"{self.site.url}/owner/model", "HF_TOKEN"])
        self.assertFalse(self.out.exists())

    def test_file_that_is_not_there(self):
        self.site.at(f"hub/owner/model/resolve/main/{WEIGHTS}", Site.status(404, X_Error_Code="EntryNotFound"))
        self.bad(1, "pull", "owner/model", says=[f"owner/model: {WEIGHTS}: ", "404"])
        self.assertEqual(self.names(self.folder), [])

    def test_nonsense_instead_of_a_list(self):
        for body, says in ((b"<html>", "JSON"), (b"", "empty"), (b"[]", "object"), (b"{}", "list of files"),
                           (b'{"siblings": [{}]}', "without a name"), (b'{"siblings": [[]]}', "without a name"),
                           (b'{"siblings": []}', "no model"), (b"[" * 100000, "JSON")):
            self.site.at(self.site.listing, Site.status(200, body))
            self.refused(says=["owner/model: ", says])

    def test_names_that_leave_the_folder(self):
        for name in ("../evil.spm", "/tmp/evil.spm", "a/../../evil.spm", "..", "a\\..\\evil.spm", "evil\n.spm", "a//b.spm",
                     "",
                     "./evil.spm", "evil.spm/", "x" * 300 + ".spm", "model.safetensors.part", ".translate-pull.json",
                     "evil\x7f.spm"):
            self.site.listed = lambda answer, name=name: {**answer, "siblings": answer["siblings"] + [{"rfilename": name}]}
            self.refused(says=["owner/model: ", "refused"])
        self.assertEqual(self.names(self.folder), [])

    def test_redirects(self):
        path = f"hub/owner/model/resolve/main/{WEIGHTS}"
        for to, says in ((path[3:], "circles"), ("file:///etc/passwd", "refused"),
                         ("ftp://127.0.0.1/x", "refused")):
            self.site.at(path, *[Site.status(302, Location=to)] * 12)
            self.refused(says=[WEIGHTS, says])
        self.site.at(path, Site.status(302))
        self.refused(says=[WEIGHTS, "302"])

    def test_huge_lists(self):
        more = [{"rfilename": f"checkpoint-{i}/optimizer-state-of-the-training.bin"} for i in range(60000)]
        self.site.listed = lambda answer: {**answer, "siblings": more + answer["siblings"]}
        self.pull()
        self.same_as_site(self.out)
        self.site.at(self.site.listing, Site.status(200, b'{"siblings": [' + b'{"rfilename": "x"},' * 1000000))
        self.bad(1, "pull", "owner/model", says="8 MB")
        self.site.listed = lambda answer: {**answer,
                                           "siblings": answer["siblings"] + [{"rfilename": f"{i}.spm"} for i in range(2000)]}
        self.bad(1, "pull", "owner/model", says="1000 files")

    def test_no_room_on_the_disk(self):
        def huge(answer):
            for sibling in answer["siblings"]:
                sibling["lfs" if "lfs" in sibling else "size"] = {"sha256": "0" * 64,
                                                                  "size": 1 << 60} if "lfs" in sibling else 1
            return answer
        self.site.listed = huge
        self.refused(says=["owner/model: ", "room", "needs"])
        self.site.listed, self.site.facts = None, False
        self.site.at(f"hub/owner/model/resolve/main/{WEIGHTS}",
                     lambda h: self.site.redirect(h, WEIGHTS, X_Linked_Size=1 << 60))
        self.bad(1, "pull", "owner/model", says=[WEIGHTS, "room"])
        self.assertEqual(self.names(self.folder), [])

    def test_no_server(self):
        port = self.site.hub.server_port
        self.site.close()
        self.refused("--retries", "1", says=[f"127.0.0.1:{port}", "2 tries"])


class Lies(PullTest):
    def check(self, says, name=WEIGHTS):
        """The file is refused, nothing of it is kept, and no other has got its name."""
        message = self.bad(1, "pull", "owner/model", "-o", self.out, says=[f"owner/model: {name}: ", says])
        self.assertFalse([n for n in self.names(self.out) if n.startswith(name) or not n.endswith((".part", ".tag"))],
                         message)

    def wrong_bytes(self, handler, count=None):
        data = bytearray(self.weights())
        data[len(data) // 2] ^= 1
        self.site.send(handler, WEIGHTS, self.site.tag(WEIGHTS), bytes(data)[:count])

    def redirected(self, *actions):
        self.site.at(f"hub/owner/model/resolve/main/{WEIGHTS}", *actions)

    def test_content(self):
        for facts in (True, False):
            self.site.facts = facts
            self.site.at(WEIGHTS, self.wrong_bytes)
            self.check(f"not {hashlib.sha256(self.weights()).hexdigest()}")

    def test_content_of_a_small_file(self):
        for facts in (True, False):
            self.site.facts = facts
            data = self.site.files["config.json"]
            self.site.at("config.json", lambda h: self.site.send(h, "config.json", self.site.tag("config.json"), data[::-1]))
            self.check("SHA-1", "config.json")

    def test_sizes(self):
        self.redirected(lambda h: self.site.redirect(h, WEIGHTS, X_Linked_Size=17))
        self.check("17 bytes")
        self.site.at(WEIGHTS, lambda h: self.wrong_bytes(h, 1000))
        self.check("1000 bytes")
        longer = self.weights() + b"x"
        self.site.at(WEIGHTS, lambda h: self.site.send(h, WEIGHTS, self.site.tag(WEIGHTS), longer))
        self.check(f"{len(longer)} bytes")

        def without_length(handler):
            handler.send_response(200)
            handler.end_headers()
            handler.wfile.write(longer)
            handler.close_connection = True
        self.site.at(WEIGHTS, without_length)
        self.bad(1, "pull", "owner/model", "-o", self.out, says=[WEIGHTS, "more than the"])
        self.assertFalse((self.out / WEIGHTS).exists())

    def test_list_and_file_disagree(self):
        self.redirected(lambda h: self.site.redirect(h, WEIGHTS, X_Linked_Etag='"' + "ab" * 32 + '"'))
        self.check("changed")


class Floods(PullTest):
    """Servers that send without end (here: far more than is taken). Without rights, so that limits count."""
    CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    MEGABYTE = b"100000\r\n" + bytes(1 << 20) + b"\r\n"
    LIMIT = 4 << 30  # bytes of files whose size nobody tells

    def run_tool(self, *args, **more):
        self.give_away()
        return super().run_tool(*args, **unprivileged(), **more)

    def refused_once(self, says, *flood):
        """A list that is a flood; another try would bring the same."""
        self.site.log.clear()
        self.site.at(self.site.listing, Site.flood(*flood))
        self.refused(says=["owner/model: ", says])
        self.assertEqual(len(self.site.log), 1)

    def test_headers(self):
        empty, line, end = b"HTTP/1.1 200 OK\r\n", b"X-i: " + b"y" * 1000 + b"\r\n", b"Content-Length: 2\r\n\r\n{}"
        trailers = self.CHUNKED + b"2\r\n{}\r\n0\r\n"
        for flood in ((trailers, line, 1000, b"\r\n"), (empty, line, 1000, end),
                      (b"", b"HTTP/1.1 100 Go on\r\n\r\n", 40000, empty + end),
                      (b"HTTP/1.1 302 Found\r\nLocation: /\r\n", line, 1000, b"Content-Length: 0\r\n\r\n")):
            self.refused_once("the server sends more than 256 kB of headers", *flood)
        for start in (b"HTTP/1.1 ", empty + b"X: ", trailers + b"X: "):
            self.refused_once("header line that is too long", start, b"y" * 1000, 1000, b"\r\n\r\n")

    def test_many_headers(self):
        """What is far more than usual is taken still."""
        many = {f"X-{i}": "y" * 1000 for i in range(100)}
        self.site.at("config.json", lambda h: h.answer(200, self.site.files["config.json"],
                                                       ETag=self.site.tag("config.json"), **many))
        self.pull()
        self.same_as_site(self.out)

    def endless(self, name, size, *flood):
        """Of a file nobody tells the size or a digest of, size bytes are there (without taking room); then the flood
        comes."""
        self.site.facts = False
        self.site.files[name] = b""
        self.out.mkdir(exist_ok=True)
        with open(self.out / f"{name}.part", "wb") as f:
            f.truncate(size)
        (self.out / f"{name}.part.tag").write_text('\n"x"\n')
        head = f'HTTP/1.1 206 Rest\r\nETag: "x"\r\nContent-Range: bytes {size}-*/*\r\nTransfer-Encoding: chunked\r\n\r\n'
        self.site.at(name, Site.flood(head.encode(), *flood))

    def test_file_of_untold_size(self):
        self.endless("a.gguf", self.LIMIT - (1 << 20), self.MEGABYTE, 64, b"0\r\n\r\n")
        self.refused("--file", "*.gguf", says=["owner/model: a.gguf: ", "more than 4 GB", "does not tell the size"])
        self.endless("a.gguf", self.LIMIT - (1 << 20), self.MEGABYTE, 1, b"0\r\n\r\n")
        self.pull("--file", "*.gguf")
        self.assertEqual((self.out / "a.gguf").stat().st_size, self.LIMIT)

    def test_files_of_untold_size(self):
        """They count together."""
        self.endless("a.gguf", self.LIMIT - (2 << 20), self.MEGABYTE, 1, b"0\r\n\r\n")
        self.site.files["b.gguf"] = b""
        self.site.at("b.gguf", Site.flood(self.CHUNKED, self.MEGABYTE, 64, b"0\r\n\r\n"))
        self.refused("--file", "*.gguf", says=["owner/model: b.gguf: ", "more than 4 GB"],
                     kept=["a.gguf.part", "a.gguf.part.tag"])

    def test_more_than_was_told(self):
        self.site.at(WEIGHTS, Site.flood(self.CHUNKED, self.MEGABYTE, 64, b"0\r\n\r\n"))
        self.bad(1, "pull", "owner/model", "-o", self.out, says=[WEIGHTS, f"more than the {len(self.weights())} bytes"])

    def test_full_disk(self):
        """A small disk of its own, which ends with the process: some of it stays free."""
        self.out.mkdir()
        self.give_away()
        script = ["unshare", "-Urm", "sh", "-c",
                  'mount -t tmpfs -o size=32m none "$0" || exit 77; "$@"; echo $?; stat -f -c "%a %S" "$0"', self.out]
        can_mount = shutil.which("unshare") and subprocess.run([*script, "true"], capture_output=True, check=False,
                                                               **unprivileged())
        if not can_mount or can_mount.returncode:
            self.skipTest("nobody may mount here")
        self.site.facts = False
        self.site.files["a.gguf"] = b""
        self.site.at("a.gguf", Site.flood(self.CHUNKED, self.MEGABYTE, 64, b"0\r\n\r\n"))
        r = subprocess.run([*script, support.TOOL, "pull", "owner/model", "--file", "*.gguf", "-o", self.out],
                           capture_output=True,
                           env=self.environment(), timeout=30, check=True, **unprivileged())
        self.assertIn(b"a.gguf: the disk has room for ", r.stderr)
        status, blocks, size = map(int, r.stdout.split())
        self.assertEqual(status, 1, r.stderr)
        self.assertTrue(1 << 20 < blocks * size < 4 << 20, blocks * size)


class Confined(PullTest):
    """What the program that downloads has given up, on kernels that know how."""

    def setUp(self):
        super().setUp()
        if not can_confine(pathlib.Path(support.TOOL).parent / "translate-pull"):
            self.skipTest("there is no sandbox here")

    def test_from_the_first_connection_on(self):
        go_on = threading.Event()
        self.addCleanup(go_on.set)
        self.site.at(self.site.listing, lambda handler: (go_on.wait(20), self.site.serve(handler)))
        with self.started("pull", "owner/model", "-o", self.out, env=self.environment()) as p:
            wait_for(lambda: self.site.asked("hub", "/revision/main"), 20)
            child = pathlib.Path(f"/proc/{p.pid}/task/{p.pid}/children").read_text().split()[0]
            status = process_status(child)
            go_on.set()
            self.assertEqual((p.wait(20), p.stderr.read()), (0, b""))
        self.same_as_site(self.out)
        self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))

    def test_links_to_files(self):
        """Are replaced, and what they lead to is neither used nor changed."""
        outside = self.folder / "outside"
        outside.mkdir()
        self.out.mkdir()
        for name, data in model_files().items():
            (outside / name).write_bytes(data)
            (self.out / name).symlink_to(outside / name)
        (outside / "config.json").write_bytes(b"mine")
        self.pull()
        self.same_as_site(self.out)
        self.assertFalse([p for p in self.out.iterdir() if p.is_symlink()])
        self.assertEqual((outside / "config.json").read_bytes(), b"mine")
        self.assertEqual((outside / WEIGHTS).read_bytes(), self.weights())

    def test_nothing_is_asked_without_it(self):
        """With some numbers of descriptors the kernel's own calls fail: then no connection follows."""
        said, program = [], pathlib.Path(support.TOOL).resolve().parent / "translate-pull"
        for most in range(4, 16):
            r = subprocess.run([program, "--retries=0", "owner/model"], capture_output=True,
                               env=self.environment(),
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
            said.append(b"sandbox: cannot be set up: Too many open files\n" in r.stderr)
            self.assertIn(r.returncode, [1] if said[-1] else [0, 1, 127])
            self.assertEqual(self.site.log if said[-1] else [], [])
            self.site.log.clear()
        self.assertIn(True, said)

    def test_links_out_of_the_folder(self):
        outside = self.folder / "outside"
        outside.mkdir()
        self.out.mkdir()
        (self.out / "q").symlink_to(outside)
        self.site.files["q/a.gguf"] = b"8" * 3000
        self.bad(1, "pull", "owner/model", "-o", self.out, "--file", "*.gguf", says="owner/model: q/a.gguf: ")
        self.assertEqual(list(outside.iterdir()), [])


class Lost(PullTest):
    """Connections that break, and what is asked for then."""

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
        self.assertEqual([(h.get("range"), h.get("if-range")) for h in self.site.asked("hub", "/config.json")],
                         [(None, None), ("bytes=100-", self.site.tag("config.json"))])

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
            self.assertEqual([h.get("range") for h in self.site.asked("cdn", WEIGHTS)], [None])  # the redirect told
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
        """What came is kept, and continued when it can be."""
        self.leave_part()
        tag = self.out / f"{WEIGHTS}.part.tag"
        self.give_away()
        tag.chmod(0)
        self.bad(1, "pull", "owner/model", "-o", self.out, says=[f"{WEIGHTS}.part.tag", "Permission denied"],
                 **unprivileged())
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
        self.bad(1, "pull", "owner/model", "-o", self.out, says=[f"{WEIGHTS}.part", "Permission denied"], **unprivileged())
        self.assertEqual(part.stat().st_size, 5000)

    def test_wrong_range(self):
        self.leave_part()
        data = self.weights()
        self.site.at(WEIGHTS, Site.status(206, data[5:], Content_Range=f"bytes 5-{len(data) - 1}/{len(data)}", ETag='"x"'))
        self.pull()
        self.same_as_site(self.out)

    def test_stall(self):
        self.site.at(WEIGHTS, self.site.stall(WEIGHTS, 5000))
        start = time.monotonic()
        self.bad(1, "pull", "owner/model", "-o", self.out, "--timeout", "1", "--retries", "0",
                 says=[WEIGHTS, "nothing comes for 1 s"])
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

    def test_verbose_tells_of_it(self):
        self.site.at(WEIGHTS, self.site.cut(WEIGHTS, 5000))
        r = self.run_tool("pull", "owner/model", "-v")
        self.assertEqual((r.returncode, r.stdout), (0, b""))
        self.assertRegex(r.stderr.decode(), r"trying again in 0\.2 s\n")


class Interrupted(PullTest):
    def on_a_terminal(self, *args):
        """A program that a terminal of its own controls; all but its keys is still in pipes."""
        terminal = Terminal()
        self.addCleanup(terminal.close)

        def control():
            os.setsid()
            fcntl.ioctl(terminal.slave, termios.TIOCSCTTY, 0)
        return terminal, self.started(*args, env=self.environment(), stdin=terminal.slave, preexec_fn=control)

    def check_end(self, p, status):
        self.assertEqual(p.wait(20), status)  # the server would stall for longer
        self.assertRegex(p.stderr.read().decode(), r"\Atranslate: interrupted: [^\n]+\n\Z")
        self.assertEqual(p.stdout.read(), b"")

    def check(self, start, kept):
        """start: the arguments. kept: the folder in which the part stays."""
        part = kept / f"{WEIGHTS}.part"
        for interrupt, status in ((lambda p, terminal: os.write(terminal.master, b"\x03"), 130),  # Ctrl-C
                                  (lambda p, terminal: os.killpg(p.pid, signal.SIGHUP), 129),
                                  (lambda p, terminal: p.send_signal(signal.SIGTERM), 143)):  # to the command alone
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


class Cache(PullTest):
    TEXT = ["--max-length", "5", "a b c"]

    def offline(self, **more):
        return self.environment(HF_ENDPOINT="http://127.0.0.1:1", **more)

    def test_model(self):
        expected = self.good("-m", FIXTURE, *self.TEXT)
        self.assertTrue(expected.strip())
        self.assertEqual(self.good("-m", "hf:owner/model", *self.TEXT), expected)
        self.same_as_site(self.cache, [".translate-pull.json"])
        self.site.close()
        asked = len(self.site.log)
        self.assertEqual(self.good("-m", "hf:owner/model", *self.TEXT), expected)
        self.assertEqual(self.good(*self.TEXT, env=self.offline(TRANSLATE_MODEL="hf:owner/model")), expected)
        self.assertIn(b"architecture", self.good("info", "hf:owner/model", env=self.offline()))
        self.assertEqual(len(self.site.log), asked)

    def test_model_that_is_not_there(self):
        self.site.at(self.site.listing, Site.status(404))
        self.bad(1, "-m", "hf:owner/model", "a", says=["owner/model", "404"])
        self.bad(1, "info", "hf:owner", says="OWNER/NAME")
        self.assertEqual(self.names(self.folder), [])

    def test_damaged(self):
        self.good("pull", "owner/model")
        (self.cache / "source.spm").write_bytes(b"short")
        self.assertRegex(self.good("pull", "--list").decode(), r"hf:owner/model  \(incomplete\)\n\Z")
        self.site.log.clear()
        self.good("-m", "hf:owner/model", *self.TEXT)
        self.assertEqual(self.site.fetched(), ["source.spm"])
        for manifest in (b"", b"{", b'{"files": []}', b'{"files": [{"name": "../../x", "size": 1}]}'):
            (self.cache / ".translate-pull.json").write_bytes(manifest)
            self.assertIn(b"incomplete", self.good("pull", "--list"))
        self.site.log.clear()
        self.good("-m", "hf:owner/model", *self.TEXT)
        self.assertEqual(self.site.fetched(), [])  # their digests tell

    def test_gguf(self):
        out = self.folder / "model.gguf"
        self.good("convert", "hf:owner/model", out)
        self.good("pull", "--remove", "owner/model")
        self.site.files = {"sub/the model.gguf": out.read_bytes(), "README.md": b"x"}
        self.bad(1, "pull", "owner/model", says="no model")
        self.good("pull", "owner/model", "--file", "*.gguf")
        self.assertEqual(self.good("-m", "hf:owner/model", *self.TEXT), self.good("-m", out, *self.TEXT))

    def test_update(self):
        self.good("pull", "owner/model")
        self.site.files["config.json"] += b"\n"
        self.site.files["vocab.json"] += b"\n"
        del self.site.files["generation_config.json"]
        self.site.log.clear()
        self.good("-m", "hf:owner/model", *self.TEXT)
        self.assertEqual(self.site.log, [])  # what is there is used as it is
        self.site.at("vocab.json", Site.status(500))
        self.bad(1, "pull", "owner/model", "--retries", "0")
        self.good("-m", "hf:owner/model", *self.TEXT, env=self.offline())  # an update that fails leaves the old model
        self.site.log.clear()
        self.good("pull", "owner/model")
        self.assertEqual(self.site.fetched(), ["vocab.json"])  # config.json had come before
        self.same_as_site(self.cache, [".translate-pull.json"])

    def test_list_and_remove(self):
        self.assertEqual(self.good("pull", "--list"), b"")
        self.good("pull", "owner/model")
        self.site.files[WEIGHTS] += b"x"
        self.site.revision = "v1.0"
        self.site.at(WEIGHTS, self.site.cut(WEIGHTS, 5000))
        self.bad(1, "pull", "owner/model@v1.0", "--retries", "0")
        rows = self.good("pull", "--list").decode().splitlines()
        size = sum(p.stat().st_size for p in self.cache.iterdir()) / 1e6
        self.assertEqual(rows[0], f"{size:10.1f} MB  hf:owner/model")
        self.assertRegex(rows[1], r"\A +\d\.\d MB  hf:owner/model@v1\.0  \(incomplete\)\Z")
        self.assertEqual(len(rows), 2)
        self.assertEqual(self.good("pull", "--remove", "owner/model@v1.0"), b"")
        self.assertEqual(self.good("pull", "--list").decode().splitlines(), rows[:1])
        self.bad(1, "pull", "--remove", "owner/other", says=["owner/other", "--list"])
        self.good("pull", "--remove", "hf:owner/model")
        self.assertEqual(list((self.folder / "cache/hub").iterdir()), [])

    def test_place(self):
        for env, place in (({"TRANSLATE_CACHE": None, "XDG_CACHE_HOME": str(self.folder / "x")}, "x/translate"),
                           ({"TRANSLATE_CACHE": None, "XDG_CACHE_HOME": "relative"}, ".cache/translate"),
                           ({"TRANSLATE_CACHE": None}, ".cache/translate")):
            self.good("pull", "owner/model", env=self.environment(**env))
            self.assertTrue((self.folder / place / "hub/owner/model/main" / WEIGHTS).exists(), env)
        self.bad(1, "pull", "--list", env=self.environment(TRANSLATE_CACHE=None, HOME=None), says="TRANSLATE_CACHE")

    def test_two_at_once(self):
        go_on = threading.Event()
        self.addCleanup(go_on.set)

        def slowly(handler):
            go_on.wait(20)
            self.site.serve(handler)
        self.site.at(WEIGHTS, slowly)
        with self.started("pull", "owner/model", env=self.environment()) as first:
            wait_for(lambda: self.site.asked("cdn", WEIGHTS), 20)
            with self.started("-v", "-m", "hf:owner/model", *self.TEXT, env=self.environment()) as second:
                self.assertRegex(second.stderr.readline(), b"owner/model: another process is downloading it; waiting")
                self.assertEqual(len(self.site.asked("hub", "/revision/main")), 1)
                removed = self.run_tool("pull", "--remove", "owner/model")
                go_on.set()
                self.assertEqual((first.wait(20), second.wait(20)), (0, 0), second.stderr.read())
                self.assertEqual(first.stderr.read(), b"")
                self.assertTrue(second.stdout.read().strip())
        self.assertEqual((removed.returncode, b"another process" in removed.stderr), (1, True))
        self.same_as_site(self.cache, [".translate-pull.json"])
        self.assertEqual(len(self.site.asked("cdn", WEIGHTS)), 1)

    def test_many_at_once(self):
        chance = random.Random(1)

        def breaks(handler):
            self.site.cut(WEIGHTS, chance.randrange(1, len(self.weights())))(handler)
        self.site.at(WEIGHTS, *[breaks] * 3)
        runs = [subprocess.Popen([support.TOOL, "pull", "owner/model"], env=self.environment(), stderr=subprocess.PIPE)
                for _ in range(4)]
        for run in runs:
            _, stderr = run.communicate(timeout=30)
            self.assertEqual((run.returncode, stderr), (0, b""))
        self.same_as_site(self.cache, [".translate-pull.json"])


class Remove(PullTest):
    """Only what the cache's own lists name is removed, and nothing behind a link. Without rights to remove anything else."""

    OWN = [".translate-pull.json"]

    def setUp(self):
        super().setUp()
        self.hub = self.folder / "cache/hub"
        self.precious = self.folder / "precious"
        self.precious.mkdir()
        (self.precious / "x").write_bytes(b"x")
        self.give_away()
        self.good("pull", "owner/model")
        (self.folder / "list.json").write_bytes((self.cache / ".translate-pull.json").read_bytes())
        self.give_away()

    def run_tool(self, *args, **more):
        return super().run_tool(*args, **unprivileged(), **more)

    def tree(self):
        return sorted(str(p.relative_to(self.folder)) for p in self.folder.rglob("*"))

    def removed(self, *args, left=(), says=()):
        """What is in the cache afterwards; says: of the warning about what was left."""
        r = self.run_tool("pull", "--remove", *args)
        self.assertEqual((r.returncode, r.stdout), (0, b""), r.stderr)
        self.assertEqual(bool(says), bool(r.stderr), r.stderr)
        for text in says:
            self.assertIn(text, r.stderr.decode())
        self.assertEqual(self.names(self.hub), sorted(left))
        self.assertEqual((self.precious / "x").read_bytes(), b"x")

    def refused(self, *args, says):
        before = self.tree()
        self.bad(1, *args, says=says)
        self.assertEqual(self.tree(), before)
        self.assertEqual((self.precious / "x").read_bytes(), b"x")

    def test_links_in_place_of_folders(self):
        """At each level below the cache; nothing is removed or downloaded, and no such model is shown."""
        shutil.copy(self.folder / "list.json", self.precious / ".translate-pull.json")
        (self.precious / "config.json").write_bytes(b"{}")
        for level in (self.cache, self.cache.parent, self.cache.parent.parent):
            inner = self.precious / self.cache.relative_to(level)
            kept = level.with_name("kept")
            level.rename(kept)
            level.symlink_to(self.precious)
            if inner != self.precious:
                inner.mkdir(parents=True)
                shutil.copy(self.folder / "list.json", inner / ".translate-pull.json")
                (inner / "config.json").write_bytes(b"{}")
            self.give_away()
            for name in ("owner/model", "owner/model@main"):
                self.refused("pull", "--remove", name, says=[str(level), "is a symbolic link"])
            self.refused("pull", "owner/model", says=[str(level), "is a symbolic link"])
            self.refused("-m", "hf:owner/model", "a", says=[str(level), "is a symbolic link"])
            self.assertNotIn("owner/model\n", self.good("pull", "--list").decode())
            level.unlink()
            kept.rename(level)
        self.removed("owner/model")
        self.assertEqual(list(self.hub.iterdir()), [])

    def test_one_link_among_revisions(self):
        """Then nothing at all is removed; one revision can be."""
        (self.cache.parent / "v1").symlink_to(self.precious)
        self.refused("pull", "--remove", "owner/model", says="v1: is a symbolic link")
        self.refused("pull", "--remove", "owner/model@v1", says="v1: is a symbolic link")
        self.assertEqual(self.good("pull", "--list").decode().count("\n"), 1)
        self.removed("owner/model@main")

    def test_the_cache_itself_may_be_a_link(self):
        self.hub.rename(self.folder / "elsewhere")
        self.hub.symlink_to(self.folder / "elsewhere")
        self.assertIn(b"owner/model\n", self.good("pull", "--list"))
        self.removed("owner/model")
        self.assertEqual(list((self.folder / "elsewhere").iterdir()), [])
        self.good("pull", "owner/model")
        self.assertTrue((self.folder / "elsewhere/owner/model/main" / WEIGHTS).exists())

    def test_links_in_the_folder(self):
        """A listed file may have become a link: the link goes. A folder that has become one is not followed."""
        listed = json.loads((self.cache / ".translate-pull.json").read_bytes())
        listed["files"] += [{"name": f"sub/{name}", "size": 1} for name in ("x", "config.json")]
        (self.cache / ".translate-pull.json").write_text(json.dumps(listed))
        (self.cache / "config.json").unlink()
        (self.cache / "config.json").symlink_to(self.precious / "x")
        (self.cache / "sub").symlink_to(self.precious)
        (self.cache / "vocab.json").unlink()
        os.link(self.precious / "x", self.cache / "vocab.json")
        self.removed("owner/model", says=["1 file that translate did not download was left in", str(self.cache)])
        self.assertEqual([p.name for p in self.cache.iterdir()], ["sub"])
        self.assertTrue((self.cache / "sub").is_symlink())

    def test_links_to_files(self):
        """A model is whole if its files are in the cache, not elsewhere."""
        whole = " hf:owner/model\n"
        for name in (WEIGHTS, ".translate-pull.json"):
            self.assertIn(whole, self.good("pull", "--list").decode())
            (self.cache / name).rename(self.precious / name)
            (self.cache / name).symlink_to(self.precious / name)
            self.assertIn("incomplete", self.good("pull", "--list").decode())
            self.bad(1, "-m", "hf:owner/model", "a", env=self.environment(HF_ENDPOINT="http://127.0.0.1:1"),
                     says="owner/model")
            self.good("pull", "owner/model")
            self.assertFalse((self.cache / name).is_symlink())
            self.assertTrue((self.precious / name).exists())

    def test_names_that_lead_out(self):
        """A list that was tampered with is none."""
        for name in ("../../../../precious/x", str(self.precious / "x"), "sub/../../../../../precious/x", "a//x",
                     ".translate-pull.lock"):
            (self.cache / ".translate-pull.json").write_text(json.dumps({"files": [{"name": name, "size": 1}]}))
            r = self.run_tool("pull", "--remove", "owner/model")
            self.assertIn(b"translate did not download", r.stderr)
            self.assertEqual((self.precious / "x").read_bytes(), b"x")
            self.assertTrue((self.cache / "config.json").exists())

    def test_what_is_not_listed_stays(self):
        (self.cache / "notes.txt").write_bytes(b"mine")
        (self.cache / "more/deep").mkdir(parents=True)
        (self.cache / "more/deep/file").write_bytes(b"mine")
        (self.cache / "more/empty").mkdir()
        (self.cache.parent / "v2").mkdir()
        (self.cache.parent / "v2/file").write_bytes(b"mine")
        (self.cache.parent / "loose").write_bytes(b"mine")
        left = ["owner/model/loose", "owner/model/main/more/deep/file", "owner/model/main/notes.txt", "owner/model/v2/file"]
        self.give_away()
        self.removed("owner/model", left=left, says=["4 files that translate did not download were left in"])
        self.assertTrue((self.cache / "more/empty").is_dir())
        self.refused("pull", "--remove", "owner/model", says=["nothing was removed"])

    def test_folders_of_a_repository(self):
        self.site.files["sub/deeper/a.gguf"] = b"GGUF" * 100
        self.good("pull", "owner/model", "--file", "*.gguf")
        self.assertTrue((self.cache / "sub/deeper/a.gguf").exists())
        self.removed("owner/model")
        self.assertEqual(list(self.hub.iterdir()), [])
        (self.cache / "sub").mkdir(parents=True)
        (self.cache / "sub/deeper").symlink_to(self.precious)
        self.give_away()
        self.refused("pull", "owner/model", "--file", "*.gguf", says=["sub/deeper: is a symbolic link"])

    def test_what_was_begun(self):
        """A download that did not come to its end is removed whole; what it was to replace works until then."""
        self.site.files["new.spm"] = b"n" * 3000
        self.site.files["tokenizer_config.json"] += b"\n"
        self.site.at("tokenizer_config.json", self.site.status(500))
        expected = self.good("-m", FIXTURE, *Cache.TEXT)
        self.bad(1, "pull", "owner/model", "--retries", "0", says="tokenizer_config.json")
        self.assertIn(".translate-pull.begun.json", self.names(self.cache))
        self.assertIn("new.spm.part", self.names(self.cache))
        self.assertEqual(self.good("-m", "hf:owner/model", *Cache.TEXT,
                                   env=self.environment(HF_ENDPOINT="http://127.0.0.1:1")), expected)
        self.removed("owner/model")
        self.assertEqual(list(self.hub.iterdir()), [])
        self.site.at(WEIGHTS, self.site.cut(WEIGHTS, 5000))
        self.bad(1, "pull", "owner/model", "--retries", "0", says=WEIGHTS)
        self.assertIn(f"{WEIGHTS}.part", self.names(self.cache))
        self.removed("owner/model")
        self.assertEqual(list(self.hub.iterdir()), [])

    def test_failures_after_what_was_begun(self):
        """A later call that fails earlier does not forget what there is."""
        self.removed("owner/model")
        for ends in ("with a part", "while files get their names", "before the first byte"):
            self.site.at("vocab.json", self.site.cut("vocab.json", 100))
            self.bad(1, "pull", "owner/model", "--retries", "0", says="vocab.json")
            part = self.cache / "vocab.json.part"
            if ends == "while files get their names":  # as if it had been killed there
                for path in list(self.cache.glob("*.part*")):
                    path.rename(path.with_suffix("")) if path.suffix == ".part" and path != part else path.unlink()
                self.assertTrue((self.cache / "config.json").exists())
            elif ends == "before the first byte":
                for path in self.cache.glob("*.part*"):
                    path.write_bytes(b"") if path == part else path.unlink()
            before = self.names(self.cache)
            self.assertIn(".translate-pull.begun.json", before)
            self.bad(1, "pull", "owner/model", "--retries", "0", says="127.0.0.1:1",
                     env=self.environment(HF_ENDPOINT="http://127.0.0.1:1"))
            self.site.at(self.site.listing, self.site.status(404))
            self.bad(1, "pull", "owner/model", says="404")
            self.assertEqual(self.names(self.cache), before, ends)
            self.removed("owner/model")
            self.assertEqual(list(self.hub.iterdir()), [], ends)

    def test_what_another_pull_began(self):
        """Stays known while this one is made, and after it."""
        self.site.files.update({"a.gguf": b"a" * 9000, "b.gguf": b"b" * 3000})
        self.site.at("a.gguf", self.site.cut("a.gguf", 5000))
        self.bad(1, "pull", "owner/model", "--file", "a.gguf", "--retries", "0", says="a.gguf")
        self.good("pull", "owner/model", "--file", "b.gguf")
        self.assertEqual([n for n in self.names(self.cache) if "a.gguf" in n or "begun" in n],
                         [".translate-pull.begun.json", "a.gguf.part", "a.gguf.part.tag"])
        self.site.log.clear()
        self.good("pull", "owner/model", "--file", "a.gguf")
        self.assertEqual(self.names(self.cache), [*self.OWN, "a.gguf", "b.gguf"])
        self.removed("owner/model")
        self.assertEqual(list(self.hub.iterdir()), [])

    def test_lists_that_cannot_be_read(self):
        """Are not taken for lists that are not there."""
        (self.cache / ".translate-pull.json").chmod(0)
        for args in (("--remove", "owner/model"), ("--list",), ("owner/model",)):
            self.refused("pull", *args, says=[".translate-pull.json", "Permission denied"])
        self.bad(1, "-m", "hf:owner/model", "a", says=[".translate-pull.json", "Permission denied"])


@unittest.skipUnless(shutil.which("openssl"), "there is no openssl to make a certificate")
class Secure(PullTest):
    def setUp(self):
        super().setUp()
        self.certificate, key = self.folder / "certificate.pem", self.folder / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days",
                        "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out",
                        self.certificate], check=True, capture_output=True)
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
        self.refused(says=[WEIGHTS, "redirects", "refused"],
                     env=self.environment(HF_ENDPOINT=self.url, SSL_CERT_FILE=str(self.certificate)))
        self.assertEqual(self.site.asked("cdn"), [])


class Proxy(PullTest):
    def test_proxy(self):
        """A proxy is asked for whole addresses; the endpoint's own name is never looked up."""
        endpoint = "http://hub.invalid:8080"
        site = self.site
        serve = site.serve

        def through_proxy(handler):
            self.assertTrue(handler.path.startswith(endpoint) or handler.server is site.cdn, handler.path)
            handler.path = handler.path[len(endpoint):] if handler.path.startswith(endpoint) else handler.path
            serve(handler)
        site.serve = through_proxy
        self.pull(env=self.environment(HF_ENDPOINT=endpoint + "/", http_proxy=site.url, no_proxy="127.0.0.1"))
        self.same_as_site(self.out)


if __name__ == "__main__":
    support.TOOL, FIXTURE = sys.argv[1], pathlib.Path(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
