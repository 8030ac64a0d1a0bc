# SPDX-License-Identifier: Apache-2.0
"""What a fragment is called, and the rules between fragments, as data."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any


class SplitFragmentType(enum.Enum):
    """Which half of a split backward fragment a fragment is.

    `KEEP_TRANSFERRED` computes what other meshes wait for, `DROP_TRANSFERRED`
    the rest, as a rule the gradients of the weights.
    """

    KEEP_TRANSFERRED = enum.auto()
    DROP_TRANSFERRED = enum.auto()


@dataclasses.dataclass(frozen=True)
class FragmentOrigin:
    """A named computation that a fragment came from.

    Attributes:
      computation_name: its name.
      transpose_count: how often it was transposed; 0 forward, 1 backward.
    """

    computation_name: str
    transpose_count: int = 0


class _ByKey:
    """Equal, and hashed, by what `_key` says, whichever sequences there are."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


@dataclasses.dataclass(frozen=True, eq=False)
class FragmentInfo(_ByKey):
    """Describes a fragment; rules match it exactly, field by field.

    Attributes:
      origins: the computations it came from, sorted by name and transpose count.
        A fragment without origins was inferred by the compiler.
      stage_id: its stage, if it has one.
      call_counter: the counter of the call it belongs to, if any.
      split_type: which half of a split backward fragment it is, if any.
      mesh_name: the mesh it runs on.
    """

    origins: Sequence[FragmentOrigin]
    stage_id: int | None = None
    call_counter: int | None = None
    split_type: SplitFragmentType | None = None
    mesh_name: str = ""

    def _key(self) -> tuple[object, ...]:
        return (
            tuple(self.origins),
            self.stage_id,
            self.call_counter,
            self.split_type,
            self.mesh_name,
        )


def _check_fragments(rule: str, what: str, infos: Collection[FragmentInfo]) -> None:
    if len(infos) < 2:
        raise ValueError(
            f"{rule}: {what} must be at least two fragments, got {len(infos)}"
        )
    for info in infos:
        if not info.origins:
            raise ValueError(
                f"{rule}: every fragment in {what} needs at least one origin, "
                f"{info} has none"
            )
    meshes = sorted({info.mesh_name for info in infos})
    if len(meshes) > 1:
        raise ValueError(
            f"{rule}: all fragments in {what} must be on the same mesh, got "
            f"{', '.join(meshes)}"
        )


@dataclasses.dataclass(frozen=True, eq=False)
class FragmentMergeRule(_ByKey):
    """Merges fragments of one mesh into one.

    Attributes:
      sources: the fragments to merge, at least two.
      target: description of the merged fragment.
    """

    sources: Collection[FragmentInfo]
    target: FragmentInfo

    def __post_init__(self) -> None:
        _check_fragments("FragmentMergeRule", "sources", set(self.sources))
        if not self.target.origins:
            raise ValueError(
                "FragmentMergeRule: target needs at least one origin, "
                f"{self.target} has none"
            )

    def _key(self) -> tuple[object, ...]:
        return frozenset(self.sources), self.target


@dataclasses.dataclass(frozen=True, eq=False)
class FragmentScheduleRule(_ByKey):
    """Runs fragments of one mesh in the given order.

    Attributes:
      ordered_fragments: the fragments, first to last, at least two.
    """

    ordered_fragments: Sequence[FragmentInfo]

    def __post_init__(self) -> None:
        _check_fragments(
            "FragmentScheduleRule", "ordered_fragments", self.ordered_fragments
        )

    def _key(self) -> tuple[object, ...]:
        return tuple(self.ordered_fragments)


# Can be called as any list; every sequence of rules will do.
FragmentMergeRules = list[FragmentMergeRule]
FragmentScheduleRules = list[FragmentScheduleRule]


@dataclasses.dataclass(frozen=True)
class PipelineContext:
    """What a builder knows about the program beside the fragments.

    Attributes:
      num_meshes: number of meshes that take part in schedules.
    """

    num_meshes: int


# Whether the first fragment must run before the second.
SchedulingPredicate = Callable[[FragmentInfo, FragmentInfo, PipelineContext], bool]
# The position of a fragment among those of its mesh, as `sorted` takes keys; None if it
# may run anywhere.
SchedulingKey = Callable[[FragmentInfo, PipelineContext], Any]
# Whether two fragments are to be merged.
MergePredicate = Callable[[FragmentInfo, FragmentInfo, PipelineContext], bool]
# Describes what the given fragments become when merged.
TargetInfoBuilder = Callable[[Sequence[FragmentInfo]], FragmentInfo]
# Makes the rules of one mesh from the descriptions of its fragments.
ScheduleMergeRuleBuilder = Callable[
    [Sequence[FragmentInfo], PipelineContext],
    tuple[FragmentScheduleRules, FragmentMergeRules],
]


@dataclasses.dataclass(frozen=True)
class PipelineSchedule:
    """Rules for a program's fragments, and the options that they rely on.

    Attributes:
      schedule_merge_rule_builders: called in this order, each once per mesh.
      required_mpmd_options: partitioning options that must have these values.
    """

    schedule_merge_rule_builders: Sequence[ScheduleMergeRuleBuilder] | None = None
    required_mpmd_options: Mapping[str, bool | str] | None = None
