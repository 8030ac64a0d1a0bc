#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each of several processes takes from its start to its first launch, by phase.

    .venv/bin/python bench/start.py [--size 64x64x512] [--processes 4]

The step of `growth/lower.py`; sizes are stages, layers and microbatches. The stages are
divided over processes with CPU devices of this machine. Phases, in this order:

- import: from the start of the process until JAX and Meshwright are there;
- meet: `mw.distributed.initialize`;
- trace: the function becomes a jaxpr;
- lower: that becomes StableHLO;
- partition: the compiler;
- plan: from the schedule to the steps of this process;
- agree: comparing with the other processes, and waiting for them;
- compile: XLA;
- bind: a function for each step;
- place: arrays of NumPy go to the devices;
- launch: from the call to the first launch.

Prints a line of JSON for each process: seconds by the clock, in `cpu` those of the
processor for what is between two of them, and the peak of memory. Then a line with
`ratio`: what is ours (partition, plan, agree, bind) by all, of the seconds of all
processes.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
OURS = ("partition", "plan", "agree", "bind")
INNER = {"lower": ("partition",), "load": ("plan", "agree", "compile", "bind")}


class Clock:
    """Seconds by phase."""

    def __init__(self, began: float):
        self.seconds: dict[str, float] = {}
        self.cpu: dict[str, float] = {}
        self._last = began, 0.0

    def hear(self, event: str, seconds: float, **_: object) -> None:
        """Of a phase that Meshwright tells of, which may come in parts."""
        name = event.removeprefix("/meshwright/")
        if name != event:
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    def note(self, name: str) -> None:
        """What was since the last note is this phase, and those inside of it."""
        now = time.time(), time.process_time()
        seconds, self.cpu[name] = (n - o for n, o in zip(now, self._last, strict=True))
        self._last = now
        inner = INNER.get(name, ())
        self.seconds[name] = seconds - sum(self.seconds[each] for each in inner)


def work(stages: int, layers: int, microbatches: int) -> None:
    """One process: prints what its phases take."""
    clock = Clock(float(os.environ["BENCH_BEGAN"]))
    import jax
    import numpy as np

    import meshwright as mw
    from bench.growth.lower import make_traced

    jax.monitoring.register_event_duration_secs_listener(clock.hear)
    clock.note("import")
    mw.distributed.initialize()
    clock.note("meet")
    traced, arguments = make_traced(stages, layers, microbatches)
    clock.note("trace")
    lowered = traced.lower()
    clock.note("lower")
    compiled = lowered.compile()
    clock.note("load")
    arrays = jax.tree.map(lambda a: np.zeros(a.shape, a.dtype), arguments)
    arrays = mw.distributed.place(arrays, compiled.input_shardings[0])
    clock.note("place")
    began = time.perf_counter()
    with mw.profile(merge=False) as recording:
        jax.block_until_ready(compiled(*arrays))
    first = min(event.issued for event in recording.events if event.kind == "fragment")
    clock.seconds["launch"] = recording.began + first - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = {
        "process": jax.process_index(),
        "seconds": {name: round(value, 2) for name, value in clock.seconds.items()},
        "cpu": {name: round(value, 2) for name, value in clock.cpu.items()},
        "until_first_launch": round(sum(clock.seconds.values()), 2),
        "peak_gb": round(memory / 1e6, 2),
    }
    print(json.dumps(found), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", default="64x64x512")
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    size = [int(number) for number in args.size.split("x")]
    if args.worker:
        return work(*size)
    command = [sys.executable, "-m", "meshwright.launch", "-n", str(args.processes)]
    command += ["--devices-per-process", str(size[0] // args.processes)]
    command += ["--timeout", "300", __file__, "--worker", "--size", args.size]
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {
        "JAX_PLATFORMS": "cpu",
        # Of an earlier run there would be nothing to compile.
        "MESHWRIGHT_CACHE_DIR": "",
        "BENCH_BEGAN": str(time.time()),
        "PYTHONPATH": os.pathsep.join(paths),
    }
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(done.stdout)
    lines = [line.partition("] ")[2] for line in done.stdout.splitlines()]
    found = [json.loads(line) for line in lines if line.startswith("{")]
    for each in sorted(found, key=lambda each: each["process"]):
        print(json.dumps(each))
    ours = sum(each["seconds"][name] for each in found for name in OURS)
    total = sum(each["until_first_launch"] for each in found)
    print(json.dumps({"size": args.size, "ratio": round(ours / total, 3)}))


if __name__ == "__main__":
    main()
