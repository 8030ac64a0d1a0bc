"""Layouts as XLA writes them."""

import pytest
from meshwright.jaxapi import layouts


def test_layouts_are_read_as_xla_writes_them():
    layout = layouts.parse_layout("{2,0,1:T(8,128)(2,1)S(1)}")
    assert layout.major_to_minor == (1, 0, 2)
    assert layout.tiling == ((8, 128), (2, 1))
    layout = layouts.parse_layout("{1,0:T(8,128)(8,1)E(4)}")
    assert layout.sub_byte_element_size_in_bits == 4
    assert layouts.parse_layout("{0}").tiling is None
    with pytest.raises(ValueError, match="'f32' is no layout"):
        layouts.parse_layout("f32")
