"""Every operation of the dialects, compared with jaxlib's parser and printer.

The inputs are the positive lit tests of the dialects. Each function of them is
parsed and printed by both, pretty and generic; the texts must be equal. With
another element type or size in the function, both must refuse it or print equal
texts. So it is with bytecode of either side. A last test checks that no operation is
left out.
"""

import io
import re

import pytest
from support.isolated import Aborted, Isolated
from support.jaxlib_context import context_with_quantized_types
from support.jaxlib_releases import has_another_form, is_refused, without_defaults
from support.tools import ROOT

DIALECTS = ROOT / "test" / "Dialect"
SEPARATOR = "^// -----.*$|^//---.*$"

# What jaxlib 0.10.2 cannot read; the lit tests check it on our side alone: newer
# StableHLO and Shardy, a text that the reference itself prints but does not
# parse, and groups that it walks for hours.
TOO_NEW = {
    "sdy.replicated_to_unreduced",
    "sdy.sharded_to_unreduced",
    "stablehlo.collective_reduce",
}
UNKNOWN_TO_JAXLIB = (
    "collective_reduce",
    "has_dynamic_root",
    "is_stable = false",
    "mpmd.for ()",
    "reduction_op = ",
    "sdy.all_reduce max",
    "sdy.all_reduce min",
    "sdy.reduce_scatter max",
    "sdy.reduce_scatter min",
    "unreduced=max",
    "unreduced=min",
    "unreduced=sum",
    "unreduced{",
    "sizes = []",
    '0:2 = "stablehlo.collective_broadcast"',
    "tensor<1099511627776x2xi64>",
    "tensor<9223372036854775807x2xi64>",
    # Loops of which a body or a result has other types than the operands, as which it
    # prints them.
    "^bb0(%a: tensor<*xf32>):",
    "(%x: tensor<?xf32>, %y: tensor<2xf32>, %p: tensor<i1>)",
    # Names that it prints as they are, and then cannot read.
    r'"a\22b"',
)


def functions_of(text: str):
    """Each function of a file on its own, with what it refers to."""
    items, current = [], []
    for line in without_comments(text).splitlines():
        current.append(line)
        is_line = line.startswith(("!", "#", "sdy.mesh"))
        is_function = line.startswith("func.func") and (
            line.endswith("}") or line.startswith("func.func private")
        )
        is_function = is_function and line.count("{") == line.count("}")
        if line == "}" or is_line or is_function:
            items.append("\n".join(current).strip())
            current = []
    functions = {}
    for item in items:
        if item.startswith("func.func"):
            functions[re.search(r"@([\w.]+)", item).group(1)] = item
    others = [item for item in items if not item.startswith("func.func")]
    for name in functions:
        needed, queue = {name}, [name]
        while queue:
            for other in re.findall(r"@([\w.]+)", functions[queue.pop()]):
                if other in functions and other not in needed:
                    needed.add(other)
                    queue.append(other)
        yield (
            name,
            "\n".join([*others, *(functions[n] for n in functions if n in needed)]),
        )


def positive_chunks():
    """Functions of files without errors, and of registered dialects only."""
    for path in sorted(DIALECTS.rglob("*.mlir")):
        text = path.read_text()
        if "-errors" in path.stem or "expected-error" in text:
            continue
        if "-allow-unregistered-dialect" in text:
            continue
        for chunk in re.split(SEPARATOR, text, flags=re.MULTILINE):
            for name, whole in functions_of(chunk):
                if any(word in whole for word in UNKNOWN_TO_JAXLIB):
                    continue
                place = path.relative_to(DIALECTS).with_suffix("")
                yield pytest.param(whole, id=f"{place}-{name}")


def without_comments(text: str) -> str:
    return re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)


CHUNKS = list(positive_chunks())


@pytest.fixture(scope="module")
def jaxlib():
    worker = Isolated(__name__)
    yield worker
    worker.close()


def jaxlib_print_both(text: str) -> tuple[str, str]:
    from jaxlib.mlir import ir

    with context_with_quantized_types():
        module = ir.Module.parse(text).operation
        return module.get_asm(), module.get_asm(print_generic_op_form=True)


def jaxlib_prints(texts: list[str]) -> list[str | None]:
    """What each prints as in generic form; None for one that is refused."""
    from jaxlib.mlir import ir

    printed = []
    with context_with_quantized_types():
        for text in texts:
            try:
                module = ir.Module.parse(text).operation
                printed.append(module.get_asm(print_generic_op_form=True).strip())
            except ir.MLIRError:
                printed.append(None)
    return printed


@pytest.fixture(scope="module")
def printed(tools) -> dict[str, tuple[str | None, str | None]]:
    """Each chunk as our tool prints it, pretty and generic; None if it is refused."""
    texts = [chunk.values[0] for chunk in CHUNKS]
    options = ([], ["--mlir-print-op-generic"])
    both = zip(*(our_prints(tools, texts, *given) for given in options), strict=True)
    return dict(zip(texts, both, strict=True))


@pytest.mark.parametrize("chunk", CHUNKS)
def test_prints_as_jaxlib_does(tools, jaxlib, printed, chunk):
    try:
        pretty, generic = jaxlib.call(jaxlib_print_both, chunk)
    except Aborted:
        pytest.skip("jaxlib aborts on this")
    ours = printed[chunk]
    if None in ours:
        tools.opt(chunk)  # Fails, and says why.
    assert ours == (pretty.strip(), without_defaults(generic).strip())


# Where we are stricter on purpose: operands that do not broadcast, results that
# cannot have the type written, a shape operand that does not fit the result,
# quantized factors of a dot.
# Positions of a convolution that collide end jaxlib's process. Sizes whose product
# does not fit into 64 bits are nothing to it where the other side is empty.
NOT_ALIKE = (
    "8589934592x2147483648",
    "#stablehlo.conv<raw",
    "stablehlo.dot %",
    "chlo.broadcast_",
    "chlo.scan",
    "stablehlo.dynamic_conv",
    "stablehlo.dynamic_iota",
    "stablehlo.dynamic_reshape",
    "stablehlo.real_dynamic_slice",
)
TENSOR = re.compile(r"tensor<((?:(?:\d+|\?)x)*)([a-z]\w*(?:<f\d+>)?)>")


def with_element(text: str, element: str) -> str:
    """Replaces the first element type wherever it occurs."""
    first = TENSOR.search(text)
    if not first:
        return text
    return TENSOR.sub(
        lambda m: f"tensor<{m[1]}{element if m[2] == first[2] else m[2]}>", text
    )


def with_size(text: str, size: str) -> str:
    """Replaces the first size of a tensor wherever it occurs in a tensor."""
    first = re.search(r"tensor<(\d+)x", text)
    if not first:
        return text
    return re.sub(rf"(tensor<|x){first[1]}(?=x)", rf"\g<1>{size}", text)


VARIANTS = [
    *[(with_element, e) for e in ("bf16", "f8E8M0FNU", "tf32", "complex<f64>")],
    *[(with_element, e) for e in ("i1", "ui4", "i64", "si32", "index", "none")],
    (with_element, "!quant.uniform<i8:f32, 2.500000e-01:3>"),
    *[(with_size, size) for size in ("0", "1", "7", "?")],
]


@pytest.mark.parametrize(
    "change, value", VARIANTS, ids=[f"{f.__name__}-{v[:14]}" for f, v in VARIANTS]
)
def test_accepts_what_jaxlib_accepts(tools, jaxlib, change, value):
    texts = [
        change(chunk.values[0], value)
        for chunk in CHUNKS
        if not chunk.id.startswith("Sdy")
        and not any(word in chunk.values[0] for word in NOT_ALIKE)
    ]
    texts = [text for text in texts if not is_refused(text)]
    theirs = jaxlib.call_each(jaxlib_prints, texts, "aborts")
    ours = our_prints(tools, texts, "--mlir-print-op-generic")
    assert set(theirs) - {None, "aborts"}
    for text, their, our in zip(texts, theirs, ours, strict=True):
        assert our == their or their == "aborts", text


def our_prints(tools, texts: list[str], *options: str) -> list[str | None]:
    """What each prints as with our tool, run once; None for one that is refused."""
    separator = "// -----\n"
    whole = f"\n{separator}".join(texts)
    run = tools.run("mpmd-opt", "-", "-split-input-file", *options, stdin=whole)
    return [text.strip() or None for text in run.stdout.decode().split(separator)]


def jaxlib_encode(texts: list[str]) -> tuple[bytes, str]:
    """One bytecode of all, each a module within the module, and its generic text."""
    from jaxlib.mlir import ir

    with context_with_quantized_types():
        whole = ir.Module.parse("")
        for text in texts:
            with ir.InsertionPoint(whole.body):
                ir.Module.parse(text).operation.clone()
        code = io.BytesIO()
        whole.operation.write_bytecode(code)
        return code.getvalue(), whole.operation.get_asm(print_generic_op_form=True)


def jaxlib_print_generic(code: bytes) -> str:
    from jaxlib.mlir import ir

    with context_with_quantized_types():
        module = ir.Module.parse(code).operation
        return module.get_asm(print_generic_op_form=True)


def in_bytecode(dialect: str) -> list[str]:
    return [
        chunk.values[0]
        for chunk in CHUNKS
        # Of a raw convolution jaxlib aborts, as above.
        if chunk.id.startswith(dialect) and "#stablehlo.conv<raw" not in chunk.values[0]
    ]


@pytest.mark.parametrize("dialect", ["CHLO", "Mpmd", "Sdy", "StableHLO"])
def test_bytecode_of_jaxlib_is_read(tools, jaxlib, dialect):
    code, generic = jaxlib.call(jaxlib_encode, in_bytecode(dialect))
    printed = tools.opt(code, "--mlir-print-op-generic").rstrip("\n")
    # Later jaxlibs write the defaults, which are then printed here, too.
    assert without_defaults(printed) == without_defaults(generic).rstrip("\n")


@pytest.mark.parametrize("dialect", ["CHLO", "Mpmd", "Sdy", "StableHLO"])
def test_jaxlib_reads_our_bytecode(tools, jaxlib, dialect):
    texts = [text for text in in_bytecode(dialect) if not has_another_form(text)]
    code, generic = jaxlib.call(jaxlib_encode, texts)
    ours = tools.run("mpmd-opt", "-", "--emit-bytecode", stdin=code).stdout
    assert jaxlib.call(jaxlib_print_generic, ours) == generic


def test_every_operation_is_compared(printed):
    compared = set()
    for _, text in printed.values():
        compared.update(re.findall(r'"((?:stablehlo|chlo|sdy|mpmd)\.[\w-]+)"\(', text))
    missing = defined_operations() - compared - TOO_NEW
    assert not missing, sorted(missing)


def defined_operations() -> set[str]:
    """The operations that the dialects' TableGen defines."""
    found = set()
    for path in sorted((ROOT / "meshwright" / "Dialect").rglob("*.td")):
        dialect = path.relative_to(ROOT / "meshwright" / "Dialect").parts[0].lower()
        for name in re.findall(
            r"^def \w+\s*:\s*\w*Op\w*\s*<\s*\"([\w-]+)\"",
            path.read_text(),
            re.MULTILINE,
        ):
            if name.islower():  # Not an interface or a trait.
                found.add(f"{dialect}.{name}")
    assert len(found) > 180, "the pattern no longer finds the definitions"
    return found
