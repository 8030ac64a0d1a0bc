# SPDX-License-Identifier: Apache-2.0
"""How often loops of optimized HLO turn, where nothing in the text says it.

Loops that JAX makes count from one constant to another. Their condition compares an
element of what the loop carries with a bound; how it begins, and the bound if that is
carried, too, is found through copies in front of the loop:

    %condition: ROOT compare(get-tuple-element(p), index=0), constant(6)), direction=LT
    %tuple = tuple(copy(copy(constant(0))), …)
    while(%tuple), condition=%condition                         6 turns
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence

_DEFINED = re.compile(r"^\s*(?P<root>ROOT )?(?P<name>%[\w.\-]+) = (?P<rest>.*)$")
# The operation is the first word before a parenthesis that no type precedes.
_OPERATION = re.compile(r"(?:^|[\s}\])])(?P<kind>[a-z][\w\-]*)\((?P<operands>[^()]*)\)")
_OPERANDS = re.compile(r"%[\w.\-]+")
_INDEX = re.compile(r"index=(\d+)")
_DIRECTION = re.compile(r"direction=(\w+)")
_CONDITION = re.compile(r"condition=(%[\w.\-]+)")
_BODY = re.compile(r"body=(%[\w.\-]+)")
_SAME = (
    "copy",
    "copy-start",
    "copy-done",
    "bitcast",
    "convert",
    "optimization-barrier",
)


class _Operation:
    def __init__(self, rest: str):
        found = _OPERATION.search(rest)
        self.kind = found["kind"] if found else ""
        self.text = found["operands"] if found else ""
        self.operands = _OPERANDS.findall(self.text)
        self.rest = rest

    @property
    def index(self) -> int:
        found = _INDEX.search(self.rest)
        return int(found[1]) if found else 0


class _Computation:
    def __init__(self, lines: Sequence[str]):
        self.root = ""
        self.operations: dict[str, _Operation] = {}
        for line in lines:
            found = _DEFINED.match(line)
            if found:
                self.operations[found["name"]] = _Operation(found["rest"])
                self.root = found["name"] if found["root"] else self.root

    def source(self, name: str) -> _Operation | None:
        """What made a value, through whatever leaves it as it is."""
        operation = self.operations.get(name)
        while operation is not None and operation.operands:
            if operation.kind in _SAME:
                operation = self.operations.get(operation.operands[0])
                continue
            made = self.operations.get(operation.operands[0])
            is_element = operation.kind == "get-tuple-element"
            if not is_element or made is None or made.kind != "tuple":
                break
            operation = self.operations.get(made.operands[operation.index])
        return operation

    def constant(self, name: str) -> int | None:
        found = self.source(name)
        if found is None or found.kind != "constant":
            return None
        return int(found.text) if re.fullmatch(r"-?\d+", found.text) else None

    def element(self, name: str) -> int | None:
        """Which element of the parameter a value is."""
        found = self.source(name)
        if found is None or found.kind != "get-tuple-element":
            return None
        made = self.source(found.operands[0])
        return found.index if made is not None and made.kind == "parameter" else None

    def passed_on(self, place: int) -> bool:
        """Whether the root has the element of the parameter in the same place."""
        name = self._result(place)
        return name is not None and self.element(name) == place

    def step(self, place: int) -> tuple[int, str] | None:
        """The sign and the value by which an element of the parameter grows."""
        name = self._result(place)
        made = self.source(name) if name else None
        if made is None or len(made.operands) != 2:
            return None
        left, right = made.operands
        if made.kind == "add" and self.element(right) == place:
            left, right = right, left
        if made.kind not in ("add", "subtract") or self.element(left) != place:
            return None
        return (1 if made.kind == "add" else -1), right

    def _result(self, place: int) -> str | None:
        root = self.operations.get(self.root)
        if root is None or root.kind != "tuple" or place >= len(root.operands):
            return None
        return root.operands[place]


class TripCounts:
    """Answers for the loops of one module.

    Args:
      lines: of each computation, by its name.
    """

    def __init__(self, lines: Mapping[str, Sequence[str]]):
        self._computation = functools.cache(
            lambda name: _Computation(lines.get(name, ()))
        )

    def of(self, name: str, line: str) -> int | None:
        """How often the loop of a line of a computation turns; None if unknown."""
        condition, body = _CONDITION.search(line), _BODY.search(line)
        defined = _DEFINED.match(line)
        if not (condition and body and defined):
            return None
        around, test = self._computation(name), self._computation(condition[1])
        operands = _Operation(defined["rest"]).operands
        compared = test.operations.get(test.root)
        begin = around.source(operands[0]) if operands else None
        if compared is None or compared.kind != "compare" or begin is None:
            return None
        if begin.kind != "tuple" or len(compared.operands) != 2:
            return None
        counter, bound = compared.operands
        place, turned = test.element(counter), self._computation(body[1])
        if place is None or place >= len(begin.operands):
            return None

        def constant(where: _Computation, value: str) -> int | None:
            """Also of what the loop carries as it is."""
            carried = where.element(value)
            if carried is None:
                return where.constant(value)
            if carried >= len(begin.operands) or not turned.passed_on(carried):
                return None
            return around.constant(begin.operands[carried])

        first, last = around.constant(begin.operands[place]), constant(test, bound)
        step = turned.step(place)
        amount = constant(turned, step[1]) if step else None
        direction = _DIRECTION.search(compared.rest)
        if first is None or last is None or not amount or direction is None:
            return None
        span = {"LT": last - first, "LE": last - first + 1}
        span |= {"GT": first - last, "GE": first - last + 1, "NE": abs(last - first)}
        # It ends only if the counter goes towards the bound.
        grows = (step[0] * amount > 0) == (direction[1] in ("LT", "LE"))
        if direction[1] not in span or not (grows or direction[1] == "NE"):
            return None
        return max(0, -(-span[direction[1]] // abs(amount)))
