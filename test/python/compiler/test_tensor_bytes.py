"""The bytes that the compiler counts are those of XLA's buffers."""

import json

import jax
import jax.numpy as jnp
import pytest

ELEMENTS = {
    "i1": jnp.bool_,
    "i2": jnp.int2,
    "i4": jnp.int4,
    "ui4": jnp.uint4,
    "i8": jnp.int8,
    "f4E2M1FN": jnp.float4_e2m1fn,
    "f8E4M3FN": jnp.float8_e4m3fn,
    "bf16": jnp.bfloat16,
    "f32": jnp.float32,
    "complex<f32>": jnp.complex64,
}
SIZE = 7  # No multiple of what shares a byte.
CONFIG = {"topology": {"m": {"x": 1}}, "assignment": {"f": "m"}}


def program(element: str) -> str:
    kind = f"tensor<{SIZE}x{element}>"
    return f"""
func.func @main(%x: {kind}) -> {kind} {{
  %0 = mpmd.named_computation<"f"> (%x) (%a: {kind}) {{
    %1 = stablehlo.reverse %a, dims = [0] : {kind}
    mpmd.return %1 : {kind}
  }} : ({kind}) -> {kind}
  return %0 : {kind}
}}
"""


@pytest.mark.parametrize("element", ELEMENTS)
def test_bytes_are_those_of_xla(element, tools, tmp_path):
    (tmp_path / "program.mlir").write_text(program(element))
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    tools.check(
        "meshwright",
        "partition",
        tmp_path / "program.mlir",
        f"--config={tmp_path / 'config.json'}",
        "-o",
        tmp_path / "out",
    )
    schedule = json.loads((tmp_path / "out" / "schedule.json").read_text())
    x = schedule["values"][0]
    assert x["shape"] == [SIZE]

    argument = jax.ShapeDtypeStruct((SIZE,), ELEMENTS[element])
    compiled = jax.jit(jnp.flip).lower(argument).compile()
    size = compiled.memory_analysis().argument_size_in_bytes
    assert x["bytes"] == x["device_bytes"] == size
