#!/usr/bin/env python3
"""translate pull and -m hf:OWNER/NAME against a server that also fails and misbehaves.
Usage: test_pull.py TOOL FIXTURE [PART|CLASS[.TEST]]... FIXTURE: a small published directory;
parts are the files test_PART.py
"""

import importlib
import pathlib
import sys
import unittest

import pull
import support

PARTS = ("download", "refused", "interrupted", "cache", "remove")

if __name__ == "__main__":
    support.TOOL, pull.FIXTURE = sys.argv[1], pathlib.Path(sys.argv[2])
    chosen = [a for a in sys.argv[3:] if a in PARTS]
    for part in chosen or PARTS:
        module = importlib.import_module(f"test_{part}")
        globals().update(
            {n: c for n, c in vars(module).items() if isinstance(c, type) and issubclass(c, unittest.TestCase)}
        )
    unittest.main(argv=[sys.argv[0], *(a for a in sys.argv[3:] if a not in PARTS)])
