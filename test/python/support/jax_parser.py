"""JAX's own MLIR, and constants of every type in its text."""

import io
import re

import numpy as np
from jax.extend.mlir import ir
from jax.interpreters import mlir

# Element types with the bytes that hex digits take for one of them.
INTEGERS = {
    f"{sign}i{bits}": max(1, bits // 8)
    for sign in ("", "u")
    for bits in (2, 4, 8, 16, 32, 64)
}
FLOATS = {
    "f4E2M1FN": 1,
    "f6E2M3FN": 1,
    "f6E3M2FN": 1,
    "f8E3M4": 1,
    "f8E4M3": 1,
    "f8E4M3FN": 1,
    "f8E4M3FNUZ": 1,
    "f8E4M3B11FNUZ": 1,
    "f8E5M2": 1,
    "f8E5M2FNUZ": 1,
    "f8E8M0FNU": 1,
    "bf16": 2,
    "f16": 2,
    "f32": 4,
    "f64": 8,
}
COMPLEX = {"complex<f32>": 8, "complex<f64>": 16}
SIZES = {"i1": 1, **INTEGERS, **FLOATS, **COMPLEX}
# Bits of an element that hex digits may set.
NARROW = {"i1": 1, "i2": 2, "ui2": 2, "i4": 4, "ui4": 4, "f4E2M1FN": 4}
NARROW |= {"f6E2M3FN": 6, "f6E3M2FN": 6}
# -0, both kinds of NaN with a payload, infinities.
SPECIAL = {
    "f16": ["0x8000", "0x7E55", "0x7D01", "0x7C00", "0xFC00"],
    "bf16": ["0x8000", "0x7FD5", "0x7F81", "0x7F80", "0xFF80"],
    "f32": ["0x80000000", "0x7FC12345", "0xFF812345", "0x7F800000", "0xFF800000"],
    "f64": [
        "0x8000000000000000",
        "0x7FF8123456789ABC",
        "0xFFF4123456789ABC",
        "0x7FF0000000000000",
        "0xFFF0000000000000",
    ],
}


def hex_constant(element: str, shape: tuple[int, ...], seed: int) -> str:
    """A constant of random bytes, as JAX's MLIR writes it."""
    count = int(np.prod(shape))
    data = np.random.default_rng(seed).integers(
        0, 256, count * SIZES[element], dtype=np.uint8
    )
    data &= (1 << NARROW.get(element, 8)) - 1
    dims = "".join(f"{size}x" for size in shape)
    return f'dense<"0x{data.tobytes().hex().upper()}"> : tensor<{dims}{element}>'


def constants() -> list[str]:
    found = []
    for seed, element in enumerate(SIZES):
        zero = "(0.0, 0.0)" if "complex" in element else "0.0"
        zero = zero if element in (*FLOATS, *COMPLEX) else "0"
        zero = "1.0" if element == "f8E8M0FNU" else zero
        zero = "false" if element == "i1" else zero
        found += [f"dense<{zero}> : tensor<{element}>"]
        found += [f"dense<{zero}> : tensor<300x{element}>"]
        found += [f"dense<> : tensor<0x3x{element}>"]
        # Of up to a hundred elements a list is printed, of more hex digits.
        for shape in ((), (1,), (9,), (100,), (101,), (8, 16), (3, 5, 7), (1, 129)):
            found.append(hex_constant(element, shape, seed))
    for element, values in SPECIAL.items():
        found += [f"dense<{value}> : tensor<{element}>" for value in values]
        found.append(f"dense<[{', '.join(values)}]> : tensor<5x{element}>")
    return found


def module_of(constants: list[str]) -> str:
    lines = []
    for number, constant in enumerate(constants):
        kind = constant.rsplit(" : ", 1)[1]
        lines += [
            f"func.func @c{number}() -> {kind} {{",
            f"  %0 = stablehlo.constant {constant}",
            f"  return %0 : {kind}",
            "}",
        ]
    return "\n".join(lines)


class JaxParser:
    """JAX's own MLIR."""

    def __init__(self):
        self.context = mlir.make_ir_context()

    def parse(self, text: str | bytes) -> ir.Module:
        with self.context:
            return ir.Module.parse(text)

    def encode(self, text: str) -> bytes:
        """The bytecode that JAX writes."""
        code = io.BytesIO()
        self.parse(text).operation.write_bytecode(code)
        return code.getvalue()

    def values(self, text: str | bytes) -> list[str]:
        """The constants of a module's functions, in JAX's text."""
        printed = str(self.parse(text))
        return re.findall(r"= stablehlo\.constant (.*)", printed)
