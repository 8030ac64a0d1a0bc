"""What a program of one operation is made of: types, numbers, operations as text."""

import dataclasses
import itertools
import math
import random
import re
from collections.abc import Callable, Sequence

import ml_dtypes
import numpy as np

FLOATS = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}
NARROW = {
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
    "f6E2M3FN": ml_dtypes.float6_e2m3fn,
    "f6E3M2FN": ml_dtypes.float6_e3m2fn,
    "f8E3M4": ml_dtypes.float8_e3m4,
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
}
SIGNED = {
    "i2": ml_dtypes.int2,
    "i4": ml_dtypes.int4,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
}
UNSIGNED = {
    "ui2": ml_dtypes.uint2,
    "ui4": ml_dtypes.uint4,
    "ui8": np.uint8,
    "ui16": np.uint16,
    "ui32": np.uint32,
    "ui64": np.uint64,
}
COMPLEX = {"complex<f32>": np.complex64, "complex<f64>": np.complex128}
DTYPES = {"i1": np.bool_, **FLOATS, **NARROW, **SIGNED, **UNSIGNED, **COMPLEX}
# Classes of elements, by the letters of the StableHLO specification's tables.
CLASSES = {
    "F": [*FLOATS, *FLOATS, *NARROW],  # Narrow ones less often.
    "f": [*FLOATS],
    "P": ["i1"],
    "S": [*SIGNED],
    "I": [*SIGNED, *UNSIGNED],
    "C": [*COMPLEX],
}


class Skip(Exception):
    """What was drawn does not go together."""


@dataclasses.dataclass(frozen=True)
class Tensor:
    shape: tuple[int, ...]
    element: str

    def __str__(self) -> str:
        sizes = "".join("?x" if n < 0 else f"{n}x" for n in self.shape)
        return f"tensor<{sizes}{self.element}>"


@dataclasses.dataclass(frozen=True)
class Value:
    name: str
    type: Tensor | str


@dataclasses.dataclass
class Program:
    """A function of arrays as text, and arrays for it.

    `runs` is false where there is nothing to compare: other processes, tokens,
    types that no array has, numbers that differ from run to run.
    """

    op: str
    name: str
    arguments: list[Tensor | str]
    returned: list[str]
    results: list[str]
    lines: list[str]
    helpers: str
    arrays: list[np.ndarray | None]
    runs: bool

    @property
    def text(self) -> str:
        parameters = ", ".join(f"%a{i}: {t}" for i, t in enumerate(self.arguments))
        returned = ", ".join(self.returned)
        types = ", ".join(self.results)
        end = f"return {returned} : {types}" if self.results else "return"
        lines = "\n".join("  " + line for line in [*self.lines, end])
        head = f"func.func private @{self.name}({parameters}) -> ({types}) {{"
        return f"{self.helpers}{head}\n{lines}\n}}\n"


def module(
    programs: Sequence[Program], constants: bool = False, named: bool = False
) -> str:
    """One module that calls all programs on arguments of its own, or constants; with
    `named` by the name "first", and takes the results to "second"."""
    parameters, lines, returned, types = [], [], [], []
    for program in programs:
        values = [
            Value(f"%{program.name}_{i}", t) for i, t in enumerate(program.arguments)
        ]
        for array, value in zip(program.arrays, values, strict=True):
            if constants and array is not None:
                text = literal(array, value.type.element)
                lines.append(
                    f"{value.name} = stablehlo.constant dense<{text}> : {value.type}"
                )
            else:
                parameters.append(f"{value.name}: {value.type}")
        called, results = (_named_calls if named else _call)(program, values)
        lines += called
        returned += [value.name for value in results]
        types += program.results
    end = f"return {', '.join(returned)} : {', '.join(types)}" if types else "return"
    body = "\n".join("  " + line for line in [*lines, end])
    head = f"func.func @main({', '.join(parameters)}) -> ({', '.join(types)}) {{"
    return "\n".join([p.text for p in programs] + [head, body, "}", ""])


Written = tuple[list[str], list[Value]]  # Lines, and what they give.


def _results(name: str, types: Sequence[str]) -> tuple[str, list[Value]]:
    """How an operation's results begin its line, and these."""
    values = [Value(f"{name}#{i}", type_) for i, type_ in enumerate(types)]
    return f"{name}:{len(values)} = " if values else "", values


def _types(values: Sequence[Value]) -> str:
    return ", ".join(str(value.type) for value in values)


def _names(values: Sequence[Value]) -> str:
    return ", ".join(value.name for value in values)


def _call(program: Program, operands: Sequence[Value]) -> Written:
    head, results = _results(f"%{program.name}_r", program.results)
    types = f"({_types(operands)}) -> ({_types(results)})"
    return [f"{head}func.call @{program.name}({_names(operands)}) : {types}"], results


def _named_calls(program: Program, operands: Sequence[Value]) -> Written:
    lines, between = _named("first", program, operands, _call)
    more, results = _named("second", program, between, lambda _, given: ([], given))
    return [*lines, *more], results


def _named(
    name: str, program: Program, operands: Sequence[Value], write: Callable
) -> Written:
    inner = [Value(f"%{name}{i}", value.type) for i, value in enumerate(operands)]
    lines, returned = write(program, inner)
    head, results = _results(f"%{program.name}_{name}", program.results)
    block = ", ".join(f"{value.name}: {value.type}" for value in inner)
    end = f" {_names(returned)} : {_types(returned)}" if returned else ""
    return [
        f'{head}mpmd.named_computation<"{name}"> ({_names(operands)}) ({block}) {{',
        *lines,
        f"mpmd.return{end}",
        f"}} : ({_types(operands)}) -> ({_types(results)})",
    ], results


def literal(array: np.ndarray, element: str) -> str:
    """An array as the text between `dense<` and `>`."""
    if array.size == 0:
        return ""
    if array.ndim:
        return "[" + ", ".join(literal(part, element) for part in array) + "]"
    if element == "i1":
        return "true" if array else "false"
    if element in COMPLEX:
        real = element[8:-1]
        return f"({literal(array.real, real)}, {literal(array.imag, real)})"
    if element in FLOATS or element in NARROW:
        data = np.ascontiguousarray(array).tobytes()[::-1]
        return f"0x{data.hex().upper()}"
    return str(int(array))


def class_of(element: str) -> str:
    """Its letter in `CLASSES`."""
    if element == "i1":
        return "P"
    return {"c": "C", "i": "I", "u": "I"}.get(element[0], "F")


def real_of(element: str) -> str:
    return element[8:-1] if element in COMPLEX else element


def width(element: str) -> int:
    """Bits of an element."""
    if element in COMPLEX:
        return 2 * width(element[8:-1])
    if element == "bf16":
        return 16
    digits = itertools.takewhile(str.isdigit, element.lstrip("fui"))
    return int("".join(digits))


class Builder:
    """Draws and writes the operations of one program."""

    def __init__(self, rng: random.Random, name: str):
        self.rng = rng
        self.name = name
        self.numbers = np.random.default_rng(rng.getrandbits(32))
        self.arguments: list[Tensor | str] = []
        self.arrays: list[np.ndarray | None] = []
        self.lines: list[str] = []
        self.results: list[Value] = []
        self.helpers = ""
        self.runs = True
        self._count = 0

    # Draws.

    def element(self, classes: str) -> str:
        return self.rng.choice(CLASSES[self.rng.choice(classes)])

    def flag(self, likely: float = 0.5) -> bool:
        return self.rng.random() < likely

    def size(self) -> int:
        return self.rng.choice([0, 1, 1, 2, 2, 3, 3, 4, 5, 7])

    def shape(self, low: int = 0, high: int = 3) -> tuple[int, ...]:
        return tuple(self.size() for _ in range(self.rng.randint(low, high)))

    def some(self, items: Sequence, low: int = 0, high: int | None = None) -> list:
        """A few of the items, in their order."""
        items = list(items)
        high = len(items) if high is None else min(high, len(items))
        if low > high:
            raise Skip
        chosen = self.rng.sample(range(len(items)), self.rng.randint(low, high))
        return [items[i] for i in sorted(chosen)]

    def array(self, type_: Tensor, tame: bool = False) -> np.ndarray:
        """Numbers of a type: small ones, and its limits unless `tame`."""
        dtype, numbers, shape = DTYPES[type_.element], self.numbers, type_.shape
        if type_.element in COMPLEX:
            part = Tensor(shape, real_of(type_.element))
            real, imaginary = self.array(part, tame), self.array(part, tame)
            both = np.empty(shape, dtype)
            both.real, both.imag = real, imaginary
            return both
        if type_.element == "i1":
            return np.asarray(numbers.integers(0, 2, shape), dtype)
        wild = numbers.random(shape) < (0 if tame else 0.2)
        if type_.element in SIGNED or type_.element in UNSIGNED:
            info = ml_dtypes.iinfo(dtype)
            low, high = int(info.min), int(info.max)
            values = np.asarray(numbers.integers(max(low, -9), min(high, 9) + 1, shape))
            ends = [low, high, 0, min(high, 1), high // 2]
            chosen = np.array(ends, np.uint64 if low == 0 else np.int64)
            ends = chosen[numbers.integers(0, len(ends), shape)]
            return np.where(wild, ends, values.astype(chosen.dtype)).astype(dtype)
        values = 2 * numbers.standard_normal(shape)
        if type_.element == "f8E8M0FNU":
            # Powers of two; XLA takes its NaN for infinity, where that is a constant.
            return np.asarray(2.0 ** np.round(values)).astype(dtype)
        info = ml_dtypes.finfo(dtype)
        ends = [0.0, -0.0, 1.0, -1.0, 0.5, float(info.max), float(info.tiny)]
        if type_.element in FLOATS:
            ends += [np.inf, -np.inf, np.nan]
        ends = np.array(ends)[numbers.integers(0, len(ends), shape)]
        with np.errstate(all="ignore"):
            return np.asarray(np.where(wild, ends, values)).astype(dtype)

    # What is written.

    def argument(
        self, shape: Sequence[int], element: str, values=None, tame: bool = False
    ) -> Value:
        type_ = Tensor(tuple(shape), element)
        if values is None:
            array = self.array(type_, tame)
        else:
            array = np.asarray(values).astype(DTYPES[element]).reshape(type_.shape)
        self.arrays.append(array)
        self.arguments.append(type_)
        return Value(f"%a{len(self.arguments) - 1}", type_)

    def opaque(self, type_: str) -> Value:
        """An argument that no array represents."""
        self.runs = False
        self.arrays.append(None)
        self.arguments.append(type_)
        return Value(f"%a{len(self.arguments) - 1}", type_)

    def fresh(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def constant(self, values, element: str) -> Value:
        array = np.asarray(values)
        type_ = Tensor(array.shape, element)
        text = literal(array.astype(DTYPES[element]), element)
        attributes = f"value = dense<{text}> : {type_}"
        return self.op("stablehlo.constant", [], [type_], attributes)[0]

    def op(
        self,
        name: str,
        operands: Sequence[Value],
        results: Sequence[Tensor | str],
        attributes: str = "",
        regions: Sequence[str] = (),
        discardable: str = "",
    ) -> list[Value]:
        values = [Value(self.fresh(), type_) for type_ in results]
        head = f"{', '.join(v.name for v in values)} = " if values else ""
        ins = ", ".join(str(v.type) for v in operands)
        outs = ", ".join(str(type_) for type_ in results)
        body = f" ({', '.join(regions)})" if regions else ""
        self.lines.append(
            f'{head}"{name}"({", ".join(v.name for v in operands)})'
            + (f" <{{{attributes}}}>" if attributes else "")
            + body
            + (f" {{{discardable}}}" if discardable else "")
            + f" : ({ins}) -> ({outs})"
        )
        return values

    def region(
        self, types: Sequence[Tensor | str], write: Callable, end="stablehlo.return"
    ) -> str:
        """A block with arguments; `write` gets these and gives what it returns."""
        outer, self.lines = self.lines, []
        values = [Value(self.fresh(), type_) for type_ in types]
        returned = write(values)
        names = ", ".join(v.name for v in returned)
        kinds = ", ".join(str(v.type) for v in returned)
        self.lines.append(f'"{end}"({names}) : ({kinds}) -> ()')
        lines, self.lines = self.lines, outer
        block = ", ".join(f"{v.name}: {v.type}" for v in values)
        return "{\n^bb0(" + block + "):\n" + "\n".join(lines) + "\n}"

    def give(self, *values: Value) -> None:
        self.results += values

    def _is_refused(self, op: str) -> bool:
        """What XLA does not compile for CPUs, as far as it is known: trying takes
        seconds, since many programs are compiled as one."""
        text = "".join(self.lines)
        if "f6E" in text:  # No array of JAX holds numbers of six bits.
            return True
        if re.fullmatch(r"chlo\.(ragged_dot|bessel_i1e|erfc?|lgamma|digamma)", op):
            return "ragged" in op or "f8E" in text or "f4E" in text
        if op == "stablehlo.cbrt":
            return "complex" in text
        if "all_reduce" in op or "replica-sum" in op:
            return re.search(r"i[24]>", text) is not None
        if "reduce_scatter" in op:
            return re.search(r"i(1|2|4|16)>", text) is not None
        if op == "stablehlo.sort":  # Less than a byte is not sorted, or XLA aborts.
            return re.search(r"(i[24]|E2M1FN)>", text) is not None
        if op == "stablehlo.clamp":
            return "i1>" in text
        if op == "chlo.top_k":
            return re.search(r"[iE]([24]|2M1FN)>", text) is not None
        if "broadcast_dimensions" in text and op.startswith("chlo."):
            return self._is_broadcast_inside()
        return op in ("stablehlo.collective_broadcast", "stablehlo.unary_einsum")

    def _is_broadcast_inside(self) -> bool:
        """Whether dimensions are added elsewhere than in front."""
        ranks = [len(a.shape) for a in self.arguments if isinstance(a, Tensor)]
        text = re.search(r"broadcast_dimensions = array<i64(.*?)>", "".join(self.lines))
        kept = [int(n) for n in re.findall(r"\d+", text[1])] if text else []
        rank = max(ranks, default=len(kept))
        return kept != list(range(rank - len(kept), rank))

    def program(self, op: str) -> Program:
        return Program(
            op,
            self.name,
            self.arguments,
            [value.name for value in self.results],
            [str(value.type) for value in self.results],
            self.lines,
            self.helpers,
            self.arrays,
            self.runs and not self._is_refused(op),
        )


def i64s(values: Sequence[int]) -> str:
    return f"array<i64: {', '.join(map(str, values))}>" if len(values) else "array<i64>"


def pairs(values: Sequence[Sequence[int]]) -> str:
    """N×2 numbers as an attribute."""
    rows = ", ".join(f"[{a}, {b}]" for a, b in values)
    return f"dense<{f'[{rows}]' if rows else ''}> : tensor<{len(values)}x2xi64>"


def product(values: Sequence[int]) -> int:
    return math.prod(values)
