"""Trains the pairs of examples/twins; prints the losses, or what went wrong."""

import importlib
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
            found[name] = [
                importlib.import_module(module).train()
                for module in (f"{name}_plain", name)
            ]
        except Exception:
            found[name] = traceback.format_exc()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
