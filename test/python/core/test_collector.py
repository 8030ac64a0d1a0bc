"""Python's garbage collector waits while a program is made, and is then as before."""

import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from meshwright.core import collector
from meshwright.runtime.program import plan

import meshwright as mw


@pytest.fixture(autouse=True)
def as_it_was():
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


def test_waits_while_a_plan_is_made(monkeypatch):
    seen, build = [], plan.Planner.build

    def noted(self):
        seen.append(gc.isenabled())
        return build(self)

    monkeypatch.setattr(plan.Planner, "build", noted)
    jitted(lambda x: x + 1).lower(jnp.zeros(3)).compile()
    assert seen == [False]
    assert gc.isenabled()


def test_is_as_it_was_after_an_error():
    def step(x):
        raise KeyError

    with pytest.raises(KeyError):
        jitted(step).lower(jnp.zeros(3))
    assert gc.isenabled()


@pytest.fixture
def collections():
    """The generations that are looked at; what tests freeze at their start is not kept
    from the collector here."""
    gc.unfreeze()
    seen = []

    def note(phase, info):
        if phase == "stop":
            seen.append(info["generation"])

    gc.collect()
    gc.callbacks.append(note)
    yield seen
    gc.callbacks.remove(note)
    gc.freeze()


def test_looks_once_at_what_is_new(collections):
    step, x = jitted(lambda x: x + 1), jnp.zeros(3)
    step.lower(x)
    assert collections == [1]


@pytest.mark.parametrize("enabled", [True, False])
def test_looks_at_nothing_that_an_import_makes(collections, enabled):
    (gc.enable if enabled else gc.disable)()
    with collector.paused_for_imports():
        assert not gc.isenabled()
        made = [[] for _ in range(5)]
    assert gc.isenabled() == enabled
    assert collections == []
    assert gc.get_freeze_count() == 0
    old = {id(one) for one in gc.get_objects(2)}
    assert all(id(one) in old for one in made)


def test_what_a_user_has_frozen_stays_so():
    gc.freeze()
    frozen = gc.get_freeze_count()
    with collector.paused_for_imports():
        pass
    assert 0 < gc.get_freeze_count() <= frozen


def test_cycles_of_a_trace_are_found_later():
    class Node:
        pass

    def step(x):
        node = Node()
        node.itself = node
        nodes.append(weakref.ref(node))
        return x + 1

    nodes = []
    jitted(step).lower(jnp.zeros(3))
    gc.collect()
    assert nodes
    assert all(node() is None for node in nodes)
