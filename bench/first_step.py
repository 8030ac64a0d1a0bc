#!/usr/bin/env python3
"""What the first step of a GPT takes, by phase, beside `jax.jit` of the same function.

    .venv/bin/python bench/first_step.py [--layers 16] [--stages 4] [--microbatches 32]
        [--limit 600]

The training step of `bench/curve.py`, on two CPU devices a stage. A row per phase:

- trace: the function becomes a jaxpr;
- lower: that becomes StableHLO, without
- partition: which only we do, all of it between the two texts;
- compile: XLA, of one function per distinct fragment here, of the whole there;
- load: arrays of NumPy go to the devices, and the first call.

Seconds by the clock, and the ratio of ours to those of JAX. XLA optimizes all
microbatches of `jax.jit` as one function, which takes minutes for 16 and longer than
anyone waited for 32: it is given up after `--limit` seconds (0: not begun), and the
phases that it got through are compared. Exit code 1 if partitioning is more than a
twentieth of our first step.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_NUM_CPU_DEVICES", "17")

import jax  # noqa: E402
import numpy as np  # noqa: E402
from meshwright.compiler import native  # noqa: E402

from bench import curve  # noqa: E402

MOST_PARTITIONING = 1 / 20
PHASES = ("trace", "lower", "partition", "compile", "load")


def measure(function, arguments, say=lambda phase, seconds: None) -> dict[str, float]:
    """Seconds by phase of what `mw.jit` or `jax.jit` returned.

    `say` is called after each phase.
    """
    seconds = dict.fromkeys(PHASES, 0.0)
    original = native.Session

    def counted(step):
        def run(self, *args, **kwargs):
            start = time.perf_counter()
            result = step(self, *args, **kwargs)
            seconds["partition"] += time.perf_counter() - start
            return result

        return run

    class Session(original):
        __init__ = counted(original.__init__)
        import_program = counted(original.import_program)
        finish = counted(original.finish)

    def timed(phase, run):
        start = time.perf_counter()
        result = run()
        seconds[phase] += time.perf_counter() - start
        say(phase, seconds[phase])
        return result

    native.Session = Session
    try:
        traced = timed("trace", lambda: function.trace(*arguments))
        lowered = timed("lower", traced.lower)
    finally:
        native.Session = original
    seconds["lower"] -= seconds["partition"]
    compiled = timed("compile", lowered.compile)

    def load():
        placed = jax.device_put(tuple(arguments), compiled.input_shardings[0])
        jax.block_until_ready(compiled(*placed))

    timed("load", load)
    return seconds


def make(args):
    """The step and its arguments."""
    step = curve.make_step(args.stages, args.microbatches)
    tokens = [np.zeros((curve.BATCH, curve.LENGTH), np.int32)] * args.microbatches
    return step, (curve.make_params(args.layers, args.stages), tokens)


def measure_jax(args) -> dict[str, float]:
    """Seconds of the phases of `jax.jit` that end before the limit."""
    if not args.limit:
        return {}
    command = [sys.executable, __file__, "--only-jax"]
    for name in ("layers", "stages", "microbatches"):
        command += [f"--{name}", str(getattr(args, name))]
    try:
        text = subprocess.run(
            command, stdout=subprocess.PIPE, timeout=args.limit, check=True
        ).stdout
    except subprocess.TimeoutExpired as expired:
        text = expired.stdout or b""
    return dict(map(json.loads, text.splitlines()))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--stages", type=int, default=4)
    parser.add_argument("--microbatches", type=int, default=32)
    parser.add_argument("--limit", type=float, default=600)
    parser.add_argument("--only-jax", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    step, arguments = make(args)
    if args.only_jax:
        measure(
            jax.jit(step),
            arguments,
            lambda *phase: print(json.dumps(phase), flush=True),
        )
        return 0
    ours = measure(curve.wrap(step, args.stages), arguments)
    theirs = measure_jax(args)
    print(f"{'':<12} {'ours':>10} {'jax.jit':>10} {'ratio':>8}")
    theirs |= {"partition": 0.0}
    rows = [(name, ours[name], theirs.get(name)) for name in PHASES]
    total = sum(ours.values())
    whole = sum(theirs.values()) if all(name in theirs for name in PHASES) else None
    for name, mine, other in [*rows, ("first step", total, whole)]:
        shown = "not ended" if other is None else f"{other:.3f} s"
        ratio = f"{mine / other:7.2f}x" if other else ""
        print(f"{name:<12} {mine:8.3f} s {shown:>10} {ratio:>8}".rstrip())
    share = ours["partition"] / total
    print(f"partition of our first step: {share:.3f}x")
    if share > MOST_PARTITIONING:
        print(
            f"missed: partitioning is {share:.1%} of the first step, at most "
            f"{MOST_PARTITIONING:.0%} wanted",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
