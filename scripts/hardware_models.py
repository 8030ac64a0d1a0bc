#!/usr/bin/env python3
"""Takes large models to "fits or not", without a device or an array.

    scripts/hardware_models.py [--models llama,gpt] [TARGET...]

llama: 8 billion parameters, on four meshes of 4 (data) by 4 (model) devices.
gpt: 1.4 billion parameters, on four meshes of 2 by 2.

Both have four stages, parameters split along both axes, bfloat16 with Adam in float32,
1F1B with eight microbatches. Prints what fits, seconds, and the peak resident memory of
the process; and for each mesh the peak by our account beside what the figures of the
compilers add up to: in turn for each fragment its arguments, results and temporaries,
the arrays that it leaves alone, and all code. It is an error if

- the process needs 6 GiB or more,
- equal stages are compiled twice, or
- the two peaks differ by more than 3 %.
"""

import argparse
import dataclasses
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from meshwright.runtime.program.steps import Launch

import meshwright as mw

STAGES, MICROBATCHES = 4, 8
HEAD = 128  # Features of an attention head.
ALLOWED_BYTES = 6 << 30
ALLOWED = 0.03
COLUMNS, ROWS = P("data", "model"), P("model", "data")


@dataclasses.dataclass(frozen=True)
class Model:
    """A model of equal layers.

    Attributes:
      targets: what it is compiled for by default.
      split: devices of a mesh along `data` and `model`.
      layers, width, words: how many layers, features, and words.
      batch, sequence: of a microbatch.
      weights: of a layer, their shapes and how they are split.
      apply: a layer, of activations and weights.
    """

    targets: tuple[str, ...]
    split: tuple[int, int]
    layers: int
    width: int
    words: int
    batch: int
    sequence: int
    weights: Mapping[str, tuple[tuple[int, ...], P]]
    apply: Callable


def normalize(x, scale):
    wide = x.astype(jnp.float32)
    wide *= jax.lax.rsqrt((wide**2).mean(-1, keepdims=True) + 1e-5)
    return wide.astype(x.dtype) * scale


def rotate(x):
    """Rotary positions of [batch, sequence, heads, features]."""
    half = x.shape[-1] // 2
    speeds = 500000.0 ** (-jnp.arange(half, dtype=jnp.float32) / half)
    angles = jnp.arange(x.shape[1], dtype=jnp.float32)[:, None] * speeds
    sine, cosine = jnp.sin(angles)[:, None], jnp.cos(angles)[:, None]
    a, b = jnp.split(x.astype(jnp.float32), 2, axis=-1)
    turned = jnp.concatenate([a * cosine - b * sine, b * cosine + a * sine], -1)
    return turned.astype(x.dtype)


def attend(query, key, value):
    """Attention of [batch, sequence, features], in heads of 128 features."""
    batch, length, _ = query.shape
    parts = [x.reshape(batch, length, -1, HEAD) for x in (query, key, value)]
    turned = (*map(rotate, parts[:2]), parts[2])
    found = jax.nn.dot_product_attention(*turned, is_causal=True)
    return found.reshape(query.shape)


def apply_llama(x, w):
    h = normalize(x, w["attention_norm"])
    x = x + attend(h @ w["query"], h @ w["key"], h @ w["value"]) @ w["output"]
    h = normalize(x, w["norm"])
    return x + (jax.nn.silu(h @ w["gate"]) * (h @ w["up"])) @ w["down"]


def apply_gpt(x, w):
    h = normalize(x, w["attention_norm"])
    x = x + attend(*jnp.split(h @ w["all"], 3, axis=-1)) @ w["output"]
    h = normalize(x, w["norm"])
    return x + jax.nn.gelu(h @ w["up"]) @ w["down"]


MODELS = {
    "llama": Model(
        ("v5p:4x4x4", "h100:64"),
        (4, 4),
        layers=32,
        width=4096,
        words=128256,
        batch=4,
        sequence=4096,
        weights={
            "attention_norm": ((4096,), P()),
            "query": ((4096, 4096), COLUMNS),
            "key": ((4096, 1024), COLUMNS),
            "value": ((4096, 1024), COLUMNS),
            "output": ((4096, 4096), ROWS),
            "norm": ((4096,), P()),
            "gate": ((4096, 14336), COLUMNS),
            "up": ((4096, 14336), COLUMNS),
            "down": ((14336, 4096), ROWS),
        },
        apply=apply_llama,
    ),
    "gpt": Model(
        ("v5p:2x2x4", "h100:16"),
        (2, 2),
        layers=24,
        width=2048,
        words=50304,
        batch=4,
        sequence=1024,
        weights={
            "attention_norm": ((2048,), P()),
            "all": ((2048, 3 * 2048), COLUMNS),
            "output": ((2048, 2048), ROWS),
            "norm": ((2048,), P()),
            "up": ((2048, 8192), COLUMNS),
            "down": ((8192, 2048), ROWS),
        },
        apply=apply_gpt,
    ),
}


def lower(model: Model, target: str):
    devices = np.array(mw.aot.devices(target)).reshape(STAGES, *model.split)
    meshes = {f"m{i}": Mesh(part, ("data", "model")) for i, part in enumerate(devices)}
    rows = [NamedSharding(mesh, P("data")) for mesh in meshes.values()]

    def loss(params, batch):
        tokens, wanted = batch
        x = params[0]["embedding"][tokens]
        for stage, weights in enumerate(params):
            x = jax.lax.with_sharding_constraint(x, rows[stage])

            @jax.checkpoint
            def apply(x, w):
                return model.apply(x, w), None

            x, _ = jax.lax.scan(apply, x, weights["layers"])
            if stage + 1 < STAGES:
                x = mw.stage_boundary(x)
        x = normalize(x, params[-1]["norm"])
        logits = (x @ params[-1]["head"]).astype(jnp.float32)
        chosen = jnp.take_along_axis(logits, wanted[..., None], -1)[..., 0]
        return (jax.nn.logsumexp(logits, -1) - chosen).mean()

    gradients = mw.pipeline.accumulate(jax.value_and_grad(loss), MICROBATCHES)

    def step(state, batch):
        params, mean, square, count = state
        value, found = gradients(params, batch)
        count += 1

        def update(w, m, v, g):
            g = g.astype(jnp.float32)
            m, v = 0.9 * m + 0.1 * g, 0.95 * v + 0.05 * g * g
            scale = m / (1 - 0.9**count) / (jnp.sqrt(v / (1 - 0.95**count)) + 1e-8)
            return (w.astype(jnp.float32) - 3e-4 * scale).astype(w.dtype), m, v

        new = jax.tree.map(update, params, mean, square, found)
        parts = jax.tree.transpose(
            jax.tree.structure(params), jax.tree.structure((0, 0, 0)), new
        )
        return value, (*parts, count)

    def describe(shape, spec, stage, dtype):
        sharding = NamedSharding(meshes[f"m{stage}"], spec)
        return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)

    def state_of(dtype):
        each = model.layers // STAGES
        params = [
            {
                "layers": {
                    name: describe((each, *shape), P(None, *spec), stage, dtype)
                    for name, (shape, spec) in model.weights.items()
                }
            }
            for stage in range(STAGES)
        ]
        width, words, last = model.width, model.words, STAGES - 1
        params[0]["embedding"] = describe((words, width), ROWS, 0, dtype)
        params[last]["norm"] = describe((width,), P(), last, dtype)
        params[last]["head"] = describe((width, words), COLUMNS, last, dtype)
        return params

    state = state_of(jnp.bfloat16), state_of(jnp.float32), state_of(jnp.float32)
    state = (*state, jax.ShapeDtypeStruct((), jnp.float32))
    shape = (model.batch, model.sequence)
    batch = tuple(
        [describe(shape, P("data"), stage, jnp.int32)] * MICROBATCHES
        for stage in (0, STAGES - 1)
    )
    config = mw.make_config(meshes, pipeline_schedule=mw.get_pipeline_schedule("1F1B"))
    count = sum(np.prod(leaf.shape, dtype=int) for leaf in jax.tree.leaves(state[0]))
    print(f"{target}: {count:,} parameters", flush=True)
    return mw.jit(step, config, donate_argnums=0).lower(state, batch)


def peak_resident() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def peaks_of_compilers(program) -> dict[str, int]:
    """What the figures of the compilers add up to, at most, by mesh."""
    account, plan, found = program.account, program._plan, program.fit().fragments
    peaks = dict.fromkeys(program.meshes, 0)
    code = dict.fromkeys(program.meshes, 0)
    counted = set()
    before: Mapping[str, int] = {}
    for step, after in zip(plan.steps, account.history, strict=False):
        if isinstance(step, Launch) and step.fragment:
            source = plan.sources[step.source]
            mesh, figures = source.mesh.name, found[source.name]
            held = before.get(mesh, 0) - sum(map(plan.bytes_of, set(step.reads)))
            held += figures.argument_bytes + figures.output_bytes
            held += figures.temporary_bytes - figures.alias_bytes
            peaks[mesh] = max(peaks[mesh], held)
            if source.name not in counted:
                counted.add(source.name)
                code[mesh] += figures.code_bytes
        before = after
    return {mesh: peak + code[mesh] for mesh, peak in peaks.items()}


def check(model: Model, target: str) -> list[str]:
    """Compiles a model, and prints all about it; returns what is wrong."""
    begin, work = time.perf_counter(), time.process_time()
    lowered = lower(model, target)
    middle = time.perf_counter()
    compiled = lowered.compile()
    end, done = time.perf_counter(), time.process_time()
    program = compiled.mpmd_executable.runtime_executable()
    fit, errors = program.fit(), []
    print(fit)
    shared = sum(f.compiled_for_others for f in program.fragments)
    print(
        f"{target}: {'fits' if fit.fits else 'does not fit'}; lowered in "
        f"{middle - begin:.0f} s, compiled in {end - middle:.0f} s, which took "
        f"{done - work:.0f} s of CPU; {len(fit.fragments)} fragments, of which "
        f"{shared} share what was compiled; {peak_resident() / 2**30:.2f} GiB of "
        "resident memory at most"
    )
    if not shared:  # Two stages have neither words nor a loss.
        errors.append("equal stages were compiled twice")
    for mesh, theirs in peaks_of_compilers(program).items():
        ours = fit.meshes[mesh].peak_bytes
        print(f"{mesh}: {ours:,} by our account, {theirs:,} by the compilers", end="")
        print(f", {ours / theirs - 1:+.2%}", flush=True)
        if abs(ours / theirs - 1) > ALLOWED:
            errors.append(
                f"the peak of {mesh} is {ours}, and {theirs} by the compilers"
            )
    return [f"{target}: {error}" for error in errors]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("targets", nargs="*")
    options = parser.parse_args()
    errors = []
    for name in options.models.split(","):
        for target in options.targets or MODELS[name].targets:
            print(f"\n{name} on {target}", flush=True)
            errors += check(MODELS[name], target)
    if peak_resident() >= ALLOWED_BYTES:
        errors.append(
            f"{peak_resident() / 2**30:.2f} GiB of resident memory, 6 allowed"
        )
    for error in errors:
        print(f"error: {error}", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
