"""Random, partly annotated programs: named computations, calls, loops, captures.

Every value is a `tensor<4xf32>`, so that any operation takes any value. Numbers
stay small: each operation is bounded or averages its operands.
"""

import dataclasses
import random
import re

T = "tensor<4xf32>"


@dataclasses.dataclass
class Program:
    text: str
    config: dict

    def with_topology(self) -> str:
        """The text with the topology on @main, as the import passes want it."""
        meshes = ", ".join(
            f'<"{mesh}" : <["x"={axes["x"]}]>>'
            for mesh, axes in self.config["topology"].items()
        )
        head, rest = self.text.split(") {\n", 1)
        return f"{head}) attributes {{topology = #mpmd.topology<{meshes}>}} {{\n{rest}"


class _Body:
    """The operations of one block, and the values that may be used in it."""

    def __init__(self, writer: "_Writer", values: list[str], indent: str):
        self.writer, self.values, self.indent = writer, list(values), indent
        self.lines: list[str] = []

    def emit(self, line: str) -> None:
        self.lines.append(self.indent + line)

    def pick(self) -> str:
        # Recent values more often, so that programs are deep.
        rng = self.writer.rng
        if rng.random() < 0.6:
            return rng.choice(self.values[-4:])
        return rng.choice(self.values)

    def define(self, rest: str, *, count: int = 1) -> list[str]:
        name = self.writer.fresh()
        self.emit(f"{name}{f':{count}' if count > 1 else ''} = {rest}")
        results = [name] if count == 1 else [f"{name}#{i}" for i in range(count)]
        self.values += results
        return results

    def compute(self) -> None:
        """One operation without a name."""
        rng = self.writer.rng
        if self.writer.with_effects and rng.random() < 0.3:
            return self.effect()
        if self.writer.with_layers and rng.random() < 0.4:
            return rng.choice([self.dense, self.attention, self.filter, self.experts])()
        kind = rng.randrange(7)
        if kind == 0:
            self.define(f"stablehlo.tanh {self.pick()} : {T}")
        elif kind == 1:
            self.define(f"stablehlo.negate {self.pick()} : {T}")
        elif kind == 2:
            value = rng.choice(["5.0e-01", "-2.5e-01", "1.0"])
            self.define(f"stablehlo.constant dense<{value}> : {T}")
        elif kind == 3:
            self.define(f"stablehlo.logistic {self.pick()} : {T}")
        else:
            op = rng.choice(["maximum", "minimum", "add", "subtract"])
            (total,) = self.define(f"stablehlo.{op} {self.pick()}, {self.pick()} : {T}")
            self.define(f"stablehlo.tanh {total} : {T}")

    def emit_as(self, type_: str, rest: str) -> str:
        """One operation whose result is no value of the program."""
        name = self.writer.fresh()
        self.emit(f"{name} = {rest} -> {type_}")
        return name

    def matrix(self, value: str, type_: str = "tensor<2x2xf32>") -> str:
        return self.emit_as(type_, f"stablehlo.reshape {value} : ({T})")

    def product(self, left: str, right: str, dims: str) -> str:
        square = "tensor<2x2xf32>"
        return self.emit_as(
            square,
            f"stablehlo.dot_general {left}, {right}, contracting_dims = {dims} : "
            f"({square}, {square})",
        )

    def flatten(self, value: str, type_: str = "tensor<2x2xf32>") -> None:
        flat = self.emit_as(T, f"stablehlo.reshape {value} : ({type_})")
        self.define(f"stablehlo.tanh {flat} : {T}")

    def dense(self) -> None:
        """A layer of weights that may be an input, and be shared."""
        x, w = self.matrix(self.pick()), self.matrix(self.pick())
        self.flatten(self.product(x, w, "[1] x [0]"))

    def attention(self) -> None:
        q, k, v = (self.matrix(self.pick()) for _ in range(3))
        scores = self.product(q, k, "[1] x [1]")
        square, row = "tensor<2x2xf32>", "tensor<2xf32>"
        bounded, grown = self.writer.fresh(), self.writer.fresh()
        self.emit(f"{bounded} = stablehlo.tanh {scores} : {square}")
        self.emit(f"{grown} = stablehlo.exponential {bounded} : {square}")
        zero, weights = self.writer.fresh(), self.writer.fresh()
        self.emit(f"{zero} = stablehlo.constant dense<0.0> : tensor<f32>")
        total = self.emit_as(
            row,
            f"stablehlo.reduce({grown} init: {zero}) applies stablehlo.add across "
            f"dimensions = [1] : ({square}, tensor<f32>)",
        )
        wide = self.emit_as(
            square, f"stablehlo.broadcast_in_dim {total}, dims = [0] : ({row})"
        )
        self.emit(f"{weights} = stablehlo.divide {grown}, {wide} : {square}")
        self.flatten(self.product(weights, v, "[1] x [0]"))

    def filter(self) -> None:
        """A convolution along the four elements."""
        image, taps = "tensor<1x4x1xf32>", "tensor<4x1x1xf32>"
        x, k = self.matrix(self.pick(), image), self.matrix(self.pick(), taps)
        found = self.emit_as(
            image,
            f"stablehlo.convolution({x}, {k}) dim_numbers = [b, 0, f]x[0, i, o]->"
            "[b, 0, f], window = {pad = [[1, 2]]} {batch_group_count = 1 : i64, "
            f"feature_group_count = 1 : i64}} : ({image}, {taps})",
        )
        self.flatten(found, image)

    def experts(self) -> None:
        """Each element goes to one of two, as a third value says."""
        bits, gate, other = "tensor<4xi1>", self.pick(), self.pick()
        choice = self.emit_as(
            bits, f"stablehlo.compare GT, {gate}, {other} : ({T}, {T})"
        )
        first, second = self.writer.fresh(), self.writer.fresh()
        self.emit(f"{first} = stablehlo.tanh {self.pick()} : {T}")
        self.emit(f"{second} = stablehlo.logistic {self.pick()} : {T}")
        self.define(f"stablehlo.select {choice}, {first}, {second} : {bits}, {T}")

    def effect(self) -> None:
        """A draw, or a call with side effects: read, unread or without results."""
        writer = self.writer
        writer.effects += 1
        target = f"stablehlo.custom_call @effect_{writer.effects}"
        acts = "{has_side_effect = true}"
        kind = writer.rng.randrange(5)
        if kind == 0:
            shape = writer.fresh()
            self.emit(f"{shape} = stablehlo.constant dense<4> : tensor<1xi64>")
            low, high = writer.fresh(), writer.fresh()
            for limit, number in ((low, "0.0"), (high, "1.0")):
                self.emit(f"{limit} = stablehlo.constant dense<{number}> : tensor<f32>")
            self.define(
                f"stablehlo.rng {low}, {high}, {shape}, distribution = UNIFORM : "
                f"(tensor<f32>, tensor<f32>, tensor<1xi64>) -> {T}"
            )
        elif kind == 1:
            self.emit(f"{target}({self.pick()}) {acts} : ({T}) -> ()")
        elif kind == 2:
            self.define(f"{target}() {acts} : () -> {T}")
        else:
            self.define(f"{target}({self.pick()}) {acts} : ({T}) -> {T}")

    def named(self) -> None:
        writer = self.writer
        name = writer.rng.choice(list(writer.assignment))
        inputs = [self.pick() for _ in range(writer.rng.randint(1, 3))]
        arguments = [writer.fresh() for _ in inputs]
        inner = _Body(writer, arguments, self.indent + "  ")
        for _ in range(writer.rng.randint(1, 3)):
            inner.compute()
        count = writer.rng.randint(1, 2)
        returned = [inner.pick() for _ in range(count)]
        result = writer.fresh()
        head = f"{result}{f':{count}' if count > 1 else ''}"
        transposed = writer.rng.choice(["", "", "(1)"])
        block = ", ".join(f"{argument}: {T}" for argument in arguments)
        self.emit(
            f'{head} = mpmd.named_computation<"{name}"{transposed}> '
            f"({', '.join(inputs)}) ({block}) {{"
        )
        self.lines += inner.lines
        self.emit(f"  mpmd.return {', '.join(returned)} : {types(count)}")
        outer = T if count == 1 else f"({types(count)})"
        self.emit(f"}} : ({types(len(inputs))}) -> {outer}")
        self.values += (
            [result] if count == 1 else [f"{result}#{i}" for i in range(count)]
        )

    def tensor(self) -> None:
        name = self.writer.rng.choice(list(self.writer.tensors))
        self.define(f'mpmd.named_tensor {self.pick()} name="{name}" : {T}')

    def loop(self) -> None:
        """A loop of two trips that captures a value from outside."""
        writer = self.writer
        zero, one, two = (self.constant(number) for number in ("0", "1", "2"))
        start, captured = self.pick(), self.pick()
        counter, carried = writer.fresh(), writer.fresh()
        result = writer.fresh()
        condition, following, value = writer.fresh(), writer.fresh(), writer.fresh()
        inner = _Body(writer, [carried, captured], self.indent + "  ")
        inner.compute()
        inner.emit(f"{value} = stablehlo.minimum {inner.pick()}, {captured} : {T}")
        i32 = "tensor<i32>"
        self.emit(
            f"{result}:2 = stablehlo.while({counter} = {zero}, {carried} = {start}) "
            f": {i32}, {T}"
        )
        self.emit("cond {")
        self.emit(
            f"  {condition} = stablehlo.compare LT, {counter}, {two}, SIGNED : "
            f"({i32}, {i32}) -> tensor<i1>"
        )
        self.emit(f"  stablehlo.return {condition} : tensor<i1>")
        self.emit("} do {")
        self.lines += inner.lines
        self.emit(f"  {following} = stablehlo.add {counter}, {one} : {i32}")
        self.emit(f"  stablehlo.return {following}, {value} : {i32}, {T}")
        self.emit("}")
        self.values.append(f"{result}#1")

    def mpmd_loop(self) -> None:
        """A loop over named computations, to be unrolled."""
        writer = self.writer
        starts = [self.pick() for _ in range(writer.rng.randint(1, 2))]
        carried = [writer.fresh() for _ in starts]
        result, count = writer.fresh(), len(starts)
        trips = writer.rng.randint(1, 3)
        inner = _Body(writer, carried, self.indent + "  ")
        inner.named()
        inner.compute()
        returned = [inner.pick() for _ in starts]
        block = ", ".join(f"{argument}: {T}" for argument in carried)
        self.emit(
            f"{result}{f':{count}' if count > 1 else ''} = mpmd.for "
            f"({', '.join(starts)}) {{iterations = {trips} : ui32, "
            f"unroll_factor = {trips} : ui32}} ({block}, {writer.fresh()}: "
            "tensor<ui32>) {"
        )
        self.lines += inner.lines
        self.emit(f"  mpmd.return {', '.join(returned)} : {types(count)}")
        self.emit(f"}} : {types(count)}")
        self.values += (
            [result] if count == 1 else [f"{result}#{i}" for i in range(count)]
        )

    def barrier(self) -> None:
        """A value that is available on any mesh from here on."""
        if self.writer.rng.random() < 0.6:
            self.define(f"mpmd.broadcast {self.pick()} : {T}")
        else:
            self.define(f"mpmd.reduce<none> {self.pick()} : ({T}) -> {T}")

    def nested(self) -> None:
        """A named computation around another one on the same mesh."""
        writer = self.writer
        name = writer.rng.choice(list(writer.assignment))
        everywhere, mesh = writer.assignment, writer.assignment[name]
        inputs = [self.pick() for _ in range(writer.rng.randint(1, 3))]
        arguments = [writer.fresh() for _ in inputs]
        inner = _Body(writer, arguments, self.indent + "  ")
        inner.compute()
        writer.assignment = {
            other: place for other, place in everywhere.items() if place == mesh
        }
        inner.named()
        writer.assignment = everywhere
        inner.barrier()
        returned, result = [inner.pick(), inner.pick()], writer.fresh()
        block = ", ".join(f"{argument}: {T}" for argument in arguments)
        self.emit(
            f'{result}:2 = mpmd.named_computation<"{name}"> '
            f"({', '.join(inputs)}) ({block}) {{"
        )
        self.lines += inner.lines
        self.emit(f"  mpmd.return {', '.join(returned)} : {types(2)}")
        self.emit(f"}} : ({types(len(inputs))}) -> ({types(2)})")
        self.values += [f"{result}#0", f"{result}#1"]

    def case(self) -> None:
        """A choice between two computations of captured values."""
        writer = self.writer
        condition, index, result = (writer.fresh() for _ in range(3))
        self.emit(
            f"{condition} = stablehlo.compare GT, {self.pick()}, {self.pick()} : "
            f"({T}, {T}) -> tensor<4xi1>"
        )
        first, wide = writer.fresh(), writer.fresh()
        self.emit(
            f"{first} = stablehlo.slice {condition} [0:1] : "
            "(tensor<4xi1>) -> tensor<1xi1>"
        )
        self.emit(
            f"{wide} = stablehlo.convert {first} : (tensor<1xi1>) -> tensor<1xi32>"
        )
        self.emit(
            f"{index} = stablehlo.reshape {wide} : (tensor<1xi32>) -> tensor<i32>"
        )
        self.emit(f'{result} = "stablehlo.case"({index}) ({{')
        # A choice that is known to the compiler loses the other branch.
        with_effects, writer.with_effects = writer.with_effects, False
        for end in ("}, {", f"}}) : (tensor<i32>) -> {T}"):
            branch = _Body(writer, [self.pick(), self.pick()], self.indent + "  ")
            branch.compute()
            branch.emit(f"stablehlo.return {branch.pick()} : {T}")
            self.lines += branch.lines
            self.emit(end)
        writer.with_effects = with_effects
        self.values.append(result)

    def pieces(self) -> None:
        """A reduction of values that are stacked for it."""
        writer = self.writer
        pieces = [writer.fresh() for _ in range(writer.rng.randint(2, 4))]
        row, count = "tensor<1x4xf32>", len(pieces)
        for piece in pieces:
            self.emit(f"{piece} = stablehlo.reshape {self.pick()} : ({T}) -> {row}")
        stack, start = writer.fresh(), writer.fresh()
        self.emit(
            f"{stack} = stablehlo.concatenate {', '.join(pieces)}, dim = 0 : "
            f"({', '.join([row] * count)}) -> tensor<{count}x4xf32>"
        )
        self.emit(f"{start} = stablehlo.constant dense<-4.0> : tensor<f32>")
        self.define(
            f"stablehlo.reduce({stack} init: {start}) applies stablehlo.maximum "
            f"across dimensions = [0] : (tensor<{count}x4xf32>, tensor<f32>) -> {T}"
        )

    def constant(self, number: str) -> str:
        name = self.writer.fresh()
        self.emit(f"{name} = stablehlo.constant dense<{number}> : tensor<i32>")
        return name

    def call(self) -> None:
        writer = self.writer
        callee = writer.rng.choice(writer.callees)
        operands = ", ".join(self.pick() for _ in range(callee.inputs))
        outer = T if callee.outputs == 1 else f"({types(callee.outputs)})"
        if callee.counted:
            writer.calls += 1
            rest = (
                f"mpmd.call @{callee.name}({operands}) "
                f"{{call_counter = {writer.calls} : ui32}}"
            )
        else:
            rest = f"func.call @{callee.name}({operands})"
        self.define(
            f"{rest} : ({types(callee.inputs)}) -> {outer}", count=callee.outputs
        )


@dataclasses.dataclass
class _Callee:
    name: str
    inputs: int
    outputs: int
    counted: bool


class _Writer:
    def __init__(
        self,
        seed: int,
        with_mpmd_ops: bool,
        with_regions: bool,
        with_effects: bool,
        with_layers: bool,
    ):
        self.rng = random.Random(seed)
        self.with_layers = with_layers
        self.with_mpmd_ops, self.with_regions = with_mpmd_ops, with_regions
        self.with_effects = with_effects
        self.counter = self.calls = self.effects = 0
        self.callees: list[_Callee] = []
        meshes = [f"m{i}" for i in range(self.rng.randint(1, 4))]
        self.meshes = meshes
        self.assignment = {
            f"c{i}": self.rng.choice(meshes) for i in range(self.rng.randint(1, 4))
        }
        self.tensors = {f"t{i}": self.rng.choice(meshes) for i in range(2)}

    def fresh(self) -> str:
        self.counter += 1
        return f"%v{self.counter}"

    def function(self, name: str, visibility: str, size: int) -> tuple[str, int, int]:
        inputs = self.rng.randint(2, 4)
        arguments = [self.fresh() for _ in range(inputs)]
        body = _Body(self, arguments, "  ")
        body.named()
        for _ in range(size):
            steps = [body.compute] * 4 + [body.named] * 3 + [body.tensor, body.loop]
            if self.callees:
                steps += [body.call] * 2
            if self.with_mpmd_ops:
                steps += [body.mpmd_loop, body.barrier] * 2
            if self.with_regions:
                steps += [body.nested, body.case, body.pieces] * 2
            self.rng.choice(steps)()
        outputs = self.rng.randint(1, 3)
        returned = [body.pick() for _ in range(outputs)]
        signature = ", ".join(f"{argument}: {T}" for argument in arguments)
        text = "\n".join(
            [
                f"func.func {visibility} @{name}({signature}) -> ({types(outputs)}) {{",
                *body.lines,
                f"  return {', '.join(returned)} : {types(outputs)}",
                "}",
            ]
        )
        return text, inputs, outputs


def types(count: int) -> str:
    return ", ".join([T] * count)


def generate(
    seed: int,
    *,
    with_mpmd_ops: bool = False,
    with_regions: bool = False,
    with_effects: bool = False,
    with_layers: bool = False,
) -> Program:
    """A program; on demand with loops, broadcasts and reductions of mpmd, with
    nested computations, choices and reductions of stacks, with draws and calls
    that have side effects, and with layers of models."""
    writer = _Writer(seed, with_mpmd_ops, with_regions, with_effects, with_layers)
    functions = []
    for index in range(writer.rng.randint(0, 2)):
        name = f"f{index}"
        text, inputs, outputs = writer.function(name, "private", 2)
        functions.append(text)
        counted = writer.rng.random() < 0.7
        writer.callees.append(_Callee(name, inputs, outputs, counted))
    main, inputs, outputs = writer.function("main", "public", writer.rng.randint(2, 8))
    text = "\n".join([main, *functions])
    rng = writer.rng
    config = {
        "topology": {mesh: {"x": 2} for mesh in writer.meshes},
        "assignment": {
            name: mesh
            for name, mesh in (writer.assignment | writer.tensors).items()
            if f'<"{name}"' in text or f'name="{name}"' in text
        },
        "options": {
            "mpmd_infer_transfers": rng.random() < 0.7,
            "mpmd_split_bwd_fragments": rng.random() < 0.3,
            "mpmd_absorb_inferred_fragments_on_entry_point_function": rng.random()
            < 0.3,
        },
    }
    if rng.random() < 0.4:
        config["input_meshes"] = [
            rng.choice([None, *writer.meshes]) for _ in range(inputs)
        ]
    if rng.random() < 0.4:
        config["output_meshes"] = [
            rng.choice([None, *writer.meshes]) for _ in range(outputs)
        ]
    return Program(text, config)


SCHEDULES = ["1F1B", "GPipe", "Circular", "CircularWithReversedBackward", "none"]


def generate_whole(seed: int) -> Program:
    """A program for all phases: of layers and some of the rest, with shardings of
    inputs, donated inputs, a schedule, and options."""
    rng = random.Random(f"whole {seed}")
    program = generate(
        seed,
        with_layers=True,
        with_mpmd_ops=rng.random() < 0.4,
        with_regions=rng.random() < 0.4,
    )
    config, head = program.config, program.text.partition(") -> (")[0]
    inputs = head.count(": tensor<4xf32>")
    options = config["options"]
    # What the peer takes and ignores would make other programs.
    del options["mpmd_split_bwd_fragments"]
    del options["mpmd_absorb_inferred_fragments_on_entry_point_function"]
    options["mpmd_pipeline_schedule"] = rng.choice(SCHEDULES)
    options["mpmd_fragment_remat"] = rng.random() < 0.3
    if rng.random() < 0.5:
        config["donate"] = [i for i in range(inputs) if rng.random() < 0.5]
    if rng.random() < 0.5:
        arguments = [
            argument + (SHARDED if rng.random() < 0.5 else "")
            for argument in head.split(", ")
        ]
        text = program.text.replace(head, ", ".join(arguments), 1)
        program = Program(MESH + text, config)
    return program


MESH = 'sdy.mesh @mesh = <["x"=2]>\n'
SHARDED = ' {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}'


def without_shardings(text: str) -> str:
    """A program for one device."""
    text = re.sub(r" *sdy\.mesh @.*\n", "", text)
    text = re.sub(r",? ?sdy\.sharding = #sdy\.sharding<[^>]*>", "", text)
    return text
