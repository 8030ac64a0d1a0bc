"""What `equal_compiles_once` shares: equal programs, and no others."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from support import compiled_once

DEVICES = jax.devices()[:2]
SPLIT = PartitionSpec("x")


@pytest.fixture(autouse=True)
def compiles(monkeypatch):
    """The programs that XLA has compiled; none is there before."""
    compiled, compile_ = [], compiled_once._compile

    def record(*args):
        compiled.append(args)
        return compile_(*args)

    monkeypatch.setattr(compiled_once, "_compile", record)
    monkeypatch.setattr(compiled_once, "_executables", {})
    with compiled_once.compiling_once():
        yield compiled


def add(number):
    """Another function each time, which JAX does not know yet."""
    return jax.jit(lambda x: x + number)


def test_equal_programs_share(compiles):
    """Whatever they, and their results, are called."""

    def add_to(x):
        return {"first": x + 1}

    def add_again(x):
        return [x + 1]

    x = np.float32(1)
    assert float(jax.jit(add_to)(x)["first"]) == float(jax.jit(add_again)(x)[0]) == 2
    assert len(compiles) == 1


@pytest.mark.parametrize("size", [1, 1000])
def test_constants_stay_apart(compiles, size):
    x = np.zeros(size, "f")
    first, second = np.arange(size, dtype="f"), np.arange(size, dtype="f")
    second[-1] = 7
    for constant in (first, second):
        np.testing.assert_array_equal(add(constant)(x), constant)
    assert len(compiles) == 2


def test_devices_stay_apart(compiles):
    for device in DEVICES:
        found = add(1)(jax.device_put(np.ones(3, "f"), device))
        assert found.devices() == {device}
    assert len(compiles) == 2


def test_orders_of_devices_stay_apart(compiles):
    for devices in (DEVICES, DEVICES[::-1]):
        sharding = NamedSharding(Mesh(devices, "x"), SPLIT)
        found = add(1)(jax.device_put(np.arange(2, dtype="f"), sharding))
        held = {part.device: np.asarray(part.data) for part in found.addressable_shards}
        assert held == dict(zip(devices, (1, 2), strict=True))
    assert len(compiles) == 2


def by_debug(function, x):
    jax.debug.callback(function, x)
    return x


def by_io(function, x):
    return io_callback(function, jax.typeof(x), x)


def by_pure(function, x):
    return jax.pure_callback(function, jax.typeof(x), x)


@pytest.mark.parametrize("call", [by_debug, by_io, by_pure])
def test_programs_call_their_own_functions(call):
    seen = {1: [], 2: []}

    def note(number, x):
        seen[number].append(float(x[0]))
        return x + number

    x = jnp.zeros(3)
    for number in seen:
        called = jax.jit(lambda x, number=number: call(lambda x: note(number, x), x))
        found = called(x)
        jax.effects_barrier()
        np.testing.assert_array_equal(found, x if call is by_debug else x + number)
    assert seen == {1: [0], 2: [0]}
