# SPDX-License-Identifier: Apache-2.0
"""What each stage of a model holds, as a text."""

from __future__ import annotations

import collections
import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..compiler import native
from ..core.names import check_type
from ..staging.marks import Begins, mark

_WHAT = "pipeline.layout"
_NAMES = {
    "E": "embedding",
    "t": "layer",
    "m": "extra prediction head",
    "L": "head with the loss",
}

Piece = Callable[[Any], Any]


@dataclasses.dataclass(frozen=True)
class Layout:
    """A layout that was read; what `pipeline.layout` returns.

    Attributes:
      text: as it was written.
      stages: the letters of the pieces of each stage; an empty text for a stage that
        holds nothing.
    """

    text: str
    stages: tuple[str, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many pieces there are of each letter, in their order."""
        return dict(collections.Counter("".join(self.stages)))

    def run(self, x: Any, /, **pieces: Piece | Sequence[Piece]) -> Any:
        """Runs a model piece by piece, with a `stage_boundary` between two stages.

        Args:
          x: what the first piece takes, a pytree of arrays.
          **pieces: for each letter its functions, each of what the piece before gives:
            a sequence, or one function for a letter that is there once.

        Returns:
          What the last piece gives.

        Raises:
          TypeError: a piece that is no function.
          ValueError: letters that the layout does not have, or others than it has, or
            another number of pieces.

        Example:

          >>> model = layout("Et|t|L")
          >>> model.run(1, E=lambda x: x + 1, t=2 * [lambda x: 3 * x], L=lambda x: -x)
          -18
        """
        given = {
            letter: [piece] if callable(piece) else list(piece)
            for letter, piece in pieces.items()
        }
        stages = self._in_stages(given)
        for letter, found in given.items():
            for index, piece in enumerate(found):
                if not callable(piece):
                    raise TypeError(
                        f"{_WHAT}: {letter}[{index}] must be a function of what the "
                        f"piece before gives, got {piece!r}"
                    )
        first = next(at for at, letters in enumerate(self.stages) if letters)
        for number, own in enumerate(stages):
            if own and number > first:
                x = mark(x, Begins(number, first, len(stages)))
            x = functools.reduce(lambda x, piece: piece(x), own, x)
        return x

    def paths(self, **paths: str | Sequence[str]) -> list[str]:
        """Where the stages begin in a model whose pieces are modules.

        Args:
          **paths: for each letter the paths of its modules, as `mw.marked` takes them.

        Returns:
          The paths at which stages begin, for `mw.marked`.

        Raises:
          ValueError: as for `run`, or a layout with empty stages.

        Example:

          >>> layout("Et|t|L").paths(E="embed", t=["layers/0", "layers/1"], L="head")
          ['layers/1', 'head']
        """
        if "" in self.stages:
            raise ValueError(
                f"{_WHAT}: stage {self.stages.index('')} of {self.text!r} is empty and "
                "begins at no module; run the pieces with Layout.run"
            )
        given = {
            letter: [found] if isinstance(found, str) else list(found)
            for letter, found in paths.items()
        }
        return [paths[0] for paths in self._in_stages(given)[1:]]

    def _in_stages(self, given: Mapping[str, Sequence[Any]]) -> list[list[Any]]:
        self._check({letter: len(found) for letter, found in given.items()})
        left = {letter: iter(found) for letter, found in given.items()}
        return [[next(left[letter]) for letter in letters] for letters in self.stages]

    def _check(self, counts: Mapping[str, int]) -> None:
        own = self.counts
        for letter in {**own, **counts}:
            has, wanted = own.get(letter, 0), counts.get(letter, 0)
            if has != wanted:
                name = _NAMES.get(letter)
                if name is None:
                    raise ValueError(
                        f"{_WHAT}: unknown letter {letter!r}; known are "
                        + ", ".join(f"{key} ({value})" for key, value in _NAMES.items())
                    )
                raise ValueError(
                    f"{_WHAT}: {self.text!r} has {has} {letter} ({name}), but got "
                    f"{wanted}; write as many as the model has"
                )


def layout(text: str, **counts: int) -> Layout:
    """Reads which pieces of a model each stage holds, as Megatron's users write it.

    The letters are E (embedding), t (layer), m (extra prediction head) and L (head with
    the loss), in the order of the model; `|` ends a stage, and two in a row leave one
    empty, parentheses group, `*n` repeats what is before it, and commas and spaces mean
    nothing. Stage k is where the schedule wants it; an empty stage takes a place, but
    no time: what goes through the model passes it by.

    Args:
      text: the layout, such as `"Et*3|(tt|)*29,m|L"`.
      **counts: how many pieces the model has, by letter, such as `t=61`.

    Returns:
      The layout; `run` runs a model in its stages.

    Raises:
      TypeError: the layout is no text.
      ValueError: a text that is no layout, with the character at which it is none, or
        another number of pieces than `counts` says.

    Example:

      >>> layout("Et*2|(tt|)*2,|L", t=6).stages
      ('Ett', 'tt', 'tt', '', 'L')
    """
    check_type(f"{_WHAT}: the layout must be a text, such as 'Et|t|L'", text, str)
    try:
        found = Layout(text, tuple(native.extension().layout(text)))
    except ValueError as error:
        raise ValueError(f"pipeline.{error}, in {text!r}") from None
    if counts:
        own = found.counts
        found._check({**own, **counts})
    return found
