#!/usr/bin/env python3
"""What it costs that a program's meshes are in several processes.

    .venv/bin/python bench/distributed.py [--repeat 5] [--width 512] [--batch 512]

Everything runs on CPU devices of this machine over loopback. Three questions:

edge      A round trip: process 0 makes an array, process 1 pulls it and sums it up,
          process 0 pulls the sum. Beside it the same kernels and the same two moves
          written by hand with `jax.experimental.transfer`. Both take turns in the
          same processes; what the kernels alone take is subtracted from both.
issue     CPU time of the issuing thread per step of the plan that a process has, of
          the pipeline of bench/runtime_overhead.py (4 stages, 8 microbatches, tiny),
          in 2 processes with 2 meshes each, beside 1 process with all 4. The
          launches alone, too. Starts alternate.
pipeline  A step of that pipeline with large kernels in 4 processes, beside the same
          kernels in the same processes with nothing between them. They take turns.

Prints one line of JSON: medians, and the ratios.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

SIZES = {"small": 8, "16 MB": 1 << 22}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--width", type=int, default=512, help="of the large kernels")
    parser.add_argument("--batch", type=int, default=512, help="of the large kernels")
    parser.add_argument("--layers", type=int, default=1, help="per stage")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", choices=["edge", "issue", "pipeline"])
    parser.add_argument("--worker", choices=["edge", "pipeline"])
    return parser.parse_args()


# In the workers.


class Edge:
    """Two moves between two processes, by the runtime and by hand."""

    def __init__(self, size: int):
        import jax
        import jax.numpy as jnp

        import meshwright as mw

        self.jax = jax

        def make(x):
            return jnp.broadcast_to(x, (size,)) + jnp.arange(size, dtype=jnp.float32)

        def total(h):
            return h.sum()

        def end(s):
            return s + 1

        def trip(x):
            h = mw.named_computation(make, name="make")(x)
            s = mw.named_computation(total, name="total")(h)
            return mw.named_computation(end, name="end")(s)

        first = [d for d in jax.devices() if d.process_index == 0][0]
        second = [d for d in jax.devices() if d.process_index == 1][0]
        config = mw.make_config(
            {
                "m0": jax.sharding.Mesh([first], "x"),
                "m1": jax.sharding.Mesh([second], "x"),
            },
            {"make": "m0", "total": "m1", "end": "m0"},
            partitioning_options={"mpmd_infer_transfers": True},
        )
        one = jax.numpy.float32(1)
        compiled = mw.jit(trip, config).lower(one).compile()
        placed = mw.distributed.place(one, compiled.input_shardings[0][0])
        self.ours = lambda: compiled(placed)
        here = jax.local_devices()[0]
        local = jax.sharding.SingleDeviceSharding(here)
        kernels = [
            jax.jit(f, out_shardings=local).lower(s).compile()
            for f, s in (
                (make, jax.ShapeDtypeStruct((), jnp.float32, sharding=local)),
                (total, jax.ShapeDtypeStruct((size,), jnp.float32, sharding=local)),
                (end, jax.ShapeDtypeStruct((), jnp.float32, sharding=local)),
            )
        ]
        self.make, self.total, self.end = kernels
        self.x = jax.device_put(one, local)
        self.large = jax.ShapeDtypeStruct((size,), jnp.float32, sharding=local)
        self.scalar = jax.ShapeDtypeStruct((), jnp.float32, sharding=local)

    def connect(self, world, name: str) -> None:
        """A transfer server of our own, beside that of the runtime."""
        from jax.experimental import transfer

        here = self.jax.local_devices()[0]
        self.server = transfer.start_transfer_server(
            here.client, "127.0.0.1:0", ["127.0.0.1:0"] * 2
        )
        world.put(f"bench/{name}/{world.process}", self.server.address().encode())
        other = 1 - world.process
        address = world.get(f"bench/{name}/{other}", other, "start a server").decode()
        self.peer, self.number = self.server.connect(address), 0

    def by_hand(self):
        self.number += 2
        if self.jax.process_index() == 0:
            self.server.await_pull(self.number, [self.make(self.x)])
            (s,) = self.peer.pull(self.number + 1, [self.scalar])
            return self.end(s)
        (h,) = self.peer.pull(self.number, [self.large])
        s = self.total(h)
        self.server.await_pull(self.number + 1, [s])
        return s

    def kernels_alone(self):
        return self.end(self.total(self.make(self.x)))


def run_edges(args: argparse.Namespace) -> dict:
    import meshwright as mw

    mw.distributed.initialize()
    import jax
    from meshwright.runtime.processes.world import current

    world, found = current(), {}
    for name, size in SIZES.items():
        edge = Edge(size)
        edge.connect(world, str(size))
        ways = {
            "runtime": edge.ours,
            "by hand": edge.by_hand,
            "kernels": edge.kernels_alone,
        }
        times = {way: [] for way in ways}
        rounds = 50 if size < 1000 else 6
        for turn in range(args.repeat + 1):
            for number, way in enumerate(list(ways)[:: -1 if turn % 2 else 1]):
                world.barrier(f"edge/{size}/{turn}/{number}", "the next turn")
                for _ in range(rounds):
                    start = time.perf_counter()
                    jax.block_until_ready(ways[way]())
                    if turn:  # The first one warms up.
                        times[way].append(time.perf_counter() - start)
        found[name] = times
    return found


def run_pipeline(args: argparse.Namespace) -> dict:
    import meshwright as mw

    mw.distributed.initialize()
    import jax
    from meshwright.runtime.processes.world import current
    from meshwright.runtime.program.steps import Launch

    from bench import runtime_overhead as pipeline

    world = current()
    kernels = pipeline.Kernels(args)
    program = pipeline.Runtime(kernels).execute
    own = [
        stage
        for stage, mesh in enumerate(kernels.meshes)
        if mesh.devices.flat[0].process_index == jax.process_index()
    ]
    compiled = {
        (stage, kind): kernels.lower(stage, kind).compile()
        for stage in own
        for kind in kernels.kinds(stage)
    }
    values = jax.tree.leaves(
        (
            [tuple(w) for w in kernels.layers],
            [tuple(0 * w for w in layer) for layer in kernels.layers],
            0 * kernels.layers[0][0][0, 0],
            list(kernels.data[0]),
            list(kernels.data[1]),
        )
    )
    inputs, host, cpu, step, alone = [], [], [], [], []

    def place():
        pairs = zip(values, program.input_shardings, strict=True)
        return [mw.distributed.place(value, there) for value, there in pairs]

    def meet(name):
        if world:
            world.barrier(name, "the next turn")

    def run_alone(arrays):
        """This process's kernels, as many as in a step, in no order."""
        for stage in arrays:
            weights, grads, loss, x = arrays[stage]
            for _ in range(pipeline.MICROBATCHES):
                if stage == pipeline.STAGES - 1:
                    grads, loss, _ = compiled[stage, "l"](weights, grads, loss, x, x)
                else:
                    compiled[stage, "f"](weights, x)
                    grads, _ = compiled[stage, "b"](weights, grads, x, x)
            jax.block_until_ready(grads)

    def place_alone():
        found = {}
        for stage in own:
            put = lambda v, s=stage: jax.device_put(v, kernels.shardings[s])  # noqa: E731
            weights = tuple(map(put, kernels.layers[stage]))
            grads = tuple(put(0 * w) for w in kernels.layers[stage])
            found[stage] = (
                weights,
                grads,
                put(values[0][0, 0] * 0),
                put(kernels.data[0, 0]),
            )
        return jax.block_until_ready(found)

    for turn in range(10 * args.repeat + 5):
        inputs = jax.block_until_ready(place())
        meet(f"step/{turn}")
        used, start = time.thread_time(), time.perf_counter()
        outputs = program(*inputs)
        issued, used = time.perf_counter() - start, time.thread_time() - used
        jax.block_until_ready(outputs)
        done = time.perf_counter() - start
        arrays = place_alone()
        meet(f"alone/{turn}")
        start = time.perf_counter()
        run_alone(arrays)
        if turn >= 5:
            alone.append(time.perf_counter() - start)
            host.append(issued)
            cpu.append(used)
            step.append(done)
    kinds = time_kinds(program, place)
    launches = sum(isinstance(s, Launch) for s in program.steps)
    return {
        "items": len(program.steps),
        "launches": launches,
        "host": host,
        "cpu": cpu,
        "step": step,
        "alone": alone,
        "by_kind": kinds,
    }


def time_kinds(program, place) -> dict[str, float]:
    """Mean CPU microseconds to issue a step, by its kind."""
    import jax

    found: dict[str, list[float]] = {}
    for _ in range(20):
        slots = [*place(), *program._blank]
        program._tokens.clear()
        if program._share:
            program._share.start_run()
        for step, issue in zip(program.steps, program._issues, strict=True):
            used = time.thread_time()
            issue(slots)
            kind = type(step).__name__
            if kind == "Edge":
                kind = "receive" if step.places else "send"
            found.setdefault(kind, []).append(time.thread_time() - used)
        jax.block_until_ready([slots[slot] for slot in program._plan.output_slots])
    return {kind: 1e6 * statistics.fmean(times) for kind, times in found.items()}


# In the driver.


def launch(processes: int, devices: int, worker: str, options: dict) -> list[dict]:
    """What each process prints, in the order of the processes."""
    command = [sys.executable, "-m", "meshwright.launch", "-n", str(processes)]
    command += ["--devices-per-process", str(devices), __file__, "--worker", worker]
    for name, value in options.items():
        command += [f"--{name}", str(value)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    lines = [line.partition("] ")[2] for line in done.stdout.splitlines()]
    found = [json.loads(line) for line in lines if line.startswith("{")]
    return [each["found"] for each in sorted(found, key=lambda each: each["process"])]


def median_us(seconds: list[float]) -> float:
    return round(1e6 * statistics.median(seconds), 1)


def report_edges(args: argparse.Namespace) -> dict:
    (first, _) = launch(2, 1, "edge", {"repeat": args.repeat})
    report = {}
    for name, times in first.items():
        row = {f"{way}_us": median_us(values) for way, values in times.items()}
        row["round_trip_ratio"] = round(row["runtime_us"] / row["by hand_us"], 2)
        moves = [row[f"{way}_us"] - row["kernels_us"] for way in ("runtime", "by hand")]
        row["moves_ratio"] = round(moves[0] / moves[1], 2)
        report[name] = row
    return report


def report_issue(args: argparse.Namespace) -> dict:
    tiny = {"width": 16, "batch": 32, "layers": 1, "repeat": 3}
    sides: dict[str, list[dict]] = {"1 process": [], "2 processes": []}
    for _ in range(3):
        sides["1 process"] += launch(1, 4, "pipeline", tiny)
        sides["2 processes"] += launch(2, 2, "pipeline", tiny)
    report: dict[str, dict] = {}
    for side, found in sides.items():
        cpu = [used / each["items"] for each in found for used in each["cpu"]]
        kinds = {kind for each in found for kind in each["by_kind"]}
        report[side] = {"us_per_item": median_us(cpu)} | {
            f"us_per_{kind}": round(
                statistics.median(
                    e["by_kind"][kind] for e in found if kind in e["by_kind"]
                ),
                1,
            )
            for kind in sorted(kinds)
        }
    one, two = report["1 process"], report["2 processes"]
    report["ratio"] = round(two["us_per_item"] / one["us_per_item"], 2)
    report["launch_ratio"] = round(two["us_per_Launch"] / one["us_per_Launch"], 2)
    return report


def report_pipeline(args: argparse.Namespace) -> dict:
    options = {"width": args.width, "batch": args.batch, "layers": args.layers}
    found = launch(4, 1, "pipeline", options | {"repeat": args.repeat})
    # A step is over when the last process is done.
    step = [max(times) for times in zip(*(f["step"] for f in found), strict=True)]
    alone = [max(times) for times in zip(*(f["alone"] for f in found), strict=True)]
    ratio = statistics.median(step) / statistics.median(alone)
    return {
        "step_ms": round(statistics.median(step) * 1e3, 2),
        "kernels_alone_ms": round(statistics.median(alone) * 1e3, 2),
        "ratio": round(ratio, 2),
    }


def main() -> None:
    args = arguments()
    if args.worker:
        found = {"edge": run_edges, "pipeline": run_pipeline}[args.worker](args)
        import jax

        print(json.dumps({"process": jax.process_index(), "found": found}), flush=True)
        return
    parts = {
        "edge": report_edges,
        "issue": report_issue,
        "pipeline": report_pipeline,
    }
    chosen = [args.only] if args.only else parts
    report = {name: parts[name](args) for name in chosen}
    print(json.dumps(report))


if __name__ == "__main__":
    main()
