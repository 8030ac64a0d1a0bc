#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plans of models with unequal layers, beside equal numbers of them.

    .venv/bin/python bench/unequal_layers.py [--only Jamba] [--device h200] [--show]

The models of `bench/unequal_models.json`, each as a training step of that shape in
bfloat16 that is traced, not run. `mw.plan` with `schedules=["auto"]` chooses the cuts,
the places of the stages and the order together. Both the plan and the baseline are
then configurations for which the program is partitioned and simulated, by the same
cost model, on as many meshes of one device, with as many microbatches and the same
memory. The baseline is Interleaved1F1B with two stages on each mesh, each of them with
the same number of layers, the embedding in the first and the head in the last, which is
what a user has who looks at nothing but their number. A second line is fairer to
it: the best of 1F1B, Interleaved1F1B and ZeroBubbleV with the cuts that `mw.plan` made
before it searched, by time and not by number.

Prints a row for each model: simulated steps, memory of the fullest device (that of the
simulator, with the states of Adam) and how many times shorter the plan's step is;
and the geometric mean of these.
"""

import argparse
import functools
import json
import math
import pathlib
import re
import sys
import time

import jax
import jax.numpy as jnp
from jax.sharding import Mesh

import meshwright as mw

MODELS = pathlib.Path(__file__).with_name("unequal_models.json")
BLOCK = 256  # Of a scan.
# For each byte of a bfloat16 parameter: two moments and a copy in f32.
STATE = 6


def read_models() -> list[dict]:
    return json.loads(MODELS.read_text())["models"]


def read_layers(text: str) -> list[str]:
    """The blocks of each layer: `(AF AX)*2` is AF, AX, AF, AX."""
    while found := re.search(r"\(([^()]*)\)\*(\d+)", text):
        text = text.replace(found[0], " ".join([found[1]] * int(found[2])))
    return text.split()


def kernel(name, result, *operands):
    return jax.ffi.ffi_call(name, result)(*operands)


def like(x):
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def fused(name):
    """A kernel of (q, k, v) whose result is like q, and one for the gradients."""

    @jax.custom_vjp
    def run(q, k, v):
        return kernel(name, like(q), q, k, v)

    def forward(q, k, v):
        out = run(q, k, v)
        return out, (q, k, v, out)

    def backward(kept, gradient):
        q, k, v, out = kept
        results = like(q), like(k), like(v)
        return tuple(kernel(f"{name}_gradient", results, q, k, v, out, gradient))

    run.defvjp(forward, backward)
    return run


@jax.custom_vjp
def head_loss(x, words):
    return kernel("head_loss", jax.ShapeDtypeStruct((), jnp.float32), x, words)


def head_forward(x, words):
    return head_loss(x, words), (x, words)


def head_backward(kept, gradient):
    x, words = kept
    return (
        kernel("head_input", like(x), x, words, gradient),
        kernel("head_weights", like(words), x, words, gradient),
    )


head_loss.defvjp(head_forward, head_backward)


def list_costs(model) -> list[str]:
    """FLOPs of the kernels, by dimensions of their first operand."""
    window, state = model.get("window", 0), model.get("state", 0)
    # Of a token and a head: with a block, of which half is causal, and the state.
    scan = f"b*t*h*d*{2 * BLOCK + 4 * state}"
    words = model["words"]
    return [
        "attention(b,t,h,d)=flops:2*b*h*t*t*d",
        "attention_gradient(b,t,h,d)=flops:5*b*h*t*t*d",
        f"window(b,t,h,d)=flops:4*b*h*t*{window}*d",
        f"window_gradient(b,t,h,d)=flops:10*b*h*t*{window}*d",
        f"scan(b,t,h,d)=flops:{scan}",
        f"scan_gradient(b,t,h,d)=flops:2*{scan}",
        *(
            f"head_{name}(b,t,d)=flops:2*b*t*d*{words}"
            for name in ("loss", "input", "weights")
        ),
    ]


@jax.checkpoint
def normalize(x):
    """Computed again in the backward pass, as fused kernels do."""
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt((wide**2).mean(-1, keepdims=True) + 1e-6)).astype(
        x.dtype
    )


def attend(model, name, w, x):
    heads, kv, size = model["heads"], model["kv_heads"], model["head"]
    parts = jnp.split(x @ w["in"], [heads * size, (heads + kv) * size], axis=-1)
    q, k, v = (part.reshape(*x.shape[:2], -1, size) for part in parts)
    return fused(name)(q, k, v).reshape(*x.shape[:2], -1) @ w["out"]


def scan(model, w, x):
    """Gate, inputs, and what the state takes and gives; twice the width."""
    width, state = 2 * model["width"], model["state"]
    gate, inner, taken, given = jnp.split(
        x @ w["in"], [width, 2 * width, 2 * width + 8 * state], axis=-1
    )
    inner = inner.reshape(*x.shape[:2], -1, 64)
    sides = (side.reshape(*x.shape[:2], 8, state) for side in (taken, given))
    out = fused("scan")(inner, *sides).reshape(gate.shape)
    return (out * jax.nn.silu(gate)) @ w["out"]


def feed(w, x):
    if "gate" in w:
        return (jax.nn.silu(x @ w["gate"]) * (x @ w["in"])) @ w["out"]
    return jnp.square(jax.nn.relu(x @ w["in"])) @ w["out"]


def route(model, w, x):
    """Each expert takes as many tokens, those that score best."""
    experts, tokens = model["experts"], x.reshape(-1, x.shape[-1])
    taken = int(len(tokens) * model["active"] / experts)
    scores = jax.nn.softmax((tokens @ w["router"]).astype(jnp.float32))
    best, places = jax.lax.top_k(scores.T, taken)
    inputs = tokens[places]
    hidden = jnp.einsum("ecd,edh->ech", inputs, w["in"])
    if "gate" in w:
        hidden *= jax.nn.silu(jnp.einsum("ecd,edh->ech", inputs, w["gate"]))
    else:
        hidden = jnp.square(jax.nn.relu(hidden))
    out = jnp.einsum("ech,ehd->ecd", hidden, w["out"])
    out *= best[..., None].astype(x.dtype)
    return jnp.zeros_like(tokens).at[places].add(out).reshape(x.shape)


def shapes_of(model, block):
    width, hidden = model["width"], model["hidden"]
    if block in "AL":
        inner = model["heads"] * model["head"]
        return {
            "in": (width, inner + 2 * model["kv_heads"] * model["head"]),
            "out": (inner, width),
        }
    if block == "S":
        return {
            "in": (width, 4 * width + 16 * model["state"]),
            "out": (2 * width, width),
        }
    names = {"in": (width, hidden), "out": (hidden, width)}
    if model["gated"]:
        names["gate"] = (width, hidden)
    if block == "X":
        names = {name: (model["experts"], *shape) for name, shape in names.items()}
        names["router"] = (width, model["experts"])
    return names


def run_layer(model, blocks, weights, x):
    for block, w in zip(blocks, weights, strict=True):
        y = normalize(x)
        if block in "AL":
            y = attend(model, "attention" if block == "A" else "window", w, y)
        elif block == "S":
            y = scan(model, w, y)
        else:
            y = feed(w, y) if block == "F" else route(model, w, y)
        x = x + y
    return x


def list_names(model) -> list[str]:
    layers = read_layers(model["layers"])
    return ["embed", *(f"layer{i}" for i in range(len(layers))), "head"]


def lower(model, config):
    """The training step of a model, without an optimizer."""
    layers, width = read_layers(model["layers"]), model["width"]

    def struct(*shape, dtype=jnp.bfloat16):
        return jax.ShapeDtypeStruct(shape, dtype)

    weights = {
        "embed": struct(model["words"], width),
        "layers": [
            [
                {name: struct(*shape) for name, shape in shapes_of(model, b).items()}
                for b in blocks
            ]
            for blocks in layers
        ],
        "head": struct(width, model["words"]),
    }

    def loss(weights, tokens):
        look = mw.named_computation(lambda w, i: w[i], name="embed")
        x = look(weights["embed"], tokens)
        for number, blocks in enumerate(layers):
            run = functools.partial(run_layer, model, blocks)
            named = mw.named_computation(run, name=f"layer{number}")
            x = named(weights["layers"][number], x)
        last = mw.named_computation(
            lambda w, x: head_loss(normalize(x), w), name="head"
        )
        return last(weights["head"], x)

    step = mw.pipeline.accumulate(
        jax.value_and_grad(loss), model["microbatches"], batch_argnums=1
    )
    rows = model["microbatches"] * model["batch"]
    return mw.jit(step, config).lower(
        weights, struct(rows, model["length"], dtype=jnp.int32)
    )


def make_config(model, places, options):
    """Of the mesh and stage of each name."""
    meshes = {
        f"mesh{i}": Mesh(jax.devices()[i : i + 1], "data")
        for i in range(model["meshes"])
    }
    return mw.make_config(
        meshes,
        {name: mesh for name, (mesh, _) in places.items()},
        name_to_stage_assignment={name: stage for name, (_, stage) in places.items()},
        partitioning_options={
            "mpmd_infer_transfers": True,
            "mpmd_custom_costs": ";".join(list_costs(model)),
            **options,
        },
    )


def place_equally(model):
    """Two stages on each mesh, of as many layers."""
    names, meshes = list_names(model), model["meshes"]
    each = (len(names) - 2) // (2 * meshes)
    assert each * 2 * meshes == len(names) - 2, model["name"]
    stages = [0] + [i // each for i in range(len(names) - 2)] + [2 * meshes - 1]
    return {
        name: (f"mesh{stage % meshes}", stage)
        for name, stage in zip(names, stages, strict=True)
    }


def count_parameters(model, names) -> float:
    """Bytes of the parameters of the named computations."""
    sizes = {
        f"layer{i}": sum(
            math.prod(shape)
            for block in blocks
            for shape in shapes_of(model, block).values()
        )
        for i, blocks in enumerate(read_layers(model["layers"]))
    }
    sizes["embed"] = sizes["head"] = model["width"] * model["words"]
    return 2.0 * sum(sizes[name] for name in names)


def simulate(model, device, places, options):
    """Seconds of a step, and bytes of the fullest device."""
    found = lower(model, make_config(model, places, options)).simulate(
        device, costs=list_costs(model)
    )
    peak = 0.0
    for mesh, figures in found.meshes.items():
        names = [name for name, (place, _) in places.items() if place == mesh]
        adam = STATE * count_parameters(model, names)
        peak = max(peak, figures.peak_bytes + adam)
    return found.makespan_s, peak


def measure(model, device, memory, show=False):
    """The baseline's seconds and bytes, and each plan with its own."""
    equal = place_equally(model)
    schedule = {"mpmd_pipeline_schedule": "Interleaved1F1B"}
    baseline, peak = simulate(model, device, equal, schedule)
    lowered = lower(model, make_config(model, equal, schedule))
    plans = {}
    for name, schedules in (
        ("even", ["1F1B", "Interleaved1F1B", "ZeroBubbleV"]),
        ("auto", ["auto"]),
    ):
        begin = time.monotonic()
        plan = mw.plan(
            lowered,
            device=device,
            devices=model["meshes"],
            meshes=[model["meshes"]],
            memory=memory,
            schedules=schedules,
            costs=list_costs(model),
        )
        taken = time.monotonic() - begin
        if show:
            print(plan, flush=True)
        places = {name: tuple(at) for name, at in plan.config["assignment"].items()}
        step, bytes_ = simulate(model, device, places, plan.config["options"])
        plans[name] = plan, step, bytes_, taken
    return baseline, peak, plans


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="h200")
    parser.add_argument("--memory", default="141GB", help="in GB")
    parser.add_argument("--only", default="", help="models with this in their name")
    parser.add_argument("--show", action="store_true", help="the plans")
    args = parser.parse_args()
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_num_cpu_devices", 8)
    most = float(args.memory.removesuffix("GB")) * 1e9
    ratios, fair, over = [], [], 0
    for model in read_models():
        if args.only not in model["name"]:
            continue
        baseline, peak, plans = measure(model, args.device, args.memory, args.show)
        _, even, _, _ = plans["even"]
        plan, step, bytes_, taken = plans["auto"]
        # Adam's states are in the plan's memory; the simulator has no optimizer.
        over += max(peak, bytes_) > most
        ratios.append(baseline / step)
        fair.append(even / step)
        print(
            f"{model['name']:20} {model['meshes']} meshes  equal {baseline:.3f} s"
            f" {peak / 1e9:.0f} GB  even {even:.3f} s  plan {step:.3f} s"
            f" {bytes_ / 1e9:.0f} GB (planned {plan.step_seconds:.3f} s, searched"
            f" {taken:.1f} s)  {ratios[-1]:.2f}x",
            flush=True,
        )
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    mean_fair = math.exp(sum(map(math.log, fair)) / len(fair))
    print(f"equal numbers of layers by the plan, geometric mean  {mean:.2f}x")
    print(f"even times of stages by the plan, geometric mean  {mean_fair:.2f}x")
    if over:
        print(f"{over} models need more than {args.memory}", file=sys.stderr)
    return min(over, 1)


if __name__ == "__main__":
    sys.exit(main())
