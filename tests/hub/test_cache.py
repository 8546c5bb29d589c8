"""The cache: -m hf:OWNER/NAME, manifests, --list."""
import random
import subprocess
import threading

import pull
import support
from pull import TEXT, WEIGHTS, PullTest
from server import Site
from support import wait_for


class Cache(PullTest):
    def offline(self, **more):
        return self.environment(HF_ENDPOINT="http://127.0.0.1:1", **more)

    def test_model(self):
        expected = self.good("-m", pull.FIXTURE, *TEXT)
        self.assertTrue(expected.strip())
        self.assertEqual(self.good("-m", "hf:owner/model", *TEXT), expected)
        self.same_as_site(self.cache, [".translate-pull.json"])
        self.site.close()
        asked = len(self.site.log)
        self.assertEqual(self.good("-m", "hf:owner/model", *TEXT), expected)
        self.assertEqual(self.good(*TEXT, env=self.offline(TRANSLATE_MODEL="hf:owner/model")), expected)
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
        self.good("-m", "hf:owner/model", *TEXT)
        self.assertEqual(self.site.fetched(), ["source.spm"])
        for manifest in (b"", b"{", b'{"files": []}', b'{"files": [{"name": "../../x", "size": 1}]}'):
            (self.cache / ".translate-pull.json").write_bytes(manifest)
            self.assertIn(b"incomplete", self.good("pull", "--list"))
        self.site.log.clear()
        self.good("-m", "hf:owner/model", *TEXT)
        self.assertEqual(self.site.fetched(), [])  # complete by their digests

    def test_gguf(self):
        out = self.folder / "model.gguf"
        self.good("convert", "hf:owner/model", out)
        self.good("pull", "--remove", "owner/model")
        self.site.files = {"sub/the model.gguf": out.read_bytes(), "README.md": b"x"}
        self.bad(1, "pull", "owner/model", says="no model")
        self.good("pull", "owner/model", "--file", "*.gguf")
        self.assertEqual(self.good("-m", "hf:owner/model", *TEXT), self.good("-m", out, *TEXT))

    def test_update(self):
        self.good("pull", "owner/model")
        self.site.files["config.json"] += b"\n"
        self.site.files["vocab.json"] += b"\n"
        del self.site.files["generation_config.json"]
        self.site.log.clear()
        self.good("-m", "hf:owner/model", *TEXT)
        self.assertEqual(self.site.log, [])  # the complete model is used as it is
        self.site.at("vocab.json", Site.status(500))
        self.bad(1, "pull", "owner/model", "--retries", "0")
        self.good("-m", "hf:owner/model", *TEXT, env=self.offline())  # an update that fails keeps the old model
        self.site.log.clear()
        self.good("pull", "owner/model")
        self.assertEqual(self.site.fetched(), ["vocab.json"])  # config.json was downloaded before the failure
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
            with self.started("-v", "-m", "hf:owner/model", *TEXT, env=self.environment()) as second:
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
