#!/usr/bin/env python3
"""The command's every option and every error.
Usage: test_cli.py TOOL MODEL [PART|CLASS[.TEST]]...; parts are the files test_PART.py"""
import importlib
import sys
import unittest

import support

PARTS = ("alignment", "attention", "commands", "completions", "documents", "encodings", "files", "mistakes", "models",
         "options", "protect", "score", "search", "shortlist", "streams")

if __name__ == "__main__":
    support.TOOL, support.MODEL = sys.argv[1:3]
    chosen = [a for a in sys.argv[3:] if a in PARTS]
    for part in chosen or PARTS:
        module = importlib.import_module(f"test_{part}")
        globals().update({n: c for n, c in vars(module).items() if isinstance(c, type) and issubclass(c, unittest.TestCase)})
    unittest.main(argv=[sys.argv[0], *(a for a in sys.argv[3:] if a not in PARTS)])
