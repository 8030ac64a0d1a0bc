# SPDX-License-Identifier: Apache-2.0
"""The builtin pipeline schedules by name."""

from __future__ import annotations

import functools

from .compiler import native
from .compiler.schedules import find_schedule_name, registry_names, schedule_names
from .core.fragments import (
    FragmentInfo,
    PipelineContext,
    PipelineSchedule,
)
from .core.names import SCHEDULE_FILE_PREFIX, unknown_name
from .schedules.relations import is_scheduling_unit, relations
from .schedules.rules import RelationBuilder

__all__ = ["get_pipeline_schedule", "pipeline_schedule_names"]


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
    if native.extension().splits_backward(name):
        required["mpmd_split_bwd_fragments"] = True
    # Others are complete lists, which the compiler makes and checks.
    relation = relations().get(name, _no_relation)
    builder = RelationBuilder(relation, is_scheduling_unit)
    return PipelineSchedule(
        schedule_merge_rule_builders=(builder,),
        required_mpmd_options=required,
    )


def pipeline_schedule_names() -> tuple[str, ...]:
    """The registry's names of all schedules."""
    return tuple(registry_names())


def get_pipeline_schedule(name: str) -> PipelineSchedule:
    """Gives a builtin schedule, or one from a file.

    Args:
      name: one of `pipeline_schedule_names()`; the compiler's name of a schedule,
        as `meshwright schedule` lists them; or `file:PATH`, a CSV or JSON file with
        the actions of each mesh (docs/schedules.md).

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
    if isinstance(name, str) and name.startswith(SCHEDULE_FILE_PREFIX):
        return _schedule(name)  # Files change.
    found = find_schedule_name(name)
    if found is None:
        names = *registry_names(), *schedule_names()
        known = (*names, f"{SCHEDULE_FILE_PREFIX}PATH")
        raise KeyError(unknown_name("pipeline schedule", name, known))
    return _builtin(found)
