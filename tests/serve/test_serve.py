#!/usr/bin/env python3
"""The server as its clients see it.
Usage: test_serve.py TOOL MODEL [PART|CLASS[.TEST]]...; parts are the files test_PART.py
Status 77: the part needs a browser (tools/browser.sh)."""
import importlib
import pathlib
import sys
import unittest

import support

PARTS = sorted(p.stem[5:] for p in pathlib.Path(__file__).parent.glob("test_*.py") if p.stem != "test_serve")

if __name__ == "__main__":
    support.TOOL, support.MODEL = sys.argv[1:3]
    chosen = [a for a in sys.argv[3:] if a in PARTS]
    for part in chosen or PARTS:
        try:
            module = importlib.import_module(f"test_{part}")
        except unittest.SkipTest as why:
            if chosen == [part]:
                print(why)
                sys.exit(77)
            continue
        globals().update({n: c for n, c in vars(module).items() if isinstance(c, type)
                          and issubclass(c, unittest.TestCase) and c.__module__.startswith("test_")})
    unittest.main(argv=[sys.argv[0], *(a for a in sys.argv[3:] if a not in PARTS)])
