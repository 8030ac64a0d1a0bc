# SPDX-License-Identifier: Apache-2.0
"""Arguments of jitted functions: which are static, and what tracing depends on."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jax

from . import static_leaves

BY_POSITION = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)
_NAMED = (
    inspect.Parameter.KEYWORD_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)


def positions(numbers: int | Sequence[int] | None) -> tuple[int, ...]:
    """`donate_argnums` and its like as a tuple."""
    if numbers is None:
        return ()
    try:
        return (operator.index(numbers),)
    except TypeError:
        return tuple(map(operator.index, numbers))


def names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """`donate_argnames` and its like as a tuple."""
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else tuple(given)


def several(what: str, name: str, values: Any) -> list[Any]:
    """An argument that is several values as a list; a text is not its letters."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(
            f"{what}: {name} are several, write {name}=[{values!r}] for a single one"
        )
    return list(values)


class Statics(NamedTuple):
    """The static arguments of a function, as `jax.jit` finds them.

    Attributes:
      function: name of the function, for messages.
      nums: positions, possibly counted from the end.
      names: names of keyword arguments.
    """

    function: str
    nums: tuple[int, ...]
    names: frozenset[str]

    @classmethod
    def of(
        cls,
        func: Callable[..., Any],
        function: str,
        static_argnums: int | Sequence[int] | None,
        static_argnames: str | Sequence[str] | None,
    ) -> Statics:
        """Those of a function; what is given by position is so by name, too."""
        nums, found = positions(static_argnums), names(static_argnames)
        given = static_argnums is not None, static_argnames is not None
        if any(given) and not all(given):
            try:
                parameters = list(inspect.signature(func).parameters.values())
            except (ValueError, TypeError):
                parameters = []
            if given[0]:
                count = len(parameters)  # Beyond them are errors of JAX.
                chosen = [parameters[i] for i in nums if -count <= i < count]
                found = tuple(p.name for p in chosen if p.kind in _NAMED)
            else:
                nums = tuple(
                    index
                    for index, parameter in enumerate(parameters)
                    if parameter.name in found and parameter.kind in BY_POSITION
                )
        return cls(function, nums, frozenset(found))

    def __bool__(self) -> bool:
        return bool(self.nums or self.names)

    def positions(self, count: int) -> list[int]:
        """Positions of the static ones among `count` arguments, in the given order."""
        found = (i + count if i < 0 else i for i in self.nums)
        return [i for i in found if 0 <= i < count]

    def split(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...], dict[str, Any]]:
        """Takes the static arguments out.

        Returns:
          What identifies the static values; the other positional arguments, and
          the other keyword arguments.

        Raises:
          ValueError: a static argument is not hashable.
        """
        static = self.positions(len(args))
        # Equal values of several types, such as 1 and True, are several programs.
        values: list[Any] = [(type(args[index]), args[index]) for index in static]
        for key in sorted(self.names & kwargs.keys()):
            values.append((key, type(kwargs[key]), kwargs[key]))
        for value in values:
            try:
                hash(value)
            except TypeError as error:
                raise ValueError(
                    f"{self.function}: a static argument must be hashable, got "
                    f"{value[-1]!r} of type {type(value[-1]).__name__}: {error}; pass "
                    "a tuple or a frozen dataclass, or let it be a dynamic argument"
                ) from None
        others = tuple(arg for index, arg in enumerate(args) if index not in static)
        keywords = {k: v for k, v in kwargs.items() if k not in self.names}
        return tuple(values), others, keywords


def kind_of(value: Any) -> tuple[Any, ...]:
    """Shape, dtype and weakness of an array or its type."""
    weak = getattr(value, "weak_type", False)  # Typed keys have none.
    return value.shape, value.dtype, weak


def describe(leaf: Any, wrapped: bool = False) -> tuple[Any, Any]:
    """What tracing depends on of an argument, and the sharding it asks for.

    The first is None for what may have to be wrapped.
    """
    if isinstance(leaf, jax.core.Tracer):
        return type(leaf), None  # Refused when it is lowered for.
    if isinstance(leaf, jax.Array):
        sharding = leaf.sharding
        named = isinstance(sharding, jax.sharding.NamedSharding) and leaf.committed
        return kind_of(leaf), sharding if named else None
    if not wrapped and not static_leaves.is_plainly_array(leaf):
        return None, None
    aval = jax.typeof(leaf)
    if aval.is_high:
        return aval, None  # The same.
    return kind_of(aval), None
