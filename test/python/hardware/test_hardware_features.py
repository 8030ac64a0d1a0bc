# SPDX-License-Identifier: Apache-2.0
"""What special values become on TPUs and GPUs, by their compilers."""

import importlib.util
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.ad_checkpoint import checkpoint_name
from jax.experimental.layout import Format, Layout
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from support.once import ONCE

import meshwright as mw

TARGETS = ["v5e:2x2", "v5p:2x2x1", "v6e:2x2", "tpu7x:2x2x1"]
if importlib.util.find_spec("jax_cuda13_plugin"):
    TARGETS.append("h100:4")
WIDTH = 256
WEIGHT = 4 * WIDTH * WIDTH

pytestmark = pytest.mark.parametrize("target", TARGETS)


def make_meshes(target, **options):
    chips = np.array(mw.aot.devices(target)[:4]).reshape(2, 2)
    return {f"m{i}": Mesh(part, "data", **options) for i, part in enumerate(chips)}


def multiply(w, x):
    return jnp.tanh(x @ w)


def two(first, second=multiply):
    """A computation on each of two meshes."""

    def step(w, v, x):
        first_of = mw.named_computation(first, name="first")
        return mw.named_computation(second, name="second")(v, first_of(w, x))

    return step


def shape(sizes, dtype, mesh, *split):
    sharding = NamedSharding(mesh, P(*split))
    return jax.ShapeDtypeStruct(sizes, dtype, sharding=sharding)


def compile_two(target, step, w, v, x, split=(), **options):
    """Args: shapes and types of the arguments, of which `split` are over devices."""
    meshes = make_meshes(target)
    config = mw.make_config(meshes, {"first": "m0", "second": "m1"})
    places = zip((w, v, x), ("m0", "m1", "m0"), strict=True)
    arguments = [
        shape(*of, meshes[mesh], *(["data"] if number in split else []))
        for number, (of, mesh) in enumerate(places)
    ]
    return mw.jit(step, config, **options).lower(*arguments).compile()


def check_sizes(compiled):
    """Arguments and results take what our account has."""
    program = compiled.mpmd_executable.runtime_executable()
    figures = program.fit().fragments
    for launch in program.steps:
        if getattr(launch, "fragment", False):
            found = figures[program.source_of(launch).name]
            sides = [
                sum(map(program.bytes_of, s)) for s in (launch.reads, launch.writes)
            ]
            assert sides[0] == found.argument_bytes
            assert sides[1] == pytest.approx(found.output_bytes, abs=512)


def sent(compiled):
    """Bytes by kind, all meshes together."""
    found = {}
    for collectives in compiled.traffic().collectives.values():
        for one in collectives:
            found[one.kind] = found.get(one.kind, 0) + one.bytes
    return found


def text_of(compiled):
    found = compiled.as_text()
    return found if isinstance(found, str) else "\n".join(map(str, found))


def test_work_done_once_does_not_grow_with_microbatches(target):
    meshes = make_meshes(target)
    rows = NamedSharding(meshes["m0"], P("data"))

    def loss(params, batch):
        x, y = (jax.lax.with_sharding_constraint(value, rows) for value in batch)
        h = jnp.tanh(x.astype(jnp.bfloat16) @ params[0].astype(jnp.bfloat16))
        h = mw.stage_boundary(jax.lax.with_sharding_constraint(h, rows))
        h = jnp.tanh(h @ params[1].astype(jnp.bfloat16))
        return ((h.astype(jnp.float32) - y) ** 2).mean()

    def compile_for(microbatches):
        gradient = mw.pipeline.accumulate(jax.value_and_grad(loss), microbatches)

        def step(params, batch):
            value, found = gradient(params, batch)
            return value, jax.tree.map(lambda p, g: p - 0.1 * g, params, found)

        schedule = mw.get_pipeline_schedule("1F1B")
        config = mw.make_config(
            meshes, pipeline_schedule=schedule, partitioning_options=ONCE
        )
        sizes = (WIDTH, WIDTH), jnp.float32
        params = [shape(*sizes, mesh, "data") for mesh in meshes.values()]
        batch = tuple(
            [shape((8, WIDTH), jnp.float32, mesh, "data")] * microbatches
            for mesh in meshes.values()
        )
        return mw.jit(step, config).lower(params, batch).compile()

    few, many = sent(compile_for(4)), sent(compile_for(8))
    reduced = [
        found.get("all-reduce", 0) + found.get("reduce-scatter", 0)
        for found in (few, many)
    ]
    # Both gradients once, and the loss.
    assert reduced == [2 * WEIGHT + 4] * 2
    # Both weights once, in bfloat16; the rest are rows of activations.
    rows_of_one = 2 * 8 * WIDTH
    for found, microbatches in ((few, 4), (many, 8)):
        rest = found["all-gather"] - WEIGHT
        assert rest == microbatches * rows_of_one


def test_host_memory_stays_there(target):
    meshes = make_meshes(target)
    config = mw.make_config(
        meshes,
        {"first": "m0", "second": "m1"},
        input_mesh_assignment=("m0#pinned_host", "m1", "m0"),
        output_mesh_assignment="m1#pinned_host",
    )
    weights = jax.ShapeDtypeStruct((64, 128), jnp.float32)
    back = jax.ShapeDtypeStruct((128, 64), jnp.float32)
    rows = jax.ShapeDtypeStruct((8, 64), jnp.float32)
    compiled = mw.jit(two(multiply), config).lower(weights, back, rows).compile()
    check_sizes(compiled)
    memory = compiled.memory_analysis()
    assert memory["m0"].host_live_bytes == 4 * 64 * 128
    assert memory["m1"].host_live_bytes >= 4 * 8 * 64
    kinds = {mesh: re.findall(r"S\(5\)", text_of(compiled)) for mesh in memory}
    assert not any(kinds.values())  # Fragments read copies on their devices.


def test_small_elements_stay_small(target):
    def first(w, x):
        return jax.lax.dot(
            x.astype(jnp.float8_e4m3fn), w, preferred_element_type=jnp.float32
        )

    rows, weights = ((16, 128), jnp.float32), ((128, 128), jnp.float32)
    narrow = ((128, 128), jnp.float8_e4m3fn)
    compiled = compile_two(target, two(first), narrow, weights, rows)
    check_sizes(compiled)
    assert "f8e4m3fn[128,128]" in text_of(compiled)


def test_integers_of_4_bits_are_packed(target):
    step = two(lambda w, x: x @ w.astype(jnp.bfloat16))
    weights = ((128, 128), jnp.int4)
    other, rows = ((128, 128), jnp.bfloat16), ((16, 128), jnp.bfloat16)
    compiled = compile_two(target, step, weights, other, rows, split=[0])
    check_sizes(compiled)
    assert "s4[64,128]" in text_of(compiled)
    program = compiled.mpmd_executable.runtime_executable()
    assert program.bytes_of(0) == 64 * 128 // 2


def test_layouts_are_those_that_were_asked_for(target):
    meshes = make_meshes(target)
    config = mw.make_config(meshes, {"first": "m0", "second": "m1"})
    whole = {name: NamedSharding(mesh, P()) for name, mesh in meshes.items()}
    formats = tuple(Format(Layout((1, 0)), whole[name]) for name in ("m0", "m1"))
    compiled = (
        mw.jit(two(multiply), config, in_shardings=(*formats, whole["m0"]))
        .lower(
            jax.ShapeDtypeStruct((256, 96), jnp.float32),
            jax.ShapeDtypeStruct((96, 256), jnp.float32),
            jax.ShapeDtypeStruct((16, 256), jnp.float32),
        )
        .compile()
    )
    check_sizes(compiled)
    assert "(f32[96,256]{0,1" in text_of(compiled)


def test_collectives_of_shard_map_are_as_written(target):
    mesh = make_meshes(target)["m0"]

    @jax.shard_map(mesh=mesh, in_specs=(P("data"), P(None, "data")), out_specs=P())
    def first(w, x):
        return jax.lax.psum(x @ w, "data")

    weights, rows = ((64, 64), jnp.float32), ((8, 64), jnp.float32)
    compiled = compile_two(target, two(first), weights, weights, rows, split=[0])
    check_sizes(compiled)
    assert sent(compiled) == {"all-reduce": 4 * 8 * 64}


def test_unreduced_results_are_not_summed(target):
    mesh = make_meshes(target, axis_types=(AxisType.Explicit,))["m0"]
    partial = NamedSharding(mesh, P(None, None, unreduced={"data"}))

    @mw.named_computation(name="first")
    def first(w, x):
        return jnp.dot(x, w, out_sharding=partial)

    weights = shape((64, 64), jnp.float32, mesh, "data")
    rows = shape((8, 64), jnp.float32, mesh, None, "data")
    config = mw.make_config({"m0": mesh}, {"first": "m0"})
    compiled = mw.jit(first, config).lower(weights, rows).compile()
    assert sent(compiled) == {}
    assert compiled.output_shardings.spec.unreduced == {"data"}


def test_library_calls_are_those_of_the_target(target):
    def first(w, x):
        factor = jnp.linalg.cholesky(w @ w.T + jnp.eye(32))
        return jax.scipy.linalg.solve_triangular(factor, x.T, lower=True).T

    weights, rows = ((32, 32), jnp.float32), ((8, 32), jnp.float32)
    compiled = compile_two(target, two(first), weights, weights, rows)
    check_sizes(compiled)
    found = set(re.findall(r'custom_call_target="([^"]+)"', text_of(compiled)))
    wanted = {"Cholesky"} if "x" in target else {"cusolver_potrf_ffi"}
    assert wanted <= found and not any("lapack" in name for name in found)


def test_policies_of_jax_offload_through_stages(target):
    """What a policy offloads goes from the forward to the backward by the host."""
    policy = jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[],
        names_which_can_be_offloaded=["hidden"],
        offload_src="device",
        offload_dst="pinned_host",
    )

    def block(w, x):
        return jnp.tanh(checkpoint_name(jnp.sin(x @ w), "hidden") @ w)

    def loss(weights, x):
        kept = jax.checkpoint(block, policy=policy)
        x = mw.stage_boundary(kept(weights[0], x))
        return (kept(weights[1], x) ** 2).mean()

    def step(weights, x):
        return mw.pipeline.accumulate(jax.value_and_grad(loss), 4)(weights, x)

    meshes = make_meshes(target)
    config = mw.make_config(meshes, pipeline_schedule=mw.get_pipeline_schedule("1F1B"))
    weights = [shape((WIDTH, WIDTH), jnp.float32, mesh) for mesh in meshes.values()]
    x = shape((4 * WIDTH, WIDTH), jnp.float32, meshes["m0"])
    lowered = mw.jit(step, config).lower(weights, x)
    items = lowered.partitioning_result.program["items"]
    fragments = lowered.partitioning_result.program["fragments"]
    on_host = [
        {entry["memory_kind"] for entry in fragment[side]} == {None, "pinned_host"}
        for fragment in (
            fragments[item["fragment"]] for item in items if "fragment" in item
        )
        for side in ("arguments", "results")
    ]
    # A result of each forward, and an argument of each backward.
    assert sum(on_host) == 2 * 2 * 4
    analysis = lowered.compile().memory_analysis()
    assert all(mesh.host_live_bytes >= WEIGHT for mesh in analysis.values())
