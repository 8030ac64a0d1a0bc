#!/usr/bin/env python3
"""How much of the exchange of experts is hidden, with pairs and without.

    .venv/bin/python bench/overlapped_pairs.py [--target h100:16] [--microbatches 16]

A model of experts, whose layers have two `all_to_all` each, on four meshes of four
devices under DualPipeV and Combined1F1B; compiled for devices that are only described,
which takes JAX's plugin for them (docs/hardware.md). An exchange is hidden if a product
is between its start and its end in the code of the device. Once with
`mpmd_fuse_overlapped_pairs`, once without but with the same halves of backwards and,
as before there was such an option, once without the options that are on with pairs;
of Combined1F1B with whole backwards. Pairs are those that gain on the device by the
cost model.

Prints a line of JSON for each schedule: the share of bytes that is hidden, the
simulated step with pairs by that without (`ratio_step`), also where that has the same
halves (`ratio_halves`), and, where compilers estimate, pairs by their parts:
`ratio_estimated` with collectives, which take what the cost model says, where the code
does not hide them, and `ratio_cycles` without any; and `simulated_by_estimated`, what
the simulator has for a pair by that estimate, with the least and the most of any.
Where the plugin is missing, it says so and ends with 0; `--no-compile` does without.
"""

import argparse
import collections
import itertools
import json
import re
import statistics
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import meshwright as mw

MESHES, DEVICES = 4, 4
STAGES = {"DualPipeV": 8, "Combined1F1B": 4}
#: What splits the backward of experts, too, and adds up gradients as they are made: on
#: by default with pairs.
SPLIT = {"mpmd_split_manual_computations": True, "mpmd_accumulate_in_units": True}
#: Options without pairs.
APART: dict[str, dict] = {
    "DualPipeV": dict.fromkeys(SPLIT, False),
    "Combined1F1B": {"mpmd_split_bwd_fragments": False, **dict.fromkeys(SPLIT, False)},
}
#: Collectives of the model: names in code, and those of the simulator.
COLLECTIVES = {"all-to-all": "all_to_all", "all-reduce": "all_reduce"}
SIZES = {"bf16": 2, "f16": 2, "f32": 4}
PRODUCT = re.compile(r"\bdot\(|gemm|cublas|convolution\(|kind=kOutput|__triton_nested")


def layer(mesh, weights, x):
    """A dense product, then an expert on each device."""
    dense, up, down = weights

    def expert(up, down, x):
        rows, width = x.shape
        x = x.reshape(DEVICES, rows // DEVICES, width)
        x = jax.lax.all_to_all(x, "x", 0, 0, tiled=True)
        x = jax.nn.gelu(x.reshape(rows, width) @ up[0]) @ down[0]
        x = x.reshape(DEVICES, rows // DEVICES, width)
        return jax.lax.all_to_all(x, "x", 0, 0, tiled=True).reshape(rows, width)

    specs = {"in_specs": (P("x"), P("x"), P("x")), "out_specs": P("x")}
    x = x + jnp.tanh(x @ dense)
    return x + jax.shard_map(expert, mesh=mesh, **specs)(up, down, x)


def lower(schedule, devices, device, args, fuse, **options):
    grid = np.array(devices[: MESHES * DEVICES]).reshape(MESHES, DEVICES)
    topology = {f"m{i}": Mesh(row, "x") for i, row in enumerate(grid)}
    mesh, stages = topology["m0"], STAGES[schedule]

    def stage(weights, x):
        for each in weights:
            x = layer(mesh, each, x)
        return x

    def loss(weights, x):
        for number, each in enumerate(weights):
            x = mw.named_computation(stage, name=f"stage{number}")(each, x)
        last = mw.named_computation(lambda x: (x**2).mean(), name=f"stage{stages - 1}")
        return last(x)

    def step(weights, xs):
        total = None
        for m in range(args.microbatches):
            grads = mw.call(jax.grad(loss), call_counter=m)(weights, xs[m])
            total = grads if total is None else jax.tree.map(jnp.add, total, grads)
        return total

    where = mw.pipeline.stage_assignment(schedule, topology, stages)
    config = mw.make_config(
        topology,
        {f"stage{stage}": mesh for stage, mesh in where.items()},
        name_to_stage_assignment={f"stage{stage}": stage for stage in where},
        partitioning_options={
            "mpmd_infer_transfers": True,
            "mpmd_keep_units_alike": True,
            "mpmd_pipeline_schedule": schedule,
            "mpmd_fuse_overlapped_pairs": fuse,
            "mpmd_repeat_views": True,
            **options,
            **({"mpmd_schedule_device": device} if device else {}),
        },
    )
    split, whole = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())

    def struct(sharding, *shape):
        return jax.ShapeDtypeStruct(shape, jnp.bfloat16, sharding=sharding)

    width, hidden = args.width, int(args.expert * args.width)
    one = (
        struct(whole, width, width),
        struct(split, DEVICES, width, hidden),
        struct(split, DEVICES, hidden, width),
    )
    weights = [[one] * args.layers for _ in range(stages)]
    xs = [struct(split, args.rows, width)] * args.microbatches
    return mw.jit(step, config).lower(weights, xs)


def count_bytes(types: str) -> int:
    """Bytes of the arrays in a type, as HLO writes them."""
    return sum(
        SIZES[kind] * int(np.prod([int(n) for n in shape.split(",") if n]))
        for kind, shape in re.findall(r"(bf16|f16|f32)\[([\d,]*)\]", types)
    )


def count_hidden(hlo: str, kind: str = "all-to-all") -> tuple[float, float]:
    """Bytes of a kind of collectives in scheduled code, and those that are hidden."""
    total = hidden = 0.0
    waiting: dict[str, list] = {}
    for line in hlo.splitlines():
        found = re.match(r"\s*(?:ROOT )?%?([\w.\-]+) = (.*)", line)
        if not found:
            waiting = {}
            continue
        name, text = found.groups()
        if f" {kind}(" in text:
            total += count_bytes(text.split(f" {kind}(")[0])
        elif kind in text + name and "-start(" in text:
            size = count_bytes(text.split("-start(")[0])
            # Of most, operands and results are both in the type.
            waiting[name] = [size if kind == "all-reduce" else size / 2, False]
        elif done := re.search(r"-done\((?:.* )?%?([\w.\-]+)\)", text):
            size, is_hidden = waiting.pop(done[1], (0.0, False))
            total += size
            hidden += size * is_hidden
        elif PRODUCT.search(text):
            for entry in waiting.values():
                entry[1] = True
    return total, hidden


#: Operations of a fragment, and seconds without collectives and with open ones.
Estimate = tuple[float, float, float]


class Measured:
    """What the compilers of a program say of it.

    Attributes:
      share: the part of the exchanged bytes of a step that is hidden.
      estimates: of each fragment that has some, by its name, seconds without
        collectives, and with those that it does not hide.
    """

    def __init__(self, lowered, simulation):
        self.program = lowered.partitioning_result.program
        executable = lowered.compile().mpmd_executable.runtime_executable()
        texts = executable.hlo_texts()
        self.share, open_s = 0.0, collections.defaultdict(float)
        for kind, simulated in COLLECTIVES.items():
            total = covered = 0.0
            open_bytes: dict[str, float] = {}
            for fragment in self.program["fragments"]:
                size, hidden = count_hidden(texts[fragment["name"]], kind)
                total += fragment["calls"] * size
                covered += fragment["calls"] * hidden
                open_bytes[fragment["name"]] = size - hidden
            if not total:
                continue
            if kind == "all-to-all":
                self.share = covered / total
            # No compiler says what a byte takes; the cost model does.
            found = [c for c in simulation.collectives if c.kind == simulated]
            byte_s = sum(c.busy_s for c in found) / total
            for name, size in open_bytes.items():
                open_s[name] += byte_s * size
        self.estimates: dict[str, tuple[float, float]] = {
            name: (found.estimated_s, found.estimated_s + open_s[name])
            for name, found in executable.fit().fragments.items()
            if found.estimated_s
        }

    def estimate(self, item) -> Estimate | None:
        fragment = self.program["fragments"][item["fragment"]]
        found = self.estimates.get(fragment["name"])
        return found and (fragment["flops"], *found)

    def by_origins(self) -> dict[tuple[str, ...], list[Estimate | None]]:
        """Estimates by what fragments are made of: whole ones, or halves of backwards.

        Of several fragments of the same kind, that of the one with the most calls: the
        last one of a stage adds up gradients as well.
        """
        sent = {
            item["operand"]
            for item in self.program["items"]
            if item["kind"] == "transfer"
        }
        found: dict = collections.defaultdict(lambda: collections.defaultdict(list))
        for item in self.program["items"]:
            if item["kind"] == "call" and item["origins"]:
                sends = not sent.isdisjoint(item["results"])
                found[tuple(item["origins"])][sends].append(self.estimate(item))
        return {
            origins: [statistics.mode(each) for each in of.values()]
            for origins, of in found.items()
        }


def find_parts(pair, flops: float, alone) -> list[Estimate] | None:
    """The parts of a pair alone: those whose work adds up to that of the pair.

    A part may be a whole backward, or one half, of which the other is elsewhere.
    """
    choices = []
    for origin in itertools.chain(*(part["origins"] for part in pair["overlapped"])):
        found = alone.get((origin,), [None])
        if not all(found):
            return None
        choices.append([[each] for each in found])
        if len(found) > 1:
            choices[-1].append(found)
    return min(
        (sum(each, []) for each in itertools.product(*choices)),
        key=lambda parts: abs(sum(part[0] for part in parts) - flops),
    )


def compare_estimates(paired: Measured, apart: Measured, simulation) -> dict:
    """Pairs by their parts, and by the simulator: means over all pairs."""
    alone, ratios = apart.by_origins(), collections.defaultdict(list)
    for item, run in zip(paired.program["items"], simulation.items, strict=True):
        if "overlapped" not in item or not (pair := paired.estimate(item)):
            continue
        ratios["simulated_by_estimated"].append((run.end_s - run.start_s) / pair[2])
        if parts := find_parts(item, pair[0], alone):
            _, cycles, seconds = map(sum, zip(*parts, strict=True))
            ratios["ratio_estimated"].append(pair[2] / seconds)
            ratios["ratio_cycles"].append(pair[1] / cycles)
    means = {key: round(statistics.mean(each), 4) for key, each in ratios.items()}
    found = sorted(ratios["simulated_by_estimated"])
    return means | {"simulated_range": [round(found[i], 3) for i in (0, -1) if found]}


def find_devices(args) -> list:
    if args.compile:
        return mw.aot.devices(args.target)
    jax.config.update("jax_num_cpu_devices", MESHES * DEVICES)
    return jax.devices("cpu")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", default="h100:16")
    parser.add_argument("--schedules", nargs="+", default=list(STAGES))
    parser.add_argument("--microbatches", type=int, default=16)
    parser.add_argument("--layers", type=int, default=2, help="of a stage")
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument(
        "--expert", type=float, default=4, help="width of an expert, by that of a layer"
    )
    parser.add_argument(
        "--compile",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="without, only simulates, and needs no plugin",
    )
    args = parser.parse_args()
    try:
        devices = find_devices(args)
    except (RuntimeError, NotImplementedError) as error:
        print(f"skipped: {error}")
        return 0
    kind = args.target.split(":")[0]
    device = kind if kind == "h100" else f"tpu-{kind}"
    for schedule in args.schedules:
        row, measured = {"schedule": schedule, "target": args.target}, {}
        simulations = {}
        ways = {
            "apart": (False, APART[schedule]),
            "halves": (False, SPLIT),
            "paired": (True, SPLIT),
        }
        for name, (fuse, options) in ways.items():
            lowered = lower(schedule, devices, device, args, fuse, **options)
            simulation = simulations[name] = lowered.simulate(device)
            if args.compile:
                measured[name] = Measured(lowered, simulation)
                row[f"hidden_{name}"] = round(measured[name].share, 3)
            row[f"step_{name}_ms"] = round(1e3 * simulation.makespan_s, 3)
        step = row["step_paired_ms"]
        row["ratio_step"] = round(step / row["step_apart_ms"], 4)
        row["ratio_halves"] = round(step / row["step_halves_ms"], 4)
        if measured:
            paired, halves = measured["paired"], measured["halves"]
            row |= compare_estimates(paired, halves, simulations["paired"])
        print(json.dumps(row), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
