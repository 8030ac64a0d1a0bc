"""These tests need the compiler of TPUs; `make test-hardware` has it."""

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("libtpu") else ["test_*.py"]
