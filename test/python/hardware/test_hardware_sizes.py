# SPDX-License-Identifier: Apache-2.0
"""The bytes of arrays by our account, beside those of the library of TPUs."""

import math
import random

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import SingleDeviceSharding
from meshwright.aot.sizes import array_bytes
from meshwright.jaxapi import layouts

import meshwright as mw

SLICES = ["v4:2x2x1", "v5e:1x1", "v5p:2x2x1", "v6e:1x1", "tpu7x:2x2x1"]
TYPES = "float32 bfloat16 int8 bool int4 float8_e4m3fn float16 complex64 float64"
SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 56, 64, 100, 127, 128, 129, 256, 1025]


def padded_bytes(device, dtype, shape):
    """Of the device's own default layout."""
    layout = layouts.default_layout(device, dtype, shape)
    sizes = [shape[dimension] for dimension in layout.major_to_minor]
    for tile in layout.tiling:
        # Each tile divides the minor dimensions of what the one before left.
        sizes = [1] * (len(tile) - len(sizes)) + sizes
        whole = zip(sizes[-len(tile) :], tile, strict=True)
        sizes[-len(tile) :] = [*(-(-size // part) for size, part in whole), *tile]
    return math.prod(sizes) * jax.dtypes.itemsize_bits(dtype) // 8


@pytest.mark.parametrize("target", SLICES)
def test_arrays_take_what_their_layouts_say(target):
    device, choose = mw.aot.devices(target)[0], random.Random(target)
    shapes = [(size,) for size in SIZES]
    shapes += [(rows, columns) for rows in SIZES for columns in SIZES]
    shapes += [tuple(choose.choices(SIZES, k=rank)) for rank in (3, 4, 5) * 60]
    with jax.enable_x64():
        for dtype in map(jnp.dtype, (getattr(jnp, name) for name in TYPES.split())):
            for shape in choose.sample(shapes, 200):
                found = padded_bytes(device, dtype, shape)
                assert array_bytes(device, dtype, shape) == found, (dtype, shape)


def test_the_compiler_counts_as_its_layouts_do():
    (device, *_) = mw.aot.devices("v5e:1x1")
    sharding = SingleDeviceSharding(device)
    shapes = [(100, 3), (), (300,), (8, 100, 100), (2, 3, 4, 5), (0, 4)]
    types = "float32", "bfloat16", "int4", "bool", "complex64"
    inputs = [
        jax.ShapeDtypeStruct(shape, getattr(jnp, name), sharding=sharding)
        for shape in shapes
        for name in types
    ]
    compiled = jax.jit(lambda *xs: [jnp.flip(x) for x in xs], keep_unused=True)
    found = compiled.lower(*inputs).compile().memory_analysis()
    ours = sum(array_bytes(device, i.dtype, i.shape) for i in inputs)
    assert found.argument_size_in_bytes == ours
    # Results have a table of their addresses.
    assert found.output_size_in_bytes == pytest.approx(ours, abs=512)
