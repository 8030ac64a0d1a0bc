"""Random programs of a few operations, partly annotated with random shardings.

Shapes are few, so that values meet; annotations are many, so that they collide.
"""

import itertools
import math
import random

SHAPES = [(8, 16), (16, 8), (8, 8), (16,), (8,), (4, 2, 8), (16, 4)]
# Few enough for calls to find values of the shapes that they take.
SQUARES = [(8, 8), (8, 8), (16, 8)]
MESH = 'sdy.mesh @grid = <["r"=2, "c"=4]>'
TOPOLOGY = '#mpmd.topology<<"m1" : <["r"=2, "c"=4]>>, <"m2" : <["r"=2, "c"=4]>>>'


def tensor(shape: tuple[int, ...]) -> str:
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


def mesh_tensor(mesh: str, shape: tuple[int, ...]) -> str:
    return f'!mpmd.mesh_tensor<"{mesh}", {tensor(shape)}>'


class _Annotations:
    """Random shardings."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.has_priorities = rng.random() < 0.25

    def sharding(self, shape: tuple[int, ...], *, closed: bool = False) -> str:
        rng = self.rng
        halves = ['"c":(1)2', '"c":(2)2']
        parts = rng.choice([['"c"'], ['"c"'], halves, halves[:1], halves[1:], []])
        parts = parts + ['"r"'] * (rng.random() < 0.6)
        rng.shuffle(parts)
        dims: list[list[str]] = [[] for _ in shape]
        replicated = []
        for part in parts:
            choice = rng.random()
            dim = rng.choice(dims)
            # Neighbours that would merge are not a valid sharding.
            mergeable = dim[-1:] == halves[:1] and part == halves[1]
            if choice < 0.1 and not replicated:
                replicated.append(part)
            elif choice < 0.7 and not mergeable:
                dim.append(part)
        text = ", ".join(self._dim(axes, closed) for axes in dims)
        suffix = f", replicated={{{replicated[0]}}}" if replicated else ""
        return f"<@grid, [{text}]{suffix}>"

    def _dim(self, axes: list[str], closed: bool) -> str:
        rng = self.rng
        is_open = not closed and rng.random() < 0.6
        text = "{" + ", ".join(axes + ["?"] * is_open) + "}"
        if self.has_priorities and rng.random() < 0.4 and text != "{}":
            text += f"p{rng.randrange(4)}"
        return text

    def on_value(self, shape: tuple[int, ...], chance: float) -> str:
        if self.rng.random() >= chance:
            return ""
        return f" {{sdy.sharding = #sdy.sharding{self.sharding(shape)}}}"

    def on_op(self, shape: tuple[int, ...]) -> str:
        if self.rng.random() >= 0.15:
            return ""
        sharding = self.sharding(shape)
        return f" {{sdy.sharding = #sdy.sharding_per_value<[{sharding}]>}}"


class _Writer:
    """Names and group ids of one program."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.annotations = _Annotations(self.rng)
        self.groups: dict[tuple[int, ...], int] = {}
        self.count = 0
        self.may_group = self.rng.random() < 0.3

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"


class Block:
    """The operations of one block and its values with their shapes."""

    def __init__(self, writer: _Writer, values: list, indent: str):
        self.writer, self.values, self.indent = writer, list(values), indent
        self.lines: list[str] = []

    def emit(self, line: str) -> None:
        self.lines.append(self.indent + line)

    def define(self, rest: str, shape: tuple[int, ...], types: str = "") -> None:
        name = self.writer.fresh()
        self.emit(f"{name} = {rest} : {types or tensor(shape)}")
        self.values.append((name, shape))

    def pick(self, shape: tuple[int, ...] | None = None):
        return self.writer.rng.choice(
            [value for value in self.values if shape in (None, value[1])]
        )

    def compute(self) -> None:
        rng, on_op = self.writer.rng, self.writer.annotations.on_op
        kind = rng.randrange(17)
        x, shape = self.pick()
        own = tensor(shape)
        if kind < 4:
            op = rng.choice(["add", "multiply", "maximum"])
            self.define(
                f"stablehlo.{op} {x}, {self.pick(shape)[0]}{on_op(shape)}", shape
            )
        elif kind < 6:
            op = rng.choice(["negate", "sine"])
            self.define(f"stablehlo.{op} {x}{on_op(shape)}", shape)
        elif kind < 10 and len(shape) == 2:
            self._contract_or_transpose(x, shape, kind)
        elif kind == 10:
            others = [
                s for s in SHAPES if s != shape and math.prod(s) == math.prod(shape)
            ]
            if others:
                to = rng.choice(others)
                rest = f"stablehlo.reshape {x}{on_op(to)}"
                self.define(rest, to, f"({own}) -> {tensor(to)}")
        elif kind == 11 and len(shape) == 1:
            to = rng.choice([s for s in SHAPES if len(s) > 1 and shape[0] in s])
            dims = f"dims = [{to.index(shape[0])}]"
            rest = f"stablehlo.broadcast_in_dim {x}, {dims}{on_op(to)}"
            self.define(rest, to, f"({own}) -> {tensor(to)}")
        elif kind == 12 and len(shape) == 2:
            zero, dim = self.writer.fresh(), rng.randrange(2)
            to = (shape[1 - dim],)
            self.emit(f"{zero} = stablehlo.constant dense<0.0> : tensor<f32>")
            rest = f"stablehlo.reduce({x} init: {zero}) applies stablehlo.add "
            rest += f"across dimensions = [{dim}]"
            self.define(rest, to, f"({own}, tensor<f32>) -> {tensor(to)}")
        elif kind == 13:
            self.define("stablehlo.constant dense<1.0>", shape)
        elif kind == 14:
            closed = rng.random() < 0.5
            sharding = self.writer.annotations.sharding(shape, closed=closed)
            self.define(f"sdy.sharding_constraint {x} {sharding}", shape)
        elif kind == 15:
            direction = rng.choice(["NONE", "FORWARD", "BACKWARD"])
            rest = f"sdy.propagation_barrier {x} allowed_direction={direction}"
            self.define(rest, shape)
        elif self.writer.may_group:
            groups = self.writer.groups
            number = groups.setdefault(shape, len(groups) + 5)
            self.emit(f"sdy.sharding_group {x} group_id={number} : {own}")

    def _contract_or_transpose(self, x: str, shape: tuple[int, ...], kind: int) -> None:
        on_op, own = self.writer.annotations.on_op, tensor(shape)
        partners = [v for v in self.values if len(v[1]) == 2 and v[1][0] == shape[1]]
        if kind < 8 or not partners:
            to = shape[::-1]
            rest = f"stablehlo.transpose {x}, dims = [1, 0]{on_op(to)}"
            self.define(rest, to, f"({own}) -> {tensor(to)}")
            return
        y, other = self.writer.rng.choice(partners)
        to = (shape[0], other[1])
        rest = (
            f"stablehlo.dot_general {x}, {y}, contracting_dims = [1] x [0]{on_op(to)}"
        )
        self.define(rest, to, f"({own}, {tensor(other)}) -> {tensor(to)}")


def plain(seed: int) -> str:
    """A function on tensors."""
    writer = _Writer(seed)
    rng, on_value = writer.rng, writer.annotations.on_value
    arguments = [(f"%a{i}", rng.choice(SHAPES)) for i in range(rng.randint(2, 5))]
    block = Block(writer, arguments, "  ")
    for _ in range(rng.randint(4, 20)):
        block.compute()
    results = block.values[-6:]
    head = ", ".join(f"{n}: {tensor(s)}{on_value(s, 0.6)}" for n, s in arguments)
    types = ", ".join(tensor(s) for _, s in results)
    returned = ", ".join(tensor(s) + on_value(s, 0.2) for _, s in results)
    names = ", ".join(name for name, _ in results)
    body = "\n".join(block.lines)
    return (
        f"{MESH}\nfunc.func @main({head}) -> ({returned}) {{\n{body}\n"
        f"  return {names} : {types}\n}}\n"
    )


def partitioned(seed: int) -> str:
    """Fragments and transfers between two meshes with the same axes."""
    writer = _Writer(seed)
    rng, on_value = writer.rng, writer.annotations.on_value
    arguments = [
        (f"%a{i}", rng.choice(SHAPES), rng.choice(["m1", "m2"]))
        for i in range(rng.randint(2, 5))
    ]
    values, lines = list(arguments), []
    for _ in range(rng.randint(2, 7)):
        name, (x, shape, mesh) = writer.fresh(), rng.choice(values)
        if rng.random() < 0.35:
            to = rng.choice(["m1", "m2"])
            types = f"({mesh_tensor(mesh, shape)}) -> {mesh_tensor(to, shape)}"
            lines.append(f"  {name} = mpmd.transfer {x} : {types}")
            values.append((name, shape, to))
            continue
        operands = [(x, shape)]
        operands += [v[:2] for v in rng.sample(values, 1) if v[2] == mesh]
        block = Block(writer, [(writer.fresh(), s) for _, s in operands], "    ")
        inner = ", ".join(f"{n}: {tensor(s)}" for n, s in block.values)
        for _ in range(rng.randint(1, 8)):
            block.compute()
        results = block.values[-3:]
        outer = ", ".join(n for n, _ in operands)
        lines.append(
            f'  {name}:{len(results)} = mpmd.fragment<mesh="{mesh}", origin=["f"]> '
            f"({outer}) ({inner}) {{"
        )
        lines += block.lines
        lines.append(
            f"    mpmd.return {', '.join(n for n, _ in results)} : "
            f"{', '.join(tensor(s) for _, s in results)}"
        )
        lines.append(
            f"  }} : ({', '.join(mesh_tensor(mesh, s) for _, s in operands)}) -> "
            f"({', '.join(mesh_tensor(mesh, s) for _, s in results)})"
        )
        values += [(f"{name}#{i}", s, mesh) for i, (_, s) in enumerate(results)]
    returned = values[-5:]
    head = ", ".join(
        f"{n}: {mesh_tensor(m, s)}{on_value(s, 0.6)}" for n, s, m in arguments
    )
    results = ", ".join(mesh_tensor(m, s) + on_value(s, 0.2) for _, s, m in returned)
    types = ", ".join(mesh_tensor(m, s) for _, s, m in returned)
    body = "\n".join(lines)
    return (
        f"{MESH}\nfunc.func @main({head}) -> ({results}) "
        f"attributes {{topology = {TOPOLOGY}}} {{\n{body}\n"
        f"  return {', '.join(v[0] for v in returned)} : {types}\n}}\n"
    )


class _Function:
    """A function, in which arguments and results of calls may have edges."""

    def __init__(self, writer: _Writer, name: str, indices: range):
        self.writer, self.name = writer, name
        rng = writer.rng
        self.arguments = [(f"%a{i}", rng.choice(SQUARES)) for i in indices]
        self.block = Block(writer, [], "  ")
        for argument in self.arguments:
            self._add_value(argument, may_have_edge=name != "main")
        self.returned: list = []

    def _add_value(self, value, *, may_have_edge: bool) -> None:
        if may_have_edge and self.writer.rng.random() < 0.8:
            self.block.define(f"sdy.func_data_flow_edge {value[0]}", value[1])
        else:
            self.block.values.append(value)

    def call(self, callee: "_Function") -> None:
        """Nothing if there is no value of a shape that the callee takes."""
        shapes = {shape for _, shape in self.block.values}
        if any(shape not in shapes for _, shape in callee.arguments):
            return
        name, count = self.writer.fresh(), len(callee.returned)
        operands = [self.block.pick(shape)[0] for _, shape in callee.arguments]
        takes = ", ".join(tensor(shape) for _, shape in callee.arguments)
        gives = ", ".join(tensor(shape) for _, shape in callee.returned)
        self.block.emit(
            f"{name}:{count} = call @{callee.name}({', '.join(operands)}) : "
            f"({takes}) -> ({gives})"
        )
        for i, (_, shape) in enumerate(callee.returned):
            self._add_value((f"{name}#{i}", shape), may_have_edge=True)

    def text(self) -> str:
        on_value = self.writer.annotations.on_value
        is_main = self.name == "main"
        chances = (0.6, 0.2) if is_main else (0.15, 0.1)
        head = ", ".join(
            f"{n}: {tensor(s)}{on_value(s, chances[0])}" for n, s in self.arguments
        )
        results = ", ".join(
            tensor(s) + on_value(s, chances[1]) for _, s in self.returned
        )
        names = ", ".join(name for name, _ in self.returned)
        types = ", ".join(tensor(s) for _, s in self.returned)
        body = "\n".join(self.block.lines)
        return (
            f"func.func {'' if is_main else 'private '}@{self.name}({head}) -> "
            f"({results}) {{\n{body}\n  return {names} : {types}\n}}\n"
        )


def calls(seed: int) -> str:
    """Functions that call each other, with edges between them."""
    writer = _Writer(seed)
    writer.may_group = False
    writer.annotations.has_priorities = False
    rng = writer.rng
    functions: list[_Function] = []
    names = [f"f{i}" for i in range(rng.randint(1, 3))] + ["main"]
    for name in names:
        function = _Function(writer, name, range(rng.randint(2, 4)))
        for _ in range(rng.randint(4, 9)):
            if functions and rng.random() < 0.6:
                function.call(rng.choice(functions))
            else:
                function.block.compute()
        function.returned = function.block.values[-rng.randint(1, 3) :]
        functions.append(function)
    rng.shuffle(functions)
    return MESH + "\n" + "".join(function.text() for function in functions)


def reshapes(seed: int) -> str:
    """Reshapes of sizes with factors in common, on axes of which two have size 1."""
    rng = random.Random(seed)
    lines = ['sdy.mesh @m = <["a"=1, "b"=2, "c"=3, "d"=1, "e"=4]>']
    lines += ["func.func @main() { return }"]
    for number in range(20):
        factors = rng.choices([2, 2, 2, 3], k=rng.randint(2, 5))
        x, y = (_products(rng, factors) for _ in range(2))
        axes = rng.sample("abcde", k=rng.randint(1, 4))
        dims: list[list[str]] = [[] for _ in x]
        for axis in axes:
            rng.choice(dims).append(f'"{axis}"')
        text = ", ".join(f"{{{', '.join([*dim, '?'])}}}" for dim in dims)
        lines.append(
            f"func.func private @f{number}(%x: {tensor(x)} {{sdy.sharding = "
            f"#sdy.sharding<@m, [{text}]>}}) -> {tensor(y)} {{\n"
            f"  %0 = stablehlo.reshape %x : ({tensor(x)}) -> {tensor(y)}\n"
            f"  return %0 : {tensor(y)}\n}}"
        )
    return "\n".join(lines)


def _products(rng: random.Random, factors: list[int]) -> tuple[int, ...]:
    """Sizes of dimensions, each a product of neighbours."""
    count = rng.randint(1, min(3, len(factors) - 1))
    borders = sorted(rng.sample(range(1, len(factors)), k=count))
    return tuple(
        math.prod(factors[start:end])
        for start, end in itertools.pairwise([0, *borders, len(factors)])
    )
