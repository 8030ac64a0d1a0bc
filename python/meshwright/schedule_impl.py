# SPDX-License-Identifier: Apache-2.0
"""The builtin schedules as relations between two fragments.

For each schedule that is a relation a predicate with its name in the registry, in
lower case: `gpipe`, `one_fwd_one_bwd`, `zero_bubble_h1`, ... It takes two
`FragmentInfo` and a `PipelineContext`, and says whether the first fragment must run
before the second. Raises ValueError for a fragment that the schedule cannot order.
"""

from typing import Any

from .schedules.relations import is_scheduling_unit, relations, transpose_count

_OWN = [is_scheduling_unit.__name__, transpose_count.__name__]


def __getattr__(name: str) -> Any:
    # Asked of the compiler, which is not loaded before it is needed.
    found = {relation.__name__: relation for relation in relations().values()}
    if name == "__all__":
        return sorted([*found, *_OWN])
    if name in found:
        return found[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __getattr__("__all__")
