"""The modules of one operation with which fuzzing begins, as programs to compare.

Every operation of StableHLO and CHLO with every element type (`fuzz/op_seeds.py`),
where jaxlib reads it. Those on constants are left out: one of the routes makes these.
"""

import random
import re
from collections.abc import Sequence

from fuzz import op_seeds  # noqa: E402
from support import op_corpus
from support.isolated import Isolated
from support.random_ops.program import DTYPES, Builder, Program, Value

HEAD = re.compile(r"func\.func @main\((.*)\) -> \((.*)\) \{")
ARGUMENT = re.compile(r"%x\d+: (tensor<.*?>+)(?=, %x|$)")
SHAPE = re.compile(r"tensor<((?:\d+x)*)(.*)>")
OPERATION = re.compile(r'"((?:stablehlo|chlo)\.[\w-]+)"\(')
CONSTANT = " = stablehlo.constant "
# Numbers that differ from run to run, a loop without end, what other code or several
# devices do, and what XLA refuses with operands of one type, or on some types.
NOT_RUN = (
    r"stablehlo\.(rng\w*|while|custom_call|(un\w+_)?einsum|torch_index_select|"
    r"\w*(send|recv|feed|all_\w+|reduce_scatter|partition_id)|cross-\S*|collective\w*)|"
    r".*remainder complex.*|.*bessel_i1e complex.*"
)


def are_read(texts: Sequence[str]) -> list[bool]:
    """Whether jaxlib reads each. To be called where jaxlib may end the process."""
    from jaxlib.mlir import ir

    from support.jaxlib_context import context_with_quantized_types

    def is_read(text: str) -> bool:
        try:
            return ir.Module.parse(text).operation.verify()
        except ir.MLIRError:
            return False

    with context_with_quantized_types():
        return [is_read(text) for text in texts]


def programs(words: Sequence[str] = ()) -> list[Program]:
    """Those of operations that have one of `words` in their name, or all."""
    texts = [text for text in op_seeds.programs(op_corpus.ROOT) if CONSTANT not in text]
    if words:
        texts = [t for t in texts if any(word in operation(t) for word in words)]
    jaxlib = Isolated(__name__)
    answers = jaxlib.call_each(are_read, texts, False)
    jaxlib.close()
    found = [text for text, good in zip(texts, answers, strict=True) if good]
    made = [program(text, f"s{i}") for i, text in enumerate(found)]
    known = {kind(p) for p in made}
    for p in made:
        # With broadcasts, more types are read than without, but not compiled.
        if p.op.startswith("chlo.broadcast_") and not known & {
            f"{dialect}.{kind(p).split('broadcast_')[1]}"
            for dialect in ("stablehlo", "chlo")
        }:
            p.runs = False
    return made


def operation(text: str) -> str:
    return OPERATION.search(text)[1]


def kind(p: Program) -> str:
    """Its operation, and what its operands have for elements."""
    elements = [getattr(argument, "element", "") for argument in p.arguments[:1]]
    return " ".join([p.op, *elements])


def program(text: str, name: str) -> Program:
    """The function of a module, on numbers that its name says."""
    builder = Builder(random.Random(name), name)
    head = HEAD.match(text)
    for type_ in ARGUMENT.findall(head[1]):
        shape = SHAPE.fullmatch(type_)
        if shape and shape[2] in DTYPES:
            sizes = tuple(int(size) for size in shape[1].split("x")[:-1])
            builder.argument(sizes, shape[2])
        else:
            builder.opaque(type_)
    *lines, end, _ = text.splitlines()[1:]
    builder.lines = [re.sub(r"%x(?=\d)", "%a", line) for line in lines]
    if head[2]:
        returned = end.partition(" : ")[0].split("return ")[1]
        types = ARGUMENT.findall(re.sub(r"(^|, )(?=tensor)", r"\1%x0: ", head[2]))
        names = returned.split(", ")
        builder.give(*map(Value, names, types))
    op = operation(text)
    made = builder.program(op)
    if any(re.fullmatch(NOT_RUN, text) for text in (op, kind(made))):
        made.runs = False
    return made
