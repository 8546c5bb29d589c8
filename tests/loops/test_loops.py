#!/usr/bin/env python3
"""The loop guard: loops.txt has fifty lines on which the default model runs in a circle (repeated, foreign and random text,
noise, lists, and ordinary sentences), ordinary.txt lines on which it does not.

    test_loops.py TOOL MODEL
"""
import json
import pathlib
import subprocess
import sys
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
PERIOD, TIMES, TOKENS, BABBLE, KINDS = 20, 3, 12, 32, 8  # src/decoding/circles.h
TOOL = MODEL = ""


def has_circle(tokens):
    """The definition of src/decoding/circles.h, anywhere in the tokens."""
    for period in range(1, PERIOD + 1):
        run = 0
        for i in range(period, len(tokens)):
            run = run + 1 if tokens[i] == tokens[i - period] else 0
            if run + period >= max(TIMES * period, TOKENS):
                return True
    return any(len(set(tokens[i:i + BABBLE])) <= KINDS for i in range(len(tokens) - BABBLE + 1))


def lines_of(name):
    return (FOLDER / name).read_text(encoding="utf-8").split("\n")[:-1]


class Loops(unittest.TestCase):
    def run_tool(self, lines, *options):
        command = [TOOL, "-m", MODEL, "--json", "--scores", "--split", "never", *options]
        done = subprocess.run(command, input="\n".join(lines).encode() + b"\n", capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        results = [json.loads(line) for line in done.stdout.decode().split("\n")[:-1]]
        self.assertEqual(len(results), len(lines))
        for r in results:
            r["pieces"] = [p for p, _ in r.pop("token_scores") if p != "</s>"]
            self.assertEqual(len(r["pieces"]), r["tokens"])
        return results

    def expect_none(self, results):
        for r in results:
            self.assertFalse(has_circle(r["pieces"]), (r["source"], r["text"]))
            self.assertNotIn("max_length", r["flags"], r["source"])

    def test_fifty(self):
        lines = lines_of("loops.txt")
        self.assertEqual(len(lines), 50)
        for r in self.run_tool(lines, "--loop-guard", "off"):
            self.assertTrue(has_circle(r["pieces"]), (r["source"], r["text"]))
            self.assertNotIn("loop", r["flags"])
        guarded = self.run_tool(lines)
        self.expect_none(guarded)
        for r in guarded:
            self.assertIn("loop", r["flags"], r["source"])
            self.assertTrue(r["text"], r["source"])
        for options in (["-T1"], ["--batch-size", "1"], ["--batch-size", "3", "-T2"]):
            self.assertEqual(self.run_tool(lines, *options), guarded, options)

    def test_beams(self):
        self.expect_none(self.run_tool(lines_of("loops.txt"), "-b4"))

    def test_sentences_and_lists(self):
        """The guard sees sentences; lines of several keep what the others became."""
        lines = ["今天天气很好。" + line for line in lines_of("loops.txt")[:8]]
        for r in self.run_tool(lines, "--split", "auto"):
            self.assertTrue(r["text"].startswith("The weather is good today."), r["text"])
            self.assertIn("loop", r["flags"])
        for r in self.run_tool(lines_of("loops.txt")[:8], "-b3", "-n3"):
            self.assertEqual(r["hypotheses"][0]["text"], r["text"])

    def test_ordinary(self):
        lines = lines_of("ordinary.txt")
        off = self.run_tool(lines, "--loop-guard", "off")
        self.assertEqual(self.run_tool(lines), off)
        self.assertEqual([r["flags"] for r in off], [[]] * len(lines))

    def test_what_the_options_say_counts(self):
        """Stricter constraints than the guard's own stay."""
        line = "真的，真的，真的，真的，真的，真的，真的，真的，真的，真的，真的，真的，真的，真的，真的，真的"
        for r in self.run_tool([line], "--repetition-penalty", "3"):
            self.assertFalse(has_circle(r["pieces"]))


if __name__ == "__main__":
    TOOL, MODEL = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
