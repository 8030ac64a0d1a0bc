"""How many bytes of a device arrays take, with tiles and without."""

import jax
import jax.numpy as jnp
import pytest
from meshwright.jaxapi import layouts


# What libtpu 0.0.42.1 says of arguments on v5e, by its layout and in bytes.
@pytest.mark.parametrize(
    "dtype, shape, text, size",
    [
        ("bfloat16", (100, 100), "{1,0:T(8,128)(2,1)}", 26624),
        ("float32", (3, 5), "{1,0:T(4,128)}", 2048),
        ("float32", (), "{:T(128)}", 512),
        ("int4", (8, 8), "{1,0:T(8,128)(8,1)E(4)}", 512),
        ("int4", (128, 128), "{1,0:T(64,128)(8,1)E(4)}", 8192),
        ("float32", (4096, 3), "{0,1:T(4,128)}", 65536),
        ("bfloat16", (8, 100, 100), "{2,0,1:T(8,128)(2,1)}", 204800),
        ("float32", (300,), "{0:T(512)}", 2048),
        ("float32", (7, 9), "{1,0}", 252),
        ("int4", (3,), "{0:E(4)}", 2),
        ("float32", (0, 5), "{1,0:T(8,128)}", 0),
    ],
)
def test_layouts_in_bytes(dtype, shape, text, size):
    layout = layouts.parse_layout(text)
    assert layouts.layout_bytes(layout, shape, jnp.dtype(dtype)) == size


def test_layouts_are_read_as_xla_writes_them():
    layout = layouts.parse_layout("{2,0,1:T(8,128)(2,1)S(1)}")
    assert layout.major_to_minor == (1, 0, 2)
    assert layout.tiling == ((8, 128), (2, 1))
    with pytest.raises(ValueError, match="'f32' is no layout"):
        layouts.parse_layout("f32")


@pytest.mark.parametrize("dtype", ["float32", "bool", "int4", "float8_e4m3fn"])
def test_cpus_keep_arrays_dense(dtype):
    device = jax.devices("cpu")[0]
    found = layouts.array_bytes(device, jnp.dtype(dtype), (3, 5))
    assert found == {"float32": 60, "bool": 15, "int4": 8, "float8_e4m3fn": 15}[dtype]


class _Client:
    def __init__(self, text):
        self.text = text

    def get_default_layout(self, dtype, shape, device):
        return layouts.parse_layout(self.text)


class _Device:
    def __init__(self, text):
        self.client = _Client(text)


def test_tiled_arrays_end_where_the_allocator_does():
    # One tile of 256 bytes.
    size = layouts.array_bytes(_Device("{0,1:T(1,128)(2,1)}"), jnp.bfloat16, (100, 1))
    assert size == 512
