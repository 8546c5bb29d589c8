#!/usr/bin/env python3
"""The command's every option and every error. Usage: test_cli.py TOOL MODEL [TEST...]"""
import sys
import unittest

import support

if __name__ == "__main__":
    support.TOOL, support.MODEL = sys.argv[1:3]
    from test_commands import *  # noqa: F401,F403  (unittest finds the classes by their presence here)
    from test_files import *  # noqa: F401,F403
    from test_options import *  # noqa: F401,F403
    from test_streams import *  # noqa: F401,F403
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
