#!/usr/bin/env python3
"""What `import meshwright` takes beside `import jax`.

    .venv/bin/python bench/import_cost.py [--repeat 15]

Processes that import JAX alone and both take turns. Prints one line of JSON: CPU
seconds of each, the least of all repeats, and how much longer both take, as a ratio.
They are CPU time, so other processes do not disturb them much. Exit code 1 if the
package takes 0.25 s.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BOUND_S = 0.25
CODES = {"jax_s": "import jax", "both_s": "import jax, meshwright"}


def cpu_seconds(code: str) -> float:
    """What a Python takes that runs some code."""

    def spent() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    path = f"{ROOT / 'python'}{os.pathsep}{ROOT / 'build' / 'python'}"
    before = spent()
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        # Bytecode is kept, as it is for users.
        env=os.environ
        | {"PYTHONPATH": path, "JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": ""},
    )
    return spent() - before


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=15)
    args = parser.parse_args()
    rounds = [
        {name: cpu_seconds(code) for name, code in CODES.items()}
        for _ in range(args.repeat + 1)
    ]
    # The first one may compile the package.
    found = {name: min(costs[name] for costs in rounds[1:]) for name in CODES}
    beyond = found["both_s"] - found["jax_s"]
    found |= {"beyond_s": beyond, "ratio": found["both_s"] / found["jax_s"]}
    print(json.dumps({key: round(value, 3) for key, value in found.items()}))
    return 0 if beyond < BOUND_S else 1


if __name__ == "__main__":
    sys.exit(main())
