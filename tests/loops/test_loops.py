#!/usr/bin/env python3
"""The loop guard: loops.txt has fifty lines whose translation by the small model loops (repeated, foreign and random text,
noise, lists, and ordinary sentences), ordinary.txt lines whose translation does not.

    test_loops.py TOOL MODEL
    test_loops.py TOOL MODEL --record     for another model: lines of loops.txt that no longer loop are replaced by
                                          repeated phrases and random characters that do; lines of ordinary.txt that
                                          loop are dropped
"""
import itertools
import json
import pathlib
import random
import re
import subprocess
import sys
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
PERIOD, TIMES, TOKENS, BABBLE, KINDS = 20, 3, 12, 32, 8  # src/decoding/stopping.h
TOOL = MODEL = ""


def has_circle(tokens):
    """Whether a loop by the definition of src/decoding/stopping.h is anywhere in the tokens."""
    for period in range(1, PERIOD + 1):
        run = 0
        for i in range(period, len(tokens)):
            run = run + 1 if tokens[i] == tokens[i - period] else 0
            if run + period >= max(TIMES * period, TOKENS):
                return True
    return any(len(set(tokens[i:i + BABBLE])) <= KINDS for i in range(len(tokens) - BABBLE + 1))


def lines_of(name):
    return (FOLDER / name).read_text(encoding="utf-8").split("\n")[:-1]


def write_lines(name, lines):
    (FOLDER / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def run_tool(lines, *options):
    """A result for each line, with its `pieces`."""
    command = [TOOL, "-m", MODEL, "--json", "--scores", "--split", "never", "--protect", "off", *options]
    done = subprocess.run(command, input="\n".join(lines).encode() + b"\n", capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b""), done
    results = [json.loads(line) for line in done.stdout.decode().split("\n")[:-1]]
    assert len(results) == len(lines)
    for r in results:
        r["pieces"] = [p for p, _ in r.pop("token_scores") if p != "</s>"]
        assert len(r["pieces"]) == r["tokens"], r
    return results


def is_plain(result):
    return not has_circle(result["pieces"]) and "max_length" not in result["flags"]


def repeated(rng):
    phrase = rng.choice(lines_of("ordinary.txt")).rstrip("。！？")[:rng.randrange(2, 9)]
    return rng.choice(("，", "、", " ", "")).join([phrase] * rng.randrange(6, 30))


def noise(rng):
    characters = sorted({c for c in "".join(lines_of("ordinary.txt")) if "\u4e00" <= c <= "\u9fff"})
    return "".join(rng.choices(characters, k=rng.randrange(15, 80)))


def circling(lines):
    """The lines on which the model loops, greedily or with beam search, and which the loop guard repairs."""
    lines = [r["source"] for r in run_tool(lines, "-q", "--loop-guard", "off") if has_circle(r["pieces"])]
    if not lines:
        return []
    guarded = zip(run_tool(lines, "-q"), run_tool(lines, "-q", "-b4"))
    return [r["source"] for r, beam in guarded if is_plain(r) and is_plain(beam) and "loop" in r["flags"] and r["text"]]


def record(count=50):
    rng = random.Random(1)
    kept = circling(lines_of("loops.txt"))
    print(f"{len(kept)} of the present lines run in a circle")
    kinds = [circling([make(rng) for _ in range(1000)]) for make in (repeated, noise)]
    print(f"{len(kinds[0])} of 1,000 repeated phrases, {len(kinds[1])} of 1,000 lines of noise")
    mixed = [line for both in itertools.zip_longest(*kinds) for line in both if line]
    write_lines("loops.txt", (kept + mixed)[:count])
    write_lines("ordinary.txt", [r["source"] for r in run_tool(lines_of("ordinary.txt"), "--loop-guard", "off")
                                 if not r["flags"] and not has_circle(r["pieces"])])


class Loops(unittest.TestCase):
    def expect_none(self, results):
        for r in results:
            self.assertTrue(is_plain(r), (r["source"], r["text"], r["flags"]))

    def test_fifty(self):
        lines = lines_of("loops.txt")
        self.assertEqual(len(lines), 50)
        for r in run_tool(lines, "--loop-guard", "off"):
            self.assertTrue(has_circle(r["pieces"]), (r["source"], r["text"]))
            self.assertNotIn("loop", r["flags"])
        guarded = run_tool(lines)
        self.expect_none(guarded)
        for r in guarded:
            self.assertIn("loop", r["flags"], r["source"])
            self.assertTrue(r["text"], r["source"])
        for options in (["-T1"], ["--batch-size", "1"], ["--batch-size", "3", "-T2"]):
            self.assertEqual(run_tool(lines, *options), guarded, options)

    def test_beams(self):
        self.expect_none(run_tool(lines_of("loops.txt"), "-b4"))

    def test_sentences_and_lists(self):
        """The guard works by sentence; in lines of several, the other sentences do not change."""
        sentence = "今天天气很好。"
        first = run_tool([sentence])[0]["text"]
        whole = [line for line in lines_of("loops.txt") if re.fullmatch("[\u4e00-\u9fff，]{9,60}", line)]  # must not be split
        for r in run_tool([sentence + line for line in whole[:8]], "--split", "auto"):
            self.assertTrue(r["text"].startswith(first), r["text"])
            self.assertIn("loop", r["flags"])
        for r in run_tool(lines_of("loops.txt")[:8], "-b3", "-n3"):
            self.assertEqual(r["hypotheses"][0]["text"], r["text"])

    def test_ordinary(self):
        lines = lines_of("ordinary.txt")
        off = run_tool(lines, "--loop-guard", "off")
        self.assertEqual(run_tool(lines), off)
        self.assertEqual([r["flags"] for r in off], [[]] * len(lines))

    def test_what_the_options_say_counts(self):
        """Constraints that are stricter than the guard's stay in force."""
        line = "真的，真的，真的，真的，真的，真的，真的，真的，真的，真的，真的，真的，真的，真的，真的，真的"
        for r in run_tool([line], "--repetition-penalty", "3"):
            self.assertFalse(has_circle(r["pieces"]))


if __name__ == "__main__":
    TOOL, MODEL = sys.argv[1:3]
    if sys.argv[3:] == ["--record"]:
        record()
    else:
        unittest.main(argv=sys.argv[:1])
