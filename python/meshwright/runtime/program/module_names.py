# SPDX-License-Identifier: Apache-2.0
"""One name for the executable of several equal fragments."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

_MOST_NUMBERS, _MOST_CHARACTERS = 4, 200


def joint_name(names: Sequence[str]) -> str:
    """A name that tells what fragments are one executable.

    Args:
      names: theirs, one or more, in the order of the program.

    Returns:
      The only name; or the name in which a number that differs is all of them; or,
      where more than numbers differs, the first name and how many others there are.

    >>> joint_name(["p1_stage1_fwd_calls0to7.step", "p2_stage2_fwd_calls0to7.step"])
    'p1to2_stage1to2_fwd_calls0to7.step'
    """
    first, *others = names
    if not others:
        return first
    parts = list(map(_parts, names))
    columns = list(zip(*parts, strict=False))
    same_words = len(set(map(len, parts))) == 1 and all(
        len(set(column)) == 1 for column in columns[::2]
    )
    if same_words:
        numbers = (_numbers(column) for column in columns[1::2])
        words = (column[0] for column in columns[::2])
        joint = next(words) + "".join(
            number + word for number, word in zip(numbers, words, strict=True)
        )
        if len(joint) <= _MOST_CHARACTERS:
            return joint
    return f"{first}_and_{len(others)}_more"


def _parts(name: str) -> list[str]:
    """Words and numbers in turn; the first and the last are words, maybe empty."""
    parts = [""]
    for is_number, run in itertools.groupby(name, str.isdecimal):
        if is_number:
            parts += ["".join(run), ""]
        else:
            parts[-1] = "".join(run)
    return parts


def _numbers(column: Sequence[str]) -> str:
    found = list(dict.fromkeys(map(int, column)))
    if len(found) == 1:
        return column[0]
    if found == list(range(found[0], found[0] + len(found))):
        return f"{found[0]}to{found[-1]}"
    shown = "and".join(map(str, found[:_MOST_NUMBERS]))
    return shown if len(found) <= _MOST_NUMBERS else shown + "andmore"
