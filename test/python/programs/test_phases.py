"""Listeners of jax.monitoring hear how long the phases of a start take."""

import jax
import numpy as np
import pytest
from meshwright.compiler import native

import meshwright as mw


@pytest.fixture
def heard():
    """Names of the phases that were heard, in their order."""
    found = []

    def hear(event, seconds, **_):
        if event.startswith("/meshwright/"):
            assert seconds >= 0
            found.append(event.removeprefix("/meshwright/"))

    jax.monitoring.register_event_duration_secs_listener(hear)
    yield found
    jax.monitoring.unregister_event_duration_listener(hear)


def lower():
    mesh = jax.sharding.Mesh(np.array(jax.devices("cpu")[:1]), ("x",))

    def step(x):
        return mw.named_computation(lambda x: x + 1, name="first")(x)

    config = mw.make_config({"m": mesh}, {"first": "m"})
    return mw.jit(step, config).lower(jax.ShapeDtypeStruct((4,), np.float32))


def test_each_phase_is_heard(heard):
    lowered = lower()
    assert set(heard) == {"partition"}
    heard.clear()
    compiled = lowered.compile()
    assert list(dict.fromkeys(heard)) == ["plan", "compile", "bind"]
    heard.clear()
    compiled(jax.device_put(np.zeros(4, np.float32), compiled.input_shardings[0][0]))
    assert not heard


def test_what_fails_is_not_heard(heard):
    native.Session("module {}")
    assert heard == ["partition"]
    with pytest.raises(RuntimeError, match="program:1:"):
        native.Session("module {")
    assert heard == ["partition"]
