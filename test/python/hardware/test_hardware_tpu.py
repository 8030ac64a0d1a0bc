# SPDX-License-Identifier: Apache-2.0
"""A small program through the compiler of TPUs, which is installed here."""

import json
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from support.tools import ROOT

import meshwright as mw


@pytest.fixture(scope="module")
def compiled():
    chips = np.array(mw.aot.devices("v5e:2x2"))
    meshes = {f"m{i}": Mesh(chips[2 * i : 2 * i + 2], ("x",)) for i in range(2)}

    def loss(params, x):
        for i, w in enumerate(params):
            name = f"stage{i}"
            x = mw.named_computation(lambda w, x: jnp.tanh(x @ w), name=name)(w, x)
        return (x.astype(jnp.float32) ** 2).mean()

    def step(params, x):
        value, gradients = jax.value_and_grad(loss)(params, x)
        return value, [w - 0.1 * g for w, g in zip(params, gradients, strict=True)]

    config = mw.make_config(meshes, {"stage0": "m0", "stage1": "m1"})
    shardings = [NamedSharding(mesh, P("x")) for mesh in meshes.values()]
    params = [
        jax.ShapeDtypeStruct((100, 100), jnp.bfloat16, sharding=s) for s in shardings
    ]
    x = jax.ShapeDtypeStruct((8, 100), jnp.bfloat16)
    lowered = mw.jit(step, config, donate_argnums=0).lower(params, x)
    return lowered.compile()


def test_arguments_count_as_the_compiler_counts_them(compiled):
    program = compiled.mpmd_executable.runtime_executable()
    found = program.fit().fragments
    for launch in program.steps:
        if not getattr(launch, "fragment", False):
            continue
        name = program.source_of(launch).name
        ours = [
            sum(map(program.bytes_of, slots)) for slots in (launch.reads, launch.writes)
        ]
        theirs = found[name].argument_bytes, found[name].output_bytes
        # Several results have a table of their addresses.
        assert ours == pytest.approx(theirs, rel=0.01, abs=512)


def test_donated_arguments_are_taken_over(compiled):
    # Half of 100 rows of bfloat16 are seven tiles of 8 by 128.
    aliased = sum(f.alias_bytes for f in _fit(compiled).fragments.values())
    assert aliased >= 2 * 7 * 8 * 128 * 2


def test_weights_are_gathered_once_and_a_call_is_refused(compiled):
    collectives = compiled.traffic().collectives
    assert {c.axes for found in collectives.values() for c in found} == {("x",)}
    with pytest.raises(RuntimeError, match="devices that are not here"):
        compiled([np.ones((100, 100))] * 2, np.ones((8, 100)))


def test_it_is_saved_for_tpus_and_for_nothing_else(compiled, tmp_path):
    compiled.save(tmp_path)
    body = json.loads((tmp_path / "compiled.json").read_text())["body"]
    assert body["surroundings"]["plugins"]["tpu"]["libtpu"]
    assert body["meshes"]["m1"]["kind"] == "TPU v5 lite"
    sizes = [
        (tmp_path / "files" / e["file"]).stat().st_size for e in body["executables"]
    ]
    assert min(sizes) > 10_000
    cpus = np.array(jax.devices("cpu")[:4])
    meshes = {f"m{i}": Mesh(cpus[2 * i : 2 * i + 2], ("x",)) for i in range(2)}
    with pytest.raises(mw.ProgramError, match="for devices of platform 'tpu', and has"):
        mw.load(tmp_path, meshes)


def test_cycles_of_the_compiler_are_times(compiled):
    seconds = [f.estimated_s for f in _fit(compiled).fragments.values()]
    assert all(1e-8 < each < 1e-3 for each in seconds)


def _fit(compiled):
    return compiled.mpmd_executable.runtime_executable().fit()


def test_the_command(tools, tmp_path):
    source = ROOT / "docs" / "traffic.mlir"
    config, out = source.with_suffix(".json"), tmp_path / "out"
    tools.check("meshwright", "partition", source, "--config", config, "-o", out)
    text = tools.check("meshwright", "compile", out, "--target=v5e:2x2", "--json")
    found = json.loads(text)
    assert set(found) == {"target", "fragments", "meshes", "traffic"}
    assert found["target"] == "v5e:2x2"
    assert {mesh["fits"] for mesh in found["meshes"].values()} == {True}
    # Two microbatches, of a weight of 64 x 64 numbers each.
    gathers = found["traffic"]["collectives"]["m1"]
    assert [g["count"] for g in gathers if g["kind"] == "all-gather"] == [2]


def test_plans_are_ranked_by_the_compiler(tools, tmp_path):
    def loss(params, x):
        for i, w in enumerate(params):
            name = f"l{i}"
            x = mw.named_computation(lambda w, x: jnp.tanh(x @ w), name=name)(w, x)
        return (x**2).sum()

    mesh = Mesh(jax.devices("cpu")[:1], ("x",))
    config = mw.make_config({"m": mesh}, {"l0": "m", "l1": "m"})
    shapes = [jax.ShapeDtypeStruct((100, 100), jnp.float32)] * 2
    x = jax.ShapeDtypeStruct((8, 100), jnp.float32)
    lowered = mw.jit(jax.grad(loss), config).lower(shapes, x)
    plan = mw.plan(lowered, target="v5e:2x2", compile=2)
    assert [one.error for one in plan.candidates] == ["", ""]
    # A weight and a gradient, padded to 104 by 128 elements.
    tile = 104 * 128 * 4
    for one in plan.candidates:
        layers = 2 // len(one.config["topology"])
        assert one.fits and one.peak_bytes >= 2 * layers * tile
    program = tmp_path / "step.mlir"
    program.write_text(lowered.as_text("stablehlo"))
    asked = ["plan", program, "--target=v5e:2x2", "--compile=2", "--json"]
    found = json.loads(tools.check("meshwright", *asked))
    assert found["target"] == "v5e:2x2" and found["device"] == "tpu-v5e"
    assert [one["peak_bytes"] for one in found["candidates"]] == [
        one.peak_bytes for one in plan.candidates
    ]


ASK = "import meshwright; meshwright.aot.devices('v5e:2x2')"
HOLD = f"{ASK}; print('held', flush=True); input()"


def start(code: str, **settings: str) -> subprocess.Popen:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | settings
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("allowed", [True, False])
def test_a_library_that_another_process_has(allowed):
    """The lock is that of a user who asks for one; two may share it otherwise."""
    settings = {} if allowed else {"ALLOW_MULTIPLE_LIBTPU_LOAD": "0"}
    with start(HOLD, **settings) as holder:
        try:
            assert holder.stdout.readline() == "held\n"
            with start(ASK, **settings) as other:
                said = other.communicate(timeout=300)[1]
        finally:
            holder.communicate("\n", timeout=300)
    assert holder.returncode == 0
    if allowed:
        assert other.returncode == 0, said
        return
    assert other.returncode != 0
    last = said.strip().splitlines()[-1]
    assert "target v5e:2x2: libtpu" in last
    assert "another process has the library; set ALLOW_MULTIPLE_LIBTPU_LOAD=1" in last


def test_exchanges_of_a_pair_start_before_they_are_waited_for():
    chips = np.array(mw.aot.devices("v5e:2x2"))
    meshes = {f"m{i}": Mesh(chips[2 * i : 2 * i + 2], ("x",)) for i in range(2)}

    def expert(w, x):
        x = jax.lax.all_to_all(x, "x", 1, 0, tiled=True)
        return jax.lax.all_to_all(jnp.tanh(x @ w[0]), "x", 0, 1, tiled=True)

    def loss(params, x):
        specs = {"in_specs": (P("x"), P("x")), "out_specs": P("x")}
        layer = jax.shard_map(expert, mesh=meshes["m0"], **specs)
        for i, w in enumerate(params):
            x = mw.named_computation(layer, name=f"stage{i}")(w, x)
        last = mw.named_computation(lambda x: (x**2).mean(), name="stage1")
        return last(x)

    def step(params, xs):
        total = None
        for m, x in enumerate(xs):
            grads = mw.call(jax.grad(loss), call_counter=m)(params, x)
            total = grads if total is None else jax.tree.map(jnp.add, total, grads)
        return total

    config = mw.make_config(
        meshes,
        {"stage0": "m0", "stage1": "m1"},
        name_to_stage_assignment={"stage0": 0, "stage1": 1},
        partitioning_options={
            "mpmd_infer_transfers": True,
            "mpmd_pipeline_schedule": "Combined1F1B",
        },
    )
    split = NamedSharding(meshes["m0"], P("x"))
    params = [jax.ShapeDtypeStruct((2, 256, 256), jnp.float32, sharding=split)] * 2
    xs = [jax.ShapeDtypeStruct((256, 2, 256), jnp.float32, sharding=split)] * 4
    lowered = mw.jit(step, config).lower(params, xs)
    program = lowered.partitioning_result.program
    pairs = {
        program["fragments"][item["fragment"]]["name"]
        for item in program["items"]
        if "overlapped" in item
    }
    assert pairs
    texts = lowered.compile().mpmd_executable.runtime_executable().hlo_texts()
    for name in pairs:
        assert "all-to-all-start(" in texts[name], name
    exchanging = {name for name, text in texts.items() if "all-to-all" in text}
    # Others may, too; beside nothing, the compiler makes one operation of it again.
    assert pairs < exchanging
    for name in exchanging:
        assert "all-to-all-start" in texts[name], name
