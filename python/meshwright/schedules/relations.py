# SPDX-License-Identifier: Apache-2.0
"""The builtin schedules as relations between two fragments.

The compiler has them (meshwright/Schedule/Builtin); here a fragment is described by
its `FragmentInfo`. The position of a mesh in the pipeline is the stage of the first
fragment, the number of meshes that of the context.

Fragments that are no scheduling units (without a call counter, inferred, or
transposed more than once) are not ordered.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from ..compiler import native
from ..compiler.schedules import Schedule, builtin_schedules
from ..core.fragments import (
    FragmentInfo,
    PipelineContext,
    SchedulingPredicate,
    SplitFragmentType,
)


def transpose_count(info: FragmentInfo) -> int | None:
    """The transpose count that all origins share, or None."""
    counts = {origin.transpose_count for origin in info.origins}
    return counts.pop() if len(counts) == 1 else None


def is_scheduling_unit(info: FragmentInfo) -> bool:
    """Whether a fragment is one forward or backward step of a microbatch."""
    return info.call_counter is not None and transpose_count(info) in (0, 1)


def _is_counted(info: FragmentInfo) -> bool:
    return info.call_counter is not None and transpose_count(info) is not None


def _step(info: FragmentInfo) -> tuple[int | None, bool, int | None, int | None]:
    """A fragment as the compiler is asked about it."""
    is_weight = info.split_type is SplitFragmentType.DROP_TRANSFERRED
    return transpose_count(info), is_weight, info.call_counter, info.stage_id


def _relation(schedule: Schedule) -> SchedulingPredicate:
    # What needs no stages takes any transpose counts.
    is_ordered: Callable[[FragmentInfo], bool] = (
        is_scheduling_unit if schedule.needs_stages else _is_counted
    )

    def precedes(
        first: FragmentInfo, second: FragmentInfo, context: PipelineContext
    ) -> bool:
        pair = first, second
        if not all(map(is_ordered, pair)):
            return False
        for info in pair:
            if schedule.needs_stages and info.stage_id is None:
                raise ValueError(
                    f"pipeline schedule: {info} has no stage; give all its "
                    "computations a stage in name_to_stage_assignment"
                )
        try:
            return native.extension().must_precede(
                schedule.name, context.num_meshes, *map(_step, pair)
            )
        except ValueError as error:
            raise ValueError(
                f"pipeline schedule: {first} and {second} cannot be ordered: {error}"
            ) from None

    precedes.__name__ = precedes.__qualname__ = schedule.registry_name.lower()
    precedes.__doc__ = f"Whether {schedule.name} runs one fragment before another."
    return precedes


@functools.cache
def relations() -> dict[str, SchedulingPredicate]:
    """By the compiler's name of the schedule: what it says of two fragments."""
    return {
        name: _relation(schedule)
        for name, schedule in builtin_schedules().items()
        if schedule.is_relation
    }
