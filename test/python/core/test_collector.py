"""Python's garbage collector waits while a program is made, and is then as before."""

import gc

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import meshwright as mw


@pytest.fixture(autouse=True)
def collector():
    was_enabled = gc.isenabled()
    gc.enable()
    yield
    (gc.enable if was_enabled else gc.disable)()


def jitted(function):
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("x",))
    return mw.jit(function, mw.make_config({"mesh": mesh}))


@pytest.mark.parametrize("enabled", [True, False])
def test_waits_while_traced_and_is_then_as_it_was(enabled):
    seen = []

    def step(x):
        seen.append(gc.isenabled())
        return x + 1

    (gc.enable if enabled else gc.disable)()
    jitted(step).lower(jnp.zeros(3))
    assert seen == [False]
    assert gc.isenabled() == enabled


def test_is_as_it_was_after_an_error():
    def step(x):
        raise KeyError

    with pytest.raises(KeyError):
        jitted(step).lower(jnp.zeros(3))
    assert gc.isenabled()


def test_looks_once_at_what_is_new():
    seen = []

    def note(phase, info):
        if phase == "stop":
            seen.append(info["generation"])

    step, x = jitted(lambda x: x + 1), jnp.zeros(3)
    gc.collect()
    gc.callbacks.append(note)
    try:
        step.lower(x)
    finally:
        gc.callbacks.remove(note)
    assert seen == [1]
