#!/usr/bin/env python3
"""The command of a minimal build (meson -Dimport=disabled): test_minimal.py TRANSLATE ROOT."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TOOL, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
MODEL = ROOT / "models/zh-en.gguf"
SENTENCE, ENGLISH = "今天天气很好", "The weather is nice today."
# SentencePiece, what it may need itself, and what every C++ program has.
LIBRARIES = re.compile(r"(linux-vdso|libsentencepiece|libprotobuf-lite|libabsl_\w+|libstdc\+\+|libgcc_s|libgomp|libomp|libm|"
                       r"libc|ld-linux-[\w-]+|libpthread|libasan|libubsan)\.so")


def run(*arguments, text=None):
    done = subprocess.run([TOOL, *map(str, arguments)], input=text, capture_output=True, encoding="utf-8",
                          env={**os.environ, "TRANSLATE_MODEL": str(MODEL), "LC_ALL": "C.UTF-8"})
    return done.returncode, done.stdout, done.stderr


class Minimal(unittest.TestCase):
    def good(self, *arguments, text=None):
        status, out, errors = run(*arguments, text=text)
        self.assertEqual((status, errors), (0, ""), arguments)
        return out

    def bad(self, says, *arguments):
        status, out, errors = run(*arguments)
        self.assertIn(status, (1, 2), arguments)
        self.assertEqual((out, errors.count("\n")), ("", 1), arguments)
        self.assertIn(says, errors)

    def test_libraries(self):
        names = [line.split()[0] for line in subprocess.run(["ldd", TOOL], check=True, capture_output=True,
                                                            encoding="utf-8").stdout.splitlines()]
        self.assertTrue(any("libsentencepiece" in name for name in names), names)
        for name in names:
            self.assertRegex(os.path.basename(name), LIBRARIES)

    def test_translates(self):
        self.assertEqual(self.good(SENTENCE), ENGLISH + "\n")
        self.assertEqual(self.good(text=f"{SENTENCE}\n\n请看 {{name}}。\n").splitlines()[::2][0], ENGLISH)
        self.assertEqual(json.loads(self.good("--json", SENTENCE))["text"], ENGLISH)

    def test_commands(self):
        self.assertEqual(json.loads(self.good("info", "--json", "--verify", MODEL))["verified"], True)
        self.assertEqual(json.loads(self.good("bench", "--json", "--rounds", "1", "-T", "1"))["compute"], "int8")
        self.assertIn("▁", self.good("tokenize", SENTENCE))
        with tempfile.TemporaryDirectory() as folder:
            made = pathlib.Path(folder, "f32.gguf")
            self.good("convert", "-q", MODEL, made, "--compute", "f32")
            self.assertEqual(self.good("-m", made, SENTENCE), ENGLISH + "\n")

    def test_what_is_left_out(self):
        tests = ROOT / "tests"
        self.bad("is no GGUF file, and this build opens no other", "-m", tests / "reference/fixtures/relu-1x1-f32/model",
                 "--tokens", "a")
        self.bad("is no GGUF file", "-m", tests / "argos/fixtures/deflated-int8.argosmodel", "pa")
        self.bad("this build opens no other file", "-m", tests / "llama/fixtures/t5-small-blocks.gguf", "pa")
        self.bad("this build does not download", "-m", "hf:a/b", "你好")
        self.bad("pull: not in this build", "pull", "a/b")
        self.bad("attention: not in this build", "attention", "你好", "-o", "a.html")
        self.bad("serve: not in this build", "serve", "--port", "0")
        help_text = self.good("-h")
        for word in ("pull", "attention", "serve"):
            self.assertNotIn(word, help_text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
