"""Random programs of fragments and transfers, as the optimize phase leaves them.

They have what sharding and export look at: shardings in the signature and in
bodies, donation, memory kinds, call counters, stages, transposed and missing
origins, bodies that occur more than once, and values that are unused, doubled or
passed through.
"""

import random
from typing import NamedTuple

SHAPES = ["4x8xf32", "8x4xf32", "f32", "6xi32", "4x6xbf16"]
AXIS_SIZES = [(2, 2), (2, 2), (1, 2), (3, 2), (2, 4), (4, 1)]
NAMES = ["lyr_1", "lyr_2", "lyr_3", "head", "a", "b_7"]


class Value(NamedTuple):
    name: str
    mesh: str
    shape: str
    on_host: bool = False

    @property
    def type(self) -> str:
        kind = ', memory_kind="pinned_host"' if self.on_host else ""
        return f'!mpmd.mesh_tensor<"{self.mesh}", tensor<{self.shape}>{kind}>'


class Body(NamedTuple):
    """A body that several fragments may have."""

    arguments: list[str]
    lines: list[str]
    returned: list[tuple[str, str]]


def types(values: list[Value]) -> str:
    return "(" + ", ".join(value.type for value in values) + ")"


def attributes(entries: list[str]) -> str:
    return f" {{{', '.join(sorted(entries))}}}" if entries else ""


class _Writer:
    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.meshes = [f"m{i}" for i in range(self.rng.choice([1, 2, 2, 3]))]
        if self.chance(0.25):
            self.meshes.append("m0/cpu")
        self.sizes = self.rng.choice(AXIS_SIZES)
        self.shards, self.transposes = self.chance(0.6), self.chance(0.5)
        self.uses_host = self.chance(0.3)
        self.values: list[Value] = []
        self.bodies: list[Body] = []
        self.lines: list[str] = []

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def sharding(self, shape: str) -> str:
        axes = ['"x"', '"y"']
        self.rng.shuffle(axes)
        dims = []
        for _ in range(shape.count("x")):
            parts = [axes.pop()] if axes and self.chance(0.5) else []
            parts += ["?"] if self.chance(0.4) else []
            dims.append(f"{{{', '.join(parts)}}}")
        return f"<@mesh, [{', '.join(dims)}]>"

    def kind(self) -> str:
        kind = self.rng.choice(["pinned_host", "pinned_host", "device"])
        return f'mhlo.memory_kind = "{kind}"'

    def argument(self, index: int) -> str:
        value = Value(
            f"%arg{index}", self.rng.choice(self.meshes), self.rng.choice(SHAPES)
        )
        entries = []
        if self.chance(0.3):
            entries.append("jax.buffer_donor = true")
        if self.chance(0.3):
            entries.append(f"tf.aliasing_output = {self.rng.randint(0, 3)} : i32")
        if self.uses_host and self.chance(0.3):
            entries.append(self.kind())
        if self.shards and self.chance(0.5):
            entries.append(f"sdy.sharding = #sdy.sharding{self.sharding(value.shape)}")
        self.values.append(value)
        return f"{value.name}: {value.type}{attributes(entries)}"

    def result(self, value: Value) -> str:
        entries = []
        if self.uses_host and self.chance(0.2):
            entries.append(self.kind())
        if self.shards and self.chance(0.3):
            entries.append(f"sdy.sharding = #sdy.sharding{self.sharding(value.shape)}")
        return value.type + attributes(entries)

    def operation(self, name: str, pool: list[tuple[str, str]]) -> tuple[str, str]:
        """The text of an operation and the shape of its result."""
        rng, kind = self.rng, self.rng.randrange(9)
        operand, shape = rng.choice(pool) if pool else ("", "")
        if kind == 6 or not pool:
            shape = rng.choice(SHAPES)
            value = rng.randint(0, 3) if shape.endswith("i32") else f"{kind}.0"
            return (
                f"{name} = stablehlo.constant dense<{value}> : tensor<{shape}>",
                shape,
            )
        if kind == 7 and self.uses_host:
            placement = rng.choice(["pinned_host", "device"])
            return (
                f"{name} = stablehlo.custom_call @annotate_device_placement({operand}) "
                "{has_side_effect = true, mhlo.frontend_attributes = "
                f'{{_xla_buffer_placement = "{placement}"}}}} : '
                f"(tensor<{shape}>) -> tensor<{shape}>"
            ), shape
        if kind == 8 and self.shards:
            constraint = f"sdy.sharding_constraint {operand} {self.sharding(shape)}"
            return f"{name} = {constraint} : tensor<{shape}>", shape
        if kind < 3:
            op = rng.choice(["negate", "abs"])
            return f"{name} = stablehlo.{op} {operand} : tensor<{shape}>", shape
        other, _ = rng.choice([entry for entry in pool if entry[1] == shape])
        op = rng.choice(["add", "multiply", "maximum", "subtract"])
        return f"{name} = stablehlo.{op} {operand}, {other} : tensor<{shape}>", shape

    def body(self, arguments: list[str]) -> Body:
        pool = [(f"%b{i}", shape) for i, shape in enumerate(arguments)]
        lines = []
        for i in range(self.rng.randint(0 if pool else 1, 4)):
            text, shape = self.operation(f"%o{i}", pool)
            lines.append(text)
            pool.append((f"%o{i}", shape))
        count = self.rng.choice([1, 1, 2, 3])
        body = Body(
            arguments, lines, [self.rng.choice(pool[-4:]) for _ in range(count)]
        )
        self.bodies.append(body)
        return body

    def pick_body(self, values: list[Value]) -> tuple[Body, list[Value]] | None:
        """A body and what it is to read; one that is known if that can be."""
        if self.bodies and self.chance(0.4):
            body = self.rng.choice(self.bodies)
            fitting = [
                [value for value in values if value.shape == shape]
                for shape in body.arguments
            ]
            if not all(fitting):
                return None
            return body, [self.rng.choice(choice[-4:]) for choice in fitting]
        count = self.rng.randint(0, 3) if values else 0
        operands = [self.rng.choice(values[-6:]) for _ in range(count)]
        return self.body([value.shape for value in operands]), operands

    def header(self) -> tuple[str, list[str]]:
        """Origin and stage of a fragment, and its attributes."""
        entries = ["remat"] if self.chance(0.1) else []
        if self.chance(0.3):
            made_by = self.rng.choice(["uniquify", "introduce_transfers"])
            return "origin=[]", [*entries, f'mpmd.inferred_by = ["{made_by}"]']
        origins = []
        for _ in range(self.rng.randint(1, 3)):
            transposed = self.transposes and self.chance(0.6)
            count = self.rng.choice(["", "(1)", "(1)", "(2)"]) if transposed else ""
            origins.append(f'"{self.rng.choice(NAMES)}"{count}')
        if self.chance(0.5):
            entries.append(f"call_counter = {self.rng.randint(0, 3)} : ui32")
        stage = f", stage={self.rng.randint(0, 2)}" if self.chance(0.2) else ""
        return f"origin=[{', '.join(origins)}]{stage}", entries

    def fragment(self) -> None:
        mesh = self.rng.choice(self.meshes)
        here = [v for v in self.values if v.mesh == mesh and not v.on_host]
        picked = self.pick_body(here)
        if picked is None:
            return
        body, operands = picked
        header, entries = self.header()
        name, count = f"%v{len(self.lines)}", len(body.returned)
        results = [
            Value(name if count == 1 else f"{name}#{i}", mesh, shape)
            for i, (_, shape) in enumerate(body.returned)
        ]
        inner = [f"%b{i}: tensor<{shape}>" for i, shape in enumerate(body.arguments)]
        returned = ", ".join(value for value, _ in body.returned)
        shapes = ", ".join(f"tensor<{shape}>" for _, shape in body.returned)
        self.lines.append(
            f"{name}{f':{count}' if count > 1 else ''} = "
            f'mpmd.fragment<mesh="{mesh}", {header}> '
            f"({', '.join(value.name for value in operands)})"
            f"{attributes(entries)} ({', '.join(inner)}) {{\n"
            + "".join(f"  {line}\n" for line in body.lines)
            + f"  mpmd.return {returned} : {shapes}\n"
            f"}} : {types(operands)} -> {types(results)}"
        )
        self.values += results

    def transfer(self) -> None:
        source = self.rng.choice(self.values[-6:])
        target = Value(
            f"%v{len(self.lines)}",
            self.rng.choice(self.meshes),
            source.shape,
            self.chance(0.05),
        )
        self.lines.append(
            f"{target.name} = mpmd.transfer {source.name} : "
            f"{types([source])} -> {target.type}"
        )
        self.values.append(target)

    def module(self) -> str:
        arguments = [self.argument(i) for i in range(self.rng.randint(1, 5))]
        for _ in range(self.rng.randint(2, 16)):
            (self.fragment if self.chance(0.75) else self.transfer)()
        returned = [
            self.rng.choice(self.values[-8:]) for _ in range(self.rng.randint(1, 4))
        ]
        results = [self.result(value) for value in returned]
        x, y = self.sizes
        mesh = f'<["x"={x}, "y"={y}]>'
        topology = ", ".join(f'<"{name}" : {mesh}>' for name in self.meshes)
        return (
            f"module @jit_random {{\nsdy.mesh @mesh = {mesh}\n"
            f"func.func @main({', '.join(arguments)}) -> ({', '.join(results)}) "
            f"attributes {{topology = #mpmd.topology<{topology}>}} {{\n"
            + "\n".join(self.lines)
            + f"\nreturn {', '.join(value.name for value in returned)} : "
            f"{types(returned)[1:-1]}\n}}\n}}\n"
        )

    def topology(self) -> list[tuple[str, list[tuple[str, int]]]]:
        return [
            (mesh, [("x", self.sizes[0]), ("y", self.sizes[1])]) for mesh in self.meshes
        ]


def generate(seed: int) -> tuple[str, list[tuple[str, list[tuple[str, int]]]]]:
    """The text of a program, and its topology as the peer takes it."""
    writer = _Writer(seed)
    return writer.module(), writer.topology()
