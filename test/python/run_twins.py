"""Trains the pairs of examples/twins; prints the losses, or what went wrong."""

import importlib
import inspect
import json
import os
import sys
import traceback

from support.once import work_done_once
from support.tools import ROOT  # It also asks for CPU devices.

sys.path[:0] = [
    str(ROOT / "examples" / "twins"),
    str(ROOT / "python"),
    os.environ["MESHWRIGHT_EXTENSION"],  # From pytest.
]


def main() -> None:
    found = {}
    for name in sys.argv[1:]:
        try:
            plain, ours = map(importlib.import_module, (f"{name}_plain", name))
            found[name] = [plain.train(), ours.train()]
            if "shared" in inspect.signature(ours.train).parameters:
                found[name].append(ours.train(shared=True))
            with work_done_once():
                found[name].append(ours.train())
        except Exception:
            found[name] = traceback.format_exc()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
