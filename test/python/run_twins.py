"""Trains the pairs of examples/twins; prints the losses, or what went wrong."""

import importlib
import inspect
import json
import pathlib
import sys
import traceback

import conftest  # noqa: F401  Finds the package, and asks for CPU devices.

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples" / "twins"))


def main() -> None:
    found = {}
    for name in sys.argv[1:]:
        try:
            plain, ours = map(importlib.import_module, (f"{name}_plain", name))
            found[name] = [plain.train(), ours.train()]
            if "shared" in inspect.signature(ours.train).parameters:
                found[name].append(ours.train(shared=True))
        except Exception:
            found[name] = traceback.format_exc()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
