"""Every operation of the dialects, compared with jaxlib's parser and printer.

The inputs are the positive lit tests of the dialects. Each function of them is
parsed and printed by both, pretty and generic; the texts must be equal. A last
test checks that no operation is left out.
"""

import re
import sys

import pytest
from conftest import ROOT
from isolated import Aborted, Isolated

sys.path[:0] = [str(ROOT / "scripts")]

import numerics  # noqa: E402

DIALECTS = ROOT / "test" / "Dialect"
SEPARATOR = "^// -----.*$|^//---.*$"

# What jaxlib 0.10.2 cannot read; the lit tests check it on our side alone: newer
# StableHLO and Shardy, the quant dialect, which it does not register, and a text
# that the reference itself prints but does not parse.
TOO_NEW = {
    "sdy.replicated_to_unreduced",
    "sdy.sharded_to_unreduced",
    "stablehlo.collective_reduce",
    "stablehlo.uniform_dequantize",
    "stablehlo.uniform_quantize",
}
UNKNOWN_TO_JAXLIB = (
    "collective_reduce",
    "has_dynamic_root",
    "is_stable = false",
    "!quant.",
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
    worker = Isolated()
    yield worker
    worker.close()


def jaxlib_print_both(text: str) -> tuple[str, str]:
    return numerics.print_module(text), numerics.print_module(
        text, print_generic_op_form=True
    )


@pytest.mark.parametrize("chunk", CHUNKS)
def test_prints_as_jaxlib_does(tools, jaxlib, chunk):
    try:
        pretty, generic = jaxlib.call(jaxlib_print_both, chunk)
    except Aborted:
        pytest.skip("jaxlib aborts on this")
    assert tools.opt(chunk).rstrip("\n") == pretty.rstrip("\n")
    ours = tools.opt(chunk, "--mlir-print-op-generic")
    assert ours.rstrip("\n") == generic.rstrip("\n")


def test_every_operation_is_compared(tools):
    compared = set()
    for chunk in CHUNKS:
        text = tools.opt(chunk.values[0], "--mlir-print-op-generic")
        compared.update(re.findall(r'"((?:stablehlo|chlo|sdy|mpmd)\.[\w-]+)"\(', text))
    missing = defined_operations() - compared - TOO_NEW
    assert not missing, sorted(missing)


def defined_operations() -> set[str]:
    """The operations that the dialects' TableGen defines."""
    found = set()
    for path in sorted((ROOT / "meshwright" / "Dialect").rglob("*.td")):
        dialect = path.parent.name.lower()
        for name in re.findall(
            r"^def \w+\s*:\s*\w*Op\w*\s*<\s*\"([\w-]+)\"",
            path.read_text(),
            re.MULTILINE,
        ):
            if not name.endswith("Interface"):
                found.add(f"{dialect}.{name}")
    assert len(found) > 180, "the pattern no longer finds the definitions"
    return found
