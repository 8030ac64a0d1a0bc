# SPDX-License-Identifier: Apache-2.0
"""The builtin schedules as relations between two fragments.

Each predicate says whether its first fragment must run before its second. The
position of a mesh in the pipeline is the stage of its fragments: `stage` below
is that of the first fragment, N the number of meshes that take part.

Fragments that are no scheduling units (without a call counter, inferred, or
transposed more than once) are not ordered.
"""

from __future__ import annotations

import enum

from .core.fragments import FragmentInfo, PipelineContext, SplitFragmentType

__all__ = [
    "circular",
    "circular_with_reversed_backward",
    "gpipe",
    "gpipe_but_1f1b_for_last_mesh",
    "is_scheduling_unit",
    "one_fwd_one_bwd",
    "parallel_pipelines_with_wrap_around",
    "transpose_count",
    "zero_bubble_h1",
    "zero_bubble_h2_full_tx_latency",
    "zero_bubble_h2_half_tx_latency",
    "zero_bubble_h2_zero_tx_latency",
]


class _Kind(enum.Enum):
    """F, B and W of the pipelining literature."""

    FORWARD = enum.auto()
    BACKWARD = enum.auto()
    WEIGHT_GRADIENT = enum.auto()


def transpose_count(info: FragmentInfo) -> int | None:
    """The transpose count that all origins share, or None."""
    counts = {origin.transpose_count for origin in info.origins}
    return counts.pop() if len(counts) == 1 else None


def is_scheduling_unit(info: FragmentInfo) -> bool:
    """Whether a fragment is one forward or backward step of a microbatch."""
    return info.call_counter is not None and transpose_count(info) in (0, 1)


def _kind(info: FragmentInfo) -> _Kind:
    if transpose_count(info) == 0:
        return _Kind.FORWARD
    if info.split_type is SplitFragmentType.DROP_TRANSFERRED:
        return _Kind.WEIGHT_GRADIENT
    return _Kind.BACKWARD


def _comparable(first: FragmentInfo, second: FragmentInfo) -> bool:
    """Whether both fragments are scheduling units.

    Raises:
      ValueError: a scheduling unit has no stage.
    """
    if not (is_scheduling_unit(first) and is_scheduling_unit(second)):
        return False
    for info in (first, second):
        if info.stage_id is None:
            raise ValueError(
                f"pipeline schedule: {info} has no stage; give all its computations "
                "a stage in name_to_stage_assignment"
            )
    return True


def gpipe(first: FragmentInfo, second: FragmentInfo, context: PipelineContext) -> bool:
    """All forward fragments by counter, then all backward ones by counter."""
    del context
    keys = []
    for info in (first, second):
        count = transpose_count(info)
        if count is None or info.call_counter is None:
            return False
        keys.append((count, info.call_counter))
    return keys[0] < keys[1]


def one_fwd_one_bwd(
    first: FragmentInfo, second: FragmentInfo, context: PipelineContext
) -> bool:
    """1F1B: warm up with N - stage forwards, then alternate."""
    if not _comparable(first, second):
        return False
    a, b = first.call_counter, second.call_counter
    depth = context.num_meshes - first.stage_id
    before, after = transpose_count(first), transpose_count(second)
    if before == after:
        return a < b
    return a == b + depth - 1 if before == 0 else a == b - depth


def gpipe_but_1f1b_for_last_mesh(
    first: FragmentInfo, second: FragmentInfo, context: PipelineContext
) -> bool:
    """GPipe everywhere but on the last mesh, which alternates."""
    if not _comparable(first, second):
        return False
    last = first.stage_id == context.num_meshes - 1
    return (one_fwd_one_bwd if last else gpipe)(first, second, context)


def _circular(first: FragmentInfo, second: FragmentInfo, meshes: int, reverse: bool):
    if not _comparable(first, second) or not meshes:
        return False  # Without a mesh that takes part, the compiler says so.
    before, after = transpose_count(first), transpose_count(second)
    if before != after:
        return before < after
    # Forwards ascend in everything; backwards descend in the stage alone, or in
    # everything when reversed.
    sign = 1 if before == 0 or reverse else -1
    keys = [
        (info.call_counter // meshes, sign * info.stage_id, info.call_counter)
        for info in (first, second)
    ]
    return keys[0] > keys[1] if before and reverse else keys[0] < keys[1]


def circular(
    first: FragmentInfo, second: FragmentInfo, context: PipelineContext
) -> bool:
    """Rounds of N microbatches visit the stages of a mesh one after the other."""
    return _circular(first, second, context.num_meshes, reverse=False)


def circular_with_reversed_backward(
    first: FragmentInfo, second: FragmentInfo, context: PipelineContext
) -> bool:
    """`circular`, with the backward fragments in the reverse order."""
    return _circular(first, second, context.num_meshes, reverse=True)


def zero_bubble_h1(
    first: FragmentInfo, second: FragmentInfo, context: PipelineContext
) -> bool:
    """1F1B whose idle time is filled with weight gradients."""
    if not _comparable(first, second):
        return False
    a, b = first.call_counter, second.call_counter
    stage, meshes = first.stage_id, context.num_meshes
    match _kind(first), _kind(second):
        case _Kind.FORWARD, _Kind.BACKWARD:
            return a == b + meshes - stage - 1
        case _Kind.BACKWARD, _Kind.FORWARD:
            return a == b - meshes + stage
        case _Kind.BACKWARD, _Kind.WEIGHT_GRADIENT:
            return a == b + stage
        case _Kind.WEIGHT_GRADIENT, _Kind.FORWARD:
            return b == a + meshes
        case _Kind.WEIGHT_GRADIENT, _Kind.BACKWARD:
            return b == a + stage + 1
    return False


def _zero_bubble_h2(
    first: FragmentInfo, second: FragmentInfo, meshes: int, half_latencies: int
) -> bool:
    """ZB-H2; a transfer takes `half_latencies` halves of a fragment's time."""
    if not _comparable(first, second):
        return False

    def warm_up(position: int) -> int:
        distance = meshes - position
        return 2 * distance - 1 + half_latencies * (distance - 1)

    a, b = first.call_counter, second.call_counter
    entry = warm_up(first.stage_id)
    mirrored = warm_up(meshes - first.stage_id - 1)
    match _kind(first), _kind(second):
        case _Kind.FORWARD, _Kind.BACKWARD:
            return a < entry or a - b == entry - 1
        case _Kind.FORWARD, _Kind.WEIGHT_GRADIENT:
            return a < entry
        case _Kind.BACKWARD, _Kind.FORWARD:
            return b >= entry and b - a == entry
        case _Kind.BACKWARD, _Kind.WEIGHT_GRADIENT:
            return a - b == mirrored - 1
        case _Kind.WEIGHT_GRADIENT, _Kind.BACKWARD:
            return b - a == mirrored
    return False


def zero_bubble_h2_zero_tx_latency(
    first: FragmentInfo, second: FragmentInfo, context: PipelineContext
) -> bool:
    """Zero-bubble H2 for transfers that take no time."""
    return _zero_bubble_h2(first, second, context.num_meshes, half_latencies=0)


def zero_bubble_h2_half_tx_latency(
    first: FragmentInfo, second: FragmentInfo, context: PipelineContext
) -> bool:
    """Zero-bubble H2 for transfers that take half a fragment's time."""
    return _zero_bubble_h2(first, second, context.num_meshes, half_latencies=1)


def zero_bubble_h2_full_tx_latency(
    first: FragmentInfo, second: FragmentInfo, context: PipelineContext
) -> bool:
    """Zero-bubble H2 for transfers that take as long as a fragment."""
    return _zero_bubble_h2(first, second, context.num_meshes, half_latencies=2)


def parallel_pipelines_with_wrap_around(
    first: FragmentInfo, second: FragmentInfo, context: PipelineContext
) -> bool:
    """Each mesh starts with its own microbatch and goes around downwards.

    Raises:
      ValueError: a fragment is not forward, has no stage, or both have the same
        call counter.
    """
    del context
    if not _comparable(first, second):
        return False
    for info in (first, second):
        if transpose_count(info) != 0:
            raise ValueError(
                f"pipeline schedule: {info} is a backward fragment, and parallel "
                "pipelines with wrap-around order forward fragments only"
            )
    a, b, own = first.call_counter, second.call_counter, first.stage_id
    if a == b:
        raise ValueError(
            f"pipeline schedule: {first} and {second} have the same call counter; "
            "parallel pipelines with wrap-around need one fragment per call and mesh"
        )
    if own in (a, b):
        return a == own
    return a > b if (a < own) == (b < own) else a < b
