#!/usr/bin/env python3
"""`python -m support.difftest` by the name of a file: see its --help."""

import sys

from support.difftest.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
