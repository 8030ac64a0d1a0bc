# SPDX-License-Identifier: Apache-2.0
"""The builtin pipeline schedules by name."""

from __future__ import annotations

import functools

from . import schedule_impl
from .compiler import native
from .core.fragments import (
    FragmentInfo,
    PipelineContext,
    PipelineSchedule,
    SchedulingPredicate,
)
from .core.names import unknown_name
from .core.schedule_names import (
    FILE_PREFIX,
    PIPELINE_SCHEDULE_NAMES,
    REGISTRY_NAMES,
    find_schedule_name,
)
from .schedules.rules import RelationBuilder

__all__ = ["get_pipeline_schedule", "pipeline_schedule_names"]


# What each schedule says of two fragments. Those that are not here are complete
# lists, which the compiler makes and checks.
_RELATIONS: dict[str, SchedulingPredicate] = {
    "GPipe": schedule_impl.gpipe,
    "1F1B": schedule_impl.one_fwd_one_bwd,
    "GPipeBut1F1BForLastMesh": schedule_impl.gpipe_but_1f1b_for_last_mesh,
    "Circular": schedule_impl.circular,
    "CircularWithReversedBackward": schedule_impl.circular_with_reversed_backward,
    "ZeroBubbleH1": schedule_impl.zero_bubble_h1,
    "ZeroBubbleH2ZeroTxLatency": schedule_impl.zero_bubble_h2_zero_tx_latency,
    "ZeroBubbleH2HalfTxLatency": schedule_impl.zero_bubble_h2_half_tx_latency,
    "ZeroBubbleH2FullTxLatency": schedule_impl.zero_bubble_h2_full_tx_latency,
    "ParallelPipelinesWithWrapAround": (
        schedule_impl.parallel_pipelines_with_wrap_around
    ),
}


def _no_relation(
    first: FragmentInfo, second: FragmentInfo, context: PipelineContext
) -> bool:
    del first, second, context
    return False


@functools.cache
def _builtin(name: str) -> PipelineSchedule:
    return _schedule(name)


def _schedule(name: str) -> PipelineSchedule:
    """The schedule with the compiler's name `name`, or of a file."""
    required: dict[str, bool | str] = {"mpmd_pipeline_schedule": name}
    if native.splits_backward(name):
        required["mpmd_split_bwd_fragments"] = True
    relation = _RELATIONS.get(name, _no_relation)
    builder = RelationBuilder(relation, schedule_impl.is_scheduling_unit)
    return PipelineSchedule(
        schedule_merge_rule_builders=(builder,),
        required_mpmd_options=required,
    )


def pipeline_schedule_names() -> tuple[str, ...]:
    """The registry's names of all schedules."""
    return tuple(REGISTRY_NAMES)


def get_pipeline_schedule(name: str) -> PipelineSchedule:
    """Gives a builtin schedule, or one from a file.

    Args:
      name: one of `pipeline_schedule_names()`; the compiler's name of a schedule,
        as `meshwright schedule` lists them; or `file:PATH`, a CSV file with a row
        for each mesh (docs/schedules.md).

    Returns:
      The schedule, for `make_config(..., pipeline_schedule=)`, with the options
      that it needs.

    Raises:
      KeyError: an unknown name; the message lists the known ones.
      ValueError: a file that is no schedule; the message says where and why.

    Example:

      >>> get_pipeline_schedule("ZERO_BUBBLE_H1").required_mpmd_options
      {'mpmd_pipeline_schedule': 'ZeroBubbleH1', 'mpmd_split_bwd_fragments': True}
      >>> get_pipeline_schedule("LoopedBFS").required_mpmd_options
      {'mpmd_pipeline_schedule': 'LoopedBFS'}
    """
    if isinstance(name, str) and name.startswith(FILE_PREFIX):
        return _schedule(name)  # Files change.
    found = find_schedule_name(name)
    if found is None:
        known = (*REGISTRY_NAMES, *PIPELINE_SCHEDULE_NAMES, f"{FILE_PREFIX}PATH")
        raise KeyError(unknown_name("pipeline schedule", name, known))
    return _builtin(found)
