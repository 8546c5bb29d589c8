"""Shared by the tests of downloads: the server's files, and running the tool against it."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from server import Site  # noqa: E402
from support import CommandTest  # noqa: E402

FIXTURE = pathlib.Path()
NOT_NEEDED = {
    ".gitattributes": b"*.bin lfs\n",
    "README.md": b"# A model\n" * 200,
    "tf_model.h5": b"h" * 5000,
    "pytorch_model.bin": b"p" * 5000,
    "onnx/model.onnx": b"o" * 5000,
    "onnx/config.json": b"{}",
}
WEIGHTS = "model.safetensors"
TEXT = ["--max-length", "5", "a b c"]  # arguments of translate


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
        env = {
            k: v
            for k, v in os.environ.items()
            if not k.startswith(("TRANSLATE_", "HF_", "XDG_", "SSL_", "CURL_")) and "proxy" not in k.lower()
        }
        env.update(
            HOME=str(self.folder),
            TRANSLATE_CACHE=str(self.folder / "cache"),
            HF_ENDPOINT=self.site.url,
            TERM="xterm",
            LC_ALL="C.UTF-8",
        )
        return {k: v for k, v in {**env, **more}.items() if v is not None}

    def run_tool(self, *args, env=None, **more):
        return super().run_tool(*args, env=env or self.environment(), timeout=30, **more)

    def pull(self, *options, **more):
        """Pulls to self.out; prints nothing in a pipe."""
        self.assertEqual(self.good("pull", "owner/model", "-o", self.out, *options, **more), b"")

    def refused(self, *options, says, status=1, kept=(), **more):
        """A pull to self.out that fails; afterwards the folder has the files of kept, and no others."""
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

    def weights(self):
        return self.site.files[WEIGHTS]

    def give_away(self):
        """Gives the files to the user as whom a test without rights runs."""
        if os.geteuid() == 0:
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, 65534, 65534, follow_symlinks=False)
