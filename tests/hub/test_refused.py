"""Downloads that must fail: refusals of the server, wrong answers, endless answers; and the restrictions of the process."""

import hashlib
import pathlib
import resource
import shutil
import subprocess
import threading

import support
from pull import WEIGHTS, PullTest, model_files
from server import Site
from support import can_confine, process_status, unprivileged, wait_for


class Refusals(PullTest):
    def test_status_of_the_list(self):
        status = Site.status
        for answer, env, says in (
            (status(401, b"Invalid username or password."), {}, ["owner/model: ", "401", "check the name", "HF_TOKEN"]),
            (status(401), {"HF_TOKEN": "x"}, ["401", "your token"]),
            (status(403), {}, ["403", "gated", f"{self.site.url}/owner/model", "HF_TOKEN"]),
            (status(404, X_Error_Code="RepoNotFound"), {}, ["404", "check the name"]),
            (status(404, X_Error_Code="RevisionNotFound"), {}, ["404", "revision 'main'"]),
            (status(400), {}, ["400"]),
            (status(204), {}, ["204"]),
        ):
            self.site.at(self.site.listing, answer)
            self.refused(says=says, env=self.environment(**env))
        self.assertFalse(self.out.exists())

    def test_unused_new_folders_are_removed(self):
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
        for body, says in (
            (b"<html>", "JSON"),
            (b"", "empty"),
            (b"[]", "object"),
            (b"{}", "list of files"),
            (b'{"siblings": [{}]}', "without a name"),
            (b'{"siblings": [[]]}', "without a name"),
            (b'{"siblings": []}', "no model"),
            (b"[" * 100000, "JSON"),
        ):
            self.site.at(self.site.listing, Site.status(200, body))
            self.refused(says=["owner/model: ", says])

    def test_names_that_leave_the_folder(self):
        for name in (
            "../evil.spm",
            "/tmp/evil.spm",
            "a/../../evil.spm",
            "..",
            "a\\..\\evil.spm",
            "evil\n.spm",
            "a//b.spm",
            "",
            "./evil.spm",
            "evil.spm/",
            "x" * 300 + ".spm",
            "model.safetensors.part",
            ".translate-pull.json",
            "evil\x7f.spm",
        ):
            self.site.listed = lambda answer, name=name: {
                **answer,
                "siblings": answer["siblings"] + [{"rfilename": name}],
            }
            self.refused(says=["owner/model: ", "refused"])
        self.assertEqual(self.names(self.folder), [])

    def test_redirects(self):
        path = f"hub/owner/model/resolve/main/{WEIGHTS}"
        for to, says in ((path[3:], "circles"), ("file:///etc/passwd", "refused"), ("ftp://127.0.0.1/x", "refused")):
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
        self.site.listed = lambda answer: {
            **answer,
            "siblings": answer["siblings"] + [{"rfilename": f"{i}.spm"} for i in range(2000)],
        }
        self.bad(1, "pull", "owner/model", says="1000 files")

    def test_no_room_on_the_disk(self):
        def huge(answer):
            for sibling in answer["siblings"]:
                sibling["lfs" if "lfs" in sibling else "size"] = (
                    {"sha256": "0" * 64, "size": 1 << 60} if "lfs" in sibling else 1
                )
            return answer

        self.site.listed = huge
        self.refused(says=["owner/model: ", "room", "needs"])
        self.site.listed, self.site.facts = None, False
        self.site.at(
            f"hub/owner/model/resolve/main/{WEIGHTS}", lambda h: self.site.redirect(h, WEIGHTS, X_Linked_Size=1 << 60)
        )
        self.bad(1, "pull", "owner/model", says=[WEIGHTS, "room"])
        self.assertEqual(self.names(self.folder), [])

    def test_no_server(self):
        port = self.site.hub.server_port
        self.site.close()
        self.refused("--retries", "1", says=[f"127.0.0.1:{port}", "2 tries"])


class Lies(PullTest):
    def check(self, says, name=WEIGHTS):
        """The file is refused, nothing of it is kept, and no other file gets its name."""
        message = self.bad(1, "pull", "owner/model", "-o", self.out, says=[f"owner/model: {name}: ", says])
        self.assertFalse(
            [n for n in self.names(self.out) if n.startswith(name) or not n.endswith((".part", ".tag"))], message
        )

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
            self.site.at(
                "config.json", lambda h: self.site.send(h, "config.json", self.site.tag("config.json"), data[::-1])
            )
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
    """Servers that send without end (here: far more than the limit). Without root's rights, so that limits apply."""

    CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    MEGABYTE = b"100000\r\n" + bytes(1 << 20) + b"\r\n"
    LIMIT = 4 << 30  # limit in bytes for files of unknown size

    def run_tool(self, *args, **more):
        self.give_away()
        return super().run_tool(*args, **unprivileged(), **more)

    def refused_once(self, says, *flood):
        """An endless listing; it is not tried again."""
        self.site.log.clear()
        self.site.at(self.site.listing, Site.flood(*flood))
        self.refused(says=["owner/model: ", says])
        self.assertEqual(len(self.site.log), 1)

    def test_headers(self):
        empty, line, end = b"HTTP/1.1 200 OK\r\n", b"X-i: " + b"y" * 1000 + b"\r\n", b"Content-Length: 2\r\n\r\n{}"
        trailers = self.CHUNKED + b"2\r\n{}\r\n0\r\n"
        for flood in (
            (trailers, line, 1000, b"\r\n"),
            (empty, line, 1000, end),
            (b"", b"HTTP/1.1 100 Go on\r\n\r\n", 40000, empty + end),
            (b"HTTP/1.1 302 Found\r\nLocation: /\r\n", line, 1000, b"Content-Length: 0\r\n\r\n"),
        ):
            self.refused_once("the server sends more than 256 kB of headers", *flood)
        for start in (b"HTTP/1.1 ", empty + b"X: ", trailers + b"X: "):
            self.refused_once("header line that is too long", start, b"y" * 1000, 1000, b"\r\n\r\n")

    def test_many_headers(self):
        """Far more than usual is still accepted."""
        many = {f"X-{i}": "y" * 1000 for i in range(100)}
        self.site.at(
            "config.json",
            lambda h: h.answer(200, self.site.files["config.json"], ETag=self.site.tag("config.json"), **many),
        )
        self.pull()
        self.same_as_site(self.out)

    def endless(self, name, size, *flood):
        """A file of unknown size and digest, with size bytes (sparse) received already; then the server sends without
        end."""
        self.site.facts = False
        self.site.files[name] = b""
        self.out.mkdir(exist_ok=True)
        with open(self.out / f"{name}.part", "wb") as f:
            f.truncate(size)
        (self.out / f"{name}.part.tag").write_text('\n"x"\n')
        head = (
            f'HTTP/1.1 206 Rest\r\nETag: "x"\r\nContent-Range: bytes {size}-*/*\r\nTransfer-Encoding: chunked\r\n\r\n'
        )
        self.site.at(name, Site.flood(head.encode(), *flood))

    def test_file_of_unknown_size(self):
        self.endless("a.gguf", self.LIMIT - (1 << 20), self.MEGABYTE, 64, b"0\r\n\r\n")
        self.refused("--file", "*.gguf", says=["owner/model: a.gguf: ", "more than 4 GB", "without telling the size"])
        self.endless("a.gguf", self.LIMIT - (1 << 20), self.MEGABYTE, 1, b"0\r\n\r\n")
        self.pull("--file", "*.gguf")
        self.assertEqual((self.out / "a.gguf").stat().st_size, self.LIMIT)

    def test_files_of_unknown_size(self):
        """The limit is for all such files together."""
        self.endless("a.gguf", self.LIMIT - (2 << 20), self.MEGABYTE, 1, b"0\r\n\r\n")
        self.site.files["b.gguf"] = b""
        self.site.at("b.gguf", Site.flood(self.CHUNKED, self.MEGABYTE, 64, b"0\r\n\r\n"))
        self.refused(
            "--file",
            "*.gguf",
            says=["owner/model: b.gguf: ", "more than 4 GB"],
            kept=["a.gguf.part", "a.gguf.part.tag"],
        )

    def test_more_bytes_than_announced(self):
        self.site.at(WEIGHTS, Site.flood(self.CHUNKED, self.MEGABYTE, 64, b"0\r\n\r\n"))
        self.bad(1, "pull", "owner/model", "-o", self.out, says=[WEIGHTS, f"more than the {len(self.weights())} bytes"])

    def test_full_disk(self):
        """A small disk, which is unmounted when the process ends: some of it stays free."""
        self.out.mkdir()
        self.give_away()
        script = [
            "unshare",
            "-Urm",
            "sh",
            "-c",
            'mount -t tmpfs -o size=32m none "$0" || exit 77; "$@"; echo $?; stat -f -c "%a %S" "$0"',
            self.out,
        ]
        can_mount = shutil.which("unshare") and subprocess.run(
            [*script, "true"], capture_output=True, check=False, **unprivileged()
        )
        if not can_mount or can_mount.returncode:
            self.skipTest("mounting is not permitted")
        self.site.facts = False
        self.site.files["a.gguf"] = b""
        self.site.at("a.gguf", Site.flood(self.CHUNKED, self.MEGABYTE, 64, b"0\r\n\r\n"))
        r = subprocess.run(
            [*script, support.TOOL, "pull", "owner/model", "--file", "*.gguf", "-o", self.out],
            capture_output=True,
            env=self.environment(),
            timeout=30,
            check=True,
            **unprivileged(),
        )
        self.assertIn(b"a.gguf: the disk has room for ", r.stderr)
        status, blocks, size = map(int, r.stdout.split())
        self.assertEqual(status, 1, r.stderr)
        self.assertTrue(1 << 20 < blocks * size < 4 << 20, blocks * size)


class Confined(PullTest):
    """The rights that the downloading program has given up, on kernels that support it."""

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
        """Links are replaced, and their targets are neither used nor changed."""
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
        """With few descriptors the kernel's own calls fail: then no connection is made."""
        said, program = [], pathlib.Path(support.TOOL).resolve().parent / "translate-pull"
        for most in range(4, 16):
            r = subprocess.run(
                [program, "--retries=0", "owner/model"],
                capture_output=True,
                env=self.environment(),
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)),
            )
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
