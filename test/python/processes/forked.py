"""Forks a process for each job, with the package imported; says how all have ended.

forked.py '[[[SCRIPT, ARGUMENT, ...], {VARIABLE: VALUE}, OUT, ERRORS], ...]'
"""

import json
import os
import runpy
import sys

import meshwright as mw

assert mw.distributed and mw.jit  # Imported at their first use.


def become(words: list[str], variables: dict, *files: str) -> None:
    for number, file in enumerate(files, 1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), number)
    os.environ.update(variables)
    sys.argv = words
    runpy.run_path(words[0], run_name="__main__")


jobs = json.loads(sys.argv[1])
numbers: dict[int, int] = {}
for number, job in enumerate(jobs):
    child = os.fork()
    if not child:
        become(*job)
        sys.exit()
    numbers[child] = number
codes = [0] * len(jobs)
while numbers:
    child, status = os.wait()
    codes[numbers.pop(child)] = os.waitstatus_to_exitcode(status)
print(json.dumps(codes))
