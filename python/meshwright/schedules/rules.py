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
import itertools
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..core.fragments import (
    FragmentInfo,
    FragmentMergeRule,
    FragmentMergeRules,
    FragmentOrigin,
    FragmentScheduleRule,
    FragmentScheduleRules,
    MergePredicate,
    PipelineContext,
    PipelineSchedule,
    SchedulingKey,
    SchedulingPredicate,
    SplitFragmentType,
    TargetInfoBuilder,
)
from ..core.names import is_cpu_mesh


def build_schedule_rules_from_predicate(
    fragment_infos: Sequence[FragmentInfo],
    pipeline_context: PipelineContext,
    before_pred: SchedulingPredicate,
) -> list[FragmentScheduleRule]:
    """Makes a rule for each ordered pair of fragments that a relation holds for.

    The relation is asked of every pair of a mesh, twice, so that time and rules grow
    with the square of the microbatches. An order that follows from each fragment
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
      key: the position of a fragment among those of its mesh, least first, or None if
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
    itself, they are not used.

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
        """Raises what the relation refuses: a fragment, or two of equal counters.

        It is asked about two that differ in their counters from two before no more.
        """
        is_unit: dict[Any, bool] = {}
        units = []
        for info in infos:
            is_counted = info.call_counter is not None
            kind = id(info.origins), info.stage_id, info.split_type, is_counted
            if kind not in is_unit:
                is_unit[kind] = self.is_unit(info)
            if is_unit[kind]:
                units.append((info.call_counter, kind, info))
        units.sort(key=operator.itemgetter(0))
        asked = set()
        for (counter, kind, first), (other, other_kind, second) in itertools.pairwise(
            units
        ):
            pair = kind, other_kind, counter == other
            if pair not in asked:
                asked.add(pair)
                self.relation(first, second, context)


def build_merge_rules(
    schedule: PipelineSchedule,
    fragment_infos: Sequence[FragmentInfo],
    context: PipelineContext,
) -> list[FragmentMergeRule]:
    """The merge rules of `build_rules`, for a schedule whose order is builtin.

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
