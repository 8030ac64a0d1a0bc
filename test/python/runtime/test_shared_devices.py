"""Meshes that share devices: a pipeline on one device, actor and learner in turns."""

import logging

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from meshwright.runtime import ProgramError
from meshwright.runtime.program import placement
from support.launching import launch
from support.runtime_programs import Builder, iota
from test_runtime_run import live_bytes

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

DEVICES = jax.devices()
APART = {f"m{i}": Mesh(DEVICES[i : i + 1], "x") for i in range(4)}
ONE = {name: Mesh(DEVICES[:1], "x") for name in APART}


def loss(ws, x, y):
    for number, w in enumerate(ws):
        x = jnp.tanh((mw.stage_boundary(x) if number else x) @ w)
    return ((x - y) ** 2).mean()


def step(ws, xs, ys):
    gradient = mw.pipeline.accumulate(jax.value_and_grad(loss), 4, batch_argnums=(1, 2))
    value, grads = gradient(ws, xs, ys)
    return [w - 0.1 * g for w, g in zip(ws, grads, strict=True)], value


def arguments():
    keys = jax.random.split(jax.random.key(0), 6)
    ws = [0.5 * jax.random.normal(key, (4, 4)) for key in keys[:4]]
    return ws, *(np.asarray(jax.random.normal(key, (8, 4))) for key in keys[4:])


@pytest.mark.parametrize("schedule", ["1F1B", "ZeroBubbleH1"])
def test_pipeline_on_one_device(schedule, caplog):
    placement._reported.clear()
    chosen = mw.get_pipeline_schedule(schedule)
    ws, xs, ys = arguments()
    jitted = mw.jit(
        step, mw.make_config(ONE, pipeline_schedule=chosen), donate_argnums=0
    )
    plain, expected = jax.jit(step), ws
    found = [jnp.array(w) for w in ws]
    with caplog.at_level(logging.WARNING, "meshwright"):
        for _ in range(3):
            given = found
            found, value = jitted(given, xs, ys)
            assert all(w.is_deleted() for w in given)
            expected, wanted = plain(expected, xs, ys)
            np.testing.assert_allclose(value, wanted, rtol=1e-5)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    notes = [
        r.getMessage() for r in caplog.records if "share devices" in r.getMessage()
    ]
    assert len(notes) == 1 and "'m0', 'm1', 'm2', 'm3'" in notes[0]

    # The order on each mesh is what it is on devices of its own.
    def orders(meshes):
        config = mw.make_config(meshes, pipeline_schedule=chosen)
        program = mw.jit(step, config, donate_argnums=0).lower(ws, xs, ys)
        items = program.partitioning_result.program["items"]
        return {
            mesh: [item["origins"] for item in items if item.get("mesh") == mesh]
            for mesh in meshes
        }

    assert orders(ONE) == orders(APART)


def test_device_holds_what_all_its_meshes_hold():
    ws, xs, ys = arguments()
    config = mw.make_config(ONE, pipeline_schedule=mw.get_pipeline_schedule("GPipe"))
    compiled = mw.jit(step, config).lower(ws, xs, ys).compile()
    meshes = compiled.memory_analysis()
    account = compiled.mpmd_executable.runtime_executable().account
    (peak,) = account.shared_peaks.values()
    assert list(account.shared_peaks) == [frozenset(ONE)]
    together = max(sum(now.values()) for now in account.history)
    assert max(m.peak_bytes for m in meshes.values()) < together <= peak
    code = sum(mesh.code_bytes for mesh in meshes.values())
    assert compiled.peak_memory_bytes == peak + code


def test_account_equals_live_arrays_of_both_meshes():
    b = Builder(a={"x": 1}, b={"x": 1})
    b.meshes["b"] = b.meshes["a"]
    x = b.input("a", [256], donated=True)
    y = b.unary("p0", "stablehlo.add", x)
    moved = b.transfer(y, "b")
    z = b.unary("p1", "stablehlo.multiply", y, alias={0: 0})
    out = b.unary("p2", "stablehlo.multiply", moved, alias={0: 0})
    b.output(z, out)
    program = b.load()
    home = {"a": b.meshes["a"]}
    before = live_bytes(home)["a"]
    slots = [b.put(iota(256), "a"), *program._blank]
    for issue, expected in zip(program._issues, program.account.history, strict=True):
        issue(slots)
        assert live_bytes(home)["a"] - before == sum(expected.values())


@pytest.mark.parametrize("home", [0, 1])
def test_one_device_keeps_what_it_gives_to_itself_and_others(home):
    """What is sent to all of a mesh is whole there, also where it has been before."""
    b = Builder(a={"x": 2}, b={"x": 1})
    b.meshes = {"a": Mesh(DEVICES[:2], "x"), "b": Mesh(DEVICES[home : home + 1], "x")}
    y = b.unary("p0", "stablehlo.add", b.input("b", [256]))
    moved = b.transfer(y, "a")
    b.output(b.unary("p1", "stablehlo.multiply", y, alias={0: 0}), moved)
    b.output(b.unary("p2", "stablehlo.add", moved))
    squares, same, twice = b.load()(b.put(iota(256), "b"))
    np.testing.assert_array_equal(np.asarray(twice), 4 * iota(256))
    np.testing.assert_array_equal(np.asarray(squares), (2 * iota(256)) ** 2)
    for shard in same.addressable_shards:
        np.testing.assert_array_equal(np.asarray(shard.data), 2 * iota(256))


GRIDS = {
    "same": (DEVICES[:2], DEVICES[:2]),
    "reversed": (DEVICES[:2], DEVICES[1::-1]),
    "part": (DEVICES[:2], DEVICES[1:3]),
    "inside": (DEVICES[:4], DEVICES[1:3]),
    "one of several": (DEVICES[:1], DEVICES[:2]),
    "several to one": (DEVICES[:2], DEVICES[1:2]),
}


@pytest.mark.parametrize("grid", GRIDS)
def test_values_go_back_and_forth(grid):
    """Each side donates what it has been sent, while the other keeps its own."""
    first, second = GRIDS[grid]
    meshes = {"actor": Mesh(first, "x"), "learner": Mesh(second, "y")}
    options = {"mpmd_infer_transfers": True}
    names = {"act": "actor", "learn": "learner"}
    config = mw.make_config(
        meshes,
        names,
        input_mesh_assignment=("learner", "actor"),
        output_mesh_assignment=("learner", "actor", "actor"),
        partitioning_options=options,
    )

    def turn(w, x):
        acted = mw.named_computation(lambda w, x: jnp.tanh(x @ w), name="act")(w, x)
        w = mw.named_computation(lambda w, a: w - 0.1 * a.T @ a, name="learn")(w, acted)
        return w, x + 1, acted

    split = tuple(
        NamedSharding(mesh, P(mesh.axis_names[0]))
        for mesh in (meshes["learner"], meshes["actor"])
    )
    jitted = mw.jit(turn, config, donate_argnums=(0, 1), in_shardings=split)
    w = x = jnp.arange(16.0).reshape(4, 4) / 16
    ours, theirs = (w + 0, x + 0), (w, x)
    for _ in range(3):
        *ours, acted = jitted(*ours)
        *theirs, wanted = jax.jit(turn)(*theirs)
        np.testing.assert_allclose(acted, wanted, rtol=1e-5)
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5)


def test_one_array_for_two_meshes_is_not_given_away():
    meshes = {name: Mesh(DEVICES[:1], "x") for name in ("a", "b")}
    config = mw.make_config(meshes, {"f": "a", "g": "b"})
    f = mw.named_computation(jnp.sin, name="f")
    g = mw.named_computation(jnp.cos, name="g")
    jitted = mw.jit(lambda x, y: (f(x), g(y)), config, donate_argnums=0)
    x = jax.device_put(jnp.ones(4), NamedSharding(meshes["a"], P()))
    with pytest.raises(ValueError, match="donated"):
        jitted(x, x)
    view = jax.make_array_from_single_device_arrays(
        (4,), NamedSharding(meshes["b"], P()), [x.addressable_data(0)]
    )
    with pytest.raises(ValueError, match="share a buffer"):
        jitted(x, view)


def test_several_processes_are_refused():
    done = launch(2, 1, "shared.py")
    assert done.returncode != 0
    text = done.stdout + done.stderr
    assert "meshes 'a' and 'b' share devices, and this run has 2 processes" in text
    assert ProgramError.__name__ in text
