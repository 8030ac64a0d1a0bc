"""Runs several scripts of this folder in one start of the processes.

    several.py SCRIPT ...

Each goes on as if it were alone, and prints one report.
"""

import contextlib
import io
import json
import pathlib
import runpy
import sys
from unittest import mock

import meshwright as mw

mw.distributed.initialize()

import jax  # noqa: E402

folder = pathlib.Path(__file__).parent
report: dict = {"process": jax.process_index()}
for script in sys.argv[1:]:
    with (
        mock.patch.object(mw.distributed, "initialize"),
        contextlib.redirect_stdout(io.StringIO()) as out,
    ):
        runpy.run_path(str(folder / script), run_name="__main__")
    report[script] = json.loads(out.getvalue())
print(json.dumps(report), flush=True)
