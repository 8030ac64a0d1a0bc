"""All benches of `make bench`, in the order in which they run.

A new one is a line here, with options that keep it to a minute or two. What it prints
may be lines of JSON, or rows of text: ratios are found in both (`bench/report.py` says
how).
"""

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Bench:
    """A script of this folder and its options; `{bin}` is the folder of the tools.

    `better` says which way its ratios are good: "higher" where they are how many times
    quicker we are than something else, "lower" where they are what we take, or how
    much longer a larger program takes, "one" where we predict. Ratios whose names
    match `peer` compare with something else in any bench.
    """

    name: str
    command: str
    better: str
    about: str
    peer: str = "(?!)"

    def badness(self, name: str, ratio: float) -> float:
        """The ratio turned such that less is better."""
        if self.better == "one":
            return max(ratio, 1 / ratio)
        is_higher = self.better == "higher" or re.search(self.peer, name)
        return 1 / ratio if is_higher else ratio


BENCHES = (
    Bench("phases", "run.py --bin {bin}", "higher", "phases and memory, by jaxlib's"),
    Bench(
        "curve",
        "curve.py --bin {bin} --microbatches 8 32 128",
        "higher",
        "microbatches, by jaxlib's time",
    ),
    Bench("bodies", "bodies.py --bin {bin}", "lower", "four times the microbatches"),
    Bench(
        "first_step",
        "first_step.py --limit 120",
        "lower",
        "the first step, by jax.jit's",
    ),
    Bench(
        "few_programs",
        "few_programs.py",
        "lower",
        "a small step from function to executables",
    ),
    Bench("overhead", "runtime_overhead.py", "lower", "host time, by a loop's"),
    Bench(
        "offloaded_activations",
        "offloaded_activations.py",
        "lower",
        "memory and step with activations on hosts, by those without",
    ),
    Bench(
        "overlapped_pairs",
        "overlapped_pairs.py --microbatches 8 --layers 1",
        "lower",
        "step with pairs, by that without; needs a plugin for GPUs",
    ),
    Bench(
        "pair_growth",
        "growth/pairs.py --microbatches 8 --layers 1 --repeat 2",
        "lower",
        "partitioning pairs, by none and by a quarter of the microbatches",
    ),
    Bench(
        "lower_growth",
        "growth/lower.py",
        "lower",
        "lowering 512 microbatches, by 128",
    ),
    Bench(
        "simulation_growth",
        "growth/simulations.py --bin {bin}",
        "lower",
        "simulating four times the microbatches",
    ),
    Bench("distributed", "distributed.py", "lower", "several processes, by one's"),
    Bench(
        "traffic", "traffic.py", "lower", "bytes of a step, by those without options"
    ),
    Bench("call", "call_cost.py", "lower", "CPU of a call, by jax.jit's"),
    Bench("import", "import_cost.py", "lower", "CPU of both imports, by jax's"),
    Bench("gpu", "gpu_overlap.py", "lower", "transfers to GPUs at once, by when done"),
    Bench("page", "page.py --bin {bin}", "lower", "the page of a large plan"),
    Bench(
        "schedules",
        "schedules.py --bin {bin} --most 16x512 --peer",
        "lower",
        "four times the units",
        peer="jaxlib",
    ),
    Bench(
        "auto", "auto_schedules.py --bin {bin}", "lower", "auto, by the best builtin"
    ),
    Bench(
        "towers",
        "tower_schedules.py --bin {bin}",
        "lower",
        "auto, by the best mixture of fixed schedules",
    ),
    Bench(
        "unequal",
        "unequal_layers.py",
        "higher",
        "models with unequal layers: equal numbers of them, by the plan",
    ),
    Bench(
        "passes",
        "common_passes.py --bin {bin} --sizes 2000 8000 --repeat 2",
        "lower",
        "four times the fragments",
    ),
    Bench(
        "inference", "infer_mesh.py --bin {bin}", "lower", "four times the operations"
    ),
    Bench("export", "export.py --bin {bin}", "lower", "four times the fragments"),
    Bench(
        "start",
        "start.py --size 16x16x64",
        "lower",
        "our part of a start in four processes",
    ),
    Bench("load", "growth/plans.py", "lower", "loading a share of a large program"),
    Bench(
        "simulated", "simulated_step.py --repeat 3", "one", "simulated by measured step"
    ),
)
