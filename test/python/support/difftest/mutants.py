"""Programs that are almost right: do jaxlib and `mpmd-opt` read the same ones?

Changed copies (`fuzz-mutate`) of the programs with which fuzzing begins, which are the
chunks of `test/` and a module for each operation and element type. What both read must
print the same.
"""

import collections
import dataclasses
import pathlib
import re
import tempfile
from collections.abc import Sequence

from fuzz import seeds as fuzz_seeds  # noqa: E402
from support import op_corpus
from support.isolated import Isolated

# jaxlib verifies some programs without end.
SECONDS = 20


@dataclasses.dataclass(frozen=True)
class Reading:
    """What a reader makes of a program: the text it prints, or else its error; neither
    if it ended the process."""

    text: str | None = None
    error: str = ""


@dataclasses.dataclass(frozen=True)
class Meant:
    """Programs that one side refuses on purpose: its message, and what is in
    them. Each has a line in docs/developing/differences.md."""

    refused_by: str
    message: str
    program: str = ""


MEANT = (
    Meant("us", r"dynamic_iota' op output_shape has \d+ elements, but the rank"),
    Meant("us", r"do not broadcast|broadcast_dimensions", r"chlo\.broadcast_"),
    Meant("us", r"device_ids"),
    Meant("us", r"factor|without leading zeros after 'z_'", r"op_sharding_rule"),
    Meant("us", r"expected valid keyword", r"op_sharding_rule<.*(\[\s*,|,\s*[,\]])"),
    Meant("us", r"more than 2\^63 - 1|makes the size -\d+ of|than fit 64 bits"),
    Meant("us", r"requires compatible bit widths", r"tensor<\d{18}"),
    Meant("us", r"at least one input and as many init values"),
    Meant("us", r"`(arg_attrs|res_attrs|mpmd\.inferred_by|call_counter)`"),
    Meant("us", r"expects the root, the last operand", r"has_dynamic_root"),
    Meant("us", r"custom_call' op to mpmd\.shared_body"),
    Meant("us", r"attribute 'unroll_factor'", r"mpmd\.for"),
    Meant("us", r"attribute '(in|out)_shardings'", r"mpmd\.fragment"),
    Meant("us", r"expected integer value", r"output_operand_alias<[^>]*\?"),
    Meant("jaxlib", r"induction variable has invalid type", r"mpmd\.for"),
    Meant("jaxlib", r"edges attr to reference a sharding", r"propagation_edges"),
    Meant("jaxlib", r"integer value too large", r"op_sharding_rule"),
    Meant("jaxlib", r"'axes'", r"all_to_all_param"),
    Meant("jaxlib", r"requires one result", r"collective_broadcast"),
    Meant(
        "jaxlib",
        r"unreduced_axes",
        r"unreduced\s*(=\s*(max|min|sum)|(=\s*)?\{\s*\}|\{)",
    ),
    Meant("jaxlib", r"replicated_axes", r"replicated\s*=\s*\{\s*\}"),
    Meant("jaxlib", r"expected '\)'", r"chlo\.top_k.*is_stable"),
    Meant("jaxlib", r"expected '\{'", r"sdy\.all_reduce (max|min|sum)"),
    Meant("jaxlib", r"expected 'sizes'", r"dynamic_slice %\w+, ,"),
    Meant("jaxlib", r"expected ':'", r"mpmd\.for \(\)"),
    Meant("jaxlib", r"", r"collective_reduce"),
)
# In programs that jaxlib prints in a way that only it, or no parser, reads, as hex
# digits, or without what it does not know.
PRINTED_OTHERWISE = (
    r"stablehlo\.while|mpmd\.for|stablehlo\.dynamic_slice|reduction_op|"
    r'mesh_tensor<"[^"]*\\'
)


def read_each(texts: Sequence[str]) -> list[Reading]:
    """To be called where jaxlib may end the process."""
    from jaxlib.mlir import ir

    from support.jaxlib_context import context_with_quantized_types

    readings = []
    with context_with_quantized_types():
        for text in texts:
            try:
                module = ir.Module.parse(text).operation
                readings.append(Reading(module.get_asm(assume_verified=True).strip()))
            except ir.MLIRError as error:
                readings.append(Reading(error=str(error)))
            except ValueError:  # A list longer than LLVM has.
                readings.append(Reading())
    return readings


class MutantComparison:
    single_operations = True

    def __init__(self, tools: op_corpus.Tools):
        self.tools = tools
        self.findings: list[op_corpus.Finding] = []
        self.outcomes: collections.Counter[str] = collections.Counter()
        self.jaxlib = Isolated("support.jaxlib_context", timeout=SECONDS)
        self.folder = tempfile.TemporaryDirectory()
        seeds = fuzz_seeds.Seeds(pathlib.Path(self.folder.name) / "seeds", ["text"])
        fuzz_seeds.add_tests(seeds, tools.folder)
        fuzz_seeds.add_edges(seeds, tools.folder)
        if self.single_operations:
            fuzz_seeds.add_operations(seeds)
        self.programs = sorted((seeds.out / "text").iterdir())

    def close(self) -> None:
        self.jaxlib.close()
        self.folder.cleanup()

    def mutants(self, numbers: range) -> list[bytes]:
        """Each is one of the programs, the next for the next number, changed as the
        number says."""
        paths = [self.programs[number % len(self.programs)] for number in numbers]
        with tempfile.TemporaryDirectory() as folder:
            self.tools.run(
                "fuzz-mutate", numbers.start, folder, stdin="\n".join(map(str, paths))
            )
            return [(pathlib.Path(folder) / str(n)).read_bytes() for n in numbers]

    def check(self, numbers: range) -> None:
        texts = {}
        for number, data in zip(numbers, self.mutants(numbers), strict=True):
            try:
                texts[number] = data.decode()
            except UnicodeDecodeError:
                self.outcomes["no text"] += 1
        # Python hands a text to jaxlib up to the first zero.
        for number in [number for number, text in texts.items() if "\0" in text]:
            self.outcomes["no text"] += 1
            del texts[number]
        readings = self.jaxlib.call_each(read_each, [*texts.values()], Reading())
        for number, theirs in zip(texts, readings, strict=True):
            text = texts[number]
            outcome, wrong = compare(text, self.ours(text), theirs)
            self.outcomes[outcome] += 1
            if wrong:
                self.findings.append(op_corpus.Finding(f"{number}", "mutant", wrong))

    def ours(self, text: str) -> Reading:
        try:
            return Reading(self.tools.run("mpmd-opt", "-", stdin=text).strip())
        except op_corpus.ToolError as error:
            message = str(error)
            return Reading(error=message if "exits with 1: " in message else "")


def compare(text: str, ours: Reading, theirs: Reading) -> tuple[str, str]:
    """What both do, and what is wrong with it, if anything."""
    if ours == Reading():
        return "we end the process", "mpmd-opt crashes"
    if theirs == Reading():
        return "jaxlib ends the process", ""
    if ours.error and theirs.error:
        return "both refuse", ""
    if ours.error or theirs.error:
        if any(is_meant(meant, text, ours, theirs) for meant in MEANT):
            return "one refuses, as it should be", ""
        message = f"we: {ours.error or 'read it'}; jaxlib: {theirs.error or 'reads it'}"
        return "one refuses", re.sub(r"\s+", " ", message)[:600]
    if ours.text == theirs.text:
        return "both read and print the same", ""
    if re.search(PRINTED_OTHERWISE, text) or 'dense<"0x' in theirs.text:
        return "both read, and print otherwise, as it should be", ""
    pairs = zip(ours.text.splitlines(), theirs.text.splitlines(), strict=False)
    line = next((pair for pair in pairs if pair[0] != pair[1]), ("", ""))
    return "both read", f"we print {line[0].strip()!r}, jaxlib {line[1].strip()!r}"


def is_meant(meant: Meant, text: str, ours: Reading, theirs: Reading) -> bool:
    error = ours.error if meant.refused_by == "us" else theirs.error
    return bool(
        error and re.search(meant.message, error) and re.search(meant.program, text)
    )
