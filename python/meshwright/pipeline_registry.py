# SPDX-License-Identifier: Apache-2.0
"""The builtin pipeline schedules by name."""

from __future__ import annotations

from collections.abc import Sequence

from . import schedule_impl
from .pipeline import (
    FragmentInfo,
    FragmentMergeRule,
    FragmentScheduleRule,
    PipelineContext,
    PipelineSchedule,
    SchedulingPredicate,
    build_schedule_rules_from_predicate,
)

__all__ = ["get_pipeline_schedule", "pipeline_schedule_names"]


def _schedule(
    predicate: SchedulingPredicate, builtin: str, *, split_backward: bool = False
) -> PipelineSchedule:
    def build(
        infos: Sequence[FragmentInfo], context: PipelineContext
    ) -> tuple[list[FragmentScheduleRule], list[FragmentMergeRule]]:
        rules = build_schedule_rules_from_predicate(
            infos, context, before_pred=predicate
        )
        return rules, []

    required: dict[str, bool | str] = {"mpmd_pipeline_schedule": builtin}
    if split_backward:
        required["mpmd_split_bwd_fragments"] = True
    return PipelineSchedule(
        schedule_merge_rule_builders=(build,), required_mpmd_options=required
    )


_SCHEDULES = {
    "GPIPE": _schedule(schedule_impl.gpipe, "GPipe"),
    "ONE_FWD_ONE_BWD": _schedule(schedule_impl.one_fwd_one_bwd, "1F1B"),
    "GPIPE_BUT_1F1B_FOR_LAST_MESH": _schedule(
        schedule_impl.gpipe_but_1f1b_for_last_mesh, "GPipeBut1F1BForLastMesh"
    ),
    "CIRCULAR": _schedule(schedule_impl.circular, "Circular"),
    "CIRCULAR_WITH_REVERSED_BACKWARD": _schedule(
        schedule_impl.circular_with_reversed_backward, "CircularWithReversedBackward"
    ),
    "ZERO_BUBBLE_H1": _schedule(
        schedule_impl.zero_bubble_h1, "ZeroBubbleH1", split_backward=True
    ),
    "ZERO_BUBBLE_H2_ZERO_TX_LATENCY": _schedule(
        schedule_impl.zero_bubble_h2_zero_tx_latency,
        "ZeroBubbleH2ZeroTxLatency",
        split_backward=True,
    ),
    "ZERO_BUBBLE_H2_HALF_TX_LATENCY": _schedule(
        schedule_impl.zero_bubble_h2_half_tx_latency,
        "ZeroBubbleH2HalfTxLatency",
        split_backward=True,
    ),
    "ZERO_BUBBLE_H2_FULL_TX_LATENCY": _schedule(
        schedule_impl.zero_bubble_h2_full_tx_latency,
        "ZeroBubbleH2FullTxLatency",
        split_backward=True,
    ),
    "PARALLEL_PIPELINES_WITH_WRAP_AROUND": _schedule(
        schedule_impl.parallel_pipelines_with_wrap_around,
        "ParallelPipelinesWithWrapAround",
    ),
}


def pipeline_schedule_names() -> tuple[str, ...]:
    """The names that `get_pipeline_schedule` knows."""
    return tuple(_SCHEDULES)


def get_pipeline_schedule(name: str) -> PipelineSchedule:
    """Gives a builtin schedule.

    Args:
      name: one of `pipeline_schedule_names()`.

    Returns:
      The schedule, for `make_config(..., pipeline_schedule=)`.

    Raises:
      KeyError: an unknown name; the message lists the known ones.

    Example:

      >>> get_pipeline_schedule("ZERO_BUBBLE_H1").required_mpmd_options
      {'mpmd_pipeline_schedule': 'ZeroBubbleH1', 'mpmd_split_bwd_fragments': True}
    """
    if name not in _SCHEDULES:
        raise KeyError(
            f"unknown pipeline schedule {name!r}, known are {', '.join(_SCHEDULES)}"
        )
    return _SCHEDULES[name]
