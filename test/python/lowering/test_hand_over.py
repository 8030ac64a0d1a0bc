"""The compiler reads the same program from bytecode as from text."""

import logging
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from meshwright.compiler import native
from meshwright.jaxapi import frontend as compat
from meshwright.lowering import hand_over
from support.launching import bare_environment

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")


def make_meshes():
    return {
        name: Mesh(jax.devices()[2 * i : 2 * i + 2], "x")
        for i, name in enumerate(("m0", "m1"))
    }


def lower_step():
    """A pipeline with a constant, a loop, a sharding and donated state."""
    meshes = make_meshes()
    table = jnp.arange(64, dtype=jnp.float32).reshape(8, 8)

    def loss(params, batch):
        x, mask = batch
        x = jnp.tanh(x @ params["first"] + (x @ table)[:, ::-1])
        x = mw.stage_boundary(x)
        return jnp.where(mask, x @ params["last"], 0.0).sum()

    def step(params, batch):
        value, sums = mw.pipeline.accumulate(jax.value_and_grad(loss), 4)(params, batch)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, sums), value

    rows = NamedSharding(meshes["m0"], P("x"))
    weights = jax.ShapeDtypeStruct((8, 8), jnp.float32)
    batch = (
        jax.ShapeDtypeStruct((16, 8), jnp.float32, sharding=rows),
        jax.ShapeDtypeStruct((16, 8), jnp.bool_),
    )
    config = mw.make_config(
        meshes,
        {"stage0": "m0", "stage1": "m1"},
        name_to_stage_assignment={"stage0": 0, "stage1": 1},
        partitioning_options={"mpmd_infer_transfers": True},
        pipeline_schedule=mw.get_pipeline_schedule("ONE_FWD_ONE_BWD"),
    )
    params = {"first": weights, "last": weights}
    return mw.jit(step, config, donate_argnums=0).lower(params, batch)


def results(monkeypatch, *sizes):
    """What becomes of it if modules of these sizes are large ones."""
    found = []
    for size in sizes:  # Locations name this line.
        monkeypatch.setattr(hand_over, "_LARGE", size)
        made = lower_step().partitioning_result
        found.append((made.program_text, made.fragments, made.io, made.module_text))
    return found


@pytest.fixture
def handed_over(monkeypatch):
    """Kinds of what the compiler was given to read."""
    kinds = []
    plain = native.Session.__init__

    def noted(self, module, config=None):
        kinds.append(type(module))
        plain(self, module, config)

    monkeypatch.setattr(native.Session, "__init__", noted)
    return kinds


def test_small_modules_are_text(handed_over):
    lower_step()
    assert handed_over == [str]


def test_bytecode_gives_what_text_gives(monkeypatch, handed_over):
    from_text, from_bytecode = results(monkeypatch, 1 << 30, 0)
    assert from_bytecode == from_text
    assert handed_over == [str, bytes]


def test_text_is_read_where_bytecode_cannot_be(monkeypatch, handed_over, caplog):
    whole = compat.module_bytecode
    monkeypatch.setattr(compat, "module_bytecode", lambda module: whole(module)[:-40])
    with caplog.at_level(logging.DEBUG, "meshwright"):
        from_text, retried = results(monkeypatch, 1 << 30, 0)
    assert retried == from_text
    assert handed_over == [str, bytes, str]
    assert "taking the text" in caplog.text


def test_errors_are_at_the_users_place(monkeypatch):
    config = mw.make_config(make_meshes(), {"first": "m0"})

    def both(x):
        h = mw.named_computation(jnp.tanh, name="first")(x)
        return mw.named_computation(jnp.sin, name="second")(h)

    messages = []
    for size in (1 << 30, 0):
        monkeypatch.setattr(hand_over, "_LARGE", size)
        with pytest.raises(RuntimeError) as caught:
            mw.jit(both, config).lower(jnp.ones(4))
        messages.append((str(caught.value), caught.value.diagnostics))
    assert messages[0] == messages[1]
    assert "test_hand_over.py" in messages[0][0]


HELD = """
import ctypes
from meshwright.compiler import native
CONFIG = {"topology": {"m": {"x": 1}}, "assignment": {}}
held = native.partition("module {func.func @main() {return}}", CONFIG)
ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))
"""


def test_results_that_outlive_the_interpreter_are_not_reported():
    found = subprocess.run(
        [sys.executable, "-c", HELD],
        env=bare_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert (found.stdout, found.stderr) == ("", "")
