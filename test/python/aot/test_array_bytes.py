"""How many bytes of a device arrays take, with tiles and without."""

import types

import jax
import jax.numpy as jnp
import pytest
from meshwright.aot.sizes import array_bytes


def device(kind, platform="tpu"):
    return types.SimpleNamespace(device_kind=kind, platform=platform)


# What libtpu 0.0.42.1 says of arguments on v5e.
@pytest.mark.parametrize(
    "dtype, shape, size",
    [
        ("bfloat16", (100, 100), 26624),
        ("float32", (3, 5), 2048),
        ("float32", (), 512),
        ("int4", (8, 8), 512),
        ("float32", (4096, 3), 65536),
        ("bfloat16", (8, 100, 100), 204800),
        ("bool", (33, 129), 10240),
        ("complex64", (3, 5), 4096),
        ("float32", (0, 5), 0),
    ],
)
@pytest.mark.parametrize("kind", ["TPU v5 lite", "TPU7x", "TPU v99"])
def test_tpus_pad_arrays_to_tiles(dtype, shape, size, kind):
    assert array_bytes(device(kind), getattr(jnp, dtype), shape) == size


def test_a_chosen_order_may_take_more():
    chip = device("TPU v5 lite")
    assert array_bytes(chip, jnp.float32, (96, 256)) == 96 * 256 * 4
    assert array_bytes(chip, jnp.float32, (96, 256), (1, 0)) == 256 * 128 * 4


@pytest.mark.parametrize("dtype", ["float32", "bool", "int4", "float8_e4m3fn"])
def test_others_keep_arrays_dense(dtype):
    size = {"float32": 60, "bool": 15, "int4": 8, "float8_e4m3fn": 15}[dtype]
    here = jax.devices("cpu")[0]
    for other in (here, device("NVIDIA H100 80GB HBM3", "gpu"), device("abacus", "x")):
        assert array_bytes(other, getattr(jnp, dtype), (3, 5)) == size
