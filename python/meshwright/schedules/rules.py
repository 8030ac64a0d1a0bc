# SPDX-License-Identifier: Apache-2.0
"""Pipeline schedules: which fragment runs before which, and which merge.

A schedule is a set of rules between fragments of one mesh. A fragment is
described by the computations it came from, its stage, the counter of its call
and its mesh (`FragmentInfo`). Builders make rules from the descriptions that a
program has after import; `build_schedule_rules_from_predicate` and
`build_merge_rules_from_predicate` make builders from a relation between two
descriptions, `build_schedule_rules_from_key` from the place of each.
"""

from __future__ import annotations

import dataclasses
import enum
import itertools
import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from ..core.names import is_cpu_mesh

__all__ = [
    "FragmentInfo",
    "FragmentMergeRule",
    "FragmentMergeRules",
    "FragmentOrigin",
    "FragmentScheduleRule",
    "FragmentScheduleRules",
    "MergePredicate",
    "PipelineContext",
    "PipelineSchedule",
    "ScheduleMergeRuleBuilder",
    "SchedulingKey",
    "SchedulingPredicate",
    "SplitFragmentType",
    "TargetInfoBuilder",
    "build_merge_rules_from_predicate",
    "build_rules",
    "build_schedule_rules_from_key",
    "build_schedule_rules_from_predicate",
    "merged_fragment_info",
    "pipeline_context",
    "rule_text",
]


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


@dataclasses.dataclass(frozen=True, eq=False)
class FragmentInfo:
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

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FragmentInfo):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


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
class FragmentMergeRule:
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

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FragmentMergeRule):
            return NotImplemented
        return set(self.sources) == set(other.sources) and self.target == other.target

    def __hash__(self) -> int:
        return hash((frozenset(self.sources), self.target))


@dataclasses.dataclass(frozen=True, eq=False)
class FragmentScheduleRule:
    """Runs fragments of one mesh in the given order.

    Attributes:
      ordered_fragments: the fragments, first to last, at least two.
    """

    ordered_fragments: Sequence[FragmentInfo]

    def __post_init__(self) -> None:
        _check_fragments(
            "FragmentScheduleRule", "ordered_fragments", self.ordered_fragments
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FragmentScheduleRule):
            return NotImplemented
        return list(self.ordered_fragments) == list(other.ordered_fragments)

    def __hash__(self) -> int:
        return hash(tuple(self.ordered_fragments))


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
# Where a fragment stands among those of its mesh, as `sorted` takes keys; None if it
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


def build_schedule_rules_from_predicate(
    fragment_infos: Sequence[FragmentInfo],
    pipeline_context: PipelineContext,
    before_pred: SchedulingPredicate,
) -> list[FragmentScheduleRule]:
    """Makes a rule for each ordered pair of fragments that a relation holds for.

    The relation is asked of every pair of a mesh, twice, so that time and rules grow
    with the square of the microbatches. An order that can be told from each fragment
    alone is better given by `build_schedule_rules_from_key`.

    Args:
      fragment_infos: descriptions, in program order.
      pipeline_context: passed on to the predicate.
      before_pred: whether its first argument must run before its second.

    Returns:
      A rule [a, b] for all a, b at different positions on the same mesh.
    """
    return [
        FragmentScheduleRule(ordered_fragments=[first, second])
        for first, second in itertools.permutations(fragment_infos, 2)
        if first.mesh_name == second.mesh_name
        and before_pred(first, second, pipeline_context)
    ]


def build_schedule_rules_from_key(
    fragment_infos: Sequence[FragmentInfo],
    pipeline_context: PipelineContext,
    key: SchedulingKey,
) -> list[FragmentScheduleRule]:
    """Makes a rule for each mesh, which lists its fragments by their keys.

    Args:
      fragment_infos: descriptions, in program order.
      pipeline_context: passed on to the key.
      key: where a fragment stands among those of its mesh, least first, or None if
        it is not ordered; asked once of each fragment that has an origin. The keys of
        a mesh must be comparable with each other.

    Returns:
      For each mesh with at least two keys a rule [a, b, c, ...]. Fragments with equal
      keys stay in program order.

    Example:

      >>> def microbatch(info, context):
      ...     return info.call_counter
      >>> infos = [
      ...     FragmentInfo([FragmentOrigin(name)], call_counter=counter, mesh_name="m")
      ...     for name, counter in [("f", 2), ("norm", None), ("f", 0), ("f", 1)]
      ... ]
      >>> (rule,) = build_schedule_rules_from_key(
      ...     infos, PipelineContext(num_meshes=1), key=microbatch
      ... )
      >>> [info.call_counter for info in rule.ordered_fragments]
      [0, 1, 2]
    """
    rules = []
    named = [info for info in fragment_infos if info.origins]
    for infos in _by_mesh(named).values():
        keyed = [(key(info, pipeline_context), info) for info in infos]
        ordered = [pair for pair in keyed if pair[0] is not None]
        ordered.sort(key=operator.itemgetter(0))
        if len(ordered) > 1:
            rules.append(FragmentScheduleRule([info for _, info in ordered]))
    return rules


def merged_fragment_info(sources: Sequence[FragmentInfo]) -> FragmentInfo:
    """Describes a merged fragment by origins and mesh alone.

    Args:
      sources: the merged fragments, all on one mesh.

    Returns:
      All origins in order, without repeats, on the mesh of the sources.
    """
    origins = dict.fromkeys(origin for info in sources for origin in info.origins)
    return FragmentInfo(origins=tuple(origins), mesh_name=sources[0].mesh_name)


def build_merge_rules_from_predicate(
    fragment_infos: Sequence[FragmentInfo],
    pipeline_context: PipelineContext,
    target_info_builder: TargetInfoBuilder | None = None,
    *,
    pred: MergePredicate,
) -> list[FragmentMergeRule]:
    """Makes a rule for each pair of fragments that a relation holds for.

    Args:
      fragment_infos: descriptions, in program order.
      pipeline_context: passed on to the predicate.
      target_info_builder: describes the merged fragment, from the list of its
        sources; `merged_fragment_info` by default.
      pred: whether two fragments, the first one earlier, are to be merged.

    Returns:
      A rule {a, b} for all a before b on the same mesh.
    """
    target_of = target_info_builder or merged_fragment_info
    return [
        FragmentMergeRule(
            sources=frozenset((first, second)), target=target_of([first, second])
        )
        for first, second in itertools.combinations(fragment_infos, 2)
        if first.mesh_name == second.mesh_name and pred(first, second, pipeline_context)
    ]


def pipeline_context(mesh_names: Iterable[str]) -> PipelineContext:
    """The context of a topology: CPU meshes take no part in schedules."""
    return PipelineContext(sum(not is_cpu_mesh(name) for name in mesh_names))


def _by_mesh(infos: Iterable[FragmentInfo]) -> dict[str, list[FragmentInfo]]:
    found: dict[str, list[FragmentInfo]] = {}
    for info in infos:
        found.setdefault(info.mesh_name, []).append(info)
    return found


@dataclasses.dataclass(frozen=True)
class RelationBuilder:
    """A builder of what a relation says, which can also be checked alone.

    Rules are as many as pairs of fragments; where the compiler knows the relation
    itself, nobody reads them.

    Attributes:
      relation: what the schedule demands of two fragments.
      is_unit: which fragments it orders.
    """

    relation: SchedulingPredicate
    is_unit: Callable[[FragmentInfo], bool]

    def __call__(
        self, infos: Sequence[FragmentInfo], context: PipelineContext
    ) -> tuple[FragmentScheduleRules, FragmentMergeRules]:
        rules = build_schedule_rules_from_predicate(
            infos, context, before_pred=self.relation
        )
        return rules, []

    def check(self, infos: Sequence[FragmentInfo], context: PipelineContext) -> None:
        """Raises what the relation refuses: a fragment, or two of equal counters."""
        units = sorted(filter(self.is_unit, infos), key=lambda info: info.call_counter)
        for first, second in itertools.pairwise(units):
            self.relation(first, second, context)


def build_merge_rules(
    schedule: PipelineSchedule,
    fragment_infos: Sequence[FragmentInfo],
    context: PipelineContext,
) -> list[FragmentMergeRule]:
    """The merge rules of `build_rules`, for a schedule whose order is builtin.

    Args:
      schedule: the schedule.
      fragment_infos: all fragments of the program, in program order.
      context: passed on to the builders.

    Returns:
      All merge rules, builder by builder, mesh by mesh.
    """
    merge_rules: list[FragmentMergeRule] = []
    for build in schedule.schedule_merge_rule_builders or ():
        for infos in _by_mesh(fragment_infos).values():
            if isinstance(build, RelationBuilder):
                build.check(infos, context)
            else:
                merge_rules.extend(build(infos, context)[1])
    return merge_rules


def build_rules(
    schedule: PipelineSchedule,
    fragment_infos: Sequence[FragmentInfo],
    context: PipelineContext,
) -> tuple[list[FragmentScheduleRule], list[FragmentMergeRule]]:
    """Calls all builders of a schedule, each once per mesh.

    Args:
      schedule: the schedule.
      fragment_infos: all fragments of the program, in program order.
      context: passed on to the builders.

    Returns:
      All schedule rules and all merge rules, builder by builder, mesh by mesh.
    """
    by_mesh = _by_mesh(fragment_infos)
    schedule_rules: list[FragmentScheduleRule] = []
    merge_rules: list[FragmentMergeRule] = []
    for build in schedule.schedule_merge_rule_builders or ():
        for infos in by_mesh.values():
            schedules, merges = build(infos, context)
            schedule_rules.extend(schedules)
            merge_rules.extend(merges)
    return schedule_rules, merge_rules


_SPLIT_TEXT = {
    SplitFragmentType.KEEP_TRANSFERRED: "kKeepTransferred",
    SplitFragmentType.DROP_TRANSFERRED: "kDropTransferred",
}


def _quoted(name: str) -> str:
    r"""A name as the compiler's options take it: `\XX` for what would end quotes."""
    escaped = re.sub(
        r"[\x00-\x1f\x7f\"'{}\\]", lambda match: f"\\{ord(match[0]):02X}", name
    )
    return f'"{escaped}"'


def _origin_text(origin: FragmentOrigin) -> str:
    count = f"({origin.transpose_count})" if origin.transpose_count else ""
    return f"{_quoted(origin.computation_name)}{count}"


def _info_text(info: FragmentInfo) -> str:
    fields = [f"origins=[{','.join(map(_origin_text, info.origins))}]"]
    if info.stage_id is not None:
        fields.append(f"stage={info.stage_id}")
    if info.call_counter is not None:
        fields.append(f"call_counter={info.call_counter}")
    if info.split_type is not None:
        fields.append(f"split_type={_SPLIT_TEXT[info.split_type]}")
    fields.append(f"mesh_name={_quoted(info.mesh_name)}")
    return f"FragmentInfo({','.join(fields)})"


def rule_text(rule: FragmentMergeRule | FragmentScheduleRule) -> str:
    """A rule in the syntax that the compiler's options take."""
    if isinstance(rule, FragmentScheduleRule):
        order = "->".join(map(_info_text, rule.ordered_fragments))
        return f"FragmentScheduleRule(ordered_fragments=[{order}])"
    sources = ",".join(sorted(map(_info_text, rule.sources)))
    target = _info_text(rule.target)
    return f"FragmentMergeRule(sources=[{sources}],target={target})"
