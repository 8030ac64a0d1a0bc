"""NumPy arrays that their owner refills: what was placed of them stays as it was.

CPU devices share the memory of an array that is aligned to 64 bytes.
"""

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import meshwright as mw

MESHES = {f"m{i}": Mesh(np.array(jax.devices()[2 * i :][:2]), ("x",)) for i in range(2)}
SHAPE = (64, 64)


def aligned(shape=SHAPE, dtype=np.float32, value=1):
    """A new array whose elements begin at a multiple of 64 bytes."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.empty(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    array = memory[start : start + size].view(dtype).reshape(shape)
    array[...] = value
    return array


@pytest.mark.parametrize("spec", [(), ("x",), (None, "x")], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.int32, bool])
def test_distributed_place_copies(spec, dtype):
    buffer = aligned(dtype=dtype)
    sharding = NamedSharding(MESHES["m0"], PartitionSpec(*spec))
    placed = mw.distributed.place({"x": buffer, "rows": buffer[:32]}, sharding)
    buffer[...] = 0
    assert all(np.asarray(array).all() for array in placed.values())


def test_distributed_place_on_one_device_copies():
    buffer = aligned()
    device = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    placed = mw.distributed.place(buffer, device)
    buffer[...] = 0
    assert np.asarray(placed).all()


def scale(x):
    return mw.named_computation(lambda x: x * 1, name="f")(x)


CONFIG = mw.make_config(MESHES, {"f": "m0"})


def test_compiled_place_copies():
    buffer = aligned()
    compiled = mw.jit(scale, CONFIG).lower(buffer).compile()
    placed = compiled.place(buffer)
    buffer[...] = 0
    assert np.asarray(compiled(placed)).all()


def test_arguments_of_calls_are_copied():
    buffer = aligned()
    result = mw.jit(lambda x: (x, scale(x)), CONFIG)(buffer)
    buffer[...] = 0
    assert all(np.asarray(array).all() for array in result)


@pytest.mark.parametrize("size", [64, 1024], ids=["small", "large"])
@pytest.mark.parametrize("named", [False, True], ids=["plain", "named"])
def test_captured_arrays_are_copied(size, named):
    buffer = aligned((size, size))

    def f(x):
        return x * buffer

    def g(x):
        return mw.named_computation(f, name="f")(x)

    x = np.ones((size, size), np.float32)
    lowered = mw.jit(g if named else f, CONFIG).lower(x)
    buffer[...] = 2
    compiled = lowered.compile()
    buffer[...] = 3
    np.testing.assert_array_equal(np.asarray(compiled(compiled.place(x))), x)
