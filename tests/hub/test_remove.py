"""pull --remove."""

import json
import os
import shutil

import pull
from pull import TEXT, WEIGHTS, PullTest
from support import unprivileged


class Remove(PullTest):
    """Only files in the cache's own lists are removed, and nothing through a link. Runs without the right to remove anything
    else."""

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
        """Removes; checks what is in the cache afterwards. says: the warning about what was left."""
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
        """A link at any level below the cache: nothing is removed or downloaded, and no such model is listed."""
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
        """Then nothing at all is removed; a single revision can be."""
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
        """A listed file that has become a link: the link is removed. A folder that has become one is not followed."""
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
        """A model is complete if its files are in the cache, not elsewhere."""
        whole = " hf:owner/model\n"
        for name in (WEIGHTS, ".translate-pull.json"):
            self.assertIn(whole, self.good("pull", "--list").decode())
            (self.cache / name).rename(self.precious / name)
            (self.cache / name).symlink_to(self.precious / name)
            self.assertIn("incomplete", self.good("pull", "--list").decode())
            self.bad(
                1,
                "-m",
                "hf:owner/model",
                "a",
                env=self.environment(HF_ENDPOINT="http://127.0.0.1:1"),
                says="owner/model",
            )
            self.good("pull", "owner/model")
            self.assertFalse((self.cache / name).is_symlink())
            self.assertTrue((self.precious / name).exists())

    def test_names_that_lead_out(self):
        """A list that another program has changed is not used."""
        for name in (
            "../../../../precious/x",
            str(self.precious / "x"),
            "sub/../../../../../precious/x",
            "a//x",
            ".translate-pull.lock",
        ):
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
        left = [
            "owner/model/loose",
            "owner/model/main/more/deep/file",
            "owner/model/main/notes.txt",
            "owner/model/v2/file",
        ]
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

    def test_unfinished_download(self):
        """An unfinished download is removed completely; the model that it was to replace works until then."""
        self.site.files["new.spm"] = b"n" * 3000
        self.site.files["tokenizer_config.json"] += b"\n"
        self.site.at("tokenizer_config.json", self.site.status(500))
        expected = self.good("-m", pull.FIXTURE, *TEXT)
        self.bad(1, "pull", "owner/model", "--retries", "0", says="tokenizer_config.json")
        self.assertIn(".translate-pull.begun.json", self.names(self.cache))
        self.assertIn("new.spm.part", self.names(self.cache))
        self.assertEqual(
            self.good("-m", "hf:owner/model", *TEXT, env=self.environment(HF_ENDPOINT="http://127.0.0.1:1")), expected
        )
        self.removed("owner/model")
        self.assertEqual(list(self.hub.iterdir()), [])
        self.site.at(WEIGHTS, self.site.cut(WEIGHTS, 5000))
        self.bad(1, "pull", "owner/model", "--retries", "0", says=WEIGHTS)
        self.assertIn(f"{WEIGHTS}.part", self.names(self.cache))
        self.removed("owner/model")
        self.assertEqual(list(self.hub.iterdir()), [])

    def test_failures_after_an_unfinished_download(self):
        """A later call that fails earlier keeps the list of files."""
        self.removed("owner/model")
        for ends in ("with a part", "while files get their names", "before the first byte"):
            self.site.at("vocab.json", self.site.cut("vocab.json", 100))
            self.bad(1, "pull", "owner/model", "--retries", "0", says="vocab.json")
            part = self.cache / "vocab.json.part"
            if ends == "while files get their names":  # as if the program had been killed there
                for path in list(self.cache.glob("*.part*")):
                    path.rename(path.with_suffix("")) if path.suffix == ".part" and path != part else path.unlink()
                self.assertTrue((self.cache / "config.json").exists())
            elif ends == "before the first byte":
                for path in self.cache.glob("*.part*"):
                    path.write_bytes(b"") if path == part else path.unlink()
            before = self.names(self.cache)
            self.assertIn(".translate-pull.begun.json", before)
            self.bad(
                1,
                "pull",
                "owner/model",
                "--retries",
                "0",
                says="127.0.0.1:1",
                env=self.environment(HF_ENDPOINT="http://127.0.0.1:1"),
            )
            self.site.at(self.site.listing, self.site.status(404))
            self.bad(1, "pull", "owner/model", says="404")
            self.assertEqual(self.names(self.cache), before, ends)
            self.removed("owner/model")
            self.assertEqual(list(self.hub.iterdir()), [], ends)

    def test_unfinished_download_of_another_pull(self):
        """The old list stays while a new one is written, and afterwards."""
        self.site.files.update({"a.gguf": b"a" * 9000, "b.gguf": b"b" * 3000})
        self.site.at("a.gguf", self.site.cut("a.gguf", 5000))
        self.bad(1, "pull", "owner/model", "--file", "a.gguf", "--retries", "0", says="a.gguf")
        self.good("pull", "owner/model", "--file", "b.gguf")
        self.assertEqual(
            [n for n in self.names(self.cache) if "a.gguf" in n or "begun" in n],
            [".translate-pull.begun.json", "a.gguf.part", "a.gguf.part.tag"],
        )
        self.site.log.clear()
        self.good("pull", "owner/model", "--file", "a.gguf")
        self.assertEqual(self.names(self.cache), [*self.OWN, "a.gguf", "b.gguf"])
        self.removed("owner/model")
        self.assertEqual(list(self.hub.iterdir()), [])

    def test_lists_that_cannot_be_read(self):
        """A list that cannot be read is an error, not a missing list."""
        (self.cache / ".translate-pull.json").chmod(0)
        for args in (("--remove", "owner/model"), ("--list",), ("owner/model",)):
            self.refused("pull", *args, says=[".translate-pull.json", "Permission denied"])
        self.bad(1, "-m", "hf:owner/model", "a", says=[".translate-pull.json", "Permission denied"])
