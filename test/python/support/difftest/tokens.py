"""Programs with one token changed: do jaxlib and `mpmd-opt` read the same ones?

A token of a chunk of `test/` is dropped, repeated, swapped with the next or replaced,
another is put before it, or what is between two brackets is dropped. Unlike
`difftest_mutants.py`, which changes ops, this is about where a parser is lenient.
"""

import random
import re

from support.difftest.mutants import MutantComparison

TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"|->|[%@#!^]?[A-Za-z_][\w.$]*|[%#]\d+|-?\d+(?:\.\d+)?|\S'
)
# Tokens of the assembly of ops and attributes.
OTHERS = (
    *("{", "}", "[", "]", "(", ")", "<", ">", ",", ":", "?", "=", "->", "x", "*"),
    *('"a"', '""', "0", "1", "2", "-1", "9223372036854775808"),
    *("@m", "@mesh", "none", "unit", "f32", "tensor<4xf32>", "array<i64>", "[]"),
)
CLOSED_BY = {"{": "}", "[": "]", "(": ")", "<": ">"}
# What has assembly of its own; MLIR itself reads the rest.
OWN = re.compile(r"\b(?:sdy|mpmd|stablehlo|chlo)\b")


def kind(token: str) -> str:
    """What a token starts with, letters and digits alike."""
    return "a" if token[0].isalpha() else "0" if token[-1].isdigit() else token[0]


def lines_of_our_own(text: str) -> list[tuple[int, int]]:
    lines = re.finditer(r"[^\n]+", text)
    return [line.span() for line in lines if OWN.search(line[0])]


def change(text: str, number: int) -> str:
    """The text with one token changed, which one and how the number says."""
    draw = random.Random(number)
    start, end = draw.choice(lines_of_our_own(text) or [(0, len(text))])
    tokens = list(TOKEN.finditer(text, start, end))
    if not tokens:
        return text
    at = draw.randrange(len(tokens))
    token = tokens[at][0]
    before, after = text[: tokens[at].start()], text[tokens[at].end() :]
    close = closing(tokens, at)
    if close is not None and draw.random() < 0.3:
        return f"{before}{token}{text[tokens[close].start() :]}"
    alike = sorted({t[0] for t in TOKEN.finditer(text) if kind(t[0]) == kind(token)})
    other = draw.choice(draw.choice((alike, OTHERS)))
    match draw.choice(("drop", "repeat", "swap", "replace", "replace", "insert")):
        case "drop":
            return before + after
        case "repeat":
            return f"{before}{token} {token}{after}"
        case "swap" if at + 1 < len(tokens):
            second = tokens[at + 1]
            return f"{before}{second[0]} {token}{text[second.end() :]}"
        case "insert":
            return f"{before}{other} {token}{after}"
        case _:
            return before + other + after


def closing(tokens: list[re.Match[str]], at: int) -> int | None:
    """Which token closes the bracket that another opens, if it does."""
    opened, closed = tokens[at][0], CLOSED_BY.get(tokens[at][0])
    depth = 0
    for i in range(at, len(tokens) if closed else at):
        depth += (tokens[i][0] == opened) - (tokens[i][0] == closed)
        if depth == 0:
            return i
    return None


class TokenComparison(MutantComparison):
    single_operations = False  # They are in the generic form, which MLIR reads.

    def mutants(self, numbers: range) -> list[bytes]:
        """Each is one of the programs, the next for the next number, with one token
        changed as the number says."""
        paths = [self.programs[number % len(self.programs)] for number in numbers]
        texts = [path.read_bytes().decode(errors="surrogateescape") for path in paths]
        changed = map(change, texts, numbers)
        return [text.encode(errors="surrogateescape") for text in changed]
