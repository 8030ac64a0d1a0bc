#!/usr/bin/env python3
"""Host overhead of the runtime, beside a loop written by hand and SpectraX.

    .venv/bin/python bench/runtime_overhead.py [--width 16] [--layers 1]
        [--batch 32] [--repeat 9] [--spectrax PYTHON]

A pipeline step of S = 4 stages and M = 8 microbatches on four CPU meshes of one
device, in 1F1B order: 56 fragment calls (the last stage does forward and backward
in one) and 48 transfers. The loop calls `jax.jit(...).lower().compile()` objects
and copies arrays with jaxlib's own copy, in the same order and with the same
kernels; it checks nothing, drops arrays at their last use as Python does, and is
what one would write for this one program. A third side runs the same kernels back
to back on two threads, in no order. Loop and runtime take turns in this process.

Prints one line of JSON: medians and bests in milliseconds until the call returns
(host) and until everything is done (step), CPU time of the issuing thread, ratios.
With --spectrax, a Python that has spectrax-lib runs the same model; the script
must find `spectrax_step.py` beside that option's value or under --spectrax-script.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax._src.lib import _jax  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

STAGES, MICROBATCHES = 4, 8


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--layers", type=int, default=1, help="per stage")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--repeat", type=int, default=9, help="times 20 steps")
    parser.add_argument("--spectrax", help="Python that can import spectrax")
    parser.add_argument("--spectrax-script", help="spectrax_step.py")
    return parser.parse_args()


# The kernels: forward, backward, and both for the last stage.


def forward(weights, x):
    for weight in weights:
        x = jnp.tanh(x @ weight)
    return x


def backward(weights, grads, x, cotangent):
    _, pull = jax.vjp(forward, weights, x)
    new, below = pull(cotangent)
    return jax.tree.map(jnp.add, grads, new), below


def last(weights, grads, loss, x, target):
    def objective(weights, x):
        return jnp.mean((forward(weights, x) - target) ** 2)

    value, (new, below) = jax.value_and_grad(objective, (0, 1))(weights, x)
    return jax.tree.map(jnp.add, grads, new), loss + value, below


def schedule() -> list[tuple[int, str, int]]:
    """(stage, "f" | "b", microbatch) of 1F1B, row by row."""
    queues = []
    for stage in range(STAGES):
        warm = min(STAGES - 1 - stage, MICROBATCHES)
        queue = [("f", m) for m in range(warm)]
        for m in range(MICROBATCHES - warm):
            queue += [("f", m + warm), ("b", m)]
        queue += [("b", m) for m in range(MICROBATCHES - warm, MICROBATCHES)]
        queues.append(queue)
    done, rows = set(), []
    while any(queues):
        row = []
        for stage, queue in enumerate(queues):
            if not queue:
                continue
            kind, m = queue[0]
            before = (stage - 1, "f", m) if kind == "f" else (stage + 1, "b", m)
            if before[0] in (-1, STAGES):
                before = (stage, "f", m) if kind == "b" else None
            if before is None or before in done:
                row.append((stage, kind, m))
        for stage, _, _ in row:
            queues[stage].pop(0)
        done |= set(row)
        rows += row
    # The last stage's forward is part of its backward.
    return [r for r in rows if r[:2] != (STAGES - 1, "f")]


class Kernels:
    """Compiled once, used by both sides."""

    def __init__(self, args: argparse.Namespace):
        size = args.batch // MICROBATCHES
        devices = jax.devices()[:STAGES]
        self.meshes = [Mesh(np.array([d]), "x") for d in devices]
        self.shardings = [NamedSharding(m, PartitionSpec()) for m in self.meshes]
        self.activation = jax.ShapeDtypeStruct((size, args.width), jnp.float32)
        weight = jax.ShapeDtypeStruct((args.width, args.width), jnp.float32)
        self.weights = (weight,) * args.layers
        rng = np.random.default_rng(0)
        self.layers = [
            [
                rng.normal(size=weight.shape).astype(np.float32) / args.width**0.5
                for _ in range(args.layers)
            ]
            for _ in range(STAGES)
        ]
        self.data = rng.normal(size=(2, MICROBATCHES, *self.activation.shape))
        self.data = self.data.astype(np.float32)
        self.scalar = jax.ShapeDtypeStruct((), jnp.float32)

    def lower(self, stage: int, kind: str):
        x, w = self.activation, self.weights
        function, inputs, donate = {
            "f": (forward, (w, x), ()),
            "b": (backward, (w, w, x, x), (1,)),
            "l": (last, (w, w, self.scalar, x, x), (1, 2)),
        }[kind]
        return jax.jit(
            function,
            in_shardings=self.shardings[stage],
            out_shardings=self.shardings[stage],
            donate_argnums=donate,
            keep_unused=True,
        ).lower(*inputs)

    def kinds(self, stage: int) -> str:
        return "l" if stage == STAGES - 1 else "fb"

    def inputs(self):
        """Weights, zero gradients, loss, microbatches and targets, on their meshes."""

        def put(value, stage):
            return jax.device_put(value, self.shardings[stage])

        weights = [put(tuple(w), s) for s, w in enumerate(self.layers)]
        grads = [
            put(tuple(map(np.zeros_like, w)), s) for s, w in enumerate(self.layers)
        ]
        loss = put(np.float32(0), STAGES - 1)
        xs = [put(x, 0) for x in self.data[0]]
        targets = [put(y, STAGES - 1) for y in self.data[1]]
        return weights, grads, loss, xs, targets


class HandWritten:
    def __init__(self, kernels: Kernels):
        self.kernels = kernels
        self.run = {
            (stage, kind): kernels.lower(stage, kind).compile()
            for stage in range(STAGES)
            for kind in kernels.kinds(stage)
        }
        self.rows = schedule()
        self.lists = [
            [_jax.DeviceList(tuple(mesh.devices.flat))] for mesh in kernels.meshes
        ]

    def __call__(self, inputs):
        weights, grads, loss, xs, targets = inputs
        grads = list(grads)
        run, lists, shardings = self.run, self.lists, self.kernels.shardings
        copy = _jax.batched_copy_array_to_devices_with_sharding
        reuse = [_jax.ArrayCopySemantics.REUSE_INPUT]
        arrived = {(0, m): x for m, x in enumerate(xs)}
        back = {}
        for stage, kind, m in self.rows:
            if kind == "f":
                y = run[stage, "f"](weights[stage], arrived[stage, m])
                there = stage + 1
                (arrived[there, m],) = copy(
                    [y], lists[there], [shardings[there]], reuse
                )
                continue
            x = arrived.pop((stage, m))
            if stage == STAGES - 1:
                grads[stage], loss, below = run[stage, "l"](
                    weights[stage], grads[stage], loss, x, targets[m]
                )
            else:
                grads[stage], below = run[stage, "b"](
                    weights[stage], grads[stage], x, back.pop((stage, m))
                )
            if stage:
                there = stage - 1
                (back[there, m],) = copy(
                    [below], lists[there], [shardings[there]], reuse
                )
        return [loss, *(g for stage in grads for g in stage)]


class TwoThreads:
    """The same kernels back to back, without order: half of the stages a thread.

    What two cores need at least if nothing ever waits for another stage.
    """

    def __init__(self, kernels: Kernels, loop: HandWritten):
        self.kernels, self.run = kernels, loop.run
        self.pool = concurrent.futures.ThreadPoolExecutor(2)

    def __call__(self, inputs):
        halves = [range(STAGES // 2), range(STAGES // 2, STAGES)]
        jobs = [self.pool.submit(self.work, inputs, half) for half in halves]
        return [job.result() for job in jobs]

    def work(self, inputs, stages):
        weights, grads, loss, xs, targets = inputs
        zeros = np.zeros(self.kernels.activation.shape, np.float32)
        for stage in stages:
            x = jax.device_put(zeros, self.kernels.shardings[stage])
            sums = grads[stage]
            for m in range(MICROBATCHES):
                if stage == STAGES - 1:
                    sums, loss, _ = self.run[stage, "l"](
                        weights[stage], sums, loss, x, targets[m]
                    )
                else:
                    self.run[stage, "f"](weights[stage], x)
                    sums, _ = self.run[stage, "b"](weights[stage], sums, x, x)
                jax.block_until_ready(sums)
        return sums


class Runtime:
    """The same step as a partitioned program."""

    def __init__(self, kernels: Kernels):
        from meshwright import runtime

        self.values, self.items, self.fragments = [], [], []
        self.inputs, modules = [], {}
        self.kernels = kernels
        index = {}
        for stage in range(STAGES):
            for kind in kernels.kinds(stage):
                index[stage, kind] = len(self.fragments)
                modules |= [self.fragment(stage, kind)]
        weights, grads, loss, xs, targets = jax.tree.map(self.input, self.leaves())
        outputs = self.calls(index, weights, list(grads), loss, xs, targets)
        program = {
            "version": 1,
            "name": "step",
            "meshes": [
                {"name": f"m{s}", "axes": [["x", 1]], "device_ids": None, "items": []}
                for s in range(STAGES)
            ],
            "values": self.values,
            "inputs": self.inputs,
            "outputs": [
                {"value": v, "name": None, "memory_kind": None, "layout": None}
                for v in outputs
            ],
            "fragments": self.fragments,
            "items": self.items,
            # As the loop does it: a value leaves when it is there.
            "issue_order": list(range(len(self.items))),
        }
        meshes = {f"m{s}": mesh for s, mesh in enumerate(kernels.meshes)}
        self.execute = runtime.load(program, modules, meshes)

    def __call__(self, inputs):
        return self.execute(*jax.tree.leaves(inputs))

    def leaves(self):
        """(stage, shape, donated?) in the tree of the inputs."""
        k = self.kernels

        def entry(stage, donated):
            return lambda struct: (stage, struct.shape, donated)

        def stages(donated):
            return [tuple(map(entry(s, donated), k.weights)) for s in range(STAGES)]

        final = STAGES - 1
        return jax.tree.map(
            Leaf,
            (
                stages(False),
                stages(True),
                entry(final, True)(k.scalar),
                [entry(0, False)(k.activation)] * MICROBATCHES,
                [entry(final, False)(k.activation)] * MICROBATCHES,
            ),
            is_leaf=lambda x: isinstance(x, tuple) and isinstance(x[-1], bool),
        )

    def value(self, stage, shape) -> int:
        size = 4 * int(np.prod(shape))
        self.values.append(
            {
                "mesh": f"m{stage}",
                "shape": list(shape),
                "dtype": "f32",
                "sharding": None,
                "memory_kind": None,
                "bytes": size,
                "device_bytes": size,
            }
        )
        return len(self.values) - 1

    def input(self, leaf) -> int:
        stage, shape, donated = leaf.entry
        value = self.value(stage, shape)
        self.inputs.append(
            {
                "value": value,
                "name": None,
                "donated": donated,
                "memory_kind": None,
                "layout": None,
            }
        )
        return value

    def fragment(self, stage, kind):
        lowered = self.kernels.lower(stage, kind)
        flat = jax.tree.leaves(lowered.args_info)
        described = {"memory_kind": None, "layout": None, "sharding": None}
        self.fragments.append(
            {
                "name": f"{kind}{stage}",
                "mesh": f"m{stage}",
                "calls": MICROBATCHES,
                "flops": int(lowered.cost_analysis()["flops"]),
                "reserved_bytes": None,
                "arguments": [
                    described | {"alias": None, "donated": argument.donated}
                    for argument in flat
                ],
                "results": [described for _ in jax.tree.leaves(lowered.out_info)],
            }
        )
        return f"{kind}{stage}", lowered.as_text()

    def call(self, fragment, operands, shapes):
        mesh = self.fragments[fragment]["mesh"]
        results = [self.value(int(mesh[1:]), shape) for shape in shapes]
        self.items.append(
            {
                "kind": "call",
                "mesh": mesh,
                "fragment": fragment,
                "origins": [mesh],
                "remat": False,
                "operands": operands,
                "results": results,
                "last_uses": [],
                "location": None,
            }
        )
        return results

    def transfer(self, value, stage):
        entry = self.values[value]
        result = self.value(stage, entry["shape"])
        self.items.append(
            {
                "kind": "transfer",
                "from": entry["mesh"],
                "to": f"m{stage}",
                "operand": value,
                "result": result,
                "last_uses": [],
                "bytes": entry["bytes"],
                "location": None,
            }
        )
        return result

    def calls(self, index, weights, grads, loss, xs, targets):
        k = self.kernels
        activation, layers = k.activation.shape, [w.shape for w in k.weights]
        arrived = {(0, m): x for m, x in enumerate(xs)}
        back = {}
        for stage, kind, m in schedule():
            w, g = list(weights[stage]), list(grads[stage])
            x = arrived[stage, m]
            if kind == "f":
                (y,) = self.call(index[stage, "f"], [*w, x], [activation])
                arrived[stage + 1, m] = self.transfer(y, stage + 1)
                continue
            if stage == STAGES - 1:
                *grads[stage], loss, below = self.call(
                    index[stage, "l"],
                    [*w, *g, loss, x, targets[m]],
                    [*layers, (), activation],
                )
            else:
                *grads[stage], below = self.call(
                    index[stage, "b"],
                    [*w, *g, x, back[stage, m]],
                    [*layers, activation],
                )
            if stage:
                back[stage - 1, m] = self.transfer(below, stage - 1)
        return [loss, *(g for stage in grads for g in stage)]


class Leaf:
    def __init__(self, entry):
        self.entry = entry


def measure(steps: dict, kernels: Kernels, repeat: int) -> dict[str, dict[str, float]]:
    """Medians and bests in milliseconds; the sides take turns step by step."""
    figures = {name: {"host": [], "step": [], "cpu": []} for name in steps}
    names = list(steps)
    for turn in range(20 * repeat):
        # The order of the three matters: threads that were just busy wake faster.
        for name in names[::-1] if turn % 2 else names:
            step = steps[name]
            inputs = jax.block_until_ready(kernels.inputs())
            cpu, start = time.thread_time(), time.perf_counter()
            outputs = step(inputs)
            issued, used = time.perf_counter() - start, time.thread_time() - cpu
            jax.block_until_ready(outputs)
            done = time.perf_counter() - start
            for key, seconds in (("host", issued), ("step", done), ("cpu", used)):
                figures[name][key].append(seconds * 1e3)
    report = {}
    for name, found in figures.items():
        report[name] = {}
        for key, values in found.items():
            warm = values[20:] or values
            report[name][key] = round(statistics.median(warm), 3)
            report[name][f"best_{key}"] = round(min(warm), 3)
    return report


def run_spectrax(args: argparse.Namespace) -> dict:
    script = args.spectrax_script or "spectrax_step.py"
    options = ["--width", args.width, "--layers", args.layers, "--batch", args.batch]
    done = subprocess.run(
        [args.spectrax, script, "--api", "sxjit", *map(str, options)],
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])["sxjit"]


def main() -> None:
    args = arguments()
    jax.config.update("jax_num_cpu_devices", STAGES)
    kernels = Kernels(args)
    steps = {"loop": HandWritten(kernels), "runtime": Runtime(kernels)}
    results = [step(kernels.inputs()) for step in steps.values()]
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))
    bound = {"two_threads": TwoThreads(kernels, steps["loop"])}
    items = steps["runtime"].execute.program["items"]
    calls = sum(item["kind"] == "call" for item in items)
    report = {
        "width": args.width,
        "layers": args.layers,
        "batch": args.batch,
        "calls": calls,
        "transfers": len(items) - calls,
        **measure(steps, kernels, args.repeat),
        **measure(bound, kernels, args.repeat),
    }
    for key in ("host", "step", "cpu", "best_host", "best_step"):
        ratio = report["runtime"][key] / report["loop"][key]
        report[f"{key}_ratio"] = round(ratio, 2)
    for key in ("step", "best_step"):
        ratio = report["runtime"][key] / report["two_threads"][key]
        report[f"{key}_to_two_threads"] = round(ratio, 2)
    report["us_per_item"] = round(report["runtime"]["host"] * 1e3 / len(items), 1)
    if args.spectrax:
        report["spectrax"] = run_spectrax(args)
        ratio = report["spectrax"]["step_ms"] / report["runtime"]["step"]
        report["spectrax_ratio"] = round(ratio, 1)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
